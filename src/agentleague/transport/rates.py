"""How much a stranger may ask: a token bucket per source address."""

from collections import OrderedDict
from dataclasses import dataclass

SOURCES_MAX = 10_000  # remembered; the longest unseen is forgotten first


@dataclass(frozen=True)
class Rate:
    """So many requests a second, so many at once, and how long a registration may wait."""

    per_second: float = 500.0
    burst: float = 1000.0
    wait_seconds: float = 5.0


class Buckets:
    """What each source has left."""

    def __init__(self, rate: Rate = Rate()) -> None:  # noqa: B008
        self._rate = rate
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, source: str, now: float, wait_seconds: float = 0.0) -> float | None:
        """How long this request must wait to be within the rate; None: longer than it may."""
        left, seen = self._left.get(source, (self._rate.burst, now))
        left = min(self._rate.burst, left + (now - seen) * self._rate.per_second) - 1.0
        delay = max(0.0, -left / self._rate.per_second)
        if delay > wait_seconds:
            return None
        self._left[source] = (left, now)
        self._left.move_to_end(source)
        if len(self._left) > SOURCES_MAX:
            self._left.popitem(last=False)
        return delay

    def seconds_until_free(self, source: str, now: float) -> float:
        """When it is worth trying again."""
        left, seen = self._left.get(source, (self._rate.burst, now))
        left = min(self._rate.burst, left + (now - seen) * self._rate.per_second)
        return max(0.0, (1.0 - left) / self._rate.per_second)
