"""Players who fail: what the league is told of them, what they are told, and who is waited for."""

import json

import pytest
from msgspec.structs import replace

from agentleague.errors import (
    CLOSED,
    UNREACHABLE,
    MissingField,
    NoAnswer,
    NoConnection,
    PeerRefused,
    RateLimited,
    WrongType,
)
from agentleague.match.machine import GameOverCall, Phase
from agentleague.match.transcript import MatchLimits
from agentleague.protocol import codec
from agentleague.protocol.messages import GameError, GameJoinAck, GameOver, LockRequest
from agentleague.roles.effects import Drop
from games.throwaway import CLUMSY, THROWAWAY
from league.decisions import Decisions
from match.ann_and_bob import (
    JOINED,
    RULES,
    SEATS,
    answer,
    calls,
    choose,
    decided,
    join,
    joining,
    locking,
    move,
    only,
    playing,
    said,
)
from match.virtual_match import SILENCE, Stage
from rules import rule

LATE = NoAnswer("the time ran out")
GONE = NoConnection("refused", kind=UNREACHABLE)
LOST = NoConnection("lost", kind=CLOSED)
TIMEOUT = "failed to respond within timeout"
CUT_OFF = "closed the connection before it had answered"
NO_HTTP, HTTP_503 = "gave no usable HTTP answer", "answered with HTTP 503"
LIMITED = "answered with a rate limit"
UNREACHED = "could not be reached"
UNUSABLE = "gave no usable answer"


@rule("R-MATCH-07")
def test_a_player_that_does_not_join_loses_and_nobody_is_asked_for_a_move():
    match = joining()
    join(match, "P01")

    effects = answer(match, "join", "P02", LATE, now=5.0)

    assert said(effects) == [("GAME_ERROR", "P02"), ("LOCK_REQUEST", "league_manager")]
    lock = only(effects, LockRequest)
    assert (lock.moves, lock.forfeits) == ([], [("P02", TIMEOUT)])
    result = Decisions(2).start().lock(lock.moves, lock.forfeits).answer.result.game_result
    assert result.reason == f"P02 {TIMEOUT} - P01 wins by default"


@rule("R-MATCH-07")
def test_a_player_that_declines_loses_without_being_told_of_an_error():
    match = joining()

    assert answer(match, "join", "P01", GameJoinAck(accept=False)) == []
    effects = join(match, "P02")

    assert said(effects) == [("LOCK_REQUEST", "league_manager")]
    assert only(effects, LockRequest).forfeits == [("P01", "declined the invitation")]


@rule("R-MATCH-07")
@pytest.mark.parametrize("step", ["join", "move"])
def test_the_other_player_is_still_awaited(step):
    match = joining() if step == "join" else playing()[0]

    effects = answer(match, step, "P01", LOST)

    assert said(effects) == [("GAME_ERROR", "P01")]
    assert match.phase is {"join": Phase.JOINING, "move": Phase.PLAYING}[step]


@rule("R-MATCH-22")
@pytest.mark.parametrize(
    ("ann", "bob", "suspended", "forfeits"),
    [
        (GONE, GONE, False, [("P01", UNREACHABLE), ("P02", UNREACHABLE)]),
        (GONE, GONE, True, [("P01", UNREACHED), ("P02", UNREACHED)]),  # Bob was known to be away
        # Ann was reached, though she said nothing, closed the connection, or answered HTML
        (LATE, GONE, False, [("P01", TIMEOUT), ("P02", UNREACHED)]),
        (LOST, GONE, False, [("P01", CUT_OFF), ("P02", UNREACHED)]),
        (NoConnection("HTML"), GONE, False, [("P01", NO_HTTP), ("P02", UNREACHED)]),
        (NoConnection("503", status=503), GONE, False, [("P01", HTTP_503), ("P02", UNREACHED)]),
        (NoConnection("HTML", status=200), GONE, False, [("P01", UNUSABLE), ("P02", UNREACHED)]),
        (RateLimited("429"), GONE, False, [("P01", LIMITED), ("P02", UNREACHED)]),
        (
            GameJoinAck(accept=False),
            GONE,
            False,
            [("P01", "declined the invitation"), ("P02", UNREACHED)],
        ),
    ],
)
def test_if_neither_could_be_reached_the_league_is_told_so_and_nobody_else(
    ann, bob, suspended, forfeits
):
    match = joining(seats=[SEATS[0], replace(SEATS[1], suspended=suspended)])
    answer(match, "join", "P01", ann, now=5.0)

    effects = answer(match, "join", "P02", bob, now=5.0)

    assert only(effects, LockRequest).forfeits == forfeits
    assert ("GAME_ERROR", "P02") not in said(effects)


