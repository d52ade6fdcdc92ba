"""A league in memory, for researchers."""

import asyncio

import pytest

from agentleague import Player, Turn, play_league
from agentleague.errors import LeagueError, UnsupportedGame
from agentleague.league.formats.stages import usual_stages
from agentleague.runtime import plugins
from agentleague.sdk.offline import OfflineLeague
from commands import league
from games.throwaway import THROWAWAY
from sdk.roles_league import with_messages

STRATEGIES = ["random", "alternating", "random", "fixed", "random"]


def even(turn):
    return "even"


def odd(turn):
    return "odd"


@pytest.mark.parametrize("game", ["even_odd", "rock_paper_scissors", "tic_tac_toe"])
def test_it_is_the_league_that_manager_referee_and_players_play_with_this_seed(game):
    there = with_messages(STRATEGIES, plugins.load_game(game), "7", cycles=2)

    here = play_league(STRATEGIES, game, seed=7, cycles=2)

    assert list(here.table) == list(there.table.rows())
    assert [match.match_id for match in here.matches] == [*there.matches]
    for match, file in zip(here.matches, there.matches.values(), strict=True):
        assert (match.player_ids, match.moves) == (file.players, file.decided.moves)
        assert match.reason == file.decided.result.reason


def test_a_game_that_draws_several_numbers_is_played_as_by_roles_too():
    def guess(turn):
        return 1 + len(turn.position["rolled"])

    def chance(turn):
        return turn.rng.randint(1, 6)

    dice, functions = THROWAWAY["dice"], [guess, chance, chance]
    offline = OfflineLeague(
        dice, "7", [(each.__name__, each, None) for each in functions], usual_stages(2)
    )
    here, there = list(offline.play()), with_messages(functions, dice, "7", cycles=2)

    assert [match.moves for match in here] == [f.decided.moves for f in there.matches.values()]
    assert list(offline.table.rows()) == list(there.table.rows())


def test_functions_strategies_and_players_meet_each_other():
    player = Player("Ann")
    player.plays("even_odd")(even)

    played = play_league([player, odd, "random", "random"], seed=1)

    names = [row.display_name for row in sorted(played.table, key=lambda row: row.player_id)]
    assert names == ["Ann", "odd", "random", "random (P04)"]
    assert len(played.matches) == 6
    assert played.champion is played.table[0]
    assert sum(row.points for row in played.table) == sum(
        2 if match.status == "DRAW" else 3 for match in played.matches
    )
    assert "Ann" in str(played)


def test_a_match_says_who_met_what_they_moved_and_how_it_ended():
    (match,) = play_league([even, odd], seed=1).matches

    assert (match.match_id, match.round_id, match.player_ids) == ("R1M1", 1, ("P01", "P02"))
    assert match.moves == [(0, "P01", "even"), (0, "P02", "odd")]
    assert match.winner == ("P01" if match.number % 2 == 0 else "P02")
    assert match.status == "WIN"
    assert f"number was {match.number}" in match.reason


def test_without_a_seed_one_is_drawn_and_told():
    first = play_league(["random"] * 4, cycles=5)
    second = play_league(["random"] * 4, cycles=5)
    again = play_league(["random"] * 4, cycles=5, seed=first.seed)

    assert first != second
    assert first == again


def test_in_the_next_cycle_seats_are_swapped():
    played = play_league([even, odd], cycles=2)

    assert [match.player_ids for match in played.matches] == [("P01", "P02"), ("P02", "P01")]


def test_a_turn_shows_what_it_would_show_in_any_league():
    turns = []

    def watch(turn):
        turns.append(turn)
        return "even"

    play_league([watch, odd], cycles=2)

    first, second = turns
    assert isinstance(first, Turn)
    assert (first.player_id, first.opponent_id, first.opponent_name) == ("P01", "P02", "")
    assert (first.seconds_left, list(first.legal_moves)) == (30.0, ["even", "odd"])
    assert second.opponent_name == "odd"
    assert [match["match_id"] for match in second.history] == ["R1M1"]
    assert {row["player_id"] for row in second.standings} == {"P01", "P02"}
    won = int(second.history[0]["won"])
    assert second.record == {"wins": won, "losses": 1 - won, "draws": 0, "points": 3 * won}


