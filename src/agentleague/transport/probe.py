"""Whether somebody listens at an end point: a connection is opened, and nothing is sent."""

import asyncio
from collections.abc import Callable

from agentleague.transport.guard import Dialer, Endpoint, Guard, parse_url

SECONDS = 5.0
PAUSE_SECONDS = 1.0
AT_ONCE_MAX = 32


class Probes:
    """Tries end points in the background, some at a time."""

    def __init__(self, guard: Guard, seconds: float = SECONDS) -> None:
        self._guard, self.seconds = guard, seconds
        self._turns = asyncio.Semaphore(AT_ONCE_MAX)
        self._tasks: set[asyncio.Task[None]] = set()

    def check(self, url: str, done: Callable[[bool], None]) -> None:
        """Say later whether somebody listens there."""
        task = asyncio.get_running_loop().create_task(self._check(url, done))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def close(self) -> None:
        """Nobody wants to know any more."""
        for task in self._tasks:
            task.cancel()

    async def _check(self, url: str, done: Callable[[bool], None]) -> None:
        async with self._turns:
            found = await reachable(self._guard, url, self.seconds)
        done(found)


async def reachable(
    guard: Guard, url: str, seconds: float, pause_seconds: float = PAUSE_SECONDS
) -> bool:
    """Whether somebody listens there within so many seconds.

    It is tried again after each pause: many agents register before they listen.
    """
    endpoint = parse_url(url)._replace(scheme="http")  # Without a handshake nothing is sent.
    dialer = Dialer(guard)
    try:
        async with asyncio.timeout(seconds):
            while True:
                if await _connects(dialer, endpoint):
                    return True
                await asyncio.sleep(pause_seconds)
    except TimeoutError:
        return False


async def _connects(dialer: Dialer, endpoint: Endpoint) -> bool:
    try:
        await dialer.dial(endpoint, _HangsUp())
    except (OSError, ValueError):
        return False
    return True


class _HangsUp(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()
