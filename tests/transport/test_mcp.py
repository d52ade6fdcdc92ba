"""MCP at the end points of agents, over real sockets."""

import asyncio
import json

from jsonschema import Draft202012Validator

from agentleague.errors import NotStarted, TokenInvalid
from agentleague.protocol.mcp_tools import Tool, play_prompt
from agentleague.protocol.messages import (
    GameJoinAck,
    LeagueQueryResponse,
    LeagueRegisterResponse,
    QueryError,
)
from agentleague.runtime.clock import LoopClock
from agentleague.transport.guard import Guard
from agentleague.transport.http import HttpTransport, Rate, TransportPolicy
from rules import rule

HANDSHAKE = {"MCP-Protocol-Version": "2025-11-25"}
META = {
    "io.modelcontextprotocol/protocolVersion": "2026-07-28",
    "io.modelcontextprotocol/clientCapabilities": {},
}
TOKEN = "tok_P07_" + "a" * 40
STATUS = {"name": "league_query", "arguments": {"query_type": "GET_STATUS"}}
NAMES = {"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"]}


def rpc(method, params=None, request_id=1):
    return {"jsonrpc": "2.0", "id": request_id, "method": method, "params": params or {}}


def stateless(method, params=None):
    """A request of the stateless revision and its headers."""
    headers = {"MCP-Protocol-Version": "2026-07-28", "Mcp-Method": method}
    name = (params or {}).get("name") or (params or {}).get("uri")
    headers |= {"Mcp-Name": name} if name else {}
    return rpc(method, {**(params or {}), "_meta": META}), headers


