"""What the owner of a league in a shared database may believe when its connection is lost.

These rules decide nothing about safety by themselves: the database refuses the rows of an owner
whose epoch is over, and a second row of the same number. They say how an owner goes on without
writing anything twice, and when it no longer answers for a league that may be another's.
"""

from collections.abc import Sequence

from agentleague.roles.ports import Head, Row

MARGIN_SECONDS = 1.0  # before the database lets the lease run out, the owner stops


def is_trusted(now: float, renewed_at: float, lease_seconds: float) -> bool:
    """Whether the lease surely lasts; both times by the owner's monotonic clock.

    `renewed_at` is when the last good claim or renewal was sent, not when its answer came: the
    database counts from some moment after that.
    """
    return now - renewed_at < lease_seconds - MARGIN_SECONDS


def renewal_seconds(lease_seconds: float) -> float:
    """How long to wait from one renewal to the next."""
    return lease_seconds / 4


def rows_found(tail: Head, before: Head | Row, rows: Sequence[Row]) -> int | None:
    """How many of the rows are written, by the tail that is read after an unknown commit.

    `before` is what the first of them follows. None: somebody else has written since, and the
    league is lost to this owner. Only the same rows may be repeated, byte for byte: a statement
    that seemed lost may still be carried out later, so that a repeated one is refused because its
    numbers are taken. Then the tail is read again.
    """
    for number, each in enumerate([before, *rows]):
        if (each.seq, each.hash) == tuple(tail):
            return number
    return None
