"""`league games`: what can be played."""

from typing import Any

import click

from agentleague.cli.table import print_json
from agentleague.errors import UnsupportedGame
from agentleague.games import registry

EXAMPLES = """\b
Examples:
  league games
  league games --json
"""


@click.command(help=EXAMPLES + "\nList the games that are installed, one a line.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """Print the list."""
    games = [_described(name) for name in registry.names()]
    if as_json:
        print_json(games)
        return
    width = max((len(game["name"]) for game in games), default=0)
    for game in games:
        print(f"{game['name']:<{width}}  {game['error'] or game['summary']}{_told(game)}")


def _described(name: str) -> dict[str, Any]:
    """One game; a plug-in that is broken is listed with what is wrong with it."""
    try:
        game = registry.load(name)
    except UnsupportedGame as error:
        return {"name": name, "summary": "", "options": {}, "error": str(error)}
    options = dict(getattr(game, "defaults", {}))
    return {"name": name, "summary": _first_sentence(game), "options": options, "error": None}


def _first_sentence(game: object) -> str:
    words = " ".join((game.__doc__ or "").partition("\n\n")[0].split())
    sentence, stop, _ = words.partition(". ")
    return sentence + stop.strip()


def _told(game: dict[str, Any]) -> str:
    """The options with their defaults, at the end of the line."""
    told = ", ".join(f"{name}={value}" for name, value in game["options"].items())
    return f" ({told})" if told else ""
