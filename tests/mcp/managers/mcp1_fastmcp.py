"""A manager on the official SDK, last 1.x, as far as agents must be taken in. PORT."""

import sys

from mcp.server.fastmcp import FastMCP

mcp = FastMCP("A manager", port=int(sys.argv[1]))


@mcp.tool()
def register_player(player_meta: dict) -> dict:
    """Take a player in."""
    return {"status": "ACCEPTED", "player_id": "P07", "name": player_meta["display_name"]}


@mcp.tool()
def register_referee(referee_meta: dict) -> dict:
    """Take a referee in."""
    return {"status": "ACCEPTED", "referee_id": "REF07", "name": referee_meta["display_name"]}


if __name__ == "__main__":
    mcp.run(transport="streamable-http")
