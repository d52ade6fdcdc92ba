"""What is written to one connection in one turn of the loop goes out in one piece."""

import asyncio
import logging
from collections.abc import Callable

log = logging.getLogger(__name__)


class WriteBatching:
    """Call `later` with what writes; it is called once the turn is over."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._held: list[Callable[[], None]] = []

    def later(self, write: Callable[[], None]) -> None:
        """Let this write when all others have said what they have."""
        if not self._held:
            self._loop.call_soon(self._pull)
        self._held.append(write)

    def _pull(self) -> None:
        held, self._held = self._held, []
        for write in held:
            try:
                write()
            except Exception:  # It must not take the others with it.
                log.exception("What was to be written could not be.")
