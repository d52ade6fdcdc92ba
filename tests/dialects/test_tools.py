"""Which tool of an MCP agent takes which message."""

import json

from agentleague.dialects.tools import Tool, read_tools
from rules import rule
from tables import each_row


def find_tools(listing):
    return read_tools(json.dumps({"jsonrpc": "2.0", "result": listing, "id": 1}).encode())


def tools(*names):
    return {kind: tool.name for kind, tool in find_tools(listed(*names)).items()}


def listed(*names):
    return {"tools": [{"name": name} for name in names]}


@rule("R-DIA-06")
def test_tools_of_our_names_are_taken_as_they_are():
    found = tools("handle_game_invitation", "choose_parity", "notify_match_result")

    assert found == {
        "GAME_INVITATION": "handle_game_invitation",
        "CHOOSE_PARITY_CALL": "choose_parity",
        "GAME_OVER": "notify_match_result",
    }


def test_tools_of_other_names_are_found_by_likeness():
    found = tools("on_invite", "make_parity_choice", "receive_result", "see_standings", "new_round")

    assert found == {
        "GAME_INVITATION": "on_invite",
        "CHOOSE_PARITY_CALL": "make_parity_choice",
        "GAME_MOVE_CALL": "make_parity_choice",
        "GAME_OVER": "receive_result",
        "LEAGUE_STANDINGS_UPDATE": "see_standings",
        "ROUND_ANNOUNCEMENT": "new_round",
    }
    assert tools("join_game", "choose", "game_over") == {
        "GAME_INVITATION": "join_game",
        "CHOOSE_PARITY_CALL": "choose",
        "GAME_MOVE_CALL": "choose",
        "GAME_OVER": "game_over",
    }


def test_one_tool_may_take_everything():
    schema = {"properties": {"message": {"type": "object"}}}

    found = find_tools({"tools": [{"name": "handle_message", "inputSchema": schema}]})

    assert found["GAME_INVITATION"] == found["GAME_OVER"]
    assert found["GAME_OVER"] == Tool("handle_message", {"message": "object"})


MOVE = {
    "match_id": "R1M1",
    "player_id": "P01",
    "deadline": None,
    "context": {"opponent_id": "P02", "round_id": 3, "match_id": "further in"},
}
TEXT, NUMBER, OBJECT, ANY = ({"type": "string"}, {"type": "integer"}, {"type": "object"}, {})
PERHAPS = {"anyOf": [TEXT, {"type": "null"}]}


@rule("R-DIA-06")
@each_row(
    ("properties", "arguments"),
    [
        ({"match_id": TEXT, "opponent_id": TEXT}, {"match_id": "R1M1", "opponent_id": "P02"}),
        ({"matchId": TEXT, "opponent": ANY}, {"matchId": "R1M1", "opponent": "P02"}),
        ({"game_id": TEXT, "round": TEXT}, {"game_id": "R1M1", "round": "3"}),
        ({"round_number": NUMBER}, {"round_number": 3}),
        ({"game_context": OBJECT}, {"game_context": MOVE["context"]}),
        ({"match_id": TEXT, "colour": TEXT, "deadline": TEXT}, {"match_id": "R1M1"}),
        ({"match_id": TEXT, "note": PERHAPS}, {"match_id": "R1M1"}),
        # What is none of our fields may be the message.
        ({"message": OBJECT}, {"message": MOVE}),
        ({"req": {"$ref": "#/$defs/Request"}}, {"req": MOVE}),
        ({"req": ANY}, {"req": MOVE}),
        ({"match_id": ANY, "message": ANY}, {"match_id": "R1M1", "message": MOVE}),
        ({"a": OBJECT, "b": OBJECT, "message": TEXT}, {"a": MOVE}),  # It is sent once.
        ({"context": OBJECT, "Context": OBJECT}, {"context": MOVE["context"]}),
        ({f"{n}": ANY for n in range(32)} | {"match_id": TEXT}, MOVE),  # Later ones are not read.
        ({"text": TEXT}, {"text": json.dumps(MOVE, separators=(",", ":"))}),
        # It lists nothing of ours, or nothing that can be read.
        ({"colour": TEXT, "size": NUMBER}, MOVE),
        ({"match_id": True}, {"match_id": "R1M1"}),
        ({}, MOVE),
        ([], MOVE),
    ],
)
def test_a_tool_gets_the_parameters_that_it_lists(properties, arguments):
    row = {"name": "choose", "inputSchema": {"properties": properties}}

    tool = find_tools({"tools": [row]})["CHOOSE_PARITY_CALL"]

    assert tool.arguments(MOVE) == arguments


def test_a_registration_is_given_to_a_tool_by_what_it_lists():
    meta = {"display_name": "Ann", "contact_endpoint": "http://ann/mcp", "game_types": ["even_odd"]}
    tool = Tool("register", {"name": "string", "endpoint": "string", "supported_games": "array"})

    assert tool.arguments({"sender": "player:Ann", "player_meta": meta}) == {
        "name": "Ann",
        "endpoint": "http://ann/mcp",
        "supported_games": ["even_odd"],
    }
    assert Tool("register", {"player_meta": "object"}).arguments({"player_meta": meta}) == {
        "player_meta": meta
    }


def test_rows_that_are_no_tools_are_passed_over():
    assert find_tools({"tools": [7, {}, {"name": 3}, {"name": "sing"}]}) == {}


@each_row(
    "body",
    [
        *(b"\xff{", b'"text"', b"[]", b"7", b'{"result":null}', b'{"error":{"code":-32601}}'),
        *(b'{"result":[]}', b'{"result":{}}', b'{"result":{"tools":null}}', b'{"result":"tools"}'),
    ],
)
def test_an_answer_that_lists_no_tools_has_none(body):
    assert read_tools(body) == {}


def test_a_manager_has_tools_for_reports_and_queries():
    found = tools("register_player", "report_match_result", "ask_league_query")

    assert found["MATCH_RESULT_REPORT"] == "report_match_result"
    assert found["LEAGUE_QUERY"] == "ask_league_query"


@rule("R-DIA-06")
def test_a_tool_that_refuses_other_arguments_gets_none_of_them():
    schema = {"properties": {}, "additionalProperties": False}
    closed = find_tools({"tools": [{"name": "parity_choose", "inputSchema": schema}]})

    assert closed["CHOOSE_PARITY_CALL"].arguments({"match_id": "R1M1"}) == {}
    assert Tool("parity_choose").arguments({"match_id": "R1M1"}) == {"match_id": "R1M1"}
    assert find_tools({"tools": [{"name": "x" * 200}, {"name": ""}, {"name": 7}, 7]}) == {}
