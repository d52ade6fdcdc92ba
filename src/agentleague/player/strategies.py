"""Strategies for any game: plain functions from a turn to a move, chance included in the turn."""

from collections.abc import Sequence
from typing import Any

from agentleague.roles.effects import Turn


def random(turn: Turn) -> Any:
    """Any legal move, each as likely as the other."""
    return turn.rng.choice(_listed(turn))


def fixed(turn: Turn) -> Any:
    """Always the first legal move."""
    return _listed(turn)[0]


def alternating(turn: Turn) -> Any:
    """Each legal move in turn, from match to match."""
    moves = _listed(turn)
    return moves[len(turn.history) % len(moves)]


def _listed(turn: Turn) -> Sequence[Any]:
    if not turn.legal_moves:
        raise ValueError(f"{turn.game_type} lists no legal moves; it needs a strategy of its own")
    return turn.legal_moves
