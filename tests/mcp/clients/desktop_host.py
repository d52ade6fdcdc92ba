"""Does what a desktop host does with its file of servers: desktop_host.py FILE SERVER."""

import asyncio
import json
import sys
from pathlib import Path

from mcp import Client, StdioServerParameters


async def main(entry):
    """Start the program that the file names, and print what can be done through it."""
    async with Client(StdioServerParameters(**entry)) as client:
        tools = (await client.list_tools()).tools
        status = await client.call_tool("league_query", {"query_type": "GET_STATUS"})
        named = [tool.name for tool in tools]
        print(json.dumps({"tools": named, "status": status.structured_content["data"]["status"]}))


asyncio.run(main(json.loads(Path(sys.argv[1]).read_text())["mcpServers"][sys.argv[2]]))
