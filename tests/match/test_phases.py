"""Every phase of a match and everything that can reach it: a change, or nothing at all."""

import pytest

from agentleague.errors import MatchMismatch, NoAnswer, NoConnection, PeerRefused
from agentleague.match.machine import STATE, Phase
from agentleague.protocol.messages import (
    ChooseParityResponse,
    GameMoveResponse,
    LockRequest,
    MatchResultAck,
)
from games.throwaway import THROWAWAY
from match.ann_and_bob import (
    JOINED,
    answer,
    calls,
    choose,
    decided,
    join,
    locking,
    match_of,
    move,
    only,
    playing,
    reporting,
    said,
    telling,
)
from rules import rule


def recovering():
    match = match_of(decided=True)
    match.start(0.0)
    return match


def half_joined():
    match = match_of()
    match.start(0.0)
    join(match, "P02")
    return match


def choosing():
    match, _ = playing()
    choose(match, "P02", "odd")
    return match


def being_told():
    match = telling()
    answer(match, "over", "P02", None)
    return match


def closed():
    match = reporting()
    answer(match, "report", "manager", MatchResultAck())
    return match


# In each phase the players' part is half done: only P01 is still awaited.
REACHED = {
    Phase.RECOVERING: recovering,
    Phase.JOINING: half_joined,
    Phase.PLAYING: choosing,
    Phase.LOCKING: locking,
    Phase.TELLING: being_told,
    Phase.REPORTING: reporting,
    Phase.CLOSED: closed,
}
STEPS = {
    "join": ("P01", JOINED),
    "move": ("P01", ChooseParityResponse("even", "R1M1")),
    "lock": ("manager", decided()),
    "over": ("P01", None),
    "report": ("manager", MatchResultAck(match_id="R1M1")),
    "error": ("P01", None),
}
CHANGES = {
    (Phase.RECOVERING, "lock"): (Phase.TELLING, [("GAME_OVER", "P01"), ("GAME_OVER", "P02")]),
    (Phase.JOINING, "join"): (
        Phase.PLAYING,
        [("CHOOSE_PARITY_CALL", "P01"), ("CHOOSE_PARITY_CALL", "P02")],
    ),
    (Phase.PLAYING, "move"): (Phase.LOCKING, [("LOCK_REQUEST", "league_manager")]),
    (Phase.LOCKING, "lock"): (Phase.TELLING, [("GAME_OVER", "P01"), ("GAME_OVER", "P02")]),
    (Phase.TELLING, "over"): (Phase.REPORTING, [("MATCH_RESULT_REPORT", "league_manager")]),
    (Phase.REPORTING, "report"): (Phase.CLOSED, []),
}


@rule("R-MATCH-01", "R-MATCH-12")
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("phase", Phase)
def test_each_step_moves_one_phase_on_and_changes_nothing_in_any_other(phase, step):
    match = REACHED[phase]()
    who, message = STEPS[step]
    assert match.phase is phase

    effects = answer(match, step, who, message)

    assert (match.phase, said(effects)) == CHANGES.get((phase, step), (phase, []))


@rule("R-MATCH-12")
@pytest.mark.parametrize("phase", list(Phase)[:-1])
def test_what_changed_nothing_left_no_trace(phase):
    """Strays of every other step come first; then the match goes on as if they had not."""
    match, untouched = REACHED[phase](), REACHED[phase]()
    (own,) = (step for reached, step in CHANGES if reached is phase)
    for step, (who, message) in STEPS.items():
        if step != own:
            assert answer(match, step, who, message) == []
            assert answer(match, step, who, NoAnswer("late")) == []
    assert calls(match.woken(0.0)) == []

    who, message = STEPS[own]
    assert calls(answer(match, own, who, message)) == calls(answer(untouched, own, who, message))


@rule("R-MATCH-12")
@pytest.mark.parametrize("phase", [Phase.JOINING, Phase.PLAYING, Phase.TELLING])
@pytest.mark.parametrize(
    "again",
    [JOINED, ChooseParityResponse("even"), None, NoAnswer("late"), NoConnection("gone")],
    ids=lambda said: type(said).__name__,
)
def test_the_second_answer_of_a_player_changes_nothing(phase, again):
    match, untouched = REACHED[phase](), REACHED[phase]()
    (step,) = (step for reached, step in CHANGES if reached is phase)

    assert answer(match, step, "P02", again) == []

    _, message = STEPS[step]
    assert answer(match, step, "P01", message) == answer(untouched, step, "P01", message)


@rule("R-MATCH-12")
def test_a_choice_cannot_be_taken_back():
    match, _ = playing()
    choose(match, "P01", "even")

    assert choose(match, "P01", "odd") == []

    assert only(choose(match, "P02", "odd"), LockRequest).moves[0] == (0, "P01", "even")


@rule("R-MATCH-12")
def test_a_move_out_of_turn_changes_nothing():
    match, asked = playing(THROWAWAY["nim"])
    assert said(asked) == [("GAME_MOVE_CALL", "P01")]

    assert move(match, "P02", 1, turn=0) == []
    assert move(match, "P01", 1, turn=1) == []  # nor one for a turn that is not there yet

    assert said(move(match, "P01", 1, turn=0)) == [("GAME_MOVE_CALL", "P02")]
    assert move(match, "P01", 2, turn=0) == []  # nor one for a turn that is over


@rule("R-MATCH-12")
@pytest.mark.parametrize("phase", [Phase.LOCKING, Phase.REPORTING])
def test_a_timer_that_rings_while_the_manager_is_asked_changes_nothing(phase):
    assert calls(REACHED[phase]().woken(5.0)) == []


@pytest.mark.parametrize(
    "error", [PeerRefused("no", data={}), MatchMismatch("no"), NoAnswer("late")]
)
def test_a_match_that_is_closed_stays_closed(error):
    match = closed()

    for step, (who, _) in STEPS.items():
        assert answer(match, step, who, error) == []
    assert match.woken(0.0) == []
    assert match.phase is Phase.CLOSED


@rule("R-MATCH-13")
def test_each_phase_has_its_name_in_the_documents():
    assert [STATE[phase] for phase in Phase] == [
        *["WAITING_FOR_PLAYERS"] * 2,
        "COLLECTING_CHOICES",
        "DRAWING_NUMBER",
        *["FINISHED"] * 3,
    ]


def test_the_move_of_another_message_type_is_no_move():
    match, _ = playing()

    effects = answer(match, "move", "P01", JOINED)

    assert said(effects) == [("GAME_ERROR", "P01")]


def test_a_move_may_come_as_any_move_message():
    match, _ = playing()

    assert answer(match, "move", "P01", GameMoveResponse("even")) == []
