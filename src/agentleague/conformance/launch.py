"""Starts and stops the agent under test, with all that it started: nothing is left behind."""

import os
import shlex
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress

from agentleague.conformance.exchange import without_secrets
from agentleague.protocol.printable import printable

PART_BYTES = 4_000  # of the beginning, and of the end, of what it printed
FIRST_LINES, LAST_LINES, LINE_MAX = 6, 8, 200  # of it that are shown
IS_POSIX = sys.platform != "win32"


class Launch:
    """A command that can be started, killed and started again."""

    def __init__(self, command: str, places: Mapping[str, str], stop_seconds: float) -> None:
        self.words = [_filled_in(word, places) for word in shlex.split(command, posix=IS_POSIX)]
        self.used = {name: value for name, value in places.items() if f"{{{name}}}" in command}
        self._environment = {"PYTHONUNBUFFERED": "1"} | os.environ
        self._environment |= {f"LEAGUE_CHECK_{name.upper()}": x for name, x in places.items()}
        self._stop_seconds = stop_seconds
        self._output = tempfile.TemporaryFile()  # noqa: SIM115  # Closed by `close`.
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it. Raises OSError where there is no such program."""
        self._process = subprocess.Popen(
            self.words,
            stdin=subprocess.DEVNULL,
            stdout=self._output,
            stderr=subprocess.STDOUT,
            env=self._environment,
            start_new_session=IS_POSIX,
        )

    @property
    def exit_code(self) -> int | None:
        """How it ended; None while it runs."""
        return self._process.poll() if self._process else None

    def ending(self, after: str = "") -> str:
        """How it ended, and its last words; empty while it runs."""
        if self.exit_code is None:
            return ""
        said = self.last_words()
        how = f"the command ended with exit code {self.exit_code}"
        if after:  # What it said when it began is not about that.
            said = "\n".join(said.splitlines()[-LAST_LINES:])
            how += f" after {after}"
        return f"{how}; it said:\n{said}" if said else how

    def wait(self, seconds: float) -> int | None:
        """Wait for it to end by itself; its exit code, or None."""
        if self._process is None:
            return None
        try:
            return self._process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def kill(self) -> None:
        """Kill it as a power cut would."""
        self._signal("SIGKILL")
        self.wait(self._stop_seconds)

    def close(self) -> None:
        """Tell it to end, and see to it that it did, with all that it started."""
        if self._process is not None:
            try:
                if self.exit_code is None:
                    self._signal("SIGTERM")
                    self.wait(self._stop_seconds)
            finally:  # Also when somebody is out of patience.
                self.kill()
        self._output.close()

    def _signal(self, name: str) -> None:
        assert self._process
        if not IS_POSIX:
            self._process.kill()
            return
        with suppress(ProcessLookupError):  # It has ended, and its children with it.
            os.killpg(self._process.pid, getattr(signal, name))

    def last_words(self) -> str:
        """The beginning and the end of what it has printed so far, for a report."""
        size = os.fstat(self._output.fileno()).st_size
        if size <= 2 * PART_BYTES:
            lines = self._lines(0, size)
        else:
            end = self._lines(size - PART_BYTES, PART_BYTES)
            lines = [*self._lines(0, PART_BYTES)[:FIRST_LINES], *end[-LAST_LINES - 1 :]]
        if len(lines) > FIRST_LINES + LAST_LINES:
            lines = [*lines[:FIRST_LINES], "…", *lines[-LAST_LINES:]]
        return "\n".join(without_secrets(printable(line[:LINE_MAX])) for line in lines)

    def _lines(self, start: int, size: int) -> list[str]:
        if sys.platform != "win32":  # It may write on meanwhile, where the file is open for both.
            found = os.pread(self._output.fileno(), size, start)
        else:
            self._output.seek(start)
            found = self._output.read(size)
            self._output.seek(0, os.SEEK_END)
        return [line for line in found.decode(errors="replace").splitlines() if line.strip()]


def _filled_in(word: str, places: Mapping[str, str]) -> str:
    for name, value in places.items():
        word = word.replace(f"{{{name}}}", value)
    return word
