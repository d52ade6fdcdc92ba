"""Find a game by name among the installed plug-ins; the built-in ones are plug-ins too."""

from functools import cache
from typing import TYPE_CHECKING

from agentleague.errors import UnsupportedGame
from agentleague.games.checks import GameProblem, check_names
from agentleague.games.game import Game

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

GROUP = "agentleague.games"


def names() -> list[str]:
    """The games that are installed."""
    return sorted({point.name for point in _plug_ins()})


@cache
def load(name: str) -> Game:
    """The game of that name.

    Raises:
        UnsupportedGame: no installed plug-in offers it, or what is offered is no game.
    """
    for point in _plug_ins().select(name=name):
        try:
            game: Game = point.load()
        except Exception as error:  # A plug-in may be anybody's.
            kind = type(error).__name__
            raise UnsupportedGame(f"game {name!r} cannot be loaded: {kind}: {error}") from error
        try:
            check_names(game)
        except GameProblem as problem:
            raise UnsupportedGame(f"{point.value} is no game: {problem}") from None
        if game.name != name:
            raise UnsupportedGame(
                f"{point.value} calls itself {game.name!r}; name its entry point like that"
            )
        return game
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), names(), n=1)
    meant = f"did you mean {near[0]}? There" if near else "there"
    raise UnsupportedGame(f"no game {name!r} is installed; {meant} are {', '.join(names())}")


def _plug_ins() -> "EntryPoints":
    """What offers one; the library that knows is slow to load, and many commands ask for none."""
    from importlib.metadata import entry_points

    return entry_points(group=GROUP)
