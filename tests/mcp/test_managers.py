"""Our agents register at managers of others, which know MCP alone and may demand a handshake."""

import pytest
from mcp.foreign_software import HERE, MCP_1, MCP_2, needs_foreign_software

from commands import BIN, RUNNING, free_port, popen, read_until, started

pytestmark = needs_foreign_software


@pytest.mark.parametrize(
    ("name", "environment"), [("mcp1_fastmcp", MCP_1), ("fastmcp_default", MCP_2)]
)
def test_a_player_and_a_referee_of_ours_are_taken_in(name, environment, tmp_path):
    port = free_port()
    manager = popen([environment / "bin" / "python", HERE / "managers" / f"{name}.py", port])
    RUNNING.append(manager)
    read_until(manager, "Uvicorn running on")

    for role, agent_id in (("player", "P07"), ("referee", "REF07")):
        where = ("--manager", f"http://127.0.0.1:{port}/mcp", "--port", free_port())
        agent = started(BIN / "league", role, *where, "--state", tmp_path)

        assert f"Registered as {agent_id}" in read_until(agent, "Registered as")
