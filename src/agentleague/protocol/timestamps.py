"""Times as the documents write them: `2025-01-15T10:30:00Z`, always UTC."""

import re
from datetime import UTC, datetime
from functools import lru_cache
from math import floor

from agentleague.errors import InvalidTimestamp

# Z or +00:00, up to nine digits of fraction; the separators of the date, of the time or of both
# may be missing, because agents send 20250115T103000Z and document 004 shows 20250115T10:30:00Z.
_FORM = re.compile(
    r"(\d{4})(-?)(\d\d)\2(\d\d)T(\d\d)(:?)(\d\d)\6(\d\d)(?:[.,]\d{1,9})?(?:Z|\+00:?00)", re.ASCII
)

EXAMPLE = "2026-12-01T18:00:00+01:00"


@lru_cache(maxsize=1024)
def parse(text: str, field: str = "timestamp") -> datetime:
    """The moment a timestamp names, to the second. Raises InvalidTimestamp if it is not UTC."""
    found = _FORM.fullmatch(text)
    if found is None:
        raise _refused(text, field, "is not UTC")
    year, month, day, hour, minute, second = map(int, found.group(1, 3, 4, 5, 7, 8))
    try:
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    except ValueError as error:
        raise _refused(text, field, f"is no time ({error})") from None


def moment(text: str) -> float:
    """Unix seconds of a time as persons set it, with any offset. Raises ValueError if it is none.

    Without an offset it would be another moment on another machine.
    """
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(f"is no time; write one like {EXAMPLE}") from None
    if found.tzinfo is None:
        raise ValueError(f"does not say of which time zone; add its offset, like {EXAMPLE}")
    return found.timestamp()


def write(unix_seconds: float) -> str:
    """A moment in the one form that every document accepts, rounded down."""
    return _write_second(int(unix_seconds // 1))


@lru_cache(maxsize=256)
def _write_second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).isoformat()[:-6] + "Z"  # It ends in +00:00.


class Calendar:
    """Writes monotonic times as wall-clock text."""

    def __init__(self, wall_offset: float) -> None:
        self._offset = wall_offset

    def write(self, now: float) -> str:
        """The wall-clock text of a monotonic time."""
        return _write_second(floor(now + self._offset))

    def wall(self, now: float) -> float:
        """A monotonic time in Unix seconds."""
        return now + self._offset

    def seconds_until(self, text: str, now: float) -> float:
        """The seconds until a written time; 0 if it is past."""
        return max(0.0, parse(text).timestamp() - now - self._offset)


def _refused(text: str, field: str, why: str) -> InvalidTimestamp:
    return InvalidTimestamp(
        f"{field} {text[:64]!r} {why}; send a form like 2025-01-15T10:30:00Z",
        field=field,
        timestamp=text[:64],
    )
