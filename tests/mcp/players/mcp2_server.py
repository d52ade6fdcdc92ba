"""A player on the official SDK 2.x: MCPServer, with models as results. PORT [MANAGER]."""

import sys
from threading import Timer

from mcp.server import MCPServer
from pydantic import BaseModel
from registration import register

port = int(sys.argv[1])
mcp = MCPServer("Official 2.x")


class Joined(BaseModel):
    match_id: str
    accept: bool


class Choice(BaseModel):
    parity_choice: str


@mcp.tool()
def handle_game_invitation(match_id: str, game_type: str, round_id: int) -> Joined:
    """Join a match."""
    return Joined(match_id=match_id, accept=game_type == "even_odd" and round_id > 0)


@mcp.tool()
def parity_choose(match_id: str, player_id: str, context: dict) -> Choice:
    """Choose even or odd."""
    assert context["opponent_id"] != player_id, match_id
    return Choice(parity_choice="even")


@mcp.tool()
def notify_match_result(match_id: str, game_result: dict) -> str:
    """Hear how a match ended."""
    return f"{match_id}: {game_result['status']}"


if __name__ == "__main__":
    for manager in sys.argv[2:]:
        Timer(1.0, register, ("mcp2_server", port, manager)).start()
    mcp.run(transport="streamable-http", port=port)
