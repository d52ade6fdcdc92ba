"""Players who fail: each loses, the other wins; when both fail, both lose."""

import pytest

from agentleague.errors import (
    MissingField,
    NoAnswer,
    NoConnection,
    PeerRefused,
    RateLimited,
    WrongType,
)
from agentleague.match.machine import MOVE_BYTES_MAX, Phase
from agentleague.protocol.messages import (
    ChooseParityResponse,
    GameError,
    GameJoinAck,
    LockRequest,
    RetryInfo,
)
from games.throwaway import CLUMSY, THROWAWAY
from league.office import LEAGUE_ID, Office
from match.arena import (
    JOINED,
    answer,
    choose,
    decided,
    join,
    match_of,
    move,
    only,
    playing,
    said,
)
from rules import rule

LATE = NoAnswer("the time ran out")
TIMEOUT = "failed to respond within timeout"
UNREACHED = "could not be reached, or gave no usable HTTP answer"
UNUSABLE = "gave no usable answer"
FAILURES = [
    # what became of the call, the cause the league is told, the code the player is told
    (LATE, TIMEOUT, "E001"),
    (None, TIMEOUT, "E001"),  # neither an answer nor an error
    (NoConnection("refused"), UNREACHED, "E009"),
    (RateLimited("too many"), UNREACHED, "E047"),
    (PeerRefused("the peer answered with error -32603", data={}), UNUSABLE, "E003"),
    (MissingField("GAME_JOIN_ACK: missing field 'accept'", field="accept"), UNUSABLE, "E003"),
    (WrongType("GAME_JOIN_ACK.accept: expected `bool`"), UNUSABLE, "E003"),
]


def judged(effects):
    """What the league makes of the lock among the effects."""
    lock = only(effects, LockRequest)
    result = Office(2).start().lock(lock.moves, lock.forfeits).answer.result
    return result.game_result


@rule("R-MATCH-07", "R-MATCH-08")
@pytest.mark.parametrize(("outcome", "cause", "code"), FAILURES)
def test_who_does_not_join_loses_and_nobody_is_asked_for_a_move(outcome, cause, code):
    match = match_of()
    match.start(0.0)
    join(match, "P01")

    effects = answer(match, "join", "P02", outcome, now=5.0)

    assert said(effects) == [("GAME_ERROR", "P02"), ("LOCK_REQUEST", "league_manager")]
    assert only(effects, GameError).error_code == code
    assert only(effects, LockRequest).forfeits == [("P02", cause)]
    assert only(effects, LockRequest).moves == []
    assert judged(effects).status == "TECHNICAL_LOSS"
    assert judged(effects).winner_player_id == "P01"
    assert judged(effects).reason == f"P02 {cause} - P01 wins by default"


@rule("R-MATCH-07", "R-MATCH-08")
@pytest.mark.parametrize(
    ("outcome", "cause", "code"),
    [
        *FAILURES,
        (ChooseParityResponse("Even"), "made an illegal move", "E004"),
        (ChooseParityResponse(None), "made an illegal move", "E004"),
        (ChooseParityResponse("x" * MOVE_BYTES_MAX), "made an illegal move", "E004"),
        (ChooseParityResponse("even", match_id="R1M2"), UNUSABLE, "E015"),  # of another match
        (GameJoinAck("R1M1"), "made an illegal move", "E004"),  # no move at all
    ],
)
def test_who_makes_no_legal_move_loses(outcome, cause, code):
    match, _ = playing()
    choose(match, "P02", "odd")

    effects = answer(match, "move", "P01", outcome, now=9.0)

    assert said(effects) == [("GAME_ERROR", "P01"), ("LOCK_REQUEST", "league_manager")]
    assert only(effects, GameError).error_code == code
    assert only(effects, LockRequest).forfeits == [("P01", cause)]
    assert only(effects, LockRequest).moves == [(0, "P02", "odd")]
    assert judged(effects).winner_player_id == "P02"
    assert judged(effects).choices == {"P01": None, "P02": "odd"}


@rule("R-MATCH-07")
def test_who_declines_loses_without_being_told_of_an_error():
    match = match_of()
    match.start(0.0)

    assert answer(match, "join", "P01", GameJoinAck(accept=False)) == []
    effects = join(match, "P02")

    assert said(effects) == [("LOCK_REQUEST", "league_manager")]
    assert only(effects, LockRequest).forfeits == [("P01", "declined the invitation")]


@rule("R-MATCH-07")
@pytest.mark.parametrize("step", ["join", "move"])
def test_the_other_player_is_still_awaited(step):
    match = match_of()
    match.start(0.0)
    if step == "move":
        match, _ = playing()

    effects = answer(match, step, "P01", LATE)

    assert said(effects) == [("GAME_ERROR", "P01")]
    assert match.phase is {"join": Phase.JOINING, "move": Phase.PLAYING}[step]


@rule("R-MATCH-07")
@pytest.mark.parametrize("step", ["join", "move"])
def test_when_both_fail_both_lose(step):
    match, _ = playing()
    if step == "join":
        match = match_of()
        match.start(0.0)

    answer(match, step, "P02", NoConnection("refused"))
    effects = answer(match, step, "P01", LATE)

    assert only(effects, LockRequest).forfeits == [("P01", TIMEOUT), ("P02", UNREACHED)]
    assert judged(effects).winner_player_id is None
    assert judged(effects).status == "TECHNICAL_LOSS"
    assert judged(effects).reason == f"P01 {TIMEOUT}, P02 {UNREACHED} - nobody wins"


