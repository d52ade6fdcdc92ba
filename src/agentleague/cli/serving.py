"""What `manager`, `referee` and `player` share: they serve until the end, or until Ctrl-C."""

import asyncio
import signal
from typing import Any

from agentleague.runtime.processes import Running


def stop_signal() -> asyncio.Future[None]:
    """Done after Ctrl-C or SIGTERM; call this before there is anything to stop."""
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[None] = loop.create_future()

    def stop() -> None:
        if not stopped.done():
            stopped.set_result(None)

    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, stop)
        except NotImplementedError:  # Windows: Ctrl-C raises KeyboardInterrupt instead.
            break
    return stopped


async def until_stopped(
    agent: Running, stopped: asyncio.Future[None], *, ends: bool, last_seconds: float = 0.0
) -> bool:
    """Serve until the agent is done (if it `ends`) or is stopped; return whether it is done.

    After the end it answers queries for `last_seconds` more.
    """
    waits: list[asyncio.Future[Any]] = [stopped, agent.failed, *([agent.ended] if ends else [])]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    if last_seconds and agent.ended.done():
        await asyncio.wait(waits[:2], timeout=last_seconds, return_when=asyncio.FIRST_COMPLETED)
    await agent.stop()
    if agent.failed.done():
        raise agent.failed.result()
    agent.check()
    return agent.ended.done()
