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


def test_one_tool_may_take_everything_and_say_that_it_wants_one_parameter():
    schema = {"properties": {"message": {"type": "object"}}}

    found = find_tools({"tools": [{"name": "handle_message", "inputSchema": schema}]})

    assert found["GAME_INVITATION"] == found["GAME_OVER"] == Tool("handle_message", True)


def test_a_tool_with_other_parameters_gets_them_flat():
    schema = {"properties": {"match_id": {}, "message": {}}}

    found = find_tools({"tools": [{"name": "on_message", "inputSchema": schema}]})

    assert found["GAME_OVER"] == Tool("on_message")


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
