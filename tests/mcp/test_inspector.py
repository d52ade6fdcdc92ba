"""The MCP Inspector on the command line sees and asks a manager, in both eras of the protocol."""

import json

import pytest
from mcp.foreign_software import finished_league, needs_node, node_command

from commands import environment, run

pytestmark = [pytest.mark.slow, needs_node, pytest.mark.parametrize("era", ["legacy", "modern"])]


@pytest.fixture
def inspect(tmp_path, era):
    """Calls a method of the manager of a league that is over."""
    manager = finished_league(tmp_path)
    own = {**environment(), "MCP_CATALOG_PATH": str(tmp_path / "catalogue.json")}

    def call(method, *options, code=0):
        where = ("--cli", manager, "--transport", "http", "--protocol-era", era)
        done = run(node_command("mcp-inspector", *where, "--method", method, *options), env=own)
        assert done.returncode == code, done.stdout + done.stderr
        return json.loads(done.stdout) if code == 0 else done.stdout + done.stderr

    return call


def test_what_there_is_is_listed(inspect):
    tools = inspect("tools/list", "--strict")["tools"]  # It judges the schemas, too.
    resources = inspect("resources/list")["resources"]
    prompts = inspect("prompts/list")["prompts"]

    assert {"register_player", "league_query"} <= {tool["name"] for tool in tools}
    assert all(tool["description"] for tool in tools)
    assert "league://standings" in [resource["uri"] for resource in resources]
    assert [prompt["name"] for prompt in prompts] == ["play"]


def test_a_tool_a_resource_and_a_prompt_tell_what_the_league_is(inspect):
    status = ("--tool-name", "league_query", "--tool-arg", "query_type=GET_STATUS")
    asked = inspect("tools/call", *status)["structuredContent"]
    (table,) = inspect("resources/read", "--uri", "league://standings")["contents"]
    (text,) = inspect("prompts/get", "--prompt-name", "play")["messages"]

    assert asked["data"]["status"] == "LEAGUE_COMPLETED"
    assert len(json.loads(table["text"])["data"]["standings"]) == 4
    assert "submit_move" in text["content"]["text"]


def test_a_wrong_argument_is_named_and_so_are_the_right_ones(inspect):
    wrong = ("--tool-name", "league_query", "--tool-arg", "qurey_type=GET_STATUS")

    said = inspect("tools/call", *wrong, code=5)

    assert "query_type" in said
