"""What the client of FastMCP sees of an agent: `python fastmcp_4.py URL [TOKEN]` prints JSON."""

import asyncio
import json
import sys
from typing import Any

from fastmcp import Client
from mcp import MCPError


async def look(url: str, token: str | None) -> dict[str, Any]:
    """List all, ask for the status, for what is not there, and read what a manager shows."""
    async with Client(url, auth=token) as client:
        status = await client.call_tool("league_query", {"query_type": "GET_STATUS"})
        wrong = await client.call_tool(
            "league_query", {"qurey_type": "GET_STATUS"}, raise_on_error=False
        )
        prompt = await client.get_prompt("play")
        try:
            await client.read_resource("league://nowhere")
            missing = 0
        except MCPError as error:
            missing = error.error.code
        return {
            "tools": [tool.name for tool in await client.list_tools()],
            "resources": [str(each.uri) for each in await client.list_resources()],
            "prompts": [each.name for each in await client.list_prompts()],
            "prompt": prompt.messages[0].content.text,
            "status": status.structured_content,
            "wrong": {"failed": wrong.is_error, "text": wrong.content[0].text},
            "missing": missing,
        }


if __name__ == "__main__":
    print(json.dumps(asyncio.run(look(sys.argv[1], (sys.argv[2:] or [None])[0]))))
