"""The official 2.x client asks a player for its choice. ask_player.py URL."""

import asyncio
import json
import sys

from mcp import Client

FIELDS = {"match_id": "R1M1", "player_id": "P01", "round_id": 1, "context": {"opponent_id": "P02"}}


async def main(url):
    """Print the names of the tools, and what was chosen."""
    async with Client(url) as client:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        takes = tools["parity_choose"].input_schema["properties"]
        fields = {name: value for name, value in FIELDS.items() if name in takes}
        answer = await client.call_tool("parity_choose", fields)
        said = answer.structured_content or answer.content[0].text
        print(json.dumps({"tools": list(tools), "is_error": answer.is_error, "said": said}))


asyncio.run(main(sys.argv[1]))
