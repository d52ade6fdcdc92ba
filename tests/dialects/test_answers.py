"""What a peer answered to our own call, judged by its content."""

import json

import msgspec
import pytest
from msgspec import UNSET

from agentleague.dialects import answers
from agentleague.dialects.fields import PUSHED
from agentleague.errors import (
    LeagueError,
    MissingField,
    NoConnection,
    PeerRefused,
    RateLimited,
    WrongType,
)
from agentleague.protocol import codec, jsonrpc
from agentleague.protocol.messages import (
    WIRE_NAME,
    ChooseParityCall,
    ChooseParityResponse,
    GameError,
    GameInvitation,
    GameJoinAck,
    GameMoveCall,
    GameMoveResponse,
    GameOver,
    GameResult,
    LeagueCompleted,
    LeagueQuery,
    LeagueQueryResponse,
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    LeagueStandingsUpdate,
    LockRequest,
    LockResponse,
    MatchResultAck,
    MatchResultReport,
    PlayerMeta,
    RefereeMeta,
    RefereeRegisterRequest,
    ReportedResult,
    RoundAnnouncement,
    RoundCompleted,
)
from rules import rule
from tables import each_row

INVITE = GameInvitation(match_id="R1M1")
CALL = ChooseParityCall(match_id="R1M1")
MOVE = GameMoveCall(match_id="R1M1")
REGISTER = LeagueRegisterRequest(PlayerMeta("Quokka", "http://127.0.0.1:8177/mcp"))
LOCK = LockRequest(match_id="R1M1", epoch=1, index=0, moves=[])
REPORT = MatchResultReport("R1M1", ReportedResult("P01"))
CHOICE = {"message_type": "CHOOSE_PARITY_RESPONSE", "match_id": "R1M1", "parity_choice": "odd"}
ODD_OF_P01 = ChooseParityResponse("odd", player_id="P01")
DEEP = b"[" * 5000 + b"]" * 5000
OURS = b'{"jsonrpc":"2.0","result"'  # As our own agents begin; with a space in it, nobody's.


def answered(request, body, status=200, retry_after=None):
    """Read in both ways: as one of ours, if it begins so, and as any other."""
    if not isinstance(body, bytes):
        body = json.dumps(body, separators=(",", ":")).encode()
    other = body.replace(OURS, OURS.replace(b":", b": "), 1)
    found, said = (outcome(request, status, text, retry_after) for text in (body, other))
    if isinstance(found, LeagueError):
        assert (type(found), found.context) == (type(said), said.context)
        raise found
    assert found == said
    return found


def outcome(request, status, body, retry_after):
    try:
        return answers.read_answer(request, status, body, retry_after)
    except LeagueError as error:
        return error


def rpc(result, **more):
    return {"jsonrpc": "2.0", "result": result, "id": 1, **more}


def as_tool(text):
    return rpc({"content": [{"type": "text", "text": text}]})


@rule("R-FORM-08", "R-FORM-09")
@each_row(
    "body",
    [
        rpc(CHOICE),
        rpc(CHOICE, error=None),  # an error that is none
        rpc(CHOICE, id=99),  # another id than ours
        rpc(CHOICE, id={}),
        {"result": CHOICE},  # no JSON-RPC around it
        rpc({"structuredContent": CHOICE, "content": []}),  # a tool's result
        rpc({"structuredContent": None, "content": [{"text": json.dumps(CHOICE)}]}),
        as_tool(json.dumps(CHOICE)),
        rpc({**CHOICE, "content": "x", "structuredContent": 7}),  # not a tool's, after all
        rpc({**CHOICE, "content": []}),
        rpc({**CHOICE, "content": [7]}),
        rpc({**CHOICE, "content": [{"text": 7}]}),
        rpc(json.dumps(CHOICE)),  # written as JSON twice
        json.dumps(CHOICE),
        json.dumps(rpc(CHOICE)),
        rpc(CHOICE, error=False),  # errors that say nothing, beside a result
        rpc(CHOICE, error=""),
        rpc(CHOICE, error={}),
        rpc({"message": CHOICE}),  # one level down
        rpc({"status": "ok", "data": CHOICE}),
        rpc({"status": "ok", "data": json.dumps(CHOICE)}),
        rpc({"structuredContent": {"result": CHOICE}}),
        rpc({"structuredContent": {"result": json.dumps(CHOICE)}}),
        as_tool(json.dumps({"result": CHOICE})),
        as_tool(json.dumps(rpc(CHOICE))),
        as_tool(json.dumps(json.dumps(CHOICE))),
        {"jsonrpc": "2.0", "method": "handle_message", "params": {"message": CHOICE}, "id": 1},
        {"status": "success", "response": CHOICE},
        {"payload": CHOICE},
        {"message": "done", "data": {"x": 1}, "payload": CHOICE},
        {"jsonrpc": "2.0", "method": "CHOOSE_PARITY_RESPONSE", "params": CHOICE, "id": 1},
        CHOICE,  # bare
        {**CHOICE, "result": 7, "error": 7},  # bare, with fields that are called so
    ],
)
def test_a_move_is_found_wherever_it_stands(body):
    assert answered(CALL, body) == ChooseParityResponse("odd", match_id="R1M1")


