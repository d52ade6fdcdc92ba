"""The one place that asks the system for the time."""

import asyncio
import time
from collections.abc import Callable

from agentleague.roles.ports import Cancel

stopwatch = time.perf_counter  # How long something took: uvloop's time stands still meanwhile.


def wall() -> float:
    """Unix seconds; only ever printed."""
    return time.time()  # noqa: TID251


def cpu_seconds() -> float:
    """Processor time that this process has used."""
    return time.process_time()


class LoopClock:
    """The clock of the running event loop: monotonic seconds."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.now = loop.time  # Asked for with every message: no call in between.

    def call_at(self, when: float, wake: Callable[[], None]) -> Cancel:
        """Call back at that time."""
        return self._loop.call_at(when, wake).cancel
