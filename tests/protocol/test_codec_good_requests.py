"""The many ways to send the same message, all of them taken."""

import json

from agentleague.dialects import answers
from agentleague.protocol import codec
from agentleague.protocol.jsonrpc import Form
from agentleague.protocol.messages import (
    ChooseParityResponse,
    GameInvitation,
    LeagueQuery,
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    RoundAnnouncement,
)
from protocol.wire import (
    ENVELOPE,
    NOW,
    PLAYER_META,
    REGISTRATION,
    read,
    registration,
    request,
    taken,
)
from rules import rule
from tables import each_row

INVITATION = {**ENVELOPE, "match_id": "R1M1", "opponent_id": "P02"}
TYPED = {**INVITATION, "message_type": "GAME_INVITATION"}


def tool(name, arguments):
    return request({"name": name, "arguments": arguments}, "tools/call")


@rule("R-FORM-01", "R-FORM-02", "R-FORM-03", "R-FORM-04", "R-FORM-06")
@each_row(
    ("body", "form"),
    [
        (request(TYPED, "handle_game_invitation"), Form.JSONRPC),  # as document 001 has it
        (request(INVITATION, "handle_game_invitation"), Form.JSONRPC),  # named by method alone
        (request(TYPED, "anything"), Form.JSONRPC),  # named by type alone
        (request(TYPED, "notify_round"), Form.JSONRPC),  # the type decides
        (request({"message": TYPED}, "handle_message"), Form.NESTED),
        (request({"message": TYPED}, "handle_game_invitation"), Form.NESTED),  # of a known method
        (request({"message": INVITATION}, "handle_game_invitation"), Form.NESTED),
        (request({"message": "hello", **TYPED}, "handle_message"), Form.JSONRPC),  # just a field
        (request({"message": {"a": 1}, **TYPED}, "handle_message"), Form.JSONRPC),
        (tool("handle_game_invitation", INVITATION), Form.TOOL),
        (tool("handle_game_invitation", TYPED), Form.TOOL),
        (tool("anything", TYPED), Form.TOOL),
        (tool("handle_message", {"message": TYPED}), Form.TOOL),
        (json.dumps(TYPED).encode(), Form.BARE),
        (json.dumps(TYPED | {"id": 7}).encode(), Form.BARE),
        (b" \n" + json.dumps(TYPED, indent=2).encode() + b"\r\n", Form.BARE),
    ],
)
def test_a_message_may_be_wrapped_in_many_ways(body, form):
    incoming = read(body, "player")

    assert incoming.error is None
    assert incoming.envelope.form is form
    assert incoming.message == GameInvitation(match_id="R1M1", opponent_id="P02", **ENVELOPE)


@rule("R-FORM-06")
@each_row(
    "name",
    [
        "register_player",
        "REGISTER_PLAYER",
        "Register_Player",
        "league_register",
        "LEAGUE_REGISTER",  # document 000 section 2.7
        "register",
        "register_request",
        "REGISTER_REQUEST",  # document 000 section 2.5.2
        "league_register_request",
        "LEAGUE_REGISTER_REQUEST",
    ],
)
def test_a_name_is_known_in_any_case_as_method_and_as_type(name):
    params = {"player_meta": PLAYER_META}

    for body in (
        request(params, name),
        request({**params, "message_type": name}, "anything"),
        json.dumps({**params, "message_type": name}).encode(),
        tool(name, params),
    ):
        assert type(taken(body)) is LeagueRegisterRequest


@rule("R-ENV-04")
@each_row(
    "body",
    [
        request(REGISTRATION, extra=1, hint={"a": [1]}),  # beside the params
        registration(extra=1),  # in the message
        registration(player_meta={**PLAYER_META, "extra": {"deep": [None]}}),  # inside
        registration(name=7, arguments=[], status=[]),  # named as something else elsewhere
        registration(extra="N").replace(b'"N"', b"1e999"),  # whatever it is
        registration(extra="N").replace(b'"N"', b"1" * 5000),
    ],
)
def test_unknown_fields_are_ignored(body):
    assert taken(body).player_meta.display_name == "Quokka"


