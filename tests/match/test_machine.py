"""Every phase of a match and everything that can reach it: a listed transition, or nothing."""

import pytest
from msgspec import to_builtins

from agentleague.errors import MatchMismatch, NoAnswer, NoConnection, PeerRefused, WrongType
from agentleague.match.machine import STATE, Abandon, Clock, Match, Phase, Start
from agentleague.protocol.messages import (
    ChooseParityResponse,
    GameJoinAck,
    GameMoveResponse,
    LockRequest,
    LockResponse,
    MatchResultAck,
)
from agentleague.roles.stimuli import Caller
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
from match.virtual_match import EVEN, SILENCE, Stage
from rules import rule


class ObservedMatch(Match):
    """A match that notes each change of its phase and what led to it."""

    def __init__(self, *arguments):
        super().__init__(*arguments)
        self.taken = set()

    def start(self, now):
        return self._observed(Start, lambda: super(ObservedMatch, self).start(now))

    def answered(self, answer, now):
        return self._observed(
            type(answer.key), lambda: super(ObservedMatch, self).answered(answer, now)
        )

    def woken(self, now):
        return self._observed(Clock, lambda: super(ObservedMatch, self).woken(now))

    def pushed(self, pusher, message, now):
        return self._observed(
            type(message), lambda: super(ObservedMatch, self).pushed(pusher, message, now)
        )

    def abandon(self):
        return self._observed(Abandon, lambda: super(ObservedMatch, self).abandon())

    def _observed(self, happened, step):
        before = self.phase
        effects = step()
        if self.phase is not before:
            self.taken.add((before, happened, self.phase))
        return effects


OBSERVED = {"kind": ObservedMatch}


def fresh():
    return match_of(**OBSERVED)


def recovering(**described):
    match = match_of(**(described or {"decided": True}), **OBSERVED)
    match.start(0.0)
    return match


def half_joined():
    match = fresh()
    match.start(0.0)
    join(match, "P02")
    return match


def half_moved():
    match, _ = playing(**OBSERVED)
    choose(match, "P02", "odd")
    return match


def half_told():
    match = telling(**OBSERVED)
    answer(match, "over", "P02", None)
    return match


def closed():
    match = reporting(**OBSERVED)
    answer(match, "report", "manager", MatchResultAck())
    return match


