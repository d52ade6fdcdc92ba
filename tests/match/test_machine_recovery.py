"""A match that another referee began, that went to another, or that the league knows better."""

from types import SimpleNamespace

import pytest
from msgspec import UNSET, to_builtins
from msgspec.structs import replace

from agentleague.errors import NoAnswer, NoConnection, PeerRefused, RateLimited
from agentleague.match.game_progress import GameProgress
from agentleague.match.machine import MoveCall, Phase
from agentleague.protocol.messages import (
    Draw,
    GameJoinAck,
    GameMoveCall,
    LockRequest,
    LockResponse,
    MatchResultAck,
    MatchResultReport,
    Receipt,
)
from agentleague.roles.effects import Drop, WakeAt
from games.throwaway import THROWAWAY
from match.ann_and_bob import (
    CLOCK,
    RULES,
    SEATS,
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
)
from rules import rule

DICE = THROWAWAY["dice"]
FIRST = [(0, "P01", 1), (0, "P02", 6)]
LONG_DICE = SimpleNamespace(**{**vars(DICE), "outcome": lambda state: None})
LONG_DICE.to_move = lambda state: LONG_DICE.seats  # It goes on for ever.
DRAW, RECEIPT = Draw("commitment", "seed", []), Receipt(7, "hash")


def refusal(**data):
    return PeerRefused("not yours any more", number=5002, code="E015", data={"epoch": 2, **data})


def locked_by(match, index, moves, value, attempt=1):
    response = LockResponse("R1M1", index, value, moves)
    return answer(match, "lock", "manager", response, turn=index, attempt=attempt)


@rule("R-MATCH-27")
def test_a_match_with_locks_is_learnt_from_the_manager_before_anybody_is_invited():
    match = match_of(DICE, epoch=2, locks=1)

    lock = only(match.start(0.0), LockRequest)
    assert (lock.index, lock.moves, lock.forfeits, lock.epoch) == (0, [], [], 2)
    assert match.phase is Phase.RECOVERING
    assert match.waiting_for() == ["league_manager"]

    effects = locked_by(match, 0, FIRST, 3)
    assert said(effects) == [("GAME_INVITATION", "P01"), ("GAME_INVITATION", "P02")]
    join(match, "P01", turn=1)
    effects = join(match, "P02", turn=1)

    asked = [call.message for call in calls(effects)]
    assert [(type(each), each.turn, each.position) for each in asked] == [
        (GameMoveCall, 1, {"rolled": [3]})
    ] * 2
    move(match, "P01", 2, turn=1)
    lock = only(move(match, "P02", 5, turn=1), LockRequest)
    assert (lock.index, lock.moves) == (1, [*FIRST, (1, "P01", 2), (1, "P02", 5)])


@rule("R-MATCH-27")
def test_every_lock_is_fetched_one_after_the_other():
    match = match_of(LONG_DICE, epoch=2, locks=2)
    second = [*FIRST, (1, "P01", 2), (1, "P02", 5)]

    match.start(0.0)
    lock = only(locked_by(match, 0, FIRST, 3), LockRequest)
    assert (lock.index, lock.moves) == (1, [])
    effects = locked_by(match, 1, second, 4)

    assert said(effects) == [("GAME_INVITATION", "P01"), ("GAME_INVITATION", "P02")]
    assert match.turn == 2


@rule("R-MATCH-27")
def test_the_manager_is_waited_for_in_recovery_too():
    match = match_of(DICE, epoch=2, locks=1)
    match.start(0.0)

    assert answer(match, "lock", "manager", NoAnswer("away"), now=9.0) == [WakeAt(CLOCK, 10.0)]
    assert only(match.woken(10.0), LockRequest).index == 0
    # What cannot be played is no answer.
    assert calls(locked_by(match, 0, [(0, "P01", 1)], 3, attempt=2)) == []
    assert match.phase is Phase.RECOVERING


