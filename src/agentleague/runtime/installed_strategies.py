"""Find a strategy by name among the installed plug-ins; the built-in ones are plug-ins too."""

from functools import cache
from typing import TYPE_CHECKING

from agentleague.errors import LeagueError
from agentleague.player.strategies import Strategy, needs_nothing

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints

GROUP = "agentleague.strategies"


def names() -> list[str]:
    """The strategies that are installed."""
    return sorted({point.name for point in _plug_ins()})


def load(name: str) -> Strategy:
    """The strategy of that name, ready to play.

    Raises:
        LeagueError: no installed plug-in offers it, or it lacks something it cannot do without.
    """
    strategy = find(name)
    getattr(strategy, "ready", needs_nothing)()
    return strategy


@cache
def find(name: str) -> Strategy:
    """The strategy of that name, ready or not.

    Raises:
        LeagueError: no installed plug-in offers it, or what is offered is no strategy.
    """
    for point in _plug_ins().select(name=name):
        try:
            strategy: Strategy = point.load()
        except Exception as error:  # A plug-in may be anybody's.
            kind = type(error).__name__
            raise LeagueError(f"strategy {name!r} cannot be loaded: {kind}: {error}") from error
        if not callable(strategy):
            raise LeagueError(f"{point.value} is no strategy: make it a function of a turn")
        return strategy
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), names(), n=1)
    meant = f"did you mean {near[0]}? There" if near else "there"
    raise LeagueError(f"no strategy {name!r} is installed; {meant} are {', '.join(names())}")


def _plug_ins() -> "EntryPoints":
    """What offers one; the library that knows is slow to load, and many commands ask for none."""
    from importlib.metadata import entry_points

    return entry_points(group=GROUP)
