"""The manager is away, refuses, or says something else: the match waits, or is given up."""

import pytest

from agentleague.errors import MissingField, NoAnswer, NoConnection, PeerRefused, RateLimited
from agentleague.match.machine import Phase
from agentleague.protocol.messages import GameJoinAck, LockRequest, LockResponse, MatchResultAck
from agentleague.roles.effects import Drop, WakeAt
from games.throwaway import THROWAWAY
from match.ann_and_bob import (
    CLOCK,
    answer,
    calls,
    decided,
    join,
    locking,
    match_of,
    move,
    only,
    playing,
    reporting,
    rings,
    said,
    step_of,
    telling,
)
from rules import rule

AWAY = [
    NoAnswer("the time ran out"),
    NoConnection("connection refused"),
    RateLimited("too many"),
    PeerRefused("the journal is full", data={"retryable": True}),
    MissingField("LOCK_RESPONSE: missing field 'match_id'"),
    None,
    GameJoinAck(),  # an answer to something else
]
ASKED = {"lock": (locking, "LOCK_REQUEST"), "report": (reporting, "MATCH_RESULT_REPORT")}


@rule("R-MATCH-14")
@pytest.mark.parametrize("away", AWAY, ids=lambda said: type(said).__name__)
@pytest.mark.parametrize("step", ASKED)
def test_the_manager_is_asked_again_until_it_answers_and_ever_more_rarely(step, away):
    reach, asked = ASKED[step]
    match = reach()
    now = 10.0

    for attempt, wait in enumerate((1.0, 2.0, 4.0, 5.0, 5.0, 5.0), start=1):
        assert calls(answer(match, step, "manager", away, now=now, attempt=attempt)) == []
        assert calls(match.woken(now + wait - 0.01)) == []
        effects = match.woken(now + wait)
        assert said(effects) == [(asked, "league_manager")]
        now += wait
        assert [(step_of(call), call.until) for call in calls(effects)] == [(step, now + 10.0)]

    final = decided() if step == "lock" else MatchResultAck()
    answer(match, step, "manager", final, now=now, attempt=7)
    assert match.phase is {"lock": Phase.TELLING, "report": Phase.CLOSED}[step]


@rule("R-MATCH-14")
def test_a_repeated_lock_has_the_same_moves_and_index():
    match = locking()

    answer(match, "lock", "manager", NoAnswer("late"), now=10.0)
    again = only(match.woken(11.0), LockRequest)
    answer(match, "lock", "manager", NoAnswer("late"), now=21.0, attempt=2)
    more = only(match.woken(23.0), LockRequest)

    assert again.moves == more.moves == [(0, "P01", "even"), (0, "P02", "odd")]
    assert again.index == more.index == 0


@rule("R-MATCH-14")
def test_while_the_manager_is_away_no_players_clock_runs():
    match, _ = playing(THROWAWAY["dice"])
    move(match, "P01", 1, turn=0)
    move(match, "P02", 2, turn=0)
    answer(match, "lock", "manager", NoConnection("away"), now=100.0)
    match.woken(101.0)

    effects = answer(match, "lock", "manager", LockResponse("R1M1", 0, 4), now=500.0, attempt=2)

    assert said(effects) == [("GAME_MOVE_CALL", "P01"), ("GAME_MOVE_CALL", "P02")]
    assert [call.until for call in calls(effects)] == [530.0, 530.0]
    assert rings(effects) == [530.0]


@rule("R-MATCH-15")
@pytest.mark.parametrize("data", [{}, {"retryable": False}, {"retryable": None}])
@pytest.mark.parametrize("step", ASKED)
def test_a_match_that_is_refused_for_good_is_closed_and_nobody_is_told(step, data):
    match = ASKED[step][0]()

    refusal = PeerRefused("not your match", data=data)
    assert answer(match, step, "manager", refusal) == [Drop(CLOCK)]

    assert match.phase is Phase.CLOSED
    assert match.closing is None
    assert match.woken(99.0) == []


@rule("R-MATCH-14")
@pytest.mark.parametrize(
    "response",
    [
        LockResponse("R1M1", 0),
        LockResponse("R1M1", 0, 7),  # a number, although somebody failed
    ],
)
def test_when_somebody_failed_only_the_result_is_an_answer(response):
    match = match_of()
    match.start(0.0)
    join(match, "P01")
    answer(match, "join", "P02", NoAnswer("late"))

    effects = answer(match, "lock", "manager", response, now=3.0)

    assert effects == [WakeAt(CLOCK, 4.0)]


@rule("R-MATCH-14")
def test_neither_a_number_nor_the_result_is_no_answer():
    effects = answer(locking(), "lock", "manager", LockResponse("R1M1", 0), now=3.0)

    assert effects == [WakeAt(CLOCK, 4.0)]


@rule("R-MATCH-14")
def test_a_number_that_no_game_wanted_is_no_answer():
    match, _ = playing(THROWAWAY["race"])
    for turn in range(3):
        for who in ("P01", "P02"):
            move(match, who, 1, turn=turn)
    assert match.phase is Phase.LOCKING

    effects = answer(match, "lock", "manager", LockResponse("R1M1", 0, 7), now=3.0)

    assert effects == [WakeAt(CLOCK, 4.0)]


def test_a_timer_rings_for_nothing_while_players_are_told():
    assert calls(telling().woken(3.0)) == []


@rule("R-MATCH-14")
def test_a_number_where_the_game_is_over_is_no_answer_either():
    match, _ = playing(THROWAWAY["dice"])
    for turn in (0, 1):
        move(match, "P01", 1, turn=turn)
        move(match, "P02", 6, turn=turn)
        effects = answer(match, "lock", "manager", LockResponse("R1M1", turn, 3), turn=turn)

    assert effects == [WakeAt(CLOCK, 1.0)]
    assert match.phase is Phase.LOCKING
    again = only(match.woken(1.0), LockRequest)
    assert (again.index, len(again.moves)) == (1, 4)
