"""What an agent offers over MCP: its messages as tools, and what else was added."""

import json

import pytest

from agentleague.protocol.codec import taken_by
from agentleague.protocol.mcp import Request
from agentleague.protocol.mcp_tools import (
    ENVELOPE,
    Call,
    Catalogue,
    Tool,
    arguments_of,
    play_prompt,
    write_result,
)
from agentleague.protocol.messages import MESSAGES

SERVER = {"name": "here", "version": "1"}
SCHEMA = {
    "type": "object",
    "properties": {"name": {"type": "string"}, "n": {"type": "integer"}, "any": {}},
    "required": ["name"],
}
JOIN = Tool("join_league", "Take part.", SCHEMA, {"type": "object"}, {}, lambda *call: None)


def request(method, is_stateless=True, **params):
    return Request(SERVER, {}, method, params, 1, is_stateless)


def told(answer):
    status, body = answer
    assert status in (200, 400, 404)
    value = json.loads(body)
    return value.get("result") or value["error"]


@pytest.mark.parametrize("role", ["manager", "referee", "player"])
def test_every_message_that_a_role_takes_is_a_tool_without_its_envelope(role):
    tools = told(Catalogue(role).answer(request("tools/list")))["tools"]

    methods = [kind.method for name, kind in MESSAGES.items() if name in taken_by(role)]
    assert [tool["name"] for tool in tools] == methods
    for tool in tools:
        takes = tool["inputSchema"]
        assert takes["type"] == tool["outputSchema"]["type"] == "object"
        assert not ENVELOPE & {*takes["properties"], *takes["required"]}
        kind = next(kind for kind in MESSAGES.values() if kind.method == tool["name"])
        assert {*takes["properties"]} == {*kind.cls.__struct_fields__} - ENVELOPE
        assert tool["description"].count("\n") == 0
        assert '"items": false' not in json.dumps(tool)  # Some clients read no such schema.
        assert "auth_token" in takes["properties"]
        assert "description" in takes["properties"]["auth_token"]


def test_a_query_is_marked_as_one_that_changes_nothing():
    tools = told(Catalogue("manager").answer(request("tools/list")))["tools"]

    hints = {tool["name"]: tool["annotations"] for tool in tools}
    assert hints["league_query"]["readOnlyHint"]
    assert not hints["register_player"]["readOnlyHint"]
    assert hints["league_command"]["destructiveHint"]
    assert not hints["register_player"]["destructiveHint"]


def test_a_tool_that_is_added_comes_first_and_takes_the_place_of_a_message():
    catalogue = Catalogue("manager")
    catalogue.answer(request("tools/list"))

    catalogue.add(JOIN)
    catalogue.add(Tool("league_query", "", SCHEMA, {}, {}, JOIN.call))

    names = [tool["name"] for tool in told(catalogue.answer(request("tools/list")))["tools"]]
    assert names[:2] == ["join_league", "league_query"]
    assert names.count("league_query") == 1
    call = request("tools/call", name="join_league", arguments={"name": "Ann"})
    assert catalogue.answer(call) == Call("join_league", {"name": "Ann"}, JOIN)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ({"name": "Ann", "n": 1, "any": []}, ""),
        ({"nmae": "Ann"}, "'name' is missing; the arguments are name (required), n, any"),
        ({"name": "Ann", "x": 1}, "no argument 'x'; the arguments are name (required), n, any"),
        ({"name": 7}, "'name' must be of type string"),
        ({"name": "Ann", "n": True}, "'n' must be of type integer"),
    ],
)
def test_a_wrong_argument_is_named_and_so_is_what_there_is_instead(arguments, fault):
    assert JOIN.fault(arguments).endswith(fault)
    assert bool(JOIN.fault(arguments)) is bool(fault)


def test_a_tool_without_parameters_says_so():
    tool = Tool("leave", "", {"type": "object", "properties": {}}, {}, {})

    assert tool.fault({"x": 1}) == "there is no argument 'x'; it takes no arguments"


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("league_query", {"query_type": "GET_STATUS"}),
        ("LEAGUE_QUERY", {}),
        ("get_standings", {}),
        ("whatever", {"message_type": "LEAGUE_QUERY"}),  # a foreign agent names it inside
        ("whatever", {"message": {"message_type": "LEAGUE_QUERY"}}),
    ],
)
def test_a_message_is_called_by_its_method_or_as_a_foreign_agent_does(name, arguments):
    call = request("tools/call", name=name, arguments=arguments)

    assert Catalogue("manager").answer(call) == Call(name, arguments)


