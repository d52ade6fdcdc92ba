"""How a process is asked to end; what a player loads does not, so that it runs on Windows."""

import asyncio
import signal


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
