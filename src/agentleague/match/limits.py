"""What one match may take."""

from dataclasses import dataclass


@dataclass(frozen=True)
class MatchLimits:
    """Handed to a match; tests hand in smaller ones."""

    move_bytes: int = 1024
    move_depth: int = 8  # the manager reads 16 levels, with those around a move
    transcript_bytes: int = 4096  # of all rows together, as they are sent
    transcript_move_bytes: int = 100
    retry_seconds: tuple[float, ...] = (1.0, 2.0, 4.0, 5.0)  # between tries to reach the manager
    late_seconds: float = 0.25  # a timer that rings so much too late: this machine slept


LIMITS = MatchLimits()