def ours(answer, **changes):
    """An answer as an agent of ours writes it, but for what is changed in its text."""
    text = codec.write_answer(jsonrpc.Envelope(id=1), answer).decode()
    for old, new in changes.values():
        assert old in text
        text = text.replace(old, new, 1)
    return text.encode()


JOINED = GameJoinAck("R1M1", "P01", "2025-01-15T10:30:00Z", sender="player:P01")
ODD = ChooseParityResponse("odd", "R1M1", "P01")
REPORTED = msgspec.structs.replace(REPORT, epoch=1)
BESIDE = ("},", '},"error":{"code":-1,"message":"no"},')


@each_row(
    "request_, body",
    [
        (INVITE, ours(JOINED)),
        (INVITE, ours(GameJoinAck(accept=False))),
        (INVITE, ours(GameJoinAck(accept=None))),  # It says nothing.
        (INVITE, ours(GameJoinAck(accept="no"))),
        (INVITE, ours(JOINED, twice=("true", 'true,"accept":null'))),
        (INVITE, ours(JOINED, name=('"accept"', '"accepted"'))),
        (INVITE, ours(JOINED, place=('"accept":true', '"x":{"accept":true}'))),
        (INVITE, ours(JOINED, kind=('"R1M1"', "7"))),
        (CALL, ours(ODD, name=('"parity_choice"', '"parity"'))),
        (INVITE, ours(JOINED, tool=("},", ',"structuredContent":{"accept":false}},'))),
        (CALL, ours(ODD)),
        (CALL, ours(ODD, tool=("},", ',"content":[{"text":"even"}]},'))),
        (CALL, ours(ODD, also=("},", ',"choice":"even"},'))),
        (CALL, ours(ODD, beside=("},", '},"params":{"parity_choice":"even"},'))),
        (CALL, ours(ODD, other=('"id":1', '"id":"1"'))),
        (MOVE, ours(GameMoveResponse({"content": [{"text": "no"}], "isError": True}))),
        (REPORT, ours(MatchResultAck(match_id="R1M1"))),
        (REPORTED, ours(MatchResultAck(match_id="R1M1"))),
        (REPORTED, ours(MatchResultAck(status="TAKEN"))),
        (LOCK, ours(LockResponse("R1M1", 0, 7))),
    ],
)
def test_an_answer_like_one_of_ours_is_read_as_any_other(request_, body):
    assert answered(request_, body)  # It compares both ways.


@each_row(
    "request_, body",
    [
        (INVITE, ours(JOINED, tool=("},", ',"isError":true},'))),
        (CALL, ours(ODD, beside=BESIDE)),
        (CALL, ours(ODD, tool=("},", ',"content":[{"text":"no"}],"isError":true},'))),
        (REPORT, ours(MatchResultAck(status="unknown"))),
        (LOCK, ours(LockResponse("R1M1", 0, 7), kind=('"index":0', '"index":"0"'))),
    ],
)
def test_an_answer_like_one_of_ours_is_refused_like_any_other(request_, body):
    with pytest.raises(LeagueError):
        answered(request_, body)


@rule("R-MSG-07")
def test_null_in_an_answer_says_nothing():
    said = {"status": "ACCEPTED", "player_id": "P01", "auth_token": "tok", "league_id": "l"}

    full = answered(REGISTER, rpc(said | dict.fromkeys(("hint", "warnings", "code", "proofs"))))

    assert full == answered(REGISTER, rpc(said))
    assert (full.player_id, full.league_id) == ("P01", "l")


@rule("R-FORM-09")
@each_row(
    "noted",
    [
        {"sender": 7, "timestamp": [], "auth_token": {}, "conversation_id": None},  # any types
        {"protocol": 2, "player_id": 7, "message_type": "HELLO"},
        {"timestamp": "yesterday", "protocol": "league.v9", "sender": "x" * 5000},  # any values
    ],
)
def test_the_envelope_of_an_answer_is_never_required_nor_judged(noted):
    assert answered(CALL, rpc({"parity_choice": "odd", **noted})).parity_choice == "odd"
    assert answered(INVITE, rpc({"accept": True, **noted})).accept is True
    assert answered(MOVE, rpc({"move": 4, **noted})).move == 4


