"""The one place that asks the system for the time, and for the processors that it may use."""

import asyncio
import os
import time
from collections.abc import Callable

from agentleague.roles.ports import Cancel


def wall() -> float:
    """Unix seconds; only ever printed."""
    return time.time()  # noqa: TID251


def cpu_seconds() -> float:
    """Processor time that this process has used."""
    return time.process_time()


def cores() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class LoopClock:
    """The clock of the running event loop: monotonic seconds."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self.now = loop.time  # Asked for with every message: no call in between.

    def call_at(self, when: float, wake: Callable[[], None]) -> Cancel:
        """Call back at that time."""
        return self._loop.call_at(when, wake).cancel
