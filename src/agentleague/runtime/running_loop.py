"""An event loop that runs in a thread of its own until it is stopped."""

import asyncio
from collections.abc import Awaitable
from threading import Thread
from typing import Any


class RunningLoop:
    """Runs from the beginning, and does not keep the process alive."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        Thread(target=self._serve, name="async functions", daemon=True).start()

    def finish(self, value: Awaitable[Any]) -> Any:
        """What it comes to; not to be called on a loop."""

        async def awaited() -> Any:
            try:
                return await value
            except SystemExit as error:  # It would end the loop, and every other function on it.
                raise RuntimeError(f"the function called sys.exit({error.code!r})") from error

        return asyncio.run_coroutine_threadsafe(awaited(), self._loop).result()

    def stop(self) -> None:
        """What is not done by then is cancelled, and not waited for."""
        self._loop.call_soon_threadsafe(self._loop.stop)

    def _serve(self) -> None:
        self._loop.run_forever()
        left = asyncio.all_tasks(self._loop)
        for task in left:
            task.cancel()
        self._loop.run_until_complete(_end(left))
        self._loop.close()


async def _end(tasks: set[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)
