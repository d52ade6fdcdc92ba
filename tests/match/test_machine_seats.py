"""A player at a seat: while the manager is away nothing of it is asked, counted or lost."""

import pytest
from msgspec.structs import replace

from agentleague.errors import (
    CLOSED,
    UNREACHABLE,
    NoAnswer,
    NoConnection,
    PeerRefused,
    RateLimited,
    TokenMissing,
    WrongType,
)
from agentleague.match.machine import Phase
from agentleague.protocol.messages import ChooseParityResponse
from agentleague.roles.effects import Drop
from agentleague.roles.stimuli import Caller
from match.ann_and_bob import (
    CLOCK,
    MANAGER,
    PATIENT,
    SEATS,
    answer,
    calls,
    choose,
    decided,
    join,
    joining,
    playing,
    reporting,
    rings,
    said,
    telling,
)
from match.virtual_match import EVEN, ODD, Stage
from rules import rule

SEATED = [SEATS[0], replace(SEATS[1], endpoint="http://10.0.0.7:9000/seats/P02/mcp", seat=True)]
REFUSED = NoConnection("connection refused", kind=UNREACHABLE)
AWAY = [
    REFUSED,
    NoConnection("it closed the connection without an answer", kind=CLOSED),
    NoConnection("HTTP 502, and it is not JSON", status=502),
    PeerRefused("this manager is starting", number=-32603, code="E053", data={}, status=503),
    RateLimited("HTTP 503: busy", retry_after=1.0, status=503),
]
OWN = {  # what the player itself, or the lack of it, makes of a call -> the verdict
    "E001": NoAnswer("no answer in time"),
    "E009": NoConnection("HTTP 408, and it is not JSON", status=408),
    "E009 of a proxy": NoConnection("HTTP 504, and it is not JSON", status=504),
    "rate limited": RateLimited("HTTP 429: too many requests"),
    "no content": PeerRefused("failed", number=1, code="E053", data={"retryable": True}),
}


@rule("R-MATCH-33")
def test_a_seat_is_called_at_the_manager_as_the_referee_reaches_it():
    _, asked = playing(seats=SEATED)

    assert [call.to.url for call in asked] == [
        "http://127.0.0.1:8101/mcp",
        MANAGER.url.replace("/mcp", "/seats/P02/mcp"),
    ]


@rule("R-MATCH-33")
@pytest.mark.parametrize("away", AWAY, ids=str)
def test_a_seated_player_is_asked_the_same_with_a_full_deadline_until_the_manager_is_back(away):
    stage = Stage(bob={"move": [(20.0, away), *[away] * 4, (29.0, ODD)]}, seats=SEATED).run()

    asked = [when for when, name in stage.heard("P02") if name == "CHOOSE_PARITY_CALL"]
    assert asked == [0.0, 20.5, 21.5, 23.5, 25.5, 27.5]
    assert stage.errors("P02") == []
    assert stage.result.status == "WIN"
    rows = [row for row in stage.report.transcript if row.message == "CHOOSE_PARITY_CALL"]
    assert [(row.player_id, row.attempt, row.verdict) for row in rows] == [
        ("P01", 1, "ok"),
        ("P02", 1, "ok"),
    ]


@rule("R-MATCH-33")
@pytest.mark.parametrize("verdict", OWN)
def test_what_is_the_players_own_counts_as_an_attempt(verdict):
    match, _ = playing(seats=SEATED, rules=PATIENT)

    answer(match, "move", "P02", OWN[verdict])

    assert not match.waits_for_manager
    assert calls(match.woken(0.6)) == []


@rule("R-MATCH-33")
@pytest.mark.parametrize("broken", [AWAY[1], AWAY[2]], ids=str)
def test_calls_that_stand_and_break_use_up_the_time_of_a_player_that_is_silent(broken):
    rules = replace(PATIENT, retries=1)
    bob = {"move": [(16.0, broken)] * 4, "over": [(2.0, broken)] * 3}

    stage = Stage(bob=bob, rules=rules, seats=SEATED).run()

    assert stage.heard("P02")[1:7] == [
        (0.0, "CHOOSE_PARITY_CALL"),
        (16.5, "CHOOSE_PARITY_CALL"),
        (32.5, "GAME_ERROR"),
        (34.5, "CHOOSE_PARITY_CALL"),
        (51.0, "CHOOSE_PARITY_CALL"),
        (67.0, "GAME_ERROR"),
    ]
    assert [loser for loser, _ in stage.lock.forfeits] == ["P02"]
    assert stage.is_closed


@rule("R-MATCH-33")
def test_a_result_that_a_proxy_breaks_off_is_told_until_its_time_is_used_up():
    broken = AWAY[1]

    stage = Stage(bob={"over": [(2.0, broken)] * 9}, seats=SEATED).run()

    assert stage.heard("P02")[2:] == [(0.0, "GAME_OVER"), (2.5, "GAME_OVER"), (5.5, "GAME_OVER")]
    assert stage.is_closed


@rule("R-MATCH-33")
def test_a_manager_that_refuses_connections_only_after_a_while_costs_no_attempt():
    stage = Stage(bob={"move": [(16.0, REFUSED)] * 4}, seats=SEATED).run()

    assert stage.errors("P02") == []
    assert stage.result.status == "WIN"


@rule("R-MATCH-33")
def test_an_ordinary_player_that_cannot_be_reached_has_failed_as_ever():
    stage = Stage(ann={"move": [REFUSED] * 4}, seats=SEATED).run()

    assert [code for code, _ in stage.lock.forfeits] == ["P01"]


