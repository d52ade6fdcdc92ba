"""`league schema`: the messages as JSON Schema."""

from difflib import get_close_matches

import click

from agentleague.cli.output import print_json
from agentleague.protocol.messages import MESSAGES
from agentleague.protocol.schema import all_schemas, message_schema

EXAMPLES = """\b
Examples:
  league schema > league.schema.json
  league schema GAME_INVITATION
  league schema GAME_INVITATION --jsonrpc
"""
DESCRIPTION = """
Print one JSON Schema (2020-12) for all messages, each by its name in $defs, or that of one message.

With --jsonrpc it is the schema of the HTTP bodies around them: $defs has GAME_INVITATION.request,
GAME_INVITATION.answer, and so on. Unknown fields are allowed; one with a default may be missing.
"""


@click.command(help=EXAMPLES + DESCRIPTION)
@click.argument("message_type", required=False)
@click.option("--jsonrpc", is_flag=True, help="With the JSON-RPC 2.0 around the messages.")
def command(message_type: str | None, jsonrpc: bool) -> None:
    """Print schemas."""
    if message_type is None:
        print_json(all_schemas(jsonrpc=jsonrpc))
        return
    name = message_type.upper()
    if name not in MESSAGES:
        near = get_close_matches(name, MESSAGES, n=1)
        meant = f"did you mean {near[0]}? There" if near else "there"
        raise click.BadParameter(
            f"{message_type} is not a message; {meant} are {', '.join(MESSAGES)}"
        )
    print_json(message_schema(name, jsonrpc=jsonrpc))
