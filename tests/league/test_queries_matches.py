"""GET_MATCH: all that anybody may know of one match."""

import json

import pytest

from agentleague.errors import MatchMismatch, WrongType
from agentleague.league.events import MatchAssigned
from agentleague.protocol.messages import Exchange
from games.throwaway import THROWAWAY
from league.decisions import LEAGUE_ID, Decisions
from league.querying import BYTES_MAX, ask, size
from rules import rule

MOVES = [(0, "P01", "even"), (0, "P02", "odd")]
ROWS = [
    Exchange(0, "P01", "GAME_INVITATION", 1, "ok", None, 3),
    Exchange(5, "P01", "CHOOSE_PARITY_CALL", 1, "ok", "even", 20),
]


def match(decisions, match_id="R1M1", **params):
    return ask(decisions, "GET_MATCH", match_id=match_id, **params)["match"]


def closed(rows, *, left_out=0):
    decisions = Decisions(2).start()
    winner = decisions.lock(MOVES).answer.result.winner
    decisions.report(winner, transcript=rows, transcript_left_out=left_out)
    return decisions


@rule("R-QUERY-05")
def test_a_match_of_a_round_to_come_has_players_and_no_state():
    assert match(Decisions(4).start(), "R3M2") == {
        "match_id": "R3M2",
        "round_id": 3,
        "league_id": LEAGUE_ID,
        "game_type": "even_odd",
        "game_options": {},
        "player_A_id": "P02",
        "player_A_name": "Agent 2",
        "player_B_id": "P03",
        "player_B_name": "Agent 3",
        "state": None,
    }


@rule("R-QUERY-05")
def test_a_match_that_runs_has_its_referee_epoch_and_commitment():
    decisions = Decisions(2, 2).start()
    decisions.record(MatchAssigned("R1M1", 2, "REF02", "lease"))

    assert match(decisions) == {
        "match_id": "R1M1",
        "round_id": 1,
        "league_id": LEAGUE_ID,
        "game_type": "even_odd",
        "game_options": {},
        "player_A_id": "P01",
        "player_A_name": "Agent 1",
        "player_B_id": "P02",
        "player_B_name": "Agent 2",
        "state": "UNKNOWN",
        "referee_id": "REF02",
        "referee_name": "Ref02",
        "referee_endpoint": "http://127.0.0.1:80/REF02/mcp",
        "referee_locks": True,
        "referees": ["REF01", "REF02"],
        "epoch": 2,
        "draw_commitment": decisions.adjudicator.commitment("R1M1"),
        "locks": 0,
        "closed": False,
        "disputes": [],
        "disputed": False,
    }


@rule("R-QUERY-05")
def test_no_move_and_no_seed_is_told_before_the_result():
    decisions = Decisions(2, game=THROWAWAY["dice"]).start()
    secret_move = 4
    decisions.lock([(0, "P01", secret_move), (0, "P02", 5)])
    assert decisions.league.matches["R1M1"].locks, "the game goes on after its first draw"

    shown = match(decisions)

    assert (shown["state"], shown["locks"]) == ("COLLECTING_CHOICES", 1)
    assert not {"draw", "result", "transcript", "forfeits"} & set(shown)
    assert decisions.adjudicator._seed("R1M1").hex() not in json.dumps(shown)

    decisions.record(MatchAssigned("R1M1", 2, "REF01", "lease"))
    assert match(decisions)["state"] == "UNKNOWN"  # Nobody locked anything in its new epoch.


@rule("R-QUERY-05")
def test_a_decided_match_has_its_result_and_what_its_draw_is_checked_with():
    decisions = Decisions(2).start()
    decisions.lock(MOVES)
    decided = decisions.league.matches["R1M1"].decided

    shown = match(decisions)

    assert (shown["state"], shown["closed"]) == ("FINISHED", False)
    assert shown["result"]["winner_player_id"] == decided.result.winner_player_id
    assert shown["draw"] == {
        "commitment": decisions.adjudicator.commitment("R1M1"),
        "seed": decided.seed,
        "moves": [[0, "P01", "even"], [0, "P02", "odd"]],
    }
    assert (shown["forfeits"], shown["verified"]) == ([], True)
    assert shown["seq"] == decisions.league.matches["R1M1"].decided_seq
    assert "transcript" not in shown


