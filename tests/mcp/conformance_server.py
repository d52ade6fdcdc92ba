"""A real manager with what the official conformance suite calls; it prints its URL.

The names of these tools and prompts are the suite's; all else is as in any league. Run the suite
with `make mcp-conformance`; conformance-*.yml say which checks fail, and why.
"""

import asyncio
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from agentleague.errors import InvalidRequest
from agentleague.protocol.mcp_tools import Prompt, Respond, Tool
from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.managers import Home, open_manager
from agentleague.runtime.processes import Place

NOTHING = {"type": "object", "additionalProperties": False}
ANYTHING = {"type": "object"}
NAME = {"type": "object", "properties": {"street": {"type": "string"}, "city": {"type": "string"}}}
SCHEMA = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {"address": {"$anchor": "addressDef", **NAME}},
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}


def say(arguments: Mapping[str, Any], caller: Any, respond: Respond) -> None:
    """Answer with a text."""
    respond({}, "This is a simple text response for testing.")


def fail(arguments: Mapping[str, Any], caller: Any, respond: Respond) -> None:
    """Answer with an error."""
    respond(InvalidRequest("This tool intentionally returns an error for testing"))


OFFERS = (
    Tool("test_simple_text", "Says something.", NOTHING, ANYTHING, {}, say),
    Tool("test_error_handling", "Fails.", NOTHING, ANYTHING, {}, fail),
    Tool("json_schema_2020_12_tool", "Has a long schema.", SCHEMA, ANYTHING, {}, say),
    Prompt("test_simple_prompt", "Says something.", "This is a simple prompt for testing."),
)


async def main() -> None:
    """Run until somebody ends it."""
    with tempfile.TemporaryDirectory() as folder:
        settings = ManagerSettings(league_id="league_conformance")
        running = await open_manager(settings, Home(Path(folder)), Place(0))
        for offer in OFFERS:
            running.transport.mcp.add(offer)
        print(running.url, flush=True)
        await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
