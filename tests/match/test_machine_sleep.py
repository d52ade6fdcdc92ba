"""The clock of a match: it rings when something is due, and too late only if the machine slept."""

import pytest
from msgspec.structs import replace

from agentleague.errors import NoAnswer
from agentleague.match.machine import InvitationCall, MoveCall, Phase
from agentleague.protocol.messages import GameError
from agentleague.roles.effects import Call, Drop, WakeAt
from match.ann_and_bob import (
    CLOCK,
    PATIENT,
    RULES,
    answer,
    answered,
    calls,
    join,
    joining,
    locking,
    match_of,
    rings,
    said,
)
from match.virtual_match import EVEN, ODD, SILENCE, Stage
from rules import rule


def test_a_match_in_which_everybody_answers_at_once_sets_its_clock_once_and_stops_it_once():
    stage = Stage().run()

    others = [effect for effect in stage.effects if not isinstance(effect, Call)]
    assert others == [WakeAt(CLOCK, 5.0), Drop(CLOCK)]
    assert len(stage.effects) == 10
    assert stage.now == 0.0


def test_the_clock_is_set_for_the_earliest_thing_due_and_not_again_for_a_later_one():
    match = match_of(rules=PATIENT)

    assert rings(match.start(0.0)) == [5.0]
    assert rings(join(match, "P01", now=1.0)) == []
    assert rings(join(match, "P02", now=1.0)) == []  # moves are due at 31
    assert rings(match.woken(5.0)) == [31.0]


def test_a_clock_that_rings_a_little_too_early_is_set_again():
    match = joining()

    effects = match.woken(4.9999)

    assert effects == [WakeAt(CLOCK, 5.0)]


@rule("R-MATCH-31")
@pytest.mark.parametrize(
    ("late", "phase"),
    [(0.25, Phase.LOCKING), (0.26, Phase.JOINING), (3600.0, Phase.JOINING)],
)
def test_a_clock_that_rings_late_extends_what_is_running(late, phase):
    match = joining()
    join(match, "P01")

    effects = match.woken(5.0 + late)

    assert match.phase is phase
    if phase is Phase.JOINING:
        assert effects == [WakeAt(CLOCK, 5.0 + late)]
        assert said(match.woken(5.0 + late)) == [
            ("GAME_ERROR", "P02"),
            ("LOCK_REQUEST", "league_manager"),
        ]


@rule("R-MATCH-31")
def test_an_answer_that_is_read_before_the_late_clock_rings_counts_for_its_player():
    match = match_of()
    match.start(0.0)

    assert calls(join(match, "P01", now=1000.0)) == []
    assert said(join(match, "P02", now=1000.0)) == [
        ("CHOOSE_PARITY_CALL", "P01"),
        ("CHOOSE_PARITY_CALL", "P02"),
    ]


@rule("R-MATCH-31")
def test_a_call_that_ended_because_we_slept_is_made_again_at_once_and_costs_no_attempt():
    stage = Stage({"move": [SILENCE, (1.0, EVEN)]}, {"move": [(2.0, ODD)]}, rules=RULES)
    stage.run(until=3.0).sleep_until(100.0).run()

    heard = [(when, name) for when, name in stage.heard("P01") if name != "GAME_INVITATION"]
    assert heard == [
        *((0, "CHOOSE_PARITY_CALL"), (100, "CHOOSE_PARITY_CALL"), (101, "GAME_OVER")),
    ]
    assert stage.lock.forfeits == []


@rule("R-MATCH-31")
def test_a_retry_that_is_overdue_is_made_at_once():
    stage = Stage({"move": [SILENCE, (1.0, EVEN)]}, {"move": [ODD]}, rules=PATIENT)
    stage.run(until=31.0).sleep_until(50.0).run()

    assert stage.heard("P01")[2:] == [
        *((30, "GAME_ERROR"), (50, "CHOOSE_PARITY_CALL"), (51, "GAME_OVER")),
    ]


def test_sleep_while_the_manager_is_asked_changes_nothing():
    match = locking()

    assert match.woken(1000.0) == []
    assert match.phase is Phase.LOCKING


@rule("R-MATCH-31")
def test_a_manager_that_is_to_be_asked_again_is_asked_after_the_sleep():
    match = locking()
    match.woken(5.0)
    assert answer(match, "lock", "manager", NoAnswer("away"), now=6.0) == [WakeAt(CLOCK, 7.0)]

    assert match.woken(500.0) == [WakeAt(CLOCK, 500.0)]
    assert said(match.woken(500.0)) == [("LOCK_REQUEST", "league_manager")]


@rule("R-MATCH-09", "R-MATCH-21")
def test_calls_stay_open_until_the_phase_can_last_no_longer():
    longest = 4 * 30.0 + 3 * 2.0
    stage = Stage({"move": [(longest, EVEN), SILENCE, SILENCE, SILENCE]}).run()

    untils = [
        effect.until
        for effect in stage.effects
        if isinstance(effect, Call) and effect.key == MoveCall("R1M1", 0, 0, effect.key.attempt)
    ]
    assert untils == [longest] * 4
    assert [error.retryable for error in stage.told(GameError)] == [True] * 3
    assert stage.result.choices["P01"] == "even"  # at the very last moment


def test_a_call_whose_time_ran_out_after_the_clock_rang_changes_nothing_more():
    match = match_of(rules=replace(PATIENT, join_retries=1))
    match.start(0.0)
    join(match, "P02")
    match.woken(5.0)
    match.woken(7.0)

    key = InvitationCall("R1M1", 0, 0, 1)
    assert match.answered(answered(key, NoAnswer("late")), 11.9) == []
