"""How a process is asked to end; what a player loads does not, so that it runs on Windows."""

import asyncio
import signal

from agentleague.transport.event_loop import settle


def stop_signal() -> asyncio.Future[None]:
    """Done after Ctrl-C or SIGTERM; call this before there is anything to stop."""
    loop = asyncio.get_running_loop()
    stopped: asyncio.Future[None] = loop.create_future()
    for number in (signal.SIGINT, signal.SIGTERM):
        try:
            loop.add_signal_handler(number, settle, stopped, None)
        except NotImplementedError:  # Windows: Ctrl-C raises KeyboardInterrupt instead.
            break
    return stopped
