"""`league new`: copies a folder of `cli/templates` and puts the author's name in it."""

import keyword
import re
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path

import click

from agentleague.cli.output import say
from agentleague.games.checks import NAME_MAX
from agentleague.runtime import plugins

WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*(_[A-Za-z0-9]+)*")  # What Python, pip and node all take.


@click.group()
def command() -> None:
    """Write a player or a game that works, for you to change.

    league new player my_player
    league new game my_game
    """


@command.command(short_help="Write a game that works, with its test.")
@click.argument("name", metavar="NAME")
def game(name: str) -> None:
    """Write a game that works, with its test, into a folder NAME.

    league new game my_game
    """
    _check_name(name, "game")
    if name in plugins.game_names() or find_spec(name):
        raise click.BadParameter(f"{name} is a game or module that is installed; choose another")
    folder = _write(name, "game")
    say(
        f"A game that works, to be changed in {folder / f'{name}.py'}. Try it:\n"
        f"  league demo --game {folder / f'{name}.py'}\n"
        f"or install it beside agentleague, and it is found by its name:\n"
        f"  python -m pip install -e {folder}\n"
        f"  league demo --game {name}"
    )


@command.command(short_help="Write a player that works, with its test.")
@click.argument("name", metavar="NAME")
@click.option(
    "--language",
    default="python",
    show_default=True,
    type=click.Choice(["python", "javascript"]),
    help="The language to write it in; docs/how-to/any-language.md is about any other.",
)
def player(name: str, language: str) -> None:
    """Write a player that works, with its test, into a folder NAME.

    league new player my_player
    league new player my_player --language javascript
    """
    _check_name(name, "player")
    if language == "javascript":
        folder = _write(name, "player_javascript")
        say(
            f"A player that works; its moves are in {folder / 'choose.js'}. Start it:\n"
            f"  node {folder / f'{name}.js'}\n"
            f"and play a match against it, from another terminal:\n"
            f"  league play http://127.0.0.1:8101/mcp random"
        )
        return
    if find_spec(name):
        raise click.BadParameter(f"{name} is a module that is installed; choose another")
    folder = _write(name, "player_python")
    say(
        f"A player that works, to be changed in {folder / f'{name}.py'}. Play a match:\n"
        f"  league play {folder / f'{name}.py'} random\n"
        f"or a whole league:\n"
        f"  league demo --player {folder / f'{name}.py'}"
    )


def _check_name(name: str, what: str) -> None:
    if name[:1].isdecimal():
        raise click.BadParameter(f"{name!r} must begin with a letter, as in my_{name}")
    if not WORD.fullmatch(name) or keyword.iskeyword(name) or len(name) > NAME_MAX:
        raise click.BadParameter(
            f"{name!r} is not a name for a {what}; use letters, digits and single _ between them, "
            f"such as my_{what}, at most {NAME_MAX} characters"
        )


def _write(name: str, template: str) -> Path:
    folder = Path(name)
    try:
        folder.mkdir()
    except FileExistsError:
        raise click.ClickException(
            f"{folder} exists already; choose another name, or remove it first"
        ) from None
    except OSError as error:
        raise click.ClickException(f"{folder} cannot be made ({error.strerror})") from None
    source = files("agentleague.cli") / "templates" / template
    placeholder = f"my_{template.partition('_')[0]}"
    for file in sorted((each for each in source.iterdir() if each.is_file()), key=str):
        path = folder / file.name.replace(placeholder, name)
        text = file.read_text(encoding="utf-8").replace(placeholder, name)
        path.write_text(text, encoding="utf-8")
        print(path)
    return folder
