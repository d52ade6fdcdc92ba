"""What a player remembers, and what its strategy is shown."""

import pickle

import msgspec
import pytest

from agentleague.player.memory import History, Memory, PlayerLimits
from agentleague.protocol.fast_path import Pairing
from agentleague.protocol.messages import (
    ChooseParityCall,
    Draw,
    GameMoveCall,
    GameOver,
    GameResult,
    LeagueStandingsUpdate,
    MoveContext,
    PlayerRecord,
    RoundMatch,
    StandingRow,
)
from agentleague.roles.effects import Turn

CONTEXT = MoveContext("P02", 3, PlayerRecord(2, 1, 0, 6))


def parity_call(match_id="R3M1", league_id="league_x"):
    return ChooseParityCall(
        game_type="even_odd",
        league_id=league_id,
        round_id=3,
        match_id=match_id,
        player_id="P01",
        context=CONTEXT,
    )


def move_call(turn=0, match_id="R3M1", **fields):
    return GameMoveCall(
        game_type="nim",
        league_id="league_x",
        round_id=3,
        match_id=match_id,
        turn=turn,
        context=CONTEXT,
        **fields,
    )


def over(match_id="R1M1", winner="P01", choices=None):
    choices = {"P01": "even", "P02": "odd"} if choices is None else choices
    result = GameResult("WIN", winner, 8, "even", choices, "because")
    return GameOver(result, match_id=match_id, round_id=1)


def chance(memory, call, player_id="P01"):
    rng = memory.turn(call, player_id, 30.0).rng
    return [rng.randrange(1000) for _ in range(5)]


def test_a_strategy_is_shown_everything_about_its_turn():
    memory = Memory("seed")
    memory.over(over(), "P01")
    memory.table(LeagueStandingsUpdate(standings=[StandingRow(1, "P01", "Ann", points=3)]))

    turn = memory.turn(parity_call(), "P01", 30.0)

    assert isinstance(turn, Turn)
    assert (turn.game_type, turn.league_id, turn.match_id) == ("even_odd", "league_x", "R3M1")
    assert (turn.round_id, turn.player_id, turn.opponent_id) == (3, "P01", "P02")
    assert turn.record == {"wins": 2, "losses": 1, "draws": 0, "points": 6}
    assert list(turn.legal_moves) == ["even", "odd"]
    assert (turn.position, turn.seconds_left) == ({}, 30.0)
    assert [match["match_id"] for match in turn.history] == ["R1M1"]
    assert turn.standings[0]["player_id"] == "P01"


@pytest.mark.parametrize(
    ("legal", "shown"),
    [([1, 2, 3], [1, 2, 3]), ([], []), (None, [])],  # null: too many to list
)
def test_in_any_other_game_it_is_shown_position_and_legal_moves(legal, shown):
    turn = Memory("7").turn(move_call(position={"heap": 5}, legal_moves=legal), "P01", 9.0)

    assert (turn.game_type, turn.position) == ("nim", {"heap": 5})
    assert list(turn.legal_moves) == shown


def test_with_a_seed_chance_is_the_same_whatever_the_order_of_the_matches():
    calls = [parity_call("R1M1"), parity_call("R2M1"), move_call(0), move_call(1)]
    forwards, backwards = Memory("7"), Memory("7")

    there = [chance(forwards, call) for call in calls]
    back = [chance(backwards, call) for call in reversed(calls)]

    assert there == back[::-1]
    assert [chance(forwards, call) for call in calls] == there  # asked again, the same again


def test_chance_differs_from_seed_to_seed_match_to_match_turn_to_turn_player_to_player():
    seven, eight = Memory("7"), Memory("8")
    drawn = [
        chance(seven, parity_call("R1M1")),
        chance(eight, parity_call("R1M1")),
        chance(seven, parity_call("R1M2")),
        chance(seven, parity_call("R1M1", league_id="league_y")),
        chance(seven, parity_call("R1M1"), "P02"),
        chance(seven, move_call(1, "R1M1")),
        chance(seven, move_call(2, "R1M1")),
    ]

    assert len({tuple(numbers) for numbers in drawn}) == len(drawn)


def test_a_match_is_remembered_with_opponent_and_result():
    memory = Memory("7")

    memory.over(over("R1M1"), "P01")
    memory.over(over("R2M1", winner=None), "P01")

    won, drawn = memory.history
    assert (won["match_id"], won["round_id"], won["opponent_id"]) == ("R1M1", 1, "P02")
    assert won["result"] == {
        "status": "WIN",
        "winner_player_id": "P01",
        "drawn_number": 8,
        "number_parity": "even",
        "choices": {"P01": "even", "P02": "odd"},
        "reason": "because",
    }
    assert (won["won"], drawn["won"]) == (True, False)


