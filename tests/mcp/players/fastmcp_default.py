"""A player on FastMCP as its first page shows it: it refuses unknown arguments. PORT [MANAGER]."""

import sys
from threading import Timer
from typing import Literal

from fastmcp import FastMCP
from registration import register

port = int(sys.argv[1])
mcp = FastMCP("FastMCP")


@mcp.tool
def parity_choose(match_id: str, player_id: str) -> Literal["even", "odd"]:
    """Choose even or odd."""
    return "even" if match_id and player_id else "odd"


if __name__ == "__main__":
    for manager in sys.argv[2:]:
        Timer(1.0, register, ("fastmcp_default", port, manager)).start()
    mcp.run(transport="http", port=port)