def test_what_is_not_there_is_answered_with_what_is():
    manager = Catalogue("manager")
    manager.add(play_prompt("even_odd", "A lone right guess wins.", {}))

    def message(method, **params):
        return told(manager.answer(request(method, **params)))["message"]

    assert "Unknown tool 'parity'; there are register_" in message("tools/call", name="parity")
    assert "must be an object" in message("tools/call", name="league_query", arguments=[1])
    assert "there are league://standings" in message("resources/read", uri="league://matches/")
    assert "Unknown prompt 'x'; there are play" in message("prompts/get", name="x")
    assert "Method not found: tools/x" in message("tools/x")


def test_a_handshake_agrees_on_a_version_that_both_know():
    manager = Catalogue("manager")

    def agreed(version):
        answer = manager.answer(request("initialize", False, protocolVersion=version))
        return told(answer)["protocolVersion"]

    assert agreed("2025-03-26") == "2025-03-26"
    assert agreed("1999-01-01") == agreed(None) == "2025-11-25"


def test_each_era_has_methods_that_the_other_has_not():
    manager = Catalogue("manager")

    assert manager.answer(request("ping", False))[0] == 200
    assert manager.answer(request("ping"))[0] == 404
    assert "call join_league" in told(manager.answer(request("server/discover")))["instructions"]
    assert told(manager.answer(request("server/discover", False)))["code"] == -32601


def test_what_a_role_does_not_offer_is_neither_announced_nor_there():
    player, manager = Catalogue("player"), Catalogue("manager")

    assert told(player.answer(request("server/discover")))["capabilities"] == {"tools": {}}
    assert player.answer(request("resources/list"))[0] == 404
    offered = {*told(manager.answer(request("server/discover")))["capabilities"]}
    assert offered == {"tools", "resources"}
    assert manager.answer(request("prompts/list"))[0] == 404


def test_resources_of_a_manager_are_read_with_queries():
    manager = Catalogue("manager")

    rows = told(manager.answer(request("resources/list")))["resources"]
    assert [row["uri"] for row in rows] == ["league://standings", "league://schedule"]
    rows = told(manager.answer(request("resources/templates/list")))["resourceTemplates"]
    assert [row["uriTemplate"] for row in rows] == ["league://matches/{match_id}"]
    query = {"query_type": "GET_MATCH", "query_params": {"match_id": "R1M1"}}
    read = manager.answer(request("resources/read", uri="league://matches/R1M1"))
    assert read == Call("league_query", query, None, "league://matches/R1M1")


def test_a_resource_has_a_content_and_one_that_is_not_there_an_error():
    read = request("resources/read", uri="league://standings")
    old = request("resources/read", False, uri="league://standings")

    content = told(write_result(read, b'{"a":1}'))
    assert content["contents"][0]["text"] == '{"a":1}'
    assert content["ttlMs"] == 0
    missing = told(write_result(read, b"{}", "not yet", failed=True))
    assert missing == {
        **{"code": -32602, "message": "not yet"},
        "data": {"uri": "league://standings"},
    }
    assert told(write_result(old, b"{}", "not yet", failed=True))["code"] == -32002


def test_a_result_is_an_object_and_a_text():
    plain = told(write_result(request("tools/call"), b'{"a":1}'))
    failed = told(write_result(request("tools/call"), b"{}", "Try again.", failed=True))

    assert plain["structuredContent"] == json.loads(plain["content"][0]["text"]) == {"a": 1}
    assert (plain["isError"], failed["isError"]) == (False, True)
    assert failed["content"] == [{"type": "text", "text": "Try again."}]
    list_failed = told(write_result(request("tools/list"), b"{}", "Slow down.", failed=True))
    assert list_failed == {"code": -32603, "message": "Slow down."}


def test_the_prompt_teaches_the_rules_and_the_tools_of_a_host():
    manager = Catalogue("manager")
    manager.add(play_prompt("even_odd", "A lone right guess wins.", {"lowest": 0}))

    listed = told(manager.answer(request("prompts/list")))["prompts"]
    assert [prompt["name"] for prompt in listed] == ["play"]
    said = told(manager.answer(request("prompts/get", name="play")))["messages"][0]
    text = said["content"]["text"]
    for word in ("A lone right guess wins.", '{"lowest":0}', "join_league", "submit_move"):
        assert word in text
    assert "In this league" not in play_prompt("even_odd", "", {}).text


def test_the_arguments_of_a_message_are_told_where_one_is_wrong():
    assert arguments_of("league_query", {"qurey": 1, "sender": "x"}).startswith(
        "qurey: no such argument; the arguments are "
    )
    assert arguments_of("league_query", {}).startswith("the arguments are ")
