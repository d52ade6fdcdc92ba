"""Find a game by name among the installed plug-ins; the built-in ones are plug-ins too."""

from functools import cache
from importlib.metadata import entry_points

from agentleague.errors import UnsupportedGame
from agentleague.games.game import Game

GROUP = "agentleague.games"


def names() -> list[str]:
    """The games that are installed."""
    return sorted(point.name for point in entry_points(group=GROUP))


@cache
def load(name: str) -> Game:
    """The game of that name.

    Raises:
        UnsupportedGame: no installed plug-in offers it.
    """
    for point in entry_points(group=GROUP, name=name):
        game: Game = point.load()
        return game
    raise UnsupportedGame(f"no game {name!r} is installed; there are {', '.join(names())}")