@rule("R-MATCH-33")
def test_the_opponents_answer_is_kept_and_its_own_time_runs_on():
    match, _ = playing(seats=SEATED)
    answer(match, "move", "P02", REFUSED, now=1.0)
    assert said(match.woken(1.5)) == [("CHOOSE_PARITY_CALL", "P02")]
    choose(match, "P01", "even", now=2.0)
    assert match.phase is Phase.PLAYING

    choose(match, "P02", "odd", now=3.0)

    assert match.phase is Phase.LOCKING


@rule("R-MATCH-33")
def test_the_opponent_of_a_seated_player_still_fails_in_its_own_time():
    stage = Stage(
        ann={"move": [(99.0, EVEN)]},
        bob={"move": [(5.0, REFUSED), *[REFUSED] * 40]},
        rules=replace(PATIENT, retries=0),
        seats=SEATED,
    ).run()

    assert stage.lock.forfeits == [("P01", "failed to respond within timeout")]


@rule("R-MATCH-33")
def test_an_attempt_that_failed_before_the_manager_went_away_stays_failed():
    stage = Stage(bob={"move": [(40.0, REFUSED), REFUSED, (9.0, ODD)]}, seats=SEATED).run()

    assert stage.heard("P02")[2:] == [  # The first one breaks when nobody waits for it any more.
        (30.0, "GAME_ERROR"),
        (32.0, "CHOOSE_PARITY_CALL"),
        (32.5, "CHOOSE_PARITY_CALL"),
        (41.5, "GAME_OVER"),
    ]
    verdicts = [row.verdict for row in stage.report.transcript if row.player_id == "P02"]
    assert verdicts == ["ok", "E001", "ok"]


@rule("R-MATCH-33")
def test_the_delay_is_short_again_once_the_manager_answered():
    match = joining(seats=SEATED)
    assert rings(answer(match, "join", "P02", REFUSED, now=1.0)) == [1.5]
    match.woken(1.5)
    answer(match, "join", "P02", REFUSED, now=2.0)
    match.woken(3.0)
    assert match.waits_for_manager
    join(match, "P02", now=3.0)
    assert not match.waits_for_manager
    join(match, "P01", now=3.0)

    assert rings(answer(match, "move", "P02", REFUSED, now=4.0)) == [4.5]


@rule("R-MATCH-33")
def test_the_result_is_told_again_until_the_manager_is_back_and_only_then_reported():
    match = telling(seats=SEATED)
    answer(match, "over", "P01", None, now=1.0)
    told = answer(match, "over", "P02", AWAY[3], now=1.0)
    assert (said(told), rings(told)) == ([], [1.5])

    (again,) = calls(match.woken(1.5))

    assert (again.to.url, again.until) == ("http://127.0.0.1:8000/seats/P02/mcp", 5.5)
    assert match.phase is Phase.TELLING
    assert said(answer(match, "over", "P02", None, now=2.0)) == [
        ("MATCH_RESULT_REPORT", "league_manager")
    ]


@rule("R-MATCH-33")
def test_a_result_that_is_not_waited_for_is_told_again_while_the_report_is_under_way():
    match = joining(seats=SEATED)
    join(match, "P01")
    answer(match, "join", "P02", NoAnswer("late"), now=5.0)
    answer(match, "lock", "manager", decided("P01", "TECHNICAL_LOSS"), now=6.0)
    answer(match, "over", "P01", None, now=6.0)
    assert match.phase is Phase.REPORTING
    answer(match, "over", "P02", REFUSED, now=7.0)

    assert said(match.woken(7.5)) == [("GAME_OVER", "P02")]


@rule("R-MATCH-33")
def test_a_complaint_is_made_again_unless_its_turn_is_over():
    unusable = ChooseParityResponse("seven", "R1M1")
    match, _ = playing(seats=SEATED, rules=PATIENT)
    answer(match, "move", "P02", unusable)
    answer(match, "error", "P02", REFUSED, now=0.1)
    assert said(match.woken(0.6)) == [("GAME_ERROR", "P02")]
    answer(match, "error", "P02", REFUSED, now=0.7)
    choose(match, "P01", "even", now=0.8)
    match.woken(1.0)

    choose(match, "P02", "odd", now=1.1, attempt=2)

    assert said(match.woken(1.7)) == []


def test_a_report_that_nobody_takes_repeats_nothing_at_a_seat():
    assert calls(reporting(seats=SEATED).woken(1.0)) == []


@rule("R-MATCH-33")
def test_a_match_that_waits_for_the_manager_of_a_seat_can_be_given_up():
    match = joining(seats=SEATED)
    answer(match, "join", "P02", REFUSED, now=1.0)

    assert Drop(CLOCK) in match.abandon()
    assert calls(match.woken(1.5)) == []


@rule("R-MATCH-23")
@pytest.mark.parametrize("source", ["10.0.0.7", "127.0.0.1"])
def test_nobody_is_known_by_the_address_of_a_seat(source):
    match, _ = playing(seats=[replace(SEATS[0], endpoint="http://10.0.0.8/mcp"), SEATED[1]])

    with pytest.raises(TokenMissing):
        match.admit(ODD, Caller(source))


@rule("R-MATCH-33")
def test_a_wrong_answer_at_a_seat_is_the_players():
    match, _ = playing(seats=SEATED)

    assert said(answer(match, "move", "P02", WrongType("no choice", field="parity_choice"))) == [
        ("GAME_ERROR", "P02")
    ]
