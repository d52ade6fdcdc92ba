"""A player on FastMCP without sessions and event streams, for several workers. PORT."""

import sys

from fastmcp import FastMCP

mcp = FastMCP("FastMCP stateless")


@mcp.tool
def handle_game_invitation(match_id: str, game_type: str) -> bool:
    """Join a match."""
    return bool(match_id) and game_type == "even_odd"


@mcp.tool
def parity_choose(match_id: str, round_id: int, deadline: str | None = None) -> dict:
    """Choose even or odd."""
    return {"choice": "odd" if round_id % 2 else "even", "match_id": match_id, "by": deadline}


if __name__ == "__main__":
    mcp.run(transport="http", port=int(sys.argv[1]), stateless_http=True, json_response=True)
