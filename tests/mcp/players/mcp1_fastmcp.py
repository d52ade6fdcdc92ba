"""A player on the official SDK, last 1.x: FastMCP as its first page shows it. PORT [MANAGER]."""

import sys

from mcp.server.fastmcp import FastMCP
from registration import register

port = int(sys.argv[1])
mcp = FastMCP("Official 1.x", port=port)


@mcp.tool()
def handle_game_invitation(match_id: str, game_type: str, opponent_id: str) -> dict:
    """Join a match."""
    return {"match_id": match_id, "accept": game_type == "even_odd", "against": opponent_id}


@mcp.tool()
def parity_choose(match_id: str, player_id: str) -> dict:
    """Choose even or odd."""
    return {"match_id": match_id, "player_id": player_id, "parity_choice": "odd"}


if __name__ == "__main__":
    for manager in sys.argv[2:]:
        register("mcp1_fastmcp", port, manager)  # Nobody listens yet, as many write it.
    mcp.run(transport="streamable-http")
