"""How far the score of two players says which one is better: its interval, and the Elo difference.

Both treat a drawn match as half a won one. The interval of Wilson is for matches that are won or
lost; draws vary less, so with them it is a little too wide, never too narrow.
"""

from math import log10, sqrt

CONFIDENCE = 0.95
DEVIATIONS = 1.959964  # of a normal distribution, within which that part of it lies


def wilson(share: float, matches: int) -> tuple[float, float]:
    """Between which shares the true one lies, if this one was seen in so many matches."""
    spread = DEVIATIONS**2 / matches
    middle = (share + spread / 2) / (1 + spread)
    half = sqrt(spread * share * (1 - share) + spread**2 / 4) / (1 + spread)
    return max(0.0, middle - half), min(1.0, middle + half)


def elo(share: float) -> float | None:
    """The Elo difference at which this share of the points is expected; None at 0 and 1."""
    return 400 * log10(share / (1 - share)) if 0 < share < 1 else None
