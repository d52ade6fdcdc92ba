"""`league schema`: the messages as JSON Schema."""

import click

from agentleague.cli.table import print_json
from agentleague.protocol.messages import MESSAGES
from agentleague.protocol.schema import message_schema

EXAMPLES = """\b
Examples:
  league schema > messages.schema.json
  league schema GAME_INVITATION
"""


@click.command(help=EXAMPLES + "\nPrint the JSON Schema of every message, or of one.")
@click.argument("message_type", required=False)
def command(message_type: str | None) -> None:
    """Print schemas."""
    if message_type is None:
        print_json({name: message_schema(name) for name in MESSAGES})
    elif message_type.upper() in MESSAGES:
        print_json(message_schema(message_type.upper()))
    else:
        raise click.BadParameter(f"{message_type} is no message; there are {', '.join(MESSAGES)}")
