"""The log of a manager: JSON lines in a file, written by a thread once a second.

Whoever writes never waits. The log is no record of what was decided, that is the journal: a full
disk costs lines and nothing else, and each second has room for so many lines.
"""

import logging
import os
from collections import deque
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import msgspec

from agentleague.protocol.timestamps import write
from agentleague.runtime.log_lines import Entry, Level, fields

BYTES_MAX = 50_000_000  # then the file is renamed to .1, and a former .1 is gone
LINES_MAX = 20_000  # between two flushes
WARNINGS_MAX = 500  # of them: strangers can cause as many as they like
FLUSH_SECONDS = 1.0


class LogFile:
    """Takes entries from any thread; `close` writes what waits."""

    def __init__(
        self,
        path: Path,
        wall: Callable[[], float],
        *,
        bytes_max: int = BYTES_MAX,
        flush_seconds: float = FLUSH_SECONDS,
    ) -> None:
        self._path, self._wall, self._bytes_max = path, wall, bytes_max
        self._flush_seconds = flush_seconds
        self._waiting: deque[tuple[float, Entry]] = deque()
        self._warnings = self._left_out = 0  # since the last flush
        self._closing = Event()
        self._thread = Thread(target=self._run, name="log", daemon=True)
        self._thread.start()

    def write(self, entry: Entry) -> None:
        """Keep it for the next flush, if there is room."""
        is_warning = entry.level >= Level.WARNING
        self._warnings += is_warning
        if len(self._waiting) >= LINES_MAX or (is_warning and self._warnings > WARNINGS_MAX):
            self._left_out += 1
        else:
            self._waiting.append((self._wall(), entry))

    def close(self) -> None:
        """Write what waits and stop."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.wait(self._flush_seconds):
            self._flush()
        self._flush()

    def _flush(self) -> None:
        lines = [_written(*self._waiting.popleft()) for _ in range(len(self._waiting))]
        self._warnings, left_out, self._left_out = 0, self._left_out, 0
        if left_out:
            text = f"{left_out} lines were left out"
            note = Entry(level=Level.WARNING, event="left_out", text=text)
            lines.append(_written(self._wall(), note))
        if lines:
            try:
                self._append(b"".join(lines))
            except OSError:  # No room, or no directory: the next flush says so.
                self._left_out += len(lines)

    def _append(self, data: bytes) -> None:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        if self._path.exists() and self._path.stat().st_size + len(data) > self._bytes_max:
            os.replace(self._path, self._path.with_name(f"{self._path.name}.1"))
        descriptor = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        with open(descriptor, "ab") as file:
            file.write(data)


class LogHandler(logging.Handler):
    """Brings what the program itself complains about (bugs, a full disk) into the same file."""

    def __init__(self, write: Callable[[Entry], None]) -> None:
        super().__init__(logging.WARNING)
        self._write = write

    def emit(self, record: logging.LogRecord) -> None:
        """One entry; of a bug its kind and the place, never its values."""
        text = record.getMessage()
        bug = record.exc_info[1] if record.exc_info else None
        if bug is not None:
            text = f"{text}: {_place(bug)}"
        level = Level.ERROR if record.levelno >= logging.ERROR else Level.WARNING
        self._write(Entry(level=level, event="complaint", agent=record.name, text=text))


def _place(bug: BaseException) -> str:
    trace = bug.__traceback__
    while trace and trace.tb_next:
        trace = trace.tb_next
    where = ""
    if trace:
        where = f" at {Path(trace.tb_frame.f_code.co_filename).name}:{trace.tb_lineno}"
    return f"{type(bug).__name__}{where}"


def _written(at: float, entry: Entry) -> bytes:
    moment = f"{write(at)[:-1]}.{int(at % 1 * 1000):03}Z"
    line: dict[str, Any] = {"timestamp": moment, **fields(entry)}
    return msgspec.json.encode(line) + b"\n"
