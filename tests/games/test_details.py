"""What a game says of its end reaches the result, the players, the journal and the match story."""

import itertools
import json
from types import SimpleNamespace

import msgspec
import pytest
from msgspec import UNSET
from msgspec.structs import replace

from agentleague.games import even_odd, rock_paper_scissors, tic_tac_toe
from agentleague.games.checks import GameProblem, check_game
from agentleague.games.game import DETAILS_BYTES_MAX, Outcome, plain_details
from agentleague.league.events import MatchDecided, MatchRuled
from agentleague.league.match_result import MatchSetup, compute_result, counted
from agentleague.protocol import codec
from agentleague.protocol.messages import GameOver, GameResult, MatchResultReport
from agentleague.records.export_files import files
from agentleague.records.match_story import facts_of, in_words
from agentleague.records.reading import event_of
from agentleague.records.verify import verify
from agentleague.runtime.plugins import find_game
from agentleague.storage import chain
from games.throwaway import THROWAWAY
from memory_league import MemoryLeague
from records.journals import changed
from rules import rule

EXPORTED = "data/matches/league_test/R1M1.json"
HIGHEST = """
from agentleague.errors import IllegalMove
from agentleague.games.game import Outcome

name, seats = "highest", ("A", "B")

def start(options): return None
def to_move(state): return () if state else seats
def view(state, seat): return {}
def legal_moves(state, seat): return [1, 2, 3]
def chance(state): return None
def play(state, moves, number): return (moves["A"], moves["B"])

def check(state, seat, move):
    if type(move) is not int or move not in (1, 2, 3):
        raise IllegalMove("1, 2 or 3")

def outcome(state):
    if state is None:
        return None
    a, b = state
    winner = None if a == b else "A" if a > b else "B"
    return Outcome(winner, f"{a} against {b}", {"lead": abs(a - b), "bids": [a, b]})
"""


@pytest.fixture(params=["rock_paper_scissors", "tic_tac_toe", "highest.py"])
def game(request, tmp_path):
    (tmp_path / "highest.py").write_text(HIGHEST, encoding="utf-8")
    is_file = request.param.endswith(".py")
    return find_game(tmp_path / request.param if is_file else request.param)


def played(game):
    league = MemoryLeague(players=2, referees=1, game=game).fill().play()
    rows = list(league.journal.read("league_test"))
    (decided,) = (event for event in map(event_of, rows) if isinstance(event, MatchDecided))
    return league, rows, decided.result


@rule("R-GAME-12")
def test_the_details_are_seen_wherever_the_result_is(game):
    league, rows, result = played(game)
    details = result.game_details
    assert details

    overs = [message for _, message in league.messages if isinstance(message, GameOver)]
    (report,) = (each for _, each in league.messages if isinstance(each, MatchResultReport))
    lines = in_words(facts_of(league.league, "R1M1"))
    exported = msgspec.json.decode(dict(files(league.league, rows))[EXPORTED])

    assert [over.game_result.game_details for over in overs] == [details, details]
    assert report.result.details.game_details == details
    assert {f"  {name}: {json.dumps(value)}" for name, value in details.items()} <= {*lines}
    assert exported["result"]["game_details"] == details
    assert verify(rows, lambda name: game).difference is None


def test_verifying_recomputes_the_details_where_the_journal_has_any(game):
    _, rows, result = played(game)
    events = list(map(event_of, rows))
    before = replace(result, game_details=UNSET)  # As an earlier version wrote it.
    wrong = replace(result, game_details={"wins": [9, 9]})

    def difference(result):
        changed_events = changed(events, MatchDecided, result=result)
        entries = map(chain.entry, changed_events)
        journal = chain.extend(chain.start("league_test"), "league_test", rows[0].at, entries)
        return verify(journal, lambda _: game).difference

    assert difference(before) is None
    assert "the details of the game is {'wins': [9, 9]}" in difference(wrong).sentence


@rule("R-GAME-12")
def test_a_result_of_even_odd_has_none():
    _, rows, result = played(even_odd)

    assert result.game_details is UNSET
    assert not any(b"game_details" in row.body for row in rows)