@rule("R-MATCH-27")
@pytest.mark.parametrize(("locks", "index"), [({}, 0), ({"locks": 0}, 0), ({"locks": 2}, 2)])
def test_a_match_that_is_decided_is_only_told_and_reported(locks, index):
    match = match_of(epoch=3, decided=True, **locks)

    lock = only(match.start(0.0), LockRequest)
    assert (lock.index, lock.moves) == (index, [])
    effects = answer(match, "lock", "manager", replace(decided(), index=index))

    assert said(effects) == [("GAME_OVER", "P01"), ("GAME_OVER", "P02")]
    answer(match, "over", "P01", None)
    report = only(answer(match, "over", "P02", None), MatchResultReport)
    assert (report.epoch, report.transcript) == (3, [])
    assert report.silences == {"P01": (0, False), "P02": (0, False)}


def test_a_first_assignment_begins_with_the_invitations():
    assert said(match_of(locks=0, decided=False).start(0.0)) == [
        ("GAME_INVITATION", "P01"),
        ("GAME_INVITATION", "P02"),
    ]


@rule("R-MATCH-28")
def test_the_moves_that_the_league_holds_replace_ours():
    match, _ = playing(DICE)
    move(match, "P01", 2, turn=0)
    move(match, "P02", 2, turn=0)

    effects = locked_by(match, 0, FIRST, 4)
    assert [call.message.position for call in calls(effects)] == [{"rolled": [4]}] * 2
    move(match, "P01", 3, turn=1)
    lock = only(move(match, "P02", 3, turn=1), LockRequest)

    assert lock.moves == [*FIRST, (1, "P01", 3), (1, "P02", 3)]


@rule("R-MATCH-28")
def test_a_lock_of_an_earlier_time_undoes_the_failure_that_came_after_it():
    match, _ = playing(DICE)
    move(match, "P01", 2, turn=0)
    answer(match, "move", "P02", NoConnection("gone"))
    assert match.phase is Phase.LOCKING

    effects = locked_by(match, 0, FIRST, 4)

    assert said(effects) == [("GAME_MOVE_CALL", "P01"), ("GAME_MOVE_CALL", "P02")]
    move(match, "P01", 3, turn=1)
    assert only(move(match, "P02", 3, turn=1), LockRequest).forfeits == []


@pytest.mark.parametrize(
    ("moves", "numbers"),
    [
        ([], 1),  # a number, and nobody has moved
        ([(0, "P01", 1)], 1),  # one of two
        ([*FIRST, (1, "P01", 1)], 1),  # more than the number is for
        ([*FIRST, (1, "P01", 1), (1, "P02", 1)], 2),  # the game is over: no number then
    ],
)
def test_moves_that_do_not_lead_there_are_not_adopted(moves, numbers):
    progress = GameProgress(DICE, {}, ["P01", "P02"])
    for _ in range(numbers - 1):
        assert progress.adopt(FIRST, 3)
    before = (progress.state, progress.turn, list(progress.moves), list(progress.numbers))

    assert not progress.adopt(moves, 3)
    assert (progress.state, progress.turn, progress.moves, progress.numbers) == before


@rule("R-MATCH-15")
@pytest.mark.parametrize("told", [{}, {"draw": DRAW}, {"draw": DRAW, "receipt": RECEIPT}])
def test_when_the_match_went_on_without_us_those_we_invited_are_told_how_it_ended(told):
    match = locking()
    data = {"result": to_builtins(decided().result), **to_builtins(told)}

    effects = answer(match, "lock", "manager", refusal(**data))

    assert said(effects) == [("GAME_OVER", "P01"), ("GAME_OVER", "P02")]
    overs = [call.message for call in calls(effects)]
    assert [over.game_result for over in overs] == [decided().result.game_result] * 2
    shown = (told.get("draw", UNSET), told.get("receipt", UNSET))
    assert [(over.draw, over.receipt) for over in overs] == [shown] * 2
    assert answer(match, "over", "P01", None) == []
    assert answer(match, "over", "P02", None) == [Drop(CLOCK)]  # and nothing is reported
    assert match.phase is Phase.CLOSED


@rule("R-MATCH-15")
@pytest.mark.parametrize(
    "data", [{}, {"result": None}, {"result": {"winner": 3}}, {"draw": to_builtins(DRAW)}]
)
def test_without_a_result_that_can_be_read_nobody_is_told_anything(data):
    match = locking()

    assert answer(match, "lock", "manager", refusal(**data)) == [Drop(CLOCK)]
    assert match.phase is Phase.CLOSED


@rule("R-MATCH-15")
def test_a_player_that_was_told_already_is_not_told_again():
    match = reporting()

    effects = answer(match, "report", "manager", refusal(result=to_builtins(decided().result)))

    assert said(effects) == []
    assert match.phase is Phase.CLOSED


