"""How much a caller without a known token may ask: a token bucket per source address.

Refusals are sent at the same rate: a caller that waits for each answer cannot ask faster than that
and takes little time from others.
"""

from collections import OrderedDict
from dataclasses import dataclass
from typing import TypeVar

T = TypeVar("T")


@dataclass(frozen=True)
class Rate:
    """Requests a second, requests at once, and how long registrations and refusals may wait."""

    per_second: float = 500.0
    burst: float = 1000.0
    wait_seconds: float = 5.0
    refusal_seconds: float = 5.0
    sources: int = 10_000  # remembered; the longest unseen is forgotten first


class Buckets:
    """What each source has left."""

    def __init__(self, rate: Rate = Rate()) -> None:  # noqa: B008
        self._rate = rate
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._refused: OrderedDict[str, float] = OrderedDict()  # source -> when the next is told

    def take(self, source: str, now: float, wait_seconds: float = 0.0) -> float | None:
        """How long this request must wait to be within the rate; None: longer than it may."""
        left, seen = self._left.get(source, (self._rate.burst, now))
        left = min(self._rate.burst, left + (now - seen) * self._rate.per_second) - 1.0
        delay = max(0.0, -left / self._rate.per_second)
        if delay > wait_seconds:
            return None
        self._keep(self._left, source, (left, now))
        return delay

    def hold(self, source: str, now: float) -> float:
        """How long to wait before a request that is over the rate is told so."""
        turn = max(now, min(self._refused.get(source, now), now + self._rate.refusal_seconds))
        self._keep(self._refused, source, turn + 1.0 / self._rate.per_second)
        return turn - now

    def seconds_until_free(self, source: str, now: float) -> float:
        """When it is worth trying again."""
        left, seen = self._left.get(source, (self._rate.burst, now))
        left = min(self._rate.burst, left + (now - seen) * self._rate.per_second)
        return max(0.0, (1.0 - left) / self._rate.per_second)

    def _keep(self, sources: OrderedDict[str, T], source: str, value: T) -> None:
        sources[source] = value
        sources.move_to_end(source)
        if len(sources) > self._rate.sources:
            sources.popitem(last=False)
