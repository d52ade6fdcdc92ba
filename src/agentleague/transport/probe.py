"""Whether somebody listens at an end point: a connection is opened, and nothing is sent."""

import asyncio
from collections.abc import Callable

from agentleague.transport.guard import Dialer, Guard, no_connection, parse_url

SECONDS = 5.0
PAUSE_SECONDS = 1.0  # between two tries, at most
FIRST_PAUSE_SECONDS = 0.02  # Many register before they listen, some of them only a moment.
AGAIN_SECONDS = 5.0  # before a silent end point is tried once more
ONE_TRY_SECONDS = 2.0
AT_ONCE_MAX = 32


class Probes:
    """Tries end points in the background, some at a time; a silent one until somebody is there."""

    def __init__(
        self, guard: Guard, seconds: float = SECONDS, again_seconds: float = AGAIN_SECONDS
    ) -> None:
        self._guard, self.seconds, self.again_seconds = guard, seconds, again_seconds
        self._first, self._further = (asyncio.Semaphore(AT_ONCE_MAX) for _ in range(2))
        self._tasks: dict[str, asyncio.Task[None]] = {}

    def check(
        self, agent_id: str, url: str, done: Callable[[bool], bool], *, is_hasty: bool = False
    ) -> None:
        """Say later whether somebody listens there, instead of where this agent was before."""
        former = self._tasks.get(agent_id)
        if former:
            former.cancel()
        task = asyncio.get_running_loop().create_task(self._check(url, done, is_hasty))
        self._tasks[agent_id] = task
        task.add_done_callback(lambda task: self._forget(agent_id, task))

    def close(self) -> None:
        """Nobody wants to know any more."""
        for task in self._tasks.values():
            task.cancel()

    def _forget(self, agent_id: str, task: asyncio.Task[None]) -> None:
        if self._tasks.get(agent_id) is task:
            del self._tasks[agent_id]

    async def _check(self, url: str, done: Callable[[bool], bool], is_hasty: bool) -> None:
        short = min(self.seconds, ONE_TRY_SECONDS)
        async with self._first:
            seconds = short if is_hasty else self.seconds
            found = await reachable(self._guard, url, seconds, is_hasty=is_hasty)
        while done(found):
            await asyncio.sleep(self.again_seconds)
            async with self._further:  # New agents do not wait for those who are silent.
                found = await reachable(self._guard, url, short)


async def reachable(guard: Guard, url: str, seconds: float, *, is_hasty: bool = False) -> bool:
    """Whether somebody listens there in time; in haste, one refusal is enough for a no."""
    endpoint = parse_url(url)._replace(scheme="http")  # Without a handshake nothing is sent.
    dialer, pause = Dialer(guard), FIRST_PAUSE_SECONDS
    try:
        async with asyncio.timeout(seconds):
            while True:
                try:
                    await dialer.dial(endpoint, _HangsUp())
                    return True
                except (OSError, ValueError) as error:
                    if is_hasty and isinstance(error, ConnectionRefusedError):
                        return False
                await asyncio.sleep(pause)
                pause = min(2 * pause, PAUSE_SECONDS)
    except TimeoutError:
        return False


async def check_listens(guard: Guard, url: str, seconds: float = SECONDS) -> None:
    """Raises NoConnection, which says why, if nobody can be connected to."""
    endpoint = parse_url(url)
    try:
        async with asyncio.timeout(seconds):
            await Dialer(guard).dial(endpoint, _HangsUp())
    except (OSError, ValueError) as error:
        raise no_connection(endpoint, error) from None


class _HangsUp(asyncio.Protocol):
    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        transport.close()
