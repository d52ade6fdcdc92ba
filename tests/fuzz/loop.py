"""A loop and a wire without sockets: bytes go in by hand, and time passes by hand."""

import asyncio
from collections import deque
from collections.abc import Callable, Coroutine
from contextlib import suppress
from heapq import heappop, heappush
from itertools import count
from typing import Any


class Handle:
    """What can be cancelled: a callback, or a coroutine that has not begun."""

    def __init__(self, call: Callable[[], Any], when: float = 0.0) -> None:
        self._call: Callable[[], Any] | None = call
        self._when = when

    def when(self) -> float:
        return self._when

    def cancel(self) -> None:
        self._call = None

    def run(self) -> None:
        call, self._call = self._call, None
        if call:
            call()


class StillLoop:
    """As much of an event loop as a connection needs."""

    def __init__(self) -> None:
        self._now, self._order = 1_000.0, count()
        self._ready: deque[Handle] = deque()
        self._later: list[tuple[float, int, Handle]] = []

    def time(self) -> float:
        return self._now

    def call_soon(self, call: Callable[..., Any], *arguments: Any) -> Handle:
        self._ready.append(Handle(lambda: call(*arguments)))
        return self._ready[-1]

    def call_at(self, when: float, call: Callable[..., Any], *arguments: Any) -> Handle:
        handle = Handle(lambda: call(*arguments), when)
        heappush(self._later, (when, next(self._order), handle))
        return handle

    def call_later(self, seconds: float, call: Callable[..., Any], *arguments: Any) -> Handle:
        return self.call_at(self._now + seconds, call, *arguments)

    def create_task(self, work: Coroutine[Any, Any, None]) -> Handle:
        """Work that never waits."""

        def begin() -> None:
            with suppress(StopIteration):
                work.send(None)

        handle = self.call_soon(begin)
        handle.cancel = lambda: (Handle.cancel(handle), work.close())  # type: ignore[method-assign]
        return handle

    def settle(self) -> None:
        """Run all that is due now."""
        while self._ready:
            self._ready.popleft().run()

    def advance(self, seconds: float) -> None:
        """Let so much time pass."""
        self.settle()
        end = self._now + seconds
        while self._later and self._later[0][0] <= end:
            self._now, _, handle = heappop(self._later)
            handle.run()
            self.settle()
        self._now = end


class Wire(asyncio.Transport):
    """What was sent, and whether it was closed."""

    def __init__(self, source: str = "127.0.0.1", unsent: int = 0) -> None:
        super().__init__({"peername": (source, 1)})
        self.sent, self.is_closed, self.is_paused, self._unsent = b"", False, False, unsent

    def write(self, data: Any) -> None:
        assert not self.is_closed, "nothing is written to what is closed"
        self.sent += data

    def write_eof(self) -> None:
        pass

    def get_write_buffer_size(self) -> int:
        return self._unsent

    def is_closing(self) -> bool:
        return self.is_closed

    def pause_reading(self) -> None:
        assert not self.is_paused
        self.is_paused = True

    def resume_reading(self) -> None:
        assert self.is_paused
        self.is_paused = False

    def close(self) -> None:
        self.is_closed = True

    abort = close
