"""Puts all writes of one turn of the event loop to a connection into one."""

import asyncio
import logging
from collections.abc import Callable

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