def test_an_opponent_that_the_result_does_not_name_is_unknown():
    memory = Memory("7")

    memory.over(over(choices={}), "P01")

    assert memory.history[0]["opponent_id"] is None


def test_a_match_that_is_told_twice_is_remembered_once():
    memory = Memory("7")

    for match_id in ("R1M1", "R1M1", "R2M1", "R1M1", "R3M1", "R2M1", "R1M1"):
        memory.over(over(match_id), "P01")

    assert [match["match_id"] for match in memory.history] == ["R1M1", "R2M1", "R3M1"]


def test_only_the_last_matches_are_remembered():
    memory = Memory("7", PlayerLimits(history_matches=7, history_block=2))

    for number in range(9):
        memory.over(over(f"R{number}M1"), "P01")

    assert len(memory.history) == 7
    assert memory.history[0]["match_id"] == "R2M1"
    assert PlayerLimits.history_matches == 1000


def shown(points):
    return LeagueStandingsUpdate(standings=[StandingRow(1, "P01", "Ann", 2, 1, 1, 0, 0, points)])


def test_the_table_is_the_one_that_was_shown_last():
    memory = Memory("7")
    assert list(memory.standings) == []

    memory.table(shown(points=1))
    memory.table(shown(points=4))

    row = {
        "rank": 1,
        "player_id": "P01",
        "display_name": "Ann",
        "played": 2,
        "wins": 1,
        "draws": 1,
        "losses": 0,
        "technical_losses": 0,
        "points": 4,
    }
    assert list(memory.standings) == memory.standings[:5] == [row]
    assert (len(memory.standings), memory.standings[-1]) == (1, row)


def test_a_turn_keeps_the_table_of_its_moment():
    memory = Memory("7")
    memory.table(shown(points=1))
    turn = memory.turn(parity_call(), "P01", 30.0)

    memory.table(shown(points=4))

    assert turn.standings[0]["points"] == 1


def kept(match_id="R1M1", league_id="league_old", player_id="P01", **changes):
    return {
        "league_id": league_id,
        "game_type": "even_odd",
        "match_id": match_id,
        "round_id": 1,
        "player_id": player_id,
        "opponent_id": "P02",
        "opponent_name": "Bob",
        "result": {"status": "WIN"},
        "won": True,
        **changes,
    }


def test_matches_of_earlier_leagues_are_the_past_and_no_part_of_the_history():
    memory = Memory("7")
    memory.recall([kept(), kept(league_id="league_x", player_id="P09")], "league_x", "P01")

    turn = memory.turn(parity_call(), "P01", 30.0)

    assert [match["league_id"] for match in turn.past] == ["league_old", "league_x"]
    assert turn.history == []


def test_after_a_crash_the_history_of_this_league_goes_on_where_it_was():
    memory = Memory("7")
    memory.recall([kept("R1M1", "league_x"), kept("R2M1", "league_x")], "league_x", "P01")

    again = memory.over(
        GameOver(over("R2M1").game_result, match_id="R2M1", league_id="league_x"), "P01"
    )

    assert again == (None, False)
    assert [match["match_id"] for match in memory.history] == ["R1M1", "R2M1"]
    assert list(memory.past) == []


def test_an_opponent_is_known_by_name_once_a_table_has_told_it():
    memory = Memory("7")
    before = memory.turn(parity_call(), "P01", 30.0)
    memory.over(over("R1M1"), "P01")
    memory.table(LeagueStandingsUpdate(standings=[StandingRow(1, "P02", "Bob")]))
    memory.over(over("R2M1"), "P01")

    after = memory.turn(parity_call(), "P01", 30.0)

    assert (before.opponent_name, after.opponent_name) == ("", "Bob")
    assert [match["opponent_name"] for match in memory.history] == ["", "Bob"]
    assert [match["opponent_name"] for match in memory.records()] == ["Bob", "Bob"]


def test_the_announcement_of_a_match_in_a_large_league_tells_the_names():
    memory = Memory("seed")

    memory.paired(RoundMatch("R1M1", "even_odd", "P01", "P02"))
    small = memory.name("P02")
    memory.paired(Pairing("R1M1", "P01", "P02", player_A_name="Ann", player_B_name="Bob"))

    assert (small, memory.name("P01"), memory.name("P02")) == ("", "Ann", "Bob")


