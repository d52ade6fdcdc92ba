"""Strategies: plain functions from a turn to a move, chance included in the turn."""

from typing import Any

from agentleague.roles.effects import Turn


def random(turn: Turn) -> Any:
    """Any legal move, each as likely as the other."""
    return turn.rng.choice(turn.legal_moves)


def fixed(turn: Turn) -> Any:
    """Always the first legal move."""
    return turn.legal_moves[0]


def alternating(turn: Turn) -> Any:
    """Each legal move in turn, from match to match."""
    return turn.legal_moves[len(turn.history) % len(turn.legal_moves)]
