"""Names of fields as some agents spell them."""

import json

from agentleague.protocol import field_names
from agentleague.protocol.jsonrpc import Envelope, look_inside, read_request
from rules import rule
from tables import each_row

PLAYER = "LEAGUE_REGISTER_REQUEST"
META = {"display_name": "Ann", "contact_endpoint": "http://ann/mcp"}
REGISTER = {"message_type": PLAYER, "player_meta": META}
CAMEL = {
    "messageType": "LEAGUE_REGISTER_REQUEST",
    "playerMeta": {"displayName": "Ann", "contactEndpoint": "http://ann/mcp"},
}


def typed(name, **more):
    return {name: "LEAGUE_REGISTER_REQUEST", "player_meta": META, **more}


@rule("R-DIA-13")
@each_row(
    ("body", "read", "marks"),
    [
        (REGISTER, REGISTER, ""),
        (CAMEL, REGISTER, "#camel"),
        (typed("type"), REGISTER, "#type"),
        (typed("msg_type"), REGISTER, "#msg_type"),
        (typed("messageType"), REGISTER, "#messageType"),
        (typed("message_type", type="player"), typed("message_type", type="player"), ""),
        ({"type": "player", "player_meta": META}, {"type": "player", "player_meta": META}, ""),
        ({"text": '{"matchId":1}'}, {"text": '{"matchId":1}'}, ""),  # no name of a field
    ],
)
def test_a_request_is_read_with_the_documented_names(body, read, marks):
    found, shown = field_names.documented(json.dumps(body).encode())

    assert (json.loads(found), shown) == (read, marks)


@rule("R-DIA-13")
@each_row(
    ("marks", "written"),
    [
        ("", b'{"message_type":"GAME_OVER","player_A_id":"a_b"}'),
        ("#camel", b'{"messageType":"GAME_OVER","playerAId":"a_b"}'),
        ("#type", b'{"type":"GAME_OVER","player_A_id":"a_b"}'),
    ],
)
def test_a_message_is_written_with_the_names_of_its_receiver(marks, written):
    body = b'{"message_type":"GAME_OVER","player_A_id":"a_b"}'

    assert field_names.spelled(body, marks) == written


@rule("R-DIA-13")
@each_row(
    ("params", "nested_in"),
    [
        (
            {"envelope": {"message_type": PLAYER}, "payload": {"player_meta": META}},
            "envelope.payload",
        ),
        ({"header": {"type": PLAYER}, "body": {"player_meta": META}}, "header.body#type"),
        ({"envelope": REGISTER, "payload": 7}, "envelope"),
        ({"data": REGISTER, "payload": {"player_meta": 7}}, "data"),
    ],
)
def test_a_message_in_two_parts_is_put_together(params, nested_in):
    envelope = Envelope()
    request = {"jsonrpc": "2.0", "method": "handle_message", "params": params, "id": 1}

    read_request(json.dumps(request).encode(), envelope)
    look_inside(envelope)

    assert (json.loads(bytes(envelope.body)), envelope.nested_in) == (REGISTER, nested_in)
