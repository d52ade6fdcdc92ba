"""What the program says of its own bugs: where it goes on after one, the log is all there is."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def no_complaints() -> Iterator[None]:
    """Raise where an error was logged meanwhile."""
    said: list[str] = []

    class Listener(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            bug = record.exc_info[1] if record.exc_info else None
            said.append(f"{record.getMessage()}: {bug!r}")

    listener, logger = Listener(logging.ERROR), logging.getLogger("agentleague")
    logger.addHandler(listener)
    try:
        yield
    finally:
        logger.removeHandler(listener)
    assert not said, said[0]
