"""Software nobody here wrote, each generation of it in an environment of its own."""

import os
from pathlib import Path

import pytest

from commands import ROOT

HERE = Path(__file__).parent
MCP_1, MCP_2 = ROOT / ".venv-mcp-1", ROOT / ".venv-mcp-2"  # mcp 1.x; mcp 2.x and fastmcp
# A player -> the environment that it runs in.
PLAYERS = {
    "mcp1_fastmcp": MCP_1,
    "mcp2_server": MCP_2,
    "mcp2_lowlevel": MCP_2,
    "fastmcp_default": MCP_2,
    "fastmcp_stateless": MCP_2,
}
# For a test by hand; where `make` runs them it has installed everything, or something is wrong.
needs_foreign_software = pytest.mark.skipif(
    not all((each / "ready").exists() for each in (MCP_1, MCP_2)) and not os.environ.get("CI"),
    reason="the MCP software of others is not installed; type: make foreign-mcp",
)


def player_command(name, port, *manager):
    """What starts a player of these."""
    return [PLAYERS[name] / "bin" / "python", HERE / "players" / f"{name}.py", port, *manager]


def client_command(environment, name, *arguments):
    """What starts a client."""
    return [environment / "bin" / "python", HERE / "clients" / f"{name}.py", *arguments]
