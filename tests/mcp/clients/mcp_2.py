"""What the client of `mcp` 2.x sees of an agent: `python mcp_2.py URL MODE [TOKEN]` prints JSON.

MODE is auto, legacy or a version of the stateless revision.
"""

import asyncio
import json
import sys
from typing import Any

import httpx2
from mcp import Client, MCPError
from mcp.client.streamable_http import streamable_http_client


async def look(url: str, mode: str, headers: dict[str, str]) -> dict[str, Any]:
    """List all, ask for the status, for what is not there, and read what a manager shows."""
    async with (
        httpx2.AsyncClient(headers=headers) as http,
        Client(streamable_http_client(url, http_client=http), mode=mode) as client,
    ):
        tools = await client.list_tools()
        status = await client.call_tool("league_query", {"query_type": "GET_STATUS"})
        wrong = await client.call_tool("league_query", {"qurey_type": "GET_STATUS"})
        prompt = await client.get_prompt("play")
        try:
            await client.read_resource("league://nowhere")
            missing = 0
        except MCPError as error:
            missing = error.error.code
        return {
            "version": client.protocol_version,
            "server": client.server_info.name if client.server_info else None,
            "tools": [tool.name for tool in tools.tools],
            "resources": [str(each.uri) for each in (await client.list_resources()).resources],
            "templates": [
                each.uri_template
                for each in (await client.list_resource_templates()).resource_templates
            ],
            "prompts": [each.name for each in (await client.list_prompts()).prompts],
            "prompt": prompt.messages[0].content.text,
            "status": status.structured_content,
            "wrong": {"failed": wrong.is_error, "text": wrong.content[0].text},
            "missing": missing,
        }


if __name__ == "__main__":
    shown = {"Authorization": f"Bearer {sys.argv[3]}"} if sys.argv[3:] else {}
    print(json.dumps(asyncio.run(look(sys.argv[1], sys.argv[2], shown))))