@rule("R-FORM-09")
@each_row(
    ("content", "accept"),
    [
        ({"accept": True}, True),
        ({"accept": False}, False),
        ({"accepted": True}, True),
        ({"accepted": False}, False),
        ({"accept": False, "accepted": True}, False),  # the documents' word counts
        ({"message_type": "GAME_JOIN_ACK"}, True),
        ({"message_type": "GAME_JOIN_ACK", "accept": False}, False),
        ({"status": "ACK"}, True),
        ({"status": "ACK", "accepted": False}, False),
        ({"accept": None, "accepted": False}, False),  # null is no value
        ({"message_type": "GAME_JOIN_ACK", "accept": None}, True),
        ({"message_type": "GAME_JOIN_ACK", "data": {"accept": False}}, False),
        ({"message_type": "GAME_JOIN_ACK", "status": "Rejected"}, False),
        ({"accept": "maybe"}, "maybe"),  # the match judges it
        ({"accept": "true"}, True),  # written as text
        ({"accepted": "No"}, False),
        ({"status": "accepted"}, True),  # in other words
        ({"data": {"response": "ACCEPT"}}, True),
        ({"joined": True, "status": "ok"}, True),
        ({"ready": True, "decision": "declined"}, False),
        ({"a": {"b": {"accept": True}}}, True),  # some levels down
        ({"accept": 0, "accepted": True}, 0),
    ],
)
def test_a_join_is_known_by_any_of_its_signs(content, accept):
    assert answered(INVITE, rpc(content)) == GameJoinAck(accept=accept)
    assert answered(INVITE, {**content, "match_id": "R9M9"}).match_id == "R9M9"


@rule("R-FORM-09", "R-MSG-06")
@each_row(
    ("request_", "content", "message"),
    [
        (CALL, {"parity_choice": "Even"}, ChooseParityResponse("Even")),  # the game judges it
        (CALL, {"parity_choice": None}, ChooseParityResponse(None)),
        (CALL, {"choice": "odd"}, ChooseParityResponse("odd")),
        (CALL, {"choice": "odd", "parity_choice": "even"}, ChooseParityResponse("even")),
        (CALL, {"parity_choice": "odd", "match_id": 7}, ChooseParityResponse("odd")),
        (CALL, {"selection": "odd", "why": "even is dull"}, ChooseParityResponse("odd")),
        (CALL, {"choice": {"parity": "odd"}, "player_id": "P01"}, ODD_OF_P01),
        (CALL, {"move": {"parity_choice": "odd"}}, ChooseParityResponse("odd")),
        (CALL, {"data": {"result": {"message": CHOICE}}}, ChooseParityResponse("odd", "R1M1")),
        (CALL, "odd", ChooseParityResponse("odd")),  # the word itself
        (MOVE, {"move": [1, 2]}, GameMoveResponse([1, 2])),
        (MOVE, {"move": None}, GameMoveResponse(None)),
        (MOVE, {"choice": 4}, GameMoveResponse(4)),
        (MOVE, {"choice": 4, "move": 5}, GameMoveResponse(5)),
        (MOVE, {"parity_choice": 1}, GameMoveResponse(1)),
    ],
)
def test_a_move_is_known_by_any_of_its_names(request_, content, message):
    assert answered(request_, rpc(content)) == message


def test_a_tool_may_answer_with_the_word_itself():
    assert answered(CALL, as_tool("even")) == ChooseParityResponse("even")


@rule("R-FORM-09", "R-MSG-04")
@each_row(
    ("request_", "body", "field"),
    [
        (INVITE, {"status": "ok"}, "accept"),  # success that is none
        (INVITE, rpc({}), "accept"),
        (INVITE, rpc({"accept": None}), "accept"),
        (INVITE, rpc({"status": "REJECTED"}), "accept"),  # perhaps the form of the invitation
        (INVITE, {}, "accept"),
        (INVITE, b'{"result":{"x":1e999}}', "accept"),  # beside a number that nobody holds
        (CALL, rpc({"status": "ACKNOWLEDGED"}), "parity_choice"),
        (REGISTER, rpc({}), "status"),
        (LOCK, rpc({"match_id": "R1M1"}), "index"),
        (INVITE, b"", "accept"),  # HTTP 200, 202 or 204, and nothing
        (CALL, b" \r\n", "parity_choice"),
        (CALL, b"null", "parity_choice"),
        (REGISTER, b"", "status"),
        (CALL, rpc({"a": {"b": {"c": {"d": {"e": CHOICE}}}}}), "parity_choice"),  # too deep
        (CALL, rpc({"choice": {"even": 0.3, "odd": 0.7}}), "parity_choice"),
        (CALL, rpc({"parity": "odd", "opponent": "even"}), "parity_choice"),  # one of them
        (CALL, rpc({"data": None, "message": "ok", "result": []}), "parity_choice"),
        (CALL, rpc({"data": {"x": 10**30}, "message": "ok"}), "parity_choice"),
    ],
)
def test_an_answer_without_content_is_a_missing_field(request_, body, field):
    with pytest.raises(MissingField) as caught:
        answered(request_, body)

    assert (caught.value.context["field"], caught.value.context["kind"]) == (field, "missing")