@rule("R-MATCH-15")
def test_nobody_who_was_not_invited_is_told_anything():
    match = match_of(DICE, epoch=2, locks=1)
    match.start(0.0)

    effects = answer(match, "lock", "manager", refusal(result=to_builtins(decided().result)))

    assert effects == []
    assert match.phase is Phase.CLOSED


@rule("R-MATCH-29")
@pytest.mark.parametrize("number", [4005, -32603, -32000, None])
def test_in_a_later_epoch_a_readable_refusal_of_the_invitation_is_a_join(number):
    match = match_of(epoch=2)
    match.start(0.0)
    refused = PeerRefused("already in this match", number=number, code=None, data={})

    assert answer(match, "join", "P01", refused) == []
    effects = join(match, "P02")

    assert said(effects) == [("CHOOSE_PARITY_CALL", "P01"), ("CHOOSE_PARITY_CALL", "P02")]


@rule("R-MATCH-29")
@pytest.mark.parametrize(
    ("epoch", "said_to_it"),
    [
        (1, PeerRefused("already in this match", number=4005, code=None, data={})),
        *[(2, PeerRefused("what?", number=n, data={})) for n in (-32600, -32601, -32602)],
        (2, NoAnswer("late")),
        (2, NoConnection("gone")),
        (2, RateLimited("429")),
        (2, GameJoinAck(accept=False)),
        (2, None),
    ],
)
def test_nothing_else_is(epoch, said_to_it):
    match = match_of(epoch=epoch)
    match.start(0.0)
    join(match, "P02")

    effects = answer(match, "join", "P01", said_to_it) + match.woken(5.0)

    assert [who for who, _ in only(effects, LockRequest).forfeits] == ["P01"]


@rule("R-MATCH-29")
def test_a_refused_call_for_a_move_is_no_move_in_any_epoch():
    match, _ = playing(epoch=2)

    assert answer(match, "move", "P01", PeerRefused("no", number=4005, data={})) == []
    assert match.waiting_for() == ["P01", "P02"]


@rule("R-MATCH-30")
def test_a_player_that_came_back_elsewhere_is_called_there_from_the_next_attempt_on():
    match = match_of(rules=replace(RULES, retries=1))
    match.start(0.0)
    join(match, "P01")
    join(match, "P02")
    moved = replace(
        SEATS[0], endpoint="http://127.0.0.1:9/mcp", match_token="mtok_new", push_token="mtok_back"
    )
    answer(match, "move", "P01", NoConnection("gone"), now=1.0)

    match.reseat([moved, SEATS[1]])
    (call,) = calls(match.woken(3.0))

    assert (call.to.url, call.message.auth_token) == ("http://127.0.0.1:9/mcp", "mtok_new")
    choose(match, "P01", "even", attempt=2, now=3.0)
    choose(match, "P02", "odd", now=3.0)
    overs = calls(answer(match, "lock", "manager", decided(), now=3.0))
    assert [over.to.url for over in overs] == [moved.endpoint, SEATS[1].endpoint]


def test_an_abandoned_match_drops_what_it_waits_for_and_says_nothing():
    match, _ = playing()
    choose(match, "P01", "even")

    assert match.abandon() == [Drop(MoveCall("R1M1", 1, 0, 1)), Drop(CLOCK)]
    assert choose(match, "P02", "odd") == []
    assert match.woken(30.0) == []


def test_a_match_says_whom_it_waits_for():
    match = match_of()
    match.start(0.0)
    waited = [match.waiting_for()]
    join(match, "P01")
    waited.append(match.waiting_for())
    join(match, "P02")
    waited.append(match.waiting_for())
    choose(match, "P01", "even")
    choose(match, "P02", "odd")
    waited.append(match.waiting_for())
    answer(match, "lock", "manager", decided())
    answer(match, "over", "P01", None)
    waited.append(match.waiting_for())
    answer(match, "over", "P02", None)
    waited.append(match.waiting_for())
    answer(match, "report", "manager", MatchResultAck())
    waited.append(match.waiting_for())

    manager = ["league_manager"]
    assert waited == [["P01", "P02"], ["P02"], ["P01", "P02"], manager, ["P02"], manager, []]