def test_the_built_in_games_say_how_they_ended():
    throws = rock_paper_scissors.State(3, (("rock", "paper"),) * 2, (0, 2))
    board = (*"XXX", "O", "O", None, None, None, None)
    full = (*"XOXXOOOXX",)

    assert rock_paper_scissors.outcome(throws).details == {
        "wins": [0, 2],
        "throws": [["rock", "paper"], ["rock", "paper"]],
    }
    assert tic_tac_toe.outcome(board).details == {"board": list(board), "line": [0, 1, 2]}
    assert tic_tac_toe.outcome(full).details == {"board": list(full), "line": None}


def test_what_an_organiser_ruled_keeps_the_details():
    result = GameResult("WIN", "P01", game_details={"wins": [2, 0]})
    decided = MatchDecided("R1M1", 1, 0, [], [], result, "")

    ruled = counted(decided, MatchRuled("R1M1", "draw", None, "both cheated"))

    assert (ruled.status, ruled.game_details) == ("DRAW", {"wins": [2, 0]})


DEEP = []
for _ in range(9):
    DEEP = [DEEP]
# What a careless game may give, and what the result has instead.
CARELESS = [
    ({"text": "x" * DETAILS_BYTES_MAX}, {"left_out": ["text"]}),
    ({"b": "x" * 500, "a": 1, "c": "x" * 600}, {"b": "x" * 500, "a": 1, "left_out": ["c"]}),
    ({"a": 1, "deep": DEEP}, {"a": 1, "left_out": ["deep"]}),
    ({"it": object(), "a": 1}, {"a": 1, "left_out": ["it"]}),
    ({object(): 1, "\ud800": 2}, {"left_out": ["object", "?"]}),
    ({f"{n}" + "x" * 300: n for n in range(9)}, None),  # five names, of 20 letters each
]


@rule("R-GAME-12")
@pytest.mark.parametrize(("details", "instead"), CARELESS, ids=lambda each: str(each)[:20])
def test_details_that_are_too_much_for_a_message_are_left_out_and_named(details, instead):
    careless = outcome_with(details)
    moves = [(0, "P01", 1), (0, "P02", 2), (1, "P01", 1), (1, "P02", 2), (2, "P01", 1)]
    setup = MatchSetup(careless, {}, "league", "R1M1", ("P01", "P02"), b"s" * 32)

    result = compute_result(setup, [*moves, (2, "P02", 2)], ()).result

    if instead is None:
        assert result.game_details["left_out"] == [f"{n}" + "x" * 19 for n in range(5)]
    else:
        assert result.game_details == instead
    with pytest.raises(GameProblem, match="the outcome's details are"):
        check_game(careless)


def outcome_with(details):
    """The game `race`, with other details."""
    race = THROWAWAY["race"]

    def outcome(state):
        ended = race.outcome(state)
        return ended and ended._replace(details=details)

    return SimpleNamespace(**{**vars(race), "outcome": outcome})


@rule("R-GAME-12")
def test_a_long_match_keeps_the_details_for_which_game_over_has_room():
    for throws, kept in [
        (["rock", "paper", "rock", "rock", "scissors"], {"wins", "throws"}),
        (["scissors"], {"wins", "left_out"}),
    ]:
        league = MemoryLeague(2, 1, rock_paper_scissors, game_options={"best_of": 99})
        league.add_referee()
        for step in (1, 2):
            turns = itertools.count(step, step)
            league.add_player(lambda _, t=throws, n=turns: t[next(n) % len(t)])
        league.play()

        details = league.league.matches["R1M1"].decided.result.game_details
        overs = [message for _, message in league.messages if isinstance(message, GameOver)]
        assert set(details) == kept
        assert details.get("left_out", ["throws"]) == ["throws"]
        assert [len(codec.write_request(over, 1)) <= 10_240 for over in overs] == [True, True]
        rows = league.journal.read("league_test")
        assert verify(rows, lambda _: rock_paper_scissors).difference is None


@rule("R-GAME-12")
def test_details_make_room_for_long_moves():
    outcome = Outcome("A", "so", {"text": "x" * 900, "wins": 1})

    assert plain_details(outcome) == outcome.details
    assert plain_details(outcome, "y" * 8_000) == outcome.details
    assert plain_details(outcome, "y" * 9_000) == {"wins": 1, "left_out": ["text"]}


def test_details_are_what_a_reader_of_the_journal_finds():
    assert plain_details(Outcome("A", "so", {"pair": (1, 2), "drawn_number": 7})) == {
        "pair": [1, 2]
    }
