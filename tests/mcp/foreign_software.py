"""Software nobody here wrote, each generation of it in an environment of its own."""

import os
from pathlib import Path

import pytest

from commands import BIN, ROOT, free_port, league, read_until, started

HERE = Path(__file__).parent
MCP_1, MCP_2 = ROOT / ".venv-mcp-1", ROOT / ".venv-mcp-2"  # mcp 1.x; mcp 2.x and fastmcp
MCP_NODE = ROOT / ".venv-mcp-node"  # the conformance suite and the MCP Inspector
# A player -> the environment that it runs in.
PLAYERS = {
    "mcp1_fastmcp": MCP_1,
    "mcp2_server": MCP_2,
    "mcp2_lowlevel": MCP_2,
    "fastmcp_default": MCP_2,
    "fastmcp_stateless": MCP_2,
}


def _needs(target, *environments):
    """Leave a test by hand out where something is not installed; in CI that is a failure."""
    is_there = all((each / "ready").exists() for each in environments)
    return pytest.mark.skipif(
        not is_there and not os.environ.get("CI"),
        reason=f"the MCP software of others is not installed; type: make {target}",
    )


needs_foreign_software = _needs("foreign-mcp", MCP_1, MCP_2)
needs_node = _needs("mcp-conformance", MCP_NODE)


def player_command(name, port, *manager):
    """What starts a player of these."""
    return [PLAYERS[name] / "bin" / "python", HERE / "players" / f"{name}.py", port, *manager]


def client_command(environment, name, *arguments):
    """What starts a client."""
    return [environment / "bin" / "python", HERE / "clients" / f"{name}.py", *arguments]


def node_command(name, *arguments):
    """What starts a program of the conformance suite's environment."""
    return [MCP_NODE / "bin" / "node", MCP_NODE / "node_modules" / ".bin" / name, *arguments]


def finished_league(home):
    """The end point of a manager whose league is over: everything has something to show."""
    league("demo", "--dir", "cup", cwd=home)
    port = free_port()
    manager = started(BIN / "league", "manager", "--dir", "cup", "--port", port, cwd=home)
    read_until(manager, "Stop with Ctrl-C")
    return f"http://127.0.0.1:{port}/mcp"