@rule("R-FORM-15")
@each_row(
    ("content", "is_answer"),
    [
        ({"message_type": "CHOOSE_PARITY_RESPONSE", "match_id": "R1M1", "player_id": "P01"}, True),
        ({"message_type": "choose_parity_response", "parity": "maybe"}, True),
        ({"data": {"message_type": "GAME_MOVE_RESPONSE", "status": None}}, True),
        ({"message_type": "CHOOSE_PARITY_RESPONSE", "status": "RECEIVED"}, False),
        ({"message_type": "GAME_JOIN_ACK", "match_id": "R1M1"}, False),
        ({"message_type": "CHOOSE_PARITY_ACK"}, False),
    ],
)
def test_a_choice_answer_by_its_type_is_no_acknowledgement(content, is_answer):
    for call, field in ((CALL, "parity_choice"), (MOVE, "move")):
        with pytest.raises(MissingField) as caught:
            answered(call, rpc(content))

        assert (caught.value.context["field"], caught.value.context["kind"]) == (field, "missing")
        assert isinstance(caught.value, WrongType) is is_answer


@rule("R-MSG-05")
@each_row(
    ("request_", "body", "field"),
    [
        (INVITE, rpc("ok"), ""),  # the result is no object at all
        (CALL, rpc(None), ""),
        (CALL, rpc([CHOICE]), ""),
        (REGISTER, rpc("OK"), ""),
        (REGISTER, rpc({"status": "MAYBE"}), "status"),
        (REGISTER, rpc({"status": "ACCEPTED", "message_type": "GAME_OVER"}), "message_type"),
        (LeagueQuery("GET_STATUS"), rpc({"message_type": "GAME_OVER"}), "message_type"),
        (CALL, b'{"result":{"parity_choice":1e999}}', "parity_choice"),  # no number holds it
    ],
)
def test_content_of_another_type_is_refused_by_name(request_, body, field):
    with pytest.raises(WrongType) as caught:
        answered(request_, body)

    assert (caught.value.context["field"], caught.value.context["kind"]) == (field, "type")


@rule("R-FORM-08")
@each_row(
    ("request_", "message"),
    [
        (REGISTER, LeagueRegisterResponse("ACCEPTED", player_id="P01", auth_token="tok_1")),
        (REGISTER, LeagueRegisterResponse("REJECTED", reason="Too late")),
        (LeagueQuery("GET_STANDINGS"), LeagueQueryResponse(data={"standings": []})),
        (LOCK, LockResponse(match_id="R1M1", index=0, value=4)),
    ],
)
def test_any_other_answer_is_decoded_into_its_class(request_, message):
    fields = json.loads(codec.encode(message))

    assert answered(request_, rpc(fields)) == message
    assert answered(request_, fields) == message  # bare
    odd = {**fields, "timestamp": 7, "sender": None, "protocol": [], "conversation_id": {}}
    assert answered(request_, rpc(odd)) == message


@rule("R-GUEST-03")
@each_row(
    "body",
    [
        {"status": "ok"},
        {"message_type": "MATCH_RESULT_RESPONSE", "status": "success"},
        {"status": ["done"], "round_id": "R1"},
        {"received": True},
        b"",
        b"OK",
        b"null",
        b'"OK"',
        b"[]",
        rpc(None),
        rpc("OK"),
        rpc(True),
        rpc({"content": [{"type": "text", "text": "saved"}]}),
    ],
)
def test_whatever_is_no_refusal_says_that_a_report_is_taken(body):
    assert isinstance(answered(REPORT, body), MatchResultAck)


@rule("R-GUEST-03")
@each_row(
    ("body", "status", "error"),
    [
        ({"error": "Unknown method"}, 200, PeerRefused),
        ({"status": "error", "message": "no such match"}, 200, PeerRefused),
        ({"status": "unknown_message_type"}, 200, MissingField),
        ({"status": "unsupported"}, 200, MissingField),
        ({"status": "method not found"}, 200, MissingField),
        ({"detail": "no"}, 422, NoConnection),
        (b"ok", 302, NoConnection),
        (b"Unknown method", 200, NoConnection),
        (rpc(False), 200, MissingField),
        (rpc({"content": [{"type": "text", "text": "not found"}]}), 200, NoConnection),
    ],
)
def test_a_refused_report_is_none_that_was_taken(body, status, error):
    with pytest.raises(error):
        answered(REPORT, body, status)


def test_an_answer_to_a_report_with_its_match_counts_whatever_the_status():
    assert answered(REPORT, {"match_id": "R1M1"}, 404).match_id == "R1M1"


@rule("R-GUEST-03")
def test_a_foreign_manager_that_has_a_report_already_has_taken_it():
    for body in (b"duplicate", {"error": "already reported"}, {"match_id": "R1M1"}):
        assert answered(REPORT, body, 409) == MatchResultAck(match_id="R1M1")


def test_a_manager_of_ours_takes_a_report_in_no_other_words_than_its_own():
    for body, status in ((b"ok", 200), (b"", 409)):
        with pytest.raises(NoConnection):
            answered(msgspec.structs.replace(REPORT, epoch=1), body, status)


