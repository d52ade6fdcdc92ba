"""A player on the low-level server of the official SDK 2.x, which chooses and no more. PORT."""

import json
import sys

import mcp_types as types
import uvicorn
from mcp.server import Server

CHOOSE = types.Tool(
    name="parity_choose",
    description="Choose even or odd.",
    input_schema={
        "type": "object",
        "properties": {"match_id": {"type": "string"}, "player_id": {"type": "string"}},
        "required": ["match_id", "player_id"],
    },
)


async def list_tools(context, params):
    """What this server can do."""
    return types.ListToolsResult(tools=[CHOOSE])


async def call_tool(context, params):
    """Do it."""
    if params.name != CHOOSE.name:
        raise ValueError(f"Unknown tool: {params.name}")
    chosen = {"match_id": params.arguments["match_id"], "parity_choice": "odd"}
    return types.CallToolResult(content=[types.TextContent(type="text", text=json.dumps(chosen))])


server = Server("Low-level 2.x", on_list_tools=list_tools, on_call_tool=call_tool)

if __name__ == "__main__":
    uvicorn.run(server.streamable_http_app(), port=int(sys.argv[1]))
