"""Find a strategy by name among the installed plug-ins; the built-in ones are plug-ins too."""

from collections.abc import Callable
from functools import cache
from importlib.metadata import entry_points
from typing import Any

from agentleague.errors import LeagueError
from agentleague.roles.effects import Turn

GROUP = "agentleague.strategies"
Strategy = Callable[[Turn], Any]


def names() -> list[str]:
    """The strategies that are installed."""
    return sorted(point.name for point in entry_points(group=GROUP))


@cache
def load(name: str) -> Strategy:
    """The strategy of that name.

    Raises:
        LeagueError: no installed plug-in offers it.
    """
    for point in entry_points(group=GROUP, name=name):
        strategy: Strategy = point.load()
        return strategy
    raise LeagueError(f"no strategy {name!r} is installed; there are {', '.join(names())}")