@rule("R-GUEST-02")
@each_row(
    "told", [{"player": {"url": "http://ann/mcp"}}, {"players": [{"id": "P01"}], "status": 7}]
)
def test_an_answer_to_a_query_in_another_shape_is_all_there_is_to_know(told):
    assert answered(LeagueQuery("GET_PLAYER_STATS"), rpc(told)).data == told


@rule("R-FORM-10")
@each_row("status", [200, 502])
@each_row("request_", [INVITE, CALL, MOVE, REGISTER, LOCK])
@each_row(
    "body",
    [
        b"<html><body>502</body></html>",
        b"ok",
        b"[]",  # a batch
        b'"ok"',
        b'"\xff"',
        b'"{\\"result\\":"',  # cut short within a text
        b'["ok"]',
        b"7",
        b'{"result":',  # cut short
        b'{"result":{"x":"\xff"},"x":"\xff"',
        b'{"result":{"match_id":"\xff"}}',  # no UTF-8
        b'{"result":{"accept":"\xff","status":"\xff"}}',
        b'{"accept":"\\ud800"}',
        as_tool("It is odd, I think."),  # a text that is no JSON
        as_tool(""),
        DEEP,
        b'{"result":' + DEEP + b"}",  # RecursionError must not escape
        b'{"result":{"x":' + DEEP + b"}}",
        b'{"x":' + DEEP + b"}",
        b'{"error":' + DEEP + b"}",
        as_tool('{"x":' + DEEP.decode() + "}"),
    ],
)
def test_an_answer_that_is_no_json_object_is_no_answer(request_, body, status):
    with pytest.raises(NoConnection) as caught:
        answered(request_, body, status)

    assert caught.value.context["status"] == status
    assert len(str(caught.value)) <= 500


@rule("R-FORM-10")
@each_row("status", [302, 404, 422, 500, 503])
@each_row("body", [b"", b"null", b"{}", {"detail": "Not Found"}, rpc(None), {"status": "ok"}])
def test_a_failure_of_http_without_content_is_no_answer(status, body):
    with pytest.raises(NoConnection) as caught:
        answered(CALL, body, status)

    assert caught.value.context["status"] == status


@rule("R-FORM-10")
@each_row("status", [201, 302, 400, 404, 500, 503])
def test_content_counts_whatever_the_http_status(status):
    assert answered(CALL, rpc(CHOICE), status).parity_choice == "odd"


LIMITED = {"code": -32029, "message": "slow down"}
SLOW = {"message_type": "GAME_ERROR", "error_code": "E047", "error_description": "RATE_LIMITED"}


@rule("R-FORM-13")
@each_row("request_", [INVITE, CALL, REGISTER, LOCK, GameError(), RoundCompleted()])
@each_row("body", [b"", b"<html>", rpc(CHOICE), {"error": LIMITED}, DEEP])
def test_http_429_is_a_rate_limit_whatever_comes_with_it(request_, body):
    with pytest.raises(RateLimited) as caught:
        answered(request_, body, 429, 7.0)

    assert caught.value.context == {"retry_after": 7.0}


@rule("R-FORM-13")
@each_row("body", [b"", b"<html>", b"{}", {"detail": "busy"}])
def test_http_503_that_says_when_to_come_back_is_one_too(body):
    with pytest.raises(RateLimited) as caught:
        answered(CALL, body, 503, 2.0)

    assert caught.value.context == {"retry_after": 2.0}
    with pytest.raises(PeerRefused):  # It says more than that it is busy.
        answered(CALL, {"error": {"code": 1}}, 503, 2.0)
    assert answered(CALL, rpc(CHOICE), 503, 2.0).parity_choice == "odd"


@rule("R-FORM-13")
@each_row(
    ("body", "seconds"),
    [
        ({"error": LIMITED}, None),
        ({"error": {**LIMITED, "data": {"retry_after": 3}}}, 3.0),
        ({"error": {**LIMITED, "data": {"retry_after": 0.5}}}, 0.5),
        ({"error": {**LIMITED, "data": {"retry_after": 3600}}}, 60.0),  # not so long
        ({"error": {**LIMITED, "data": {"retry_after": -1}}}, 0.0),
        ({"error": {**LIMITED, "data": {"retry_after": "3"}}}, None),
        ({"error": {**LIMITED, "data": {"retry_after": True}}}, None),
        ({"error": {"code": 1, "data": {"error_code": "E047", "retry_after": 1}}}, 1.0),
        ({"error": {"code": 1, "message": "Rate limit exceeded: 100 per minute"}}, None),
        ({"error": {"code": 1, "message": "too MANY requests"}}, None),
        ({"error": "RATE_LIMITED"}, None),
        ({"error": "rate-limit"}, None),
        (rpc({"error": "Too Many Requests"}), None),
        (rpc({"error": {"code": -32029, "data": {"retry_after": 2}}}), 2.0),
        (rpc({**SLOW, "retry_after": 4}), 4.0),
        (SLOW, None),
        (rpc({"status": "ERROR", "message": "rate limit reached"}), None),
    ],
)
@each_row("request_", [CALL, INVITE, GameOver(game_result=GameResult("DRAW"))])
def test_an_error_that_speaks_of_a_rate_limit_is_one(request_, body, seconds):
    with pytest.raises(RateLimited) as caught:
        answered(request_, body)

    assert caught.value.context == {"retry_after": seconds}


