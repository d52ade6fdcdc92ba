"""Virtual time: it stands still until everything due has happened, then jumps."""

from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from typing import Any

from agentleague.roles.ports import Cancel

STEPS_MAX = 10_000_000


class VirtualClock:
    """Runs what is due in order of time, and of asking where times are equal."""

    # Every event of every simulated league passes here: it is written to be quick.

    def __init__(self, now: float = 0.0) -> None:
        self.time = now  # the same as now(), and quicker
        self._order = count()
        self._due: list[tuple[float, int, list[Callable[[], None]]]] = []

    def now(self) -> float:
        """Virtual seconds."""
        return self.time

    def call_at(self, when: float, wake: Callable[[], None]) -> Cancel:
        """Call back when virtual time has come so far."""
        entry = [wake]
        now = self.time
        heappush(self._due, (when if when > now else now, next(self._order), entry))
        return entry.clear

    def call_after(self, seconds: float, wake: Callable[[], None]) -> None:
        """Call back in so many virtual seconds."""
        self.call_at(self.time + seconds, wake)

    def step(self) -> bool:
        """Let the next thing happen; False where nothing is due any more."""
        due = self._due
        while due:
            when, _, entry = heappop(due)
            if entry:
                self.time = when
                entry.pop()()
                return True
        return False

    def run(self, until: Callable[[], bool] = lambda: False) -> None:
        """Let time pass until nothing is due any more, or `until` says that it is enough."""
        for _ in range(STEPS_MAX):
            if until() or not self.step():
                return
        raise AssertionError(f"still busy after {STEPS_MAX} steps")


class Lifetime:
    """The clock as one process sees it: its timers end with it, and stall with it."""

    def __init__(self, clock: VirtualClock, ahead: float = 0.0) -> None:
        self.is_over = False
        self.ahead = ahead  # of the virtual clock: a machine's monotonic clock starts anywhere
        self._clock = clock
        self.awake_at = float("-inf")  # since when it runs, or when it will

    def now(self) -> float:
        """What its own clock shows."""
        return self._clock.time + self.ahead

    def call_at(self, when: float, wake: Callable[[], object]) -> Cancel:
        """Call back then, if the process still lives; late, if it sleeps then."""
        due = [wake]

        def ring() -> None:
            if self._clock.time < self.awake_at:
                self._clock.call_at(self.awake_at, ring)
            elif due and not self.is_over:
                due.pop()()

        self._clock.call_at(when - self.ahead, ring)
        return due.clear

    def when_awake(self, what: Callable[..., object], *about: Any) -> None:
        """Let something happen to the process: at once, or when it runs again."""
        if self._clock.time < self.awake_at:
            self._clock.call_at(self.awake_at, lambda: self.when_awake(what, *about))
        elif not self.is_over:
            what(*about)

    def stall(self, seconds: float) -> None:
        """The process does nothing for so long, as on a machine that sleeps."""
        self.awake_at = max(self.awake_at, self._clock.time + seconds)

    def end(self) -> None:
        """The process is dead."""
        self.is_over = True