def test_a_player_that_registers_again_recalls_nothing_twice():
    memory = Memory("7", PlayerLimits(ended_matches=3))
    matches = [kept(f"R{number}M1", "league_x") for number in range(8)]

    for _ in range(2):
        memory.recall(matches, "league_x", "P01")

    assert len(memory.history) == len(matches)


def test_only_the_newest_matches_are_known_to_be_over():
    memory = Memory("7", PlayerLimits(ended_matches=3))
    for number in range(4):
        memory.over(over(f"R{number}M1"), "P01")

    assert memory.over(over("R1M1"), "P01") == (None, False)
    assert memory.over(over("R0M1"), "P01")[0]


def test_a_match_that_is_drawn_anew_takes_the_place_of_the_first():
    memory = Memory("7", PlayerLimits(history_block=2))
    for number in range(1, 5):
        memory.over(over(f"R{number}M1"), "P01")
    again = msgspec.structs.replace(over("R2M1"), draw=Draw("c", "00", generation=7))

    assert memory.over(again, "P01") == (memory.history[-1], True)
    assert memory.over(again, "P01") == (None, False)
    assert memory.over(over("R2M1"), "P01") == (None, True)

    names = [match["match_id"] for match in memory.history]
    assert names == ["R1M1", "R3M1", "R4M1", "R2M1"]
    assert memory.history[-1]["draw_generation"] == 7


def test_a_file_of_matches_may_hold_any_result():
    memory = Memory("7")
    strange = {**kept("R1M1", ""), "result": None, "draw_generation": "x"}

    memory.recall([strange], "", "P01")

    assert memory.over(over("R1M1"), "P01") == (None, False)


def test_a_result_that_is_not_the_one_in_the_file_of_matches_contradicts_it():
    before, memory = Memory("7"), Memory("7")
    before.over(over("R1M1"), "P01")

    memory.recall(before.records(), "", "P01")

    assert memory.over(over("R1M1"), "P01") == (None, False)
    assert memory.over(over("R1M1", winner="P02"), "P01") == (None, True)


def test_in_another_league_other_players_have_the_same_ids():
    memory = Memory("7")
    memory.recall([], "league_x", "P02")
    memory.table(shown(points=1))
    assert memory.name("P01") == "Ann"

    memory.recall([], "league_y", "P02")

    assert memory.name("P01") == ""


SMALL = PlayerLimits(history_matches=100, history_block=5)


def numbered(number):
    return {"match_id": f"R{number}M1", "result": {"choices": {"P01": number, "é": None}}}


def remembered(number):
    """A history after so many matches, and the list that it stands for."""
    history = History(SMALL)
    for each in range(number):
        history.append(numbered(each))
    return history, [numbered(each) for each in range(number)][-SMALL.history_matches :]


@pytest.mark.parametrize("number", [0, 1, 5, 6, 17, 100, 101, 108])
def test_the_history_is_read_like_a_list_of_the_last_matches(number):
    history, matches = remembered(number)

    assert (len(history), bool(history)) == (len(matches), bool(matches))
    assert list(history) == matches
    assert history == matches
    assert history[-3:] == matches[-3:]
    assert history[::-4] == matches[::-4]
    assert list(reversed(history))[:2] == matches[::-1][:2]
    for place in range(-len(matches), len(matches), 3):
        assert history[place] == matches[place]


def test_the_history_has_no_match_beyond_its_ends():
    history, _ = remembered(3)

    for place in (-4, 3, 1000):
        with pytest.raises(IndexError):
            _ = history[place]


def test_a_copy_of_the_history_stays_as_it_is():
    history, matches = remembered(10)

    shown = history.copy()
    history.append(numbered(-1))

    assert shown == matches
    assert history != matches
    assert shown != 7


def test_most_of_the_history_is_packed():
    history = History()
    for each in range(1_000):
        history.append(numbered(each))

    assert len(pickle.dumps(history)) < 35 * 1_000


def test_a_match_is_unpacked_once_however_often_it_is_looked_at():
    history, matches = remembered(17)

    first, second = history.copy(), history.copy()

    assert list(first) == matches
    assert all(one is other for one, other in zip(first, second, strict=True))
    assert first[0] is second[:1][0] is history[0]


def test_a_player_that_looks_at_its_history_need_not_unpack_what_comes_later():
    history, _ = remembered(6)
    _ = history[0]
    later = [numbered(each) for each in range(6, 17)]

    for match in later:
        history.append(match)

    assert all(shown is match for shown, match in zip(history[6:], later, strict=True))
