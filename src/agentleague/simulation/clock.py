"""Virtual time: it stands still until everything due has happened, then jumps."""

import heapq
from collections.abc import Callable
from itertools import count

from agentleague.roles.ports import Cancel


class VirtualClock:
    """Runs what is due in order of time, and of asking where times are equal."""

    def __init__(self, now: float = 0.0) -> None:
        self._now = now
        self._order = count()
        self._due: list[tuple[float, int, list[Callable[[], None]]]] = []

    def now(self) -> float:
        """Virtual seconds."""
        return self._now

    def call_at(self, when: float, wake: Callable[[], None]) -> Cancel:
        """Call back when virtual time has come so far."""
        entry = [wake]
        heapq.heappush(self._due, (max(when, self._now), next(self._order), entry))
        return entry.clear

    def run(self, until: Callable[[], bool] = lambda: False, steps: int = 10_000_000) -> None:
        """Let time pass until nothing is due any more, or `until` says that it is enough."""
        for _ in range(steps):
            if not self._due or until():
                return
            when, _, entry = heapq.heappop(self._due)
            if entry:
                self._now = when
                entry.pop()()
        raise AssertionError(f"still busy after {steps} steps")