@rule("R-FORM-11")
@each_row(
    ("body", "number", "code", "data"),
    [
        ({"jsonrpc": "2.0", "error": {"code": 4001, "message": "no"}, "id": 1}, 4001, None, {}),
        ({"error": {"code": 1, "data": {"error_code": "E012"}}}, 1, "E012", {"error_code": "E012"}),
        ({"error": {"code": -32601, "message": "x" * 9999, "data": "y"}}, -32601, None, {}),
        ({"error": "no such thing"}, None, None, {}),  # a text for an error
        ({"error": ["a", 1]}, None, None, {}),
        ({"error": {}}, None, None, {}),
        ({"error": 0}, None, None, {}),
        ({"error": {"message": None}}, None, None, {}),
        (rpc(CHOICE, error={"code": 7}), 7, None, {}),  # both: the error counts
        (rpc({"content": [{"text": "Tool failed"}], "isError": True}), None, None, {}),
        (rpc({"content": [], "isError": True}), None, None, {}),
        (rpc({"error": {"code": 7}}), 7, None, {}),  # inside the result
        (rpc({"data": {"error": {"code": 7}}}), 7, None, {}),
        ({"error": {"code": "x" * 9999}}, "x" * 9999, None, {}),
    ],
)
def test_a_json_rpc_error_is_the_peers_refusal(body, number, code, data):
    with pytest.raises(PeerRefused) as caught:
        answered(CALL, body, status=500)

    context = dict(caught.value.context)
    assert context.pop("is_of_tool", False) == ("isError" in str(body))
    assert context == {"number": number, "code": code, "data": data}
    assert len(str(caught.value)) < 300
    assert "error None" not in str(caught.value)


@rule("R-FORM-11")
@each_row("request_", [INVITE, CALL, REGISTER])
@each_row("wrap", [rpc, lambda message: message])
def test_an_error_message_in_place_of_an_answer_is_a_refusal_too(request_, wrap):
    message = {"message_type": "LEAGUE_ERROR", "error_code": "E012", "error_description": "no"}

    with pytest.raises(PeerRefused) as caught:
        answered(request_, wrap(message))

    assert caught.value.context == {"number": None, "code": "E012", "data": message}


@rule("R-FORM-11")
@each_row("request_", [INVITE, CALL, REGISTER])
@each_row(
    ("content", "said"),
    [
        ({"status": "error", "message": "already in this match"}, "already in this match"),
        ({"status": "ERROR", "reason": "no"}, "no"),
        ({"status": "Error", "message": 7}, ""),
        ({"error": "no such method"}, "no such method"),
    ],
)
def test_an_answer_that_says_it_is_an_error_is_one(request_, content, said):
    for body in (rpc(content), rpc({"data": content})):
        with pytest.raises(PeerRefused) as caught:
            answered(request_, body)

        assert caught.value.context == {"number": None, "code": None, "data": content}
        assert str(caught.value).endswith(f": {said}")


@rule("R-TOK-05")
def test_a_token_that_a_peer_quotes_in_its_error_is_not_repeated():
    with pytest.raises(PeerRefused) as caught:
        answered(CALL, {"error": {"code": 1, "message": "wrong token mtok_0123abc, tok_P01_ff!"}})

    assert str(caught.value).endswith("wrong token mtok_…, tok_…!")


NOTIFICATIONS = [
    RoundAnnouncement(),
    LeagueStandingsUpdate(),
    RoundCompleted(),
    LeagueCompleted(),
    GameOver(game_result=GameResult("DRAW")),
    GameError(),
]


@rule("R-FORM-12")
@each_row("notification", NOTIFICATIONS)
@each_row(
    "body",
    [
        b"",
        b"<html>",
        b"<html>error",
        b"{}",
        DEEP,
        b'{"error":null}',
        b'"error"',
        b'{"error"',
        b'["error"]',
        b'{"result":{"error":1e999}}',
        rpc({"status": "ok", "error": ""}),
        rpc({"message_type": "GAME_ERROR_ACK", "status": "ACKNOWLEDGED"}),
    ],
)
def test_any_answer_acknowledges_a_notification(notification, body):
    assert answered(notification, body, status=202) is None


