"""`league new`: files to begin with."""

import keyword
import re
from importlib.util import find_spec
from pathlib import Path

import click

from agentleague.cli.game_template import FILES
from agentleague.cli.serving import say
from agentleague.games import registry
from agentleague.games.checks import NAME_MAX

EXAMPLES = """\b
Example:
  league new game my_game
"""
WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")  # What Python and pip both take.


@click.group(help=EXAMPLES + "\nWrite something of your own to begin with.")
def command() -> None:
    """What can be written is a subcommand each."""


@command.command(help=EXAMPLES + "\nWrite a game that works, with its test, into a folder NAME.")
@click.argument("name")
def game(name: str) -> None:
    """Write the folder, say what to type next."""
    _check_name(name)
    folder = Path(name)
    try:
        folder.mkdir()
    except FileExistsError:
        raise click.ClickException(
            f"{folder} is there already; choose another name, or remove it first"
        ) from None
    except OSError as error:
        raise click.ClickException(f"{folder} cannot be made ({error.strerror})") from None
    for template, text in FILES.items():
        path = folder / template.replace("NAME", name)
        path.write_text(text.replace("NAME", name), encoding="utf-8")
        print(path)
    say(
        f"A game that works, to be changed in {folder / f'{name}.py'}. Try it:\n"
        f"  league demo --game {folder / f'{name}.py'}\n"
        f"or install it, and it is found by its name:\n"
        f"  pip install -e {folder}\n"
        f"  league demo --game {name}"
    )


def _check_name(name: str) -> None:
    if not WORD.fullmatch(name) or keyword.iskeyword(name) or len(name) > NAME_MAX:
        raise click.BadParameter(
            f"{name!r} is no name for a game; take letters, digits and single _ between them, "
            f"such as my_game, at most {NAME_MAX}"
        )
    if name in registry.names() or find_spec(name):
        raise click.BadParameter(f"{name} is a game or module that is installed; choose another")