@rule("R-ENV-02")
@each_row(
    ("body", "missing"),
    [
        (registration(), ()),
        (
            request({"player_meta": PLAYER_META}),
            (
                "protocol",
                "message_type",
                "sender",
                "timestamp",
                "conversation_id",
                "player_meta.version",
                "player_meta.game_types",
            ),
        ),
        (registration(sender=""), ("sender",)),  # empty counts as missing
        (
            request(REGISTRATION | {"player_meta": PLAYER_META}),
            ("player_meta.version", "player_meta.game_types"),
        ),
        (
            request(REGISTRATION | {"player_meta": PLAYER_META | {"version": 1}}),
            ("player_meta.version (Expected `str`, got `int`)", "player_meta.game_types"),
        ),
        (
            request({**ENVELOPE, "referee_meta": PLAYER_META}, "register_referee"),
            (
                *("message_type", "referee_meta.version", "referee_meta.game_types"),
                "referee_meta.max_concurrent_matches",
            ),
        ),
        (
            request(
                {**ENVELOPE, "match_id": "R1M1", "result": {"winner": None}}, "report_match_result"
            ),
            (
                *("message_type", "league_id", "round_id", "game_type", "result.score"),
                *("result.details", "result.details.choices"),
            ),
        ),
        (
            request({**ENVELOPE, "query_type": "GET_STANDINGS"}, "league_query"),
            ("message_type", "league_id", "query_params"),
        ),
    ],
)
def test_what_the_documents_want_and_was_not_sent_is_named(body, missing):
    assert read(body).missing == missing


@rule("R-ENV-02")
def test_messages_of_ours_and_answers_are_lean_and_nothing_is_said_of_it():
    assert read(request({"session": "ses_1"}, "referee_status")).missing == ()
    assert read(request({"parity_choice": 1}, "CHOOSE_PARITY_RESPONSE"), "referee").missing == ()


@rule("R-ENV-03")
@each_row("protocol", ["league.v2", "league.v2.1", "league.v2.1.0"])
def test_a_minor_version_of_the_protocol_is_taken(protocol):
    assert taken(registration(protocol=protocol)).protocol == protocol


@rule("R-ENV-06")
@each_row(
    "sender", ["player:P01", "P01", "referee:REF01", "league_manager", "league_manager:x", "é 🦘"]
)
def test_a_sender_may_have_any_form(sender):
    assert taken(registration(sender=sender)).sender == sender


@rule("R-RPC-02", "R-FORM-05")
@each_row("request_id", [0, 1, -1, 2**53, -(2**53), "1", "", "req-001", "é", "x" * 64, None])
def test_an_id_comes_back_with_its_type(request_id):
    envelope = read(request(REGISTRATION, id=request_id)).envelope
    answer = json.loads(codec.write_answer(envelope, LeagueRegisterResponse("ACCEPTED")))

    assert answer["jsonrpc"] == "2.0"
    assert (answer["id"], type(answer["id"])) == (request_id, type(request_id))


@rule("R-RPC-03")
def test_a_notification_is_read_and_nothing_is_answered():
    good, bad = read(request(REGISTRATION, id=...)), read(request({}, "hello", id=...))

    assert good.message is not None
    assert codec.write_answer(good.envelope, LeagueRegisterResponse("ACCEPTED")) == b""
    assert (
        codec.write_refusal(bad.envelope, bad.error, sender="league_manager", timestamp=NOW) == b""
    )


@rule("R-FORM-05")
@each_row(
    ("body", "unwrap"),
    [
        (registration(), lambda answer: answer["result"]),
        (request({"message": REGISTRATION}, "handle_message"), lambda answer: answer["result"]),
        (json.dumps(REGISTRATION).encode(), lambda answer: answer),
        (
            tool("register_player", REGISTRATION),
            lambda answer: answer["result"]["structuredContent"],
        ),
        (
            tool("register_player", REGISTRATION),
            lambda answer: json.loads(answer["result"]["content"][0]["text"]),
        ),
    ],
)
def test_an_answer_takes_the_form_of_its_request(body, unwrap):
    message = LeagueRegisterResponse("ACCEPTED", player_id="P01", sender='"é"')

    answer = json.loads(codec.write_answer(read(body).envelope, message))

    assert unwrap(answer) == json.loads(codec.encode(message))
    assert (
        answers.read_answer(LeagueRegisterRequest(None), 200, json.dumps(answer).encode())
        == message
    )


