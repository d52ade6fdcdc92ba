"""A manager on FastMCP, as far as agents must be taken in. PORT."""

import sys

from fastmcp import FastMCP

mcp = FastMCP("A manager")


@mcp.tool
def register_player(display_name: str, contact_endpoint: str) -> dict:
    """Take a player in."""
    return {"status": "ACCEPTED", "player_id": "P07", "called": [display_name, contact_endpoint]}


@mcp.tool
def register_referee(display_name: str, contact_endpoint: str) -> dict:
    """Take a referee in."""
    return {"status": "ACCEPTED", "referee_id": "REF07", "called": [display_name, contact_endpoint]}


if __name__ == "__main__":
    mcp.run(transport="http", port=int(sys.argv[1]))