def test_an_illegal_move_is_asked_for_again_and_the_third_loses():
    asked = []

    def stubborn(turn):
        asked.append(turn.match_id)
        return "Even" if turn.match_id == "R1M1" or asked.count(turn.match_id) < 3 else "even"

    played = play_league([stubborn, odd], cycles=2)

    assert asked == ["R1M1"] * 3 + ["R2M1"] * 3
    assert [match.status for match in played.matches] == ["TECHNICAL_LOSS", "WIN"]
    assert "P01 made an illegal move" in played.matches[0].reason
    wrong = "Choice must be 'even' or 'odd', got 'Even'"
    assert played.illegal_moves == [
        *[("P01", f"R1M1: {wrong}")] * 3,
        *[("P01", f"R2M1: {wrong}")] * 2,
    ]


def test_an_exception_comes_out_as_it_is_with_a_note():
    def broken(turn):
        return 1 / 0

    with pytest.raises(ZeroDivisionError) as caught:
        play_league([odd, broken])

    assert caught.value.__notes__ == ["broken (P02) was to move in R1M1."]
    assert any(entry.name == "broken" for entry in caught.traceback)


def test_what_json_cannot_carry_comes_out_too():
    with pytest.raises(TypeError) as caught:
        play_league([odd, lambda turn: {1, 2j}])

    assert "was to move in R1M1" in caught.value.__notes__[0]


def test_async_functions_play_even_where_a_loop_runs_already():
    async def slow(turn):
        await asyncio.sleep(0)
        return "even"

    async def memory():
        return play_league([slow, odd], seed=1)

    assert asyncio.run(memory()).matches == play_league([even, odd], seed=1).matches


def test_the_hooks_of_a_player_are_told_in_order():
    heard, player = [], Player("Ann")
    player.plays("even_odd")(even)
    player.on_round(lambda what: heard.append(("round", what["round_id"], what["opponent_id"])))
    player.on_result(lambda what: heard.append(("result", what["match_id"], what["opponent_id"])))
    player.on_standings(lambda rows: heard.append(("standings", len(rows))))

    @player.on_league_end
    async def ended(what):
        heard.append(("league_end", what["total_matches"]))

    play_league([player, odd, odd])

    assert heard == [
        ("round", 1, None),
        ("standings", 3),
        ("round", 2, "P03"),
        ("result", "R2M1", "P03"),
        ("standings", 3),
        ("round", 3, "P02"),
        ("result", "R3M1", "P02"),
        ("standings", 3),
        ("league_end", 3),
    ]


UNPLAYABLE = [
    ([even], {}, "at least two players, not 1"),
    ([even, odd], {"cycles": 0}, "at least one cycle, not 0"),
    ([even, "nobody"], {}, "nobody"),
    ([even, 7], {}, "7 is not a player: give a function"),
    ([even, Player("Ann")], {}, "Ann plays nothing, not even_odd"),
]


def test_what_cannot_be_played_is_said_in_a_sentence():
    for players, more, sentence in UNPLAYABLE:
        with pytest.raises(LeagueError, match=sentence):
            play_league(players, **more)


def test_a_game_that_is_not_installed_is_said_in_a_sentence():
    with pytest.raises(UnsupportedGame, match="even_odd"):
        play_league([even, odd], "chess")


def test_a_game_may_be_a_file(tmp_path):
    league("new", "game", "countdown", cwd=tmp_path)
    (path,) = (path for path in tmp_path.rglob("*.py") if not path.name.startswith("test_"))

    played = play_league(["random", "random"], str(path), cycles=3)

    assert (played.game, len(played.matches)) == ("countdown", 3)