@rule("R-MATCH-22")
def test_who_was_reached_in_an_earlier_phase_lost_by_itself_and_is_told_so():
    match, _ = playing()
    match.woken(5.0)
    answer(match, "move", "P01", GONE, now=30.0)

    effects = answer(match, "move", "P02", GONE, now=30.0)

    assert only(effects, GameError).consequence == "Technical loss"
    assert only(effects, LockRequest).forfeits == [("P01", UNREACHED), ("P02", UNREACHED)]


@rule("R-MATCH-15", "R-MATCH-22")
def test_a_match_whose_players_were_not_reached_is_given_back_and_its_report_is_not_sent():
    stage = Stage({"join": [GONE] * 4}, {"join": [GONE] * 4}).run()

    assert stage.log[-1] == (6.0, "LOCK_REQUEST", "league_manager")
    assert "Technical loss" not in [error.consequence for error in stage.told(GameError)]
    assert stage.is_closed
    assert stage.result is None


@rule("R-MATCH-07")
def test_a_player_that_fails_in_a_later_turn_loses_with_the_earlier_moves_on_record():
    match, _ = playing(THROWAWAY["nim"])
    move(match, "P01", 3, turn=0)

    for attempt in (1, 2, 3):  # only 2 are left
        effects = move(match, "P02", 3, turn=1, attempt=attempt)
        if attempt < 3:
            effects = answer(match, "error", "P02", None, turn=1, attempt=attempt)

    lock = only(effects, LockRequest)
    assert (lock.moves, lock.forfeits) == ([(0, "P01", 3)], [("P02", "made an illegal move")])
    verdict = Decisions(2, game=THROWAWAY["nim"]).start().lock(lock.moves, lock.forfeits)
    assert verdict.answer.result.winner == "P01"


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (
            "x" * (MatchLimits.move_bytes - 2),
            "Choice must be 'even' or 'odd'",
        ),  # 1,024 bytes of JSON
        ("x" * (MatchLimits.move_bytes - 1), "a move is at most 1024 bytes long"),
        ("é" * (MatchLimits.move_bytes // 2), "a move is at most 1024 bytes long"),
        (["x"] * 300, "a move is at most 1024 bytes long"),
    ],
)
@rule("R-MATCH-11")
def test_a_move_is_at_most_1_kb_of_json(text, code):
    match, _ = playing()

    effects = choose(match, "P01", text)

    error = only(effects, GameError)
    assert error.error_message.startswith(code)
    assert len(error.context["invalid_choice"]) <= 100


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
    arguments = {"game": THROWAWAY[game]} if game else {}
    match = joining(**arguments) if step == "join" else playing(**arguments)[0]

    (call,) = calls(answer(match, step, "P02", LOST, now=3.0))

    assert (call.message.action_required, call.message.game_state) == (action, state)
    assert (call.to.agent_id, call.until) == ("P02", 7.0)


@rule("R-MATCH-08", "R-MATCH-20")
@pytest.mark.parametrize(("game", "legal"), [("race", [1, 2]), ("dice", None)])
def test_in_other_games_an_illegal_move_is_answered_with_the_legal_ones(game, legal):
    match, _ = playing(THROWAWAY[game])

    error = only(move(match, "P01", 9, turn=0), GameError)

    assert error.context == {"invalid_move": 9, "legal_moves": legal}


@rule("R-MATCH-08")
def test_the_context_of_an_error_is_told_so_far_as_it_is_plain():
    match = joining()
    failure = WrongType("x" * 600, field="accept", size=3, share=0.5, data={"a": 1}, known=["b"])

    error = only(answer(match, "join", "P01", failure), GameError)

    assert error.context == {"field": "accept", "size": 3, "share": 0.5}
    assert error.error_message == "x" * 500


