"""Tells an author what went wrong in a function: each error once, and at the end how often."""

import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

from agentleague.runtime.author_functions import traceback_of

KINDS_MAX = 100  # A function may fail in a different way each time.
NO_ARGUMENT = "; it is called with the turn, so begin it with:"


class AuthorErrors:
    """Prints each different error and where it happened; when closed, how often it was repeated."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._times: dict[str, int] = {}
        self.in_full = True  # whether tracebacks are shown

    def raised(self, function: Callable[..., Any], error: BaseException, match_id: str) -> None:
        """The function raised; print where in the author's file."""
        place = _place(function, error)
        what = _line(f"{name_of(function)} raised {type(error).__name__}: {error}{place}")
        if self._is_new(what):
            is_shown = self.in_full and NO_ARGUMENT not in place
            shown = f":\n{traceback_of(error)}" if is_shown else ""
            self._say(f"{what}, in {_line(match_id)}{shown}")

    def returned(self, function: Callable[..., Any], what: str, match_id: str, then: str) -> None:
        """The function returned something that cannot be sent, or that loses the match."""
        said = _line(f"{name_of(function)} returned {what}")
        if self._is_new(said):
            self._say(f"{said} in {_line(match_id)}; {then}")

    def close(self) -> None:
        """Print which errors were repeated."""
        for what, times in self._times.items():
            if times > 1:
                self._say(f"{what}, {times - 1} more {'time' if times == 2 else 'times'}")
        self._times.clear()

    def _is_new(self, what: str) -> bool:
        if what not in self._times and len(self._times) >= KINDS_MAX:
            return False
        self._times[what] = self._times.get(what, 0) + 1
        return self._times[what] == 1


def name_of(function: Callable[..., Any]) -> str:
    """The name of a function."""
    return str(getattr(function, "__name__", "the function"))


def _place(function: Callable[..., Any], error: BaseException) -> str:
    """The last line of the author's own file; of a function that cannot be called, the first."""
    code = getattr(function, "__code__", None)
    if code is None:
        return ""
    file = Path(code.co_filename).name
    frames = traceback.extract_tb(error.__traceback__)
    lines = [frame.lineno for frame in frames if frame.filename == code.co_filename]
    if lines:
        return f", at {file} line {lines[-1]}"
    return f", at {file} line {code.co_firstlineno}{NO_ARGUMENT} def {name_of(function)}(turn)"


def _line(text: str) -> str:
    """On one line: a match id may hold anything."""
    return text.replace("\n", "?")
