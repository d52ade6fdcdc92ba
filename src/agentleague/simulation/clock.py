"""Virtual time: it stands still until everything due has happened, then jumps."""

import heapq
from collections.abc import Callable
from itertools import count

from agentleague.roles.ports import Cancel, Clock


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

    def step(self) -> bool:
        """Let the next thing happen; False where nothing is due any more."""
        while self._due:
            when, _, entry = heapq.heappop(self._due)
            if entry:
                self._now = when
                entry.pop()()
                return True
        return False

    def run(self, until: Callable[[], bool] = lambda: False, steps: int = 10_000_000) -> None:
        """Let time pass until nothing is due any more, or `until` says that it is enough."""
        for _ in range(steps):
            if until() or not self.step():
                return
        raise AssertionError(f"still busy after {steps} steps")


class Lifetime:
    """The clock as one process sees it: what it waits for dies with it, or stalls with it."""

    def __init__(self, clock: Clock) -> None:
        self.is_over = False
        self._clock = clock
        self._awake_at = float("-inf")

    def now(self) -> float:
        """The same time as everybody's."""
        return self._clock.now()

    def call_at(self, when: float, wake: Callable[[], None]) -> Cancel:
        """Call back then, if the process still lives."""
        waiting = [wake]
        self._clock.call_at(when, lambda: self.when_awake(lambda: waiting and waiting.pop()()))
        return waiting.clear

    def soon(self, what: Callable[[], None]) -> None:
        """Call back next, at the present time."""
        self.call_at(self.now(), what)

    def when_awake(self, what: Callable[[], object]) -> None:
        """Let something happen to the process: at once, or when it runs again."""
        if self.now() < self._awake_at:
            self._clock.call_at(self._awake_at, lambda: self.when_awake(what))
        elif not self.is_over:
            what()

    def stall(self, seconds: float) -> None:
        """The process does nothing for so long, as on a machine that sleeps."""
        self._awake_at = self.now() + seconds

    def end(self) -> None:
        """The process is dead."""
        self.is_over = True
