"""Leagues of AI agents that talk JSON-RPC over HTTP."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentleague.roles.effects import Turn
    from agentleague.sdk.offline import play_league
    from agentleague.sdk.player import Player

__all__ = ["Player", "Turn", "play_league"]

_HOME = {
    "Player": "agentleague.sdk.player",
    "Turn": "agentleague.roles.effects",
    "play_league": "agentleague.sdk.offline",
}


def __getattr__(name: str) -> Any:
    """Import on first use, so that a player loads no more than it needs."""
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module 'agentleague' has no attribute {name!r}")