async def post(port, body, headers=(), verb="POST"):
    """The status and the value of an answer; None if it is empty."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    text = json.dumps(body).encode()
    lines = [f"{verb} /mcp HTTP/1.1", "Host: 127.0.0.1", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in dict(headers).items()]
    writer.write("\r\n".join([*lines, f"Content-Length: {len(text)}", "", ""]).encode() + text)
    head, _, answer = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    return int(head.split()[1]), json.loads(answer) if answer else None


def ask(*requests, role="manager", on_ask=None, tools=(), rate=None):
    """What an agent answers to these requests, one after the other."""

    async def main():
        clock = LoopClock(asyncio.get_running_loop())
        policy = TransportPolicy(role, Guard("local"), lambda: 0.0, rate=rate or Rate())
        agent = HttpTransport(clock, policy)
        if on_ask:
            agent.listen(on_ask)
        for tool in tools:
            agent.mcp.add(tool)
        port = await agent.start(0, ("127.0.0.1",))
        try:
            return [await post(port, *request) for request in requests]
        finally:
            await agent.stop()

    return asyncio.run(main())


class Answering:
    """A role that answers everything with one message, and remembers what it was asked."""

    def __init__(self, answer):
        self.answer, self.asked, self.callers = answer, [], []

    def __call__(self, message, caller, reply):
        self.asked.append(message)
        self.callers.append(caller)
        reply(self.answer)


@rule("R-MCP-03")
def test_a_call_reaches_the_role_as_a_message_with_its_envelope_filled_in():
    role = Answering(LeagueQueryResponse("GET_STATUS", data={"players": 4}))
    shown = {"authorization": f"Bearer {TOKEN}"}
    both = (rpc("tools/call", STATUS), HANDSHAKE), stateless("tools/call", STATUS)

    answers = ask(*((body, {**headers, **shown}) for body, headers in both), on_ask=role)

    for status, told in answers:
        result = told["result"]
        assert (status, result["isError"]) == (200, False)
        assert result["structuredContent"]["data"] == {"players": 4}
        assert json.loads(result["content"][0]["text"]) == result["structuredContent"]
    message, caller = role.asked[1], role.callers[1]
    assert role.asked[0] == message
    assert (message.auth_token, message.sender) == (TOKEN, "agent:P07")
    assert (message.timestamp, message.conversation_id) == ("1970-01-01T00:00:00Z", "mcp-1")
    assert (caller.token, caller.form, caller.rpc_method) == (TOKEN, "tool", "league_query")
    assert caller.missing == ()


@rule("R-MCP-03")
def test_the_token_among_the_arguments_counts_more_than_the_header():
    role = Answering(LeagueQueryResponse("GET_STATUS"))
    arguments = {"query_type": "GET_STATUS", "auth_token": "tok_P01_b"}
    call = rpc("tools/call", {"name": "league_query", "arguments": arguments})

    ask((call, {**HANDSHAKE, "Authorization": f"Bearer {TOKEN}"}), on_ask=role)

    assert role.callers[0].token == "tok_P01_b"


@rule("R-MCP-01", "R-FORM-04")
def test_a_foreign_agent_that_calls_a_tool_without_a_handshake_is_answered_as_ever():
    role = Answering(TokenInvalid("that token is not known"))
    envelope = {"message_type": "LEAGUE_QUERY", "sender": "player:P01", "auth_token": TOKEN}
    call = {"name": "whatever", "arguments": {**envelope, "query_type": "GET_STATUS"}}

    foreign, mcp = ask(
        (rpc("tools/call", call),), (rpc("tools/call", call), HANDSHAKE), on_ask=role
    )

    assert foreign[1]["error"]["data"]["error_code"] == "E012"
    assert mcp[1]["result"]["isError"]
    assert mcp[1]["result"]["structuredContent"]["message_type"] == "LEAGUE_ERROR"
    assert (role.asked[0].sender, role.asked[1].sender) == ("player:P01", "player:P01")
    assert TOKEN not in json.dumps([foreign, mcp])


@rule("R-MCP-04")
def test_a_client_of_the_first_revision_is_known_by_what_it_accepts():
    accepts = {"Accept": "application/json, text/event-stream"}
    bearer = {"Authorization": f"Bearer {TOKEN}"}
    role = Answering(LeagueQueryResponse("GET_STATUS"))
    unknown = {"name": "no_such_tool", "arguments": 7}

    called, refused = ask(
        (rpc("tools/call", STATUS), accepts | bearer),
        (rpc("tools/call", unknown), accepts),
        on_ask=role,
    )

    assert called[1]["result"]["isError"] is False
    assert role.callers[0].token == TOKEN
    assert refused[1]["error"]["code"] == -32602


def test_a_resource_that_is_refused_is_a_bad_request():
    role = Answering(TokenInvalid("auth_token is nobody's"))

    ((status, told),) = ask(stateless("resources/read", {"uri": "league://standings"}), on_ask=role)

    assert (status, told["error"]["code"]) == (400, -32602)


def test_an_error_of_the_league_says_what_to_do():
    wrong = {"name": "league_query", "arguments": {"qurey_type": "GET_STATUS"}}

    (_, tools), (status, told) = ask((rpc("tools/list"),), (rpc("tools/call", wrong), HANDSHAKE))

    rows = {tool["name"]: tool for tool in tools["result"]["tools"]}
    schema = Draft202012Validator(rows["league_query"]["outputSchema"])
    schema.validate(told["result"]["structuredContent"])  # As the TypeScript SDK does.
    assert not schema.is_valid({"message_type": "GAME_OVER"})
    text = told["result"]["content"][0]["text"]
    assert (status, told["result"]["isError"]) == (200, True)
    assert "missing field 'query_type'" in text
    assert "qurey_type: no such argument; the arguments are query_type (required)" in text


@rule("R-MCP-03")
def test_what_a_registration_lacks_is_told_to_the_role():
    role = Answering(LeagueRegisterResponse("ACCEPTED", "P01"))
    player = {"display_name": "Ann", "contact_endpoint": "http://127.0.0.1:1/mcp"}
    register = {"name": "register_player", "arguments": {"player_meta": player}}

    ask((rpc("tools/call", register), HANDSHAKE), on_ask=role)

    assert role.callers[0].missing == ("player_meta.version", "player_meta.game_types")


@rule("R-MCP-04")
def test_a_refused_registration_and_a_failed_query_are_errors_of_their_tools():
    player = {"display_name": "Ann", "contact_endpoint": "http://127.0.0.1:1/mcp"}
    register = {"name": "register_player", "arguments": {"player_meta": player}}
    refused = Answering(LeagueRegisterResponse("REJECTED", reason="League full"))
    failed = Answering(LeagueQueryResponse("X", success=False, error=QueryError("E005", "", "No.")))

    [(_, first)] = ask((rpc("tools/call", register), HANDSHAKE), on_ask=refused)
    [(_, second)] = ask((rpc("tools/call", STATUS), HANDSHAKE), on_ask=failed)

    assert first["result"]["isError"]
    assert first["result"]["structuredContent"]["reason"] == "League full"
    assert second["result"]["isError"]
    assert second["result"]["content"][0]["text"] == "No."


@rule("R-MCP-05")
def test_resources_show_what_queries_tell():
    early = QueryError(NotStarted.code, "", "the league has not begun")
    told = {
        "GET_STANDINGS": LeagueQueryResponse("GET_STANDINGS", success=False, error=early),
        "GET_SCHEDULE": LeagueQueryResponse("GET_SCHEDULE", data={"rounds": []}),
        "GET_MATCH": LeagueQueryResponse("M", success=False, error=QueryError("E015", "", "None.")),
    }
    uris = ("league://standings", "league://schedule", "league://matches/R9M9")
    reads = [stateless("resources/read", {"uri": uri}) for uri in uris]

    table, schedule, match = ask(
        *reads, on_ask=lambda message, caller, reply: reply(told[message.query_type])
    )

    assert "has not begun" in table[1]["result"]["contents"][0]["text"]
    assert json.loads(schedule[1]["result"]["contents"][0]["text"])["data"] == {"rounds": []}
    assert (match[0], match[1]["error"]["message"]) == (400, "None.")


def test_a_tool_that_was_added_is_called_with_arguments_that_fit_it():
    seen = []

    def call(arguments, caller, respond):
        seen.append((arguments, caller.token, caller.source))
        respond({"welcome": arguments["name"]}, "Welcome.")

    tool = Tool("join_league", "Take part.", NAMES, {"type": "object"}, {}, call)
    good = {"name": "join_league", "arguments": {"name": "Ann"}}
    bad = {"name": "join_league", "arguments": {"nmae": "Ann"}}
    bearer = {"Authorization": f"Bearer {TOKEN}"}

    answers = ask(
        (rpc("tools/call", good), {**HANDSHAKE, **bearer}),
        stateless("tools/call", good),
        (rpc("tools/call", good),),  # a client of 2025-03-26, which sends no version
        (rpc("tools/call", bad), HANDSHAKE),
        tools=[tool],
    )

    for _, told in answers[:3]:
        assert told["result"]["structuredContent"] == {"welcome": "Ann"}
        assert told["result"]["content"][0]["text"] == "Welcome."
    assert seen[0] == ({"name": "Ann"}, TOKEN, "127.0.0.1")
    assert seen[1][1] is None
    assert len(seen) == 3
    result = answers[3][1]["result"]
    assert result["isError"]
    assert result["structuredContent"]["error_code"] == "E003"
    assert "'name' is missing; the arguments are name (required)" in result["content"][0]["text"]


def test_a_league_error_of_a_tool_that_was_added_is_told_as_one():
    def call(arguments, caller, respond):
        respond(NotStarted("the league has not begun; wait for it"))

    tool = Tool("join_league", "Take part.", NAMES, {"type": "object"}, {}, call)

    [(_, told)] = ask(
        stateless("tools/call", {"name": "join_league", "arguments": {"name": "Ann"}}),
        tools=[tool],
    )

    result = told["result"]
    assert (result["isError"], result["structuredContent"]["error_code"]) == (True, "E030")
    assert "the league has not begun; wait for it" in result["content"][0]["text"]


@rule("R-MCP-01")
def test_what_needs_nobody_is_answered_without_the_role():
    answers = ask(
        (rpc("initialize", {"protocolVersion": "2025-06-18"}),),
        ({"jsonrpc": "2.0", "method": "notifications/initialized"}, HANDSHAKE),
        (rpc("ping"),),
        stateless("server/discover"),
        stateless("prompts/get", {"name": "play"}),
        tools=[play_prompt("even_odd", "A lone right guess wins.", {})],
    )

    assert [status for status, _ in answers] == [200, 202, 200, 200, 200]
    assert answers[0][1]["result"]["serverInfo"]["name"] == "agentleague-manager"
    assert answers[1][1] is None
    assert answers[3][1]["result"]["capabilities"] == {"tools": {}, "resources": {}, "prompts": {}}


@rule("R-MCP-02")
def test_faults_have_the_status_of_the_specification():
    modern = stateless("tools/list")
    evil = {**modern[1], "Origin": "http://evil.example"}
    wrong = {**modern[1], "Mcp-Method": "prompts/list"}

    answers = ask(
        (modern[0], {}, "GET"),
        (modern[0], HANDSHAKE, "DELETE"),
        (modern[0], evil),
        (modern[0], wrong),
        ([rpc("ping")], HANDSHAKE),
        stateless("tools/nothing"),
        (rpc("resources/nothing"), HANDSHAKE),
        (modern[0], {}),
    )

    codes = [(status, told["error"]["code"]) for status, told in answers]
    assert codes[:3] == [(405, -32600), (405, -32600), (403, -32600)]
    assert codes[3:5] == [(400, -32020), (400, -32600)]
    assert codes[5:] == [(404, -32601), (200, -32601), (400, -32020)]


def test_requests_over_the_rate_are_refused_in_either_way():
    rate = Rate(per_second=0.01, burst=1.0, refusal_seconds=0.0)
    call = (rpc("tools/call", STATUS), HANDSHAKE)
    read = stateless("resources/read", {"uri": "league://standings"})

    first, listed, called, shown = ask(
        (rpc("tools/list"),), (rpc("tools/list"),), call, read, rate=rate
    )

    assert first[0] == 200
    assert (listed[0], listed[1]["error"]["code"]) == (429, -32603)
    assert called[1]["result"]["structuredContent"]["error_code"] == "E047"
    assert (shown[0], shown[1]["error"]["data"]) == (429, {"uri": "league://standings"})


def test_a_player_is_asked_for_a_move_by_a_referee_that_speaks_mcp():
    role = Answering(GameJoinAck(match_id="R1M1", player_id="P01"))
    arguments = {"match_id": "R1M1", "player_id": "P01", "opponent_id": "P02"}
    call = {"name": "handle_game_invitation", "arguments": arguments}

    tools, answer = ask(
        stateless("tools/list"), stateless("tools/call", call), role="player", on_ask=role
    )

    rows = {tool["name"]: tool for tool in tools[1]["result"]["tools"]}
    result = answer[1]["result"]["structuredContent"]
    Draft202012Validator(rows["handle_game_invitation"]["outputSchema"]).validate(result)
    Draft202012Validator(rows["handle_game_invitation"]["inputSchema"]).validate(arguments)
    assert (result["message_type"], role.asked[0].opponent_id) == ("GAME_JOIN_ACK", "P02")
    assert role.asked[0].sender == "referee:mcp"


def test_no_answer_repeats_the_token_of_the_header():
    role = Answering(TokenInvalid(f"{TOKEN} is not known", shown=TOKEN))
    shown = {**HANDSHAKE, "Authorization": f"Bearer {TOKEN}"}
    wrong = {"name": "league_query", "arguments": {"qurey": 1}}

    answers = ask(
        (rpc("tools/call", STATUS), shown), (rpc("tools/call", wrong), shown), on_ask=role
    )

    assert role.callers[0].token == TOKEN
    assert all(told["result"]["isError"] for _, told in answers)
    assert TOKEN not in json.dumps(answers)
