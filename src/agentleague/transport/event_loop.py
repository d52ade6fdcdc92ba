"""One timer for all deadlines, because nearly everything ends before; one write a turn.

Also: how many sockets this process may open, and an answer that nobody may wait for any more.
"""

import asyncio
import logging
from collections.abc import Callable
from math import inf
from operator import attrgetter
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from agentleague.transport.http_connection import Call

T = TypeVar("T")
_UNTIL = attrgetter("until")
GRACE_SECONDS = 0.001  # What has arrived goes first, but uvloop looks at its timers first.


class Deadlines:
    """Add to `open` what is begun, and `watch` it if it ends before all; discard what is over."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.open: set[Call] = set()
        self.loop = loop
        self.rings_at = inf
        self._timer: asyncio.TimerHandle | None = None

    def watch(self, one: "Call") -> None:
        """Let it expire when its time has come, unless it is discarded before."""
        self.open.add(one)
        if one.until < self.rings_at:
            if self._timer:
                self._timer.cancel()
            self.rings_at = one.until
            self._timer = self.loop.call_at(one.until, self._ring)

    def _ring(self) -> None:
        self._timer = self.loop.call_later(GRACE_SECONDS, self._sweep)

    def _sweep(self) -> None:
        now = self.loop.time()
        self.rings_at, self._timer = inf, None
        due = sorted((one for one in self.open if one.until <= now), key=_UNTIL)
        try:
            for one in due:
                if one in self.open:
                    one.expire()
        finally:  # One that breaks must not take the others with it.
            first = min(self.open, key=_UNTIL, default=None)
            if first is not None:
                self.watch(first)


log = logging.getLogger(__name__)


class WriteBatching:
    """Runs writes at the end of the turn in which they were asked for."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._held: list[Callable[[], None]] = []

    def later(self, write: Callable[[], None]) -> None:
        """Call `write` when this turn is over."""
        if not self._held:
            self._loop.call_soon(self._write_all)
        self._held.append(write)

    def _write_all(self) -> None:
        held, self._held = self._held, []
        for write in held:
            try:
                write()
            except Exception:  # The other writes still happen.
                log.exception("A write failed.")


def descriptors() -> int:
    """How many files and sockets this process may have open."""
    try:
        import resource
    except ImportError:  # Windows has no such limit.
        return 2**31
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    return 2**31 if limit == resource.RLIM_INFINITY else limit


def settle(answered: asyncio.Future[T], answer: T) -> None:
    """Give it this answer, unless it has one, or who waited was stopped."""
    if not answered.done():
        answered.set_result(answer)
