"""`league schema`: the messages as JSON Schema."""

import json
from pathlib import Path

import click

from agentleague.cli.output import counted, print_json, say
from agentleague.protocol.field_docs import example
from agentleague.protocol.messages import MESSAGES
from agentleague.protocol.printable import there_are
from agentleague.protocol.schema import all_schemas, message_schema


@click.command()
@click.argument("message_type", required=False)
@click.option("--jsonrpc", is_flag=True, help="With the JSON-RPC 2.0 around the messages.")
@click.option(
    "--examples",
    metavar="DIR",
    type=click.Path(file_okay=False, path_type=Path),
    help="Write an example of each message, a file each.",
)
def command(message_type: str | None, jsonrpc: bool, examples: Path | None) -> None:
    """Print one JSON Schema (2020-12) for all messages, each by its name in $defs, or that of one
    message.

    With --jsonrpc it is the schema of the HTTP bodies around them: $defs has
    GAME_INVITATION.request, GAME_INVITATION.answer, and so on. Unknown fields are allowed; one with
    a default may be missing.

    With --examples, one example of each is written instead, as document 002 sorts them:
    registration/, gameflow/ and errors/.

    league schema > league.schema.json
    league schema GAME_INVITATION
    league schema GAME_INVITATION --jsonrpc
    league schema --examples messageexamples
    """
    name = message_type.upper() if message_type else ""
    if name and name not in MESSAGES:
        raise click.BadParameter(f"{message_type} is not a message; {there_are(name, MESSAGES)}")
    if examples and jsonrpc:
        raise click.UsageError("an example is a message without JSON-RPC; leave out --jsonrpc")
    if examples:
        names = [name] if name else list(MESSAGES)
        for each in names:
            _write_example(each, examples)
        say(f"{counted(len(names), 'example')} in {examples}.")
    else:
        print_json(message_schema(name, jsonrpc=jsonrpc) if name else all_schemas(jsonrpc=jsonrpc))


def _write_example(name: str, root: Path) -> None:
    kind = "errors" if "ERROR" in name else "gameflow"
    path = root / ("registration" if "REGISTER" in name else kind) / f"{name.lower()}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(example(name), indent=2) + "\n", encoding="utf-8")