@rule("R-FORM-12")
@each_row("notification", NOTIFICATIONS)
@each_row(
    ("status", "body", "number"),
    [
        (200, {"jsonrpc": "2.0", "error": {"code": -32601}, "id": 1}, -32601),
        (200, rpc({"message_type": "LEAGUE_ERROR", "error_code": "E012"}), None),
        (200, {"message_type": "GAME_ERROR", "error_code": "E003"}, None),
        (200, rpc({"status": "error", "message": "unknown"}), None),
        (200, rpc({"content": [{"text": "no"}], "isError": True}), None),
        (422, {"detail": "winner_player_id: none is not an allowed value"}, None),
        (404, b"", None),
        (500, {"error": {"code": -32603}}, -32603),
    ],
)
def test_a_refusal_of_a_notification_is_told_to_its_sender(notification, status, body, number):
    with pytest.raises(PeerRefused) as caught:
        answered(notification, body, status)

    assert caught.value.context["number"] == number
    assert isinstance(caught.value.context["data"], dict)


JOIN, PARITY, OTHER = "GAME_JOIN_ACK", "CHOOSE_PARITY_RESPONSE", "GAME_MOVE_RESPONSE"


@rule("R-FORM-14")
@each_row(
    ("wanted", "content", "message"),
    [
        (PARITY, {"parity_choice": "odd"}, ChooseParityResponse("odd")),
        (PARITY, {"choice": "odd", "match_id": "R1M1"}, ChooseParityResponse("odd", "R1M1")),
        (PARITY, {"parity_choice": None}, ChooseParityResponse(None)),  # the game judges it
        (PARITY, {"status": "ACK", "parity_choice": "odd"}, ChooseParityResponse("odd")),
        (PARITY, {"accept": True, "parity_choice": "odd"}, ChooseParityResponse("odd")),
        (OTHER, {"move": 4}, GameMoveResponse(4)),
        (OTHER, {"choice": 4}, GameMoveResponse(4)),
        (OTHER, {"parity_choice": "odd"}, GameMoveResponse("odd")),
        (JOIN, {"accept": True}, GameJoinAck(accept=True)),
        (JOIN, {"accepted": False}, GameJoinAck(accept=False)),
        (JOIN, {"message_type": "GAME_JOIN_ACK"}, GameJoinAck(accept=True)),
        (JOIN, {"accept": True, "choice": "odd"}, GameJoinAck(accept=True)),
        (JOIN, {"choice": "odd"}, ChooseParityResponse("odd")),
        (PARITY, {"accept": True}, GameJoinAck(accept=True)),
        ("whatever", {"choice": "odd"}, ChooseParityResponse("odd")),
        (JOIN, {"status": "ACK"}, None),  # heard, and no more
        (PARITY, {"status": "ACK"}, None),
        (PARITY, {"message_type": "GAME_ERROR_ACK", "status": "ACKNOWLEDGED"}, None),
        (JOIN, {"accept": "maybe"}, GameJoinAck(accept="maybe")),  # the match judges it
        (JOIN, {"message_type": "GAME_JOIN_ACK", "status": "DECLINED"}, GameJoinAck(accept=False)),
        (PARITY, {}, None),
        (PARITY, None, None),
        (PARITY, [CHOICE], None),
        (PARITY, {"data": [1]}, None),
    ],
)
def test_the_answer_to_an_error_may_bring_what_was_missing(wanted, content, message):
    told = GameError(action_required=wanted)

    assert answered(told, rpc(content)) == message
    assert answered(told, rpc({"status": "ok", "data": content})) == message
    assert answered(told, rpc(json.dumps(content))) == message
    assert answered(told, as_tool(json.dumps(content))) == message


def test_no_other_notification_is_searched_for_a_move():
    assert answered(GameOver(game_result=GameResult("DRAW")), rpc(CHOICE)) is None


def test_nothing_but_our_own_errors_is_raised_for_an_answer_with_a_number_out_of_range():
    for body in (b'{"error":1e999}', b'{"jsonrpc":1e999,"result":{}}'):
        with pytest.raises(LeagueError):
            answered(CALL, body)


@rule("R-FORM-08")
def test_a_result_that_cannot_be_read_as_a_tools_is_handed_on_as_it_is():
    result = b'{"content":"\xff"}'

    assert bytes(jsonrpc.read_response(b'{"result":' + result + b"}")) == result


def registration(answer, referee=False):
    """What an agent makes of the answer to its registration."""
    as_referee = RefereeRegisterRequest(RefereeMeta("Owl", "http://127.0.0.1:8178/mcp"))
    request = as_referee if referee else REGISTER
    return answers.read_answer(request, 200, json.dumps(answer).encode())


