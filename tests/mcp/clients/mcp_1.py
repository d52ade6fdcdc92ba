"""What the client of `mcp` 1.x sees of an agent: `python mcp_1.py URL [TOKEN]` prints JSON."""

import asyncio
import json
import sys
from typing import Any

from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamablehttp_client


async def look(url: str, headers: dict[str, str]) -> dict[str, Any]:
    """List all, ask for the status, for what is not there, and read what a manager shows."""
    async with (
        streamablehttp_client(url, headers=headers) as (read, write, _),
        ClientSession(read, write) as session,
    ):
        begun = await session.initialize()
        await session.send_ping()
        tools = await session.list_tools()
        status = await session.call_tool("league_query", {"query_type": "GET_STATUS"})
        wrong = await session.call_tool("league_query", {"qurey_type": "GET_STATUS"})
        prompt = await session.get_prompt("play")
        try:
            await session.read_resource("league://nowhere")
            missing = 0
        except McpError as error:
            missing = error.error.code
        return {
            "version": begun.protocolVersion,
            "server": begun.serverInfo.name,
            "tools": [tool.name for tool in tools.tools],
            "resources": [str(each.uri) for each in (await session.list_resources()).resources],
            "templates": [
                each.uriTemplate
                for each in (await session.list_resource_templates()).resourceTemplates
            ],
            "prompts": [each.name for each in (await session.list_prompts()).prompts],
            "prompt": prompt.messages[0].content.text,
            "status": status.structuredContent,
            "wrong": {"failed": wrong.isError, "text": wrong.content[0].text},
            "missing": missing,
        }


if __name__ == "__main__":
    shown = {"Authorization": f"Bearer {sys.argv[2]}"} if sys.argv[2:] else {}
    print(json.dumps(asyncio.run(look(sys.argv[1], shown))))