@rule("R-MATCH-10")
@pytest.mark.parametrize(
    ("failures", "awaited"),
    [
        ({"P01": LATE}, ["P02"]),
        ({"P02": GONE}, ["P01"]),
        ({"P01": LATE, "P02": LATE}, []),
        ({"P01": GameJoinAck(accept=False)}, ["P01", "P02"]),  # it answered, so it will again
        ({"P01": MissingField("no content")}, ["P01", "P02"]),
        ({"P01": PeerRefused("an error", data={})}, ["P01", "P02"]),
    ],
)
def test_game_over_goes_to_both_and_is_awaited_from_those_who_were_not_silent(failures, awaited):
    match = joining()
    for who in ("P01", "P02"):
        answer(match, "join", who, failures.get(who, JOINED), now=4.9)
    match.woken(5.0)

    told = said(answer(match, "lock", "manager", decided(), now=6.0))

    assert told[:2] == [("GAME_OVER", "P01"), ("GAME_OVER", "P02")]
    following = told[2:]
    for who in reversed(awaited):
        assert following == []
        assert who in match.waiting_for()
        following = said(answer(match, "over", who, None, now=6.0))
    assert following == [("MATCH_RESULT_REPORT", "league_manager")]


@rule("R-MATCH-10")
@pytest.mark.parametrize("said_to_it", [None, LATE, GONE, WrongType("what?")])
def test_whatever_becomes_of_game_over_the_report_follows(said_to_it):
    match = locking()
    answer(match, "lock", "manager", decided())

    assert answer(match, "over", "P01", said_to_it) == []
    effects = answer(match, "over", "P02", said_to_it)

    assert said(effects) == [("MATCH_RESULT_REPORT", "league_manager")]


@rule("R-MATCH-10")
def test_the_plainest_game_over_has_the_documents_fields_alone_and_no_null():
    match = joining()
    answer(match, "join", "P01", GameJoinAck(accept=False))
    lock = only(join(match, "P02"), LockRequest)
    ruling = Decisions(2).start().lock(lock.moves, lock.forfeits).answer
    answer(match, "lock", "manager", ruling)

    (call,) = calls(answer(match, "over", "P01", PeerRefused("null?", data={}), now=1.0))

    assert isinstance(call.message, GameOver)
    assert (call.key, call.until) == (GameOverCall("R1M1", 0, 0, 2), 5.0)
    assert json.loads(codec.write_request(call.message, 7))["params"] == {
        "protocol": "league.v2",
        "message_type": "GAME_OVER",
        "sender": "referee:REF01",
        "timestamp": "1970-01-01T00:00:01Z",
        "conversation_id": "conv-r1m1-001",
        "auth_token": "mtok_ann",
        "match_id": "R1M1",
        "game_type": "even_odd",
        "game_result": {
            "status": "TECHNICAL_LOSS",
            "winner_player_id": "P02",
            "choices": {},
            "reason": "P01 declined the invitation - P02 wins by default",
        },
    }


@rule("R-MATCH-10")
def test_the_plainest_game_over_is_sent_once_and_also_to_one_nobody_waits_for():
    match = joining()
    answer(match, "join", "P01", LATE, now=5.0)
    join(match, "P02", now=5.0)
    answer(match, "lock", "manager", decided(), now=6.0)
    answer(match, "over", "P02", None, now=6.0)
    assert match.phase is Phase.REPORTING

    refused = PeerRefused("what?", data={})
    assert said(answer(match, "over", "P01", refused, now=7.0)) == [("GAME_OVER", "P01")]
    assert answer(match, "over", "P01", refused, now=8.0, attempt=2) == []


def test_a_silent_player_is_still_told_when_the_match_is_closed_before_it_answers():
    stage = Stage({"join": [SILENCE], "over": [SILENCE]}, {}, rules=RULES).run(until=5.0)

    assert stage.is_closed
    assert stage.heard("P01")[-1] == (5, "GAME_OVER")
    assert Drop(GameOverCall("R1M1", 0, 0, 1)) not in stage.effects


def test_the_last_game_error_still_goes_out_when_the_phase_ends():
    match = joining()
    join(match, "P01")

    effects = answer(match, "join", "P02", LATE, now=5.0)

    assert said(effects)[0] == ("GAME_ERROR", "P02")
    assert [effect for effect in effects if isinstance(effect, Drop)] == []


@rule("R-MATCH-07")
def test_a_move_that_the_game_trips_over_is_its_players_fault():
    match, _ = playing(CLUMSY)

    effects = move(match, "P01", 5, turn=0)

    assert only(effects, GameError).error_code == "E004"
    assert "stumbled over the move (AttributeError)" in only(effects, GameError).error_message