@rule("R-MATCH-07")
def test_who_fails_in_a_later_turn_loses_with_the_earlier_moves_on_record():
    match, _ = playing(THROWAWAY["nim"])
    move(match, "P01", 3, turn=0)

    effects = move(match, "P02", 3, turn=1)  # only 2 are left

    lock = only(effects, LockRequest)
    assert (lock.moves, lock.forfeits) == ([(0, "P01", 3)], [("P02", "made an illegal move")])
    verdict = Office(2, game=THROWAWAY["nim"]).start().lock(lock.moves, lock.forfeits)
    assert verdict.answer.result.winner == "P01"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("x" * (MOVE_BYTES_MAX - 2), "Choice must be 'even' or 'odd'"),  # 1,024 bytes of JSON
        ("x" * (MOVE_BYTES_MAX - 1), "a move is at most 1024 bytes long"),
        ("é" * (MOVE_BYTES_MAX // 2), "a move is at most 1024 bytes long"),
        (["x"] * 300, "a move is at most 1024 bytes long"),
    ],
)
@rule("R-MATCH-11")
def test_a_move_is_at_most_1_kb_of_json(text, code):
    match, _ = playing()

    effects = choose(match, "P01", text)

    assert only(effects, GameError).error_message.startswith(code)


@rule("R-MATCH-08")
def test_the_player_is_told_everything_about_its_failure():
    match, _ = playing()

    (call,) = answer(match, "move", "P01", LATE, now=30.0)

    assert (call.key, call.to.agent_id, call.until) == (("R1M1", "error", 0, 0), "P01", 34.0)
    assert call.message == GameError(
        protocol="league.v2",
        sender="referee:REF01",
        timestamp="1970-01-01T00:00:30Z",
        conversation_id="conv-r1m1-001",
        auth_token="mtok_ann",
        league_id=LEAGUE_ID,
        round_id=1,
        match_id="R1M1",
        player_id="P01",
        epoch=1,
        referee_endpoint="http://127.0.0.1:8001/mcp",
        error_code="E001",
        error_name="TIMEOUT_ERROR",
        error_description="TIMEOUT_ERROR",
        error_message="the time ran out",
        affected_player="P01",
        action_required="CHOOSE_PARITY_RESPONSE",
        game_state="COLLECTING_CHOICES",
        retryable=False,
        retry_count=0,
        max_retries=0,
        time_remaining=None,
        retry_info=RetryInfo(0, 0, None, None),
        context={},
        consequence="Technical loss",
    )


@rule("R-MATCH-08")
@pytest.mark.parametrize(
    ("step", "game", "action", "state"),
    [
        ("join", None, "GAME_JOIN_ACK", "WAITING_FOR_PLAYERS"),
        ("move", None, "CHOOSE_PARITY_RESPONSE", "COLLECTING_CHOICES"),
        ("move", "race", "GAME_MOVE_RESPONSE", "COLLECTING_CHOICES"),
    ],
)
def test_the_player_is_told_what_was_wanted_and_when(step, game, action, state):
    arguments = [THROWAWAY[game]] if game else []
    match, _ = playing(*arguments)
    if step == "join":
        match = match_of(*arguments)
        match.start(0.0)

    error = only(answer(match, step, "P02", LATE), GameError)

    assert (error.action_required, error.game_state) == (action, state)


@rule("R-MATCH-08")
def test_the_context_of_an_error_is_told_so_far_as_it_is_plain():
    match, _ = playing()
    failure = WrongType("x" * 600, field="accept", size=3, share=0.5, data={"a": 1}, known=["b"])

    error = only(answer(match, "move", "P01", failure), GameError)

    assert error.context == {"field": "accept", "size": 3, "share": 0.5}
    assert error.error_message == "x" * 500


@rule("R-MATCH-10")
@pytest.mark.parametrize(
    ("failures", "awaited"),
    [
        ({"P01": LATE}, ["P02"]),
        ({"P02": NoConnection("refused")}, ["P01"]),
        ({"P01": LATE, "P02": LATE}, []),
        ({"P01": GameJoinAck(accept=False)}, ["P01", "P02"]),  # it answered, so it will again
        ({"P01": MissingField("no content")}, ["P01", "P02"]),
        ({"P01": PeerRefused("an error", data={})}, ["P01", "P02"]),
    ],
)
def test_game_over_goes_to_both_and_is_awaited_from_those_who_were_not_silent(failures, awaited):
    match = match_of()
    match.start(0.0)
    for who in ("P01", "P02"):
        answer(match, "join", who, failures.get(who, JOINED))

    told = said(answer(match, "lock", "manager", decided()))

    assert told[:2] == [("GAME_OVER", "P01"), ("GAME_OVER", "P02")]
    following = told[2:]
    for who in reversed(awaited):
        assert following == []
        following = said(answer(match, "over", who, None))
    assert following == [("MATCH_RESULT_REPORT", "league_manager")]


@rule("R-MATCH-10")
@pytest.mark.parametrize("said_to_it", [None, LATE, NoConnection("gone"), WrongType("what?")])
def test_whatever_becomes_of_game_over_the_report_follows(said_to_it):
    match, _ = playing()
    choose(match, "P01", "even")
    choose(match, "P02", "odd")
    answer(match, "lock", "manager", decided())

    assert answer(match, "over", "P01", said_to_it) == []
    effects = answer(match, "over", "P02", said_to_it)

    assert said(effects) == [("MATCH_RESULT_REPORT", "league_manager")]


@rule("R-MATCH-07")
def test_a_move_that_the_game_trips_over_is_its_players_fault():
    match, _ = playing(CLUMSY)

    effects = move(match, "P01", 5, turn=0)

    assert only(effects, GameError).error_code == "E004"
    assert "stumbled over the move (AttributeError)" in only(effects, GameError).error_message
    assert only(effects, LockRequest).forfeits == [("P01", "made an illegal move")]