@rule("R-FORM-05")
@each_row(
    ("body", "unwrap"),
    [
        (request({}), lambda answer: answer["error"]["data"]),
        (request({"message": {}}), lambda answer: answer["error"]["data"]),
        (tool("register_player", {}), lambda answer: answer["error"]["data"]),
        (
            request({"name": "register"}, "tools/call"),  # a tool without arguments
            lambda answer: answer["error"]["data"],
        ),
        (b'{"message_type":"LEAGUE_REGISTER_REQUEST"}', lambda answer: answer),
    ],
)
def test_a_refusal_takes_the_form_of_its_request(body, unwrap):
    incoming = read(body)

    answer = codec.write_refusal(
        incoming.envelope, incoming.error, sender="league_manager", timestamp=NOW
    )

    assert unwrap(json.loads(answer))["context"]["field"] == "player_meta"


@rule("R-RPC-08", "R-RPC-02")
def test_our_own_request_is_the_canonical_form():
    body = codec.write_request(RoundAnnouncement(round_id=4, timestamp=NOW), 12)

    sent = json.loads(body)
    assert list(sent) == ["jsonrpc", "method", "params", "id"]
    assert (sent["jsonrpc"], sent["method"], sent["id"]) == ("2.0", "notify_round", 12)
    assert sent["params"]["message_type"] == "ROUND_ANNOUNCEMENT"
    assert taken(body, "player") == RoundAnnouncement(round_id=4, timestamp=NOW)


@rule("R-MSG-12")
@each_row(
    ("body", "query_type"),
    [
        (request({}, "get_standings"), "GET_STANDINGS"),
        (request({}, "GET_STANDINGS"), "GET_STANDINGS"),
        (request({"message_type": "LEAGUE_QUERY"}, "get_standings"), "GET_STANDINGS"),
        (tool("get_standings", {}), "GET_STANDINGS"),
        (request({"name": "get_standings"}, "tools/call"), "GET_STANDINGS"),
        (request({"query_type": "GET_STATUS"}, "get_standings"), "GET_STATUS"),  # as it says
        (request({"query_type": "GET_STATUS"}, "LEAGUE_QUERY"), "GET_STATUS"),
        (request({"x": "N"}, "get_standings").replace(b'"N"', b"1e999"), "GET_STANDINGS"),
    ],
)
def test_a_query_called_get_standings_asks_for_them(body, query_type):
    assert taken(body) == LeagueQuery(query_type)


@rule("R-MSG-06")
@each_row("move", ["even", "Even", "", 0, 1.5, True, None, [], {"a": [1]}])
def test_a_move_of_any_type_reaches_the_game(move):
    body = request({"match_id": "R1M1", "parity_choice": move}, "CHOOSE_PARITY_RESPONSE")

    assert taken(body, "referee") == ChooseParityResponse(move, match_id="R1M1")


@rule("R-MSG-07")
@each_row(
    ("receiver", "method", "params"),
    [
        # What the documents let be null.
        ("manager", "report_match_result", {"match_id": "R1M1", "result": {"winner": None}}),
        (
            "manager",
            "report_match_result",
            {"match_id": "R1M1", "result": {"winner": None, "details": {"drawn_number": None}}},
        ),
        ("player", "notify_round_completed", {"next_round_id": None}),
        (
            "player",
            "notify_match_result",
            {
                "game_result": {
                    "status": "TECHNICAL_LOSS",
                    "winner_player_id": None,
                    "drawn_number": None,
                    "number_parity": None,
                    "choices": {"P01": None},
                }
            },
        ),
    ],
)
def test_null_is_taken_where_a_document_gives_it(receiver, method, params):
    assert taken(request(params, method), receiver)