@rule("R-QUERY-05")
def test_a_closed_match_has_its_transcript():
    decisions = closed(ROWS, left_out=7)

    answer = ask(decisions, "GET_MATCH", match_id="R1M1")

    assert answer["total"] == 2
    assert (answer["match"]["told"], answer["match"]["transcript_left_out"]) == ("referee", 7)
    assert answer["match"]["transcript"][1] == {
        "at": 5,
        "player_id": "P01",
        "message": "CHOOSE_PARITY_CALL",
        "attempt": 1,
        "verdict": "ok",
        "move": "even",
        "answered_after": 20,
        "note": "",
    }


@rule("R-QUERY-05")
def test_a_match_that_was_lost_by_default_says_why():
    decisions = Decisions(2).start()
    decisions.play("R1M1", forfeits=["P02"])

    shown = match(decisions)

    assert shown["forfeits"] == [["P02", "failed"]]
    assert shown["result"]["status"] == "TECHNICAL_LOSS"


@rule("R-QUERY-05")
def test_a_match_without_a_contest_is_marked_everywhere():
    decisions = Decisions(2).start()
    decisions.record(decisions.adjudicator.no_contest("R1M1", "no referee"))

    assert match(decisions)["result"]["no_contest"] is True
    assert ask(decisions, "GET_SCHEDULE")["rounds"][0]["matches"][0]["no_contest"] is True


@rule("R-QUERY-07")
@pytest.mark.parametrize(
    "row",
    [
        Exchange(5, "P01", "CHOOSE_PARITY_CALL", 1, "ok", "even", 20),
        Exchange(5, "P01", "m" * 64, 1, "v" * 500, "🦊" * 2_000, 20),  # of a foreign referee
        Exchange(5, "P01", "m" * 64, 1, "🦊" * 500, {"x": list(range(900))}, 20),
    ],
)
def test_a_long_transcript_is_read_in_pages_of_at_most_10_kb(row):
    decisions, seen = closed([row] * 130), []

    while page := match(decisions, offset=len(seen))["transcript"]:
        assert size(decisions, "GET_MATCH", match_id="R1M1", offset=len(seen)) <= BYTES_MAX
        seen += page

    assert len(seen) == 130
    assert match(decisions, limit=1)["transcript"] == seen[:1]


@rule("R-QUERY-07")
def test_what_is_too_long_to_be_told_is_left_out_and_the_rest_is_told():
    long = {"choices": {"P01": "x" * 4_000, "P02": "y" * 4_000}}
    decisions = Decisions(2, locks=False).start()
    decisions.report("P01", details=long, transcript=ROWS)

    shown = match(decisions)

    assert shown["verified"] is False
    assert shown["result"]["choices"] is None
    assert shown["result"]["winner_player_id"] == "P01"
    assert size(decisions, "GET_MATCH", match_id="R1M1") <= BYTES_MAX


@rule("R-QUERY-05")
def test_a_match_that_is_not_there_is_not_found():
    for match_id in [
        *("R4M1", "R0M1", "R1M3", "R01M1", "1M1", "R1", "M1", "R-1M1", "R1M-1", "r1m1"),
        *("x" * 999, "R" + "9" * 5_000 + "M1", "R1M" + "9" * 5_000, "R²M1", "R1M1 "),
    ]:
        with pytest.raises(MatchMismatch, match="there is no match") as refused:
            match(Decisions(4).start(), match_id)

        assert refused.value.code == "E015"
        assert len(str(refused.value)) < 150


@rule("R-QUERY-05")
@pytest.mark.parametrize("match_id", [None, 1, True, ["R1M1"], {}, ""])
def test_a_match_is_asked_for_by_its_id(match_id):
    with pytest.raises(WrongType, match=r"query_params\.match_id must be the id of a match"):
        match(Decisions(2).start(), match_id)