@rule("R-DIA-10")
@each_row(
    "said",
    [
        {"status": "REGISTERED", "player_id": "P07", "auth_token": "abc", "league_id": "cup"},
        {"status": "success", "agent_id": "P07", "token": "abc", "league_id": "cup"},
        {"status": "ok", "id": "P07", "token": "abc", "league_id": "cup"},
        {"status": "ACCEPTED", "player_id": "P07", "token": "abc", "league_id": "cup"},
        {"status": "ACCEPTED", "agent_id": "P07", "auth_token": "abc", "league_id": "cup"},
        {"status": "ACCEPTED", "player_id": "", "id": "P07", "token": "abc", "league_id": "cup"},
        {"success": True, "player_id": "P07", "token": "abc", "league_id": "cup"},
        {"player": {"id": "P07"}, "status": "welcome", "token": "abc", "league_id": "cup"},
        {"message_type": "WELCOME", "player_id": "P07", "token": "abc", "league_id": "cup"},
        {"status": "ACCEPTED", "playerId": "P07", "authToken": "abc", "leagueId": "cup"},
        {"success": True, "agentId": "P07", "token": "abc", "leagueId": "cup"},
    ],
)
def test_a_registration_may_be_confirmed_in_other_words(said):
    answer = registration({"result": said})

    assert (answer.status, answer.player_id, answer.league_id) == ("ACCEPTED", "P07", "cup")
    assert answer.auth_token == "abc"


@rule("R-DIA-10")
@each_row(
    ("said", "player_id"),
    [
        ({"status": "ACCEPTED"}, None),
        ({"status": "registered"}, None),
        ({"status": "ACCEPTED", "player_id": "", "auth_token": None}, None),
        ({"status": "Confirmed", "player_id": None}, None),
        ({"status": "ACCEPTED", "player_id": 7}, "7"),
        ({"registered": True, "your_id": "P07"}, "P07"),
        ({"success": True, "data": {"playerId": "P07"}}, "P07"),
        ({"message": "Player Ann registered successfully"}, None),
        ({"status": "ok", "message": "welcome"}, None),
        ({"result": "registered"}, None),
        ({"result": '{"status": "registered", "your_id": "P07"}'}, "P07"),
    ],
)
def test_an_agent_may_be_taken_in_without_an_id(said, player_id):
    answer = registration(said)

    assert (answer.status, answer.player_id or None) == ("ACCEPTED", player_id)


def test_a_referee_may_be_taken_in_without_a_token():
    answer = registration({"status": "OK", "referee_id": "R1", "token": 7}, referee=True)

    assert (answer.status, answer.referee_id, answer.auth_token) == ("ACCEPTED", "R1", UNSET)


@each_row(
    "said",
    [
        {"status": "ok"},
        {"status": "ok", "id": 7},
        {"status": "denied", "player_id": "P07"},
        {"status": "unknown_message", "agent_id": "LM01"},
        {"success": False, "status": "registered"},
        {"success": True},
        {"message": "Ann is not registered"},
        {"message": "only registered players may ask; no token"},
    ],
)
def test_an_answer_that_says_neither_yes_nor_an_id_registers_nobody(said):
    with pytest.raises(MissingField):
        registration(said)


@rule("R-GUEST-07")
@each_row("name", ["match_id", "matchId"])
def test_an_answer_to_a_query_may_be_a_list(name):
    body = json.dumps({"jsonrpc": "2.0", "id": 1, "result": [{name: "M1"}]}).encode()

    answer = answers.read_answer(LeagueQuery("GET_ASSIGNED_MATCHES"), 200, body)

    assert answer.data == {"list": [{"match_id": "M1"}]}


@rule("R-DIA-15")
@each_row(
    ("result", "request_", "content"),
    [
        (True, INVITE, True),
        ("declined", INVITE, False),
        ("accept", INVITE, True),
        ("odd", CALL, "odd"),
        ("rock", GameMoveCall(), "rock"),
        (4, GameMoveCall(), 4),
        ([1, 2], GameMoveCall(), [1, 2]),
    ],
)
def test_a_tool_may_return_the_content_itself(result, request_, content):
    text = result if isinstance(result, str) else json.dumps(result)
    parts = [{"type": "image"}, {"type": "text", "text": text}]

    for body in (
        rpc({"content": parts}),
        rpc({"content": [], "structuredContent": {"result": result}}),
    ):
        found = answered(request_, body)
        assert getattr(found, PUSHED[WIRE_NAME[type(found)]]) == content


@rule("R-DIA-15")
@each_row("result", ["ok", "I do not know", None, {"a": 1}])
@each_row("request_", [INVITE, CALL, GameMoveCall()])
def test_what_a_tool_says_besides_is_no_content(result, request_):
    with pytest.raises((MissingField, NoConnection)):
        answered(request_, rpc({"content": [], "structuredContent": {"result": result}}))
    with pytest.raises((MissingField, NoConnection)):
        answered(request_, rpc({"content": [{"type": "text", "text": str(result)}]}))


@rule("R-DIA-15")
def test_a_tool_that_failed_is_quoted_with_its_own_code():
    structured = {"error_code": "E003", "error_description": "bad"}
    failed = {"content": [{"text": "bad move"}], "structuredContent": structured, "isError": True}

    with pytest.raises(PeerRefused, match="bad move") as caught:
        answered(CALL, rpc(failed))

    assert caught.value.context["code"] == "E003"