# In each phase the players' part is half done: only P01 is still awaited.
REACHED = {
    Phase.NEW: fresh,
    Phase.RECOVERING: recovering,
    Phase.JOINING: half_joined,
    Phase.PLAYING: half_moved,
    Phase.LOCKING: lambda: locking(**OBSERVED),
    Phase.TELLING: half_told,
    Phase.REPORTING: lambda: reporting(**OBSERVED),
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

ANN, NEARBY = Caller("127.0.0.1", "mtok_from_ann"), Caller("127.0.0.1")
DECLINED = GameJoinAck("R1M1", "P01", accept=False)
GONE = PeerRefused("not yours any more", data={})
DECIDED_ELSEWHERE = PeerRefused("not yours", data={"result": to_builtins(decided().result)})


def staged(ann=(), bob=(), **terms):
    return Stage(ann, bob, **terms, **OBSERVED).run().match


def ended_by(match, step, who, said, **names):
    answer(match, step, who, said, **names)
    return match


def timed_out(match, *times):
    for now in times:
        match.woken(now)
    return match


def abandoned(phase):
    match = REACHED[phase]()
    match.abandon()
    return match


def a_number_is_drawn():
    match, _ = playing(THROWAWAY["dice"], **OBSERVED)
    for who in ("P01", "P02"):
        move(match, who, 1, turn=0)
    return ended_by(match, "lock", "manager", LockResponse("R1M1", 0, 3))


def a_number_is_recovered():
    match = match_of(THROWAWAY["dice"], locks=1, **OBSERVED)
    match.start(0.0)
    moves = [(0, "P01", 1), (0, "P02", 1)]
    return ended_by(match, "lock", "manager", LockResponse("R1M1", 0, 3, moves))


def told_of_a_result_of_another_referee():
    match = ended_by(locking(**OBSERVED), "lock", "manager", DECIDED_ELSEWHERE)
    for who in ("P01", "P02"):
        answer(match, "over", who, None)
    return match


def runs():
    """Matches that take every listed transition, and no other."""
    yield staged()
    yield staged({"join": [DECLINED]})
    yield staged({"join": [WrongType("accept: a bool")], "error": [JOINED]})
    yield staged({"join": [WrongType("accept: a bool")], "error": [DECLINED]})
    yield staged({"join": [None]}, pushes=[(1.0, JOINED, ANN)])
    yield staged({"join": [None]}, pushes=[(1.0, DECLINED, ANN)])
    yield staged({"join": [SILENCE]}, pushes=[(1.0, GameJoinAck("R1M1", "P01"), NEARBY)])
    yield timed_out(half_joined(), 5.0)
    yield timed_out(half_moved(), 5.0, 30.0)
    yield staged({"move": [ChooseParityResponse("seven")], "error": [EVEN]})
    yield staged({"move": [None]}, pushes=[(1.0, EVEN, ANN)])
    yield staged({"move": [None]}, pushes=[(1.0, GameMoveResponse("even"), ANN)])
    yield staged({"move": [SILENCE] * 4}, {"move": [SILENCE] * 4})
    yield a_number_is_drawn()
    yield a_number_is_recovered()
    yield told_of_a_result_of_another_referee()
    yield ended_by(locking(**OBSERVED), "lock", "manager", GONE)
    yield ended_by(recovering(), "lock", "manager", decided())
    yield ended_by(recovering(), "lock", "manager", GONE)
    yield from map(abandoned, Phase)


@rule("R-MATCH-01")
def test_matches_take_exactly_the_transitions_that_the_table_lists():
    listed = {
        (before, happened, after)
        for (before, happened), transition in Match.TRANSITIONS.items()
        for after in transition.to
        if after is not before
    }

    assert set().union(*(match.taken for match in runs())) == listed


@rule("R-MATCH-01", "R-MATCH-12")
@pytest.mark.parametrize("phase", Phase)
def test_each_step_moves_one_phase_on_and_changes_nothing_in_any_other(phase):
    for step, (who, message) in STEPS.items():
        match = REACHED[phase]()
        assert match.phase is phase

        effects = answer(match, step, who, message)

        assert (match.phase, said(effects)) == CHANGES.get((phase, step), (phase, []))


@rule("R-MATCH-12")
@pytest.mark.parametrize("phase", list(Phase)[1:-1])
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
def test_the_second_answer_of_a_player_changes_nothing(phase):
    (step,) = (step for reached, step in CHANGES if reached is phase)
    _, message = STEPS[step]
    untouched = answer(REACHED[phase](), step, "P01", message)

    for again in (JOINED, EVEN, None, NoAnswer("late"), NoConnection("gone")):
        match = REACHED[phase]()
        assert answer(match, step, "P02", again) == []
        assert answer(match, step, "P01", message) == untouched


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
def test_a_timer_that_rings_while_the_manager_is_asked_changes_nothing():
    for phase in (Phase.LOCKING, Phase.REPORTING):
        assert calls(REACHED[phase]().woken(5.0)) == []


def test_a_match_that_is_closed_stays_closed():
    match = closed()

    for error in (PeerRefused("no", data={}), MatchMismatch("no"), NoAnswer("late")):
        for step, (who, _) in STEPS.items():
            assert answer(match, step, who, error) == []
    assert match.woken(0.0) == []
    assert match.phase is Phase.CLOSED


@rule("R-MATCH-13")
def test_each_phase_has_its_name_in_the_documents():
    assert [STATE[phase] for phase in Phase] == [
        *["WAITING_FOR_PLAYERS"] * 3,
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
