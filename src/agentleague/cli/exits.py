"""How a command ends: its exit code, and an error that says what to type next.

0 done, 1 failed, 2 misused, 3 verification found a difference, 130 stopped by Ctrl-C, 143 by
SIGTERM. There is no traceback without --debug.
"""

import errno
import os
import re
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from types import FrameType

import click

from agentleague.cli.usage_errors import in_words
from agentleague.errors import LeagueError

FAILED, STOPPED = 1, 128  # The number of the signal is added to the latter.
NOISE = re.compile(r"\[Errno -?\d+\] | \(while attempting to bind on address \(.*?\)\)")
ADVICE = {
    errno.ENOENT: "check the path",
    errno.ENOTDIR: "check the path: a part of it is a file",
    errno.EISDIR: "give a file, not a directory",
    errno.EACCES: "you have no right to it; choose another place, or ask its owner",
    errno.EPERM: "you have no right to it; choose another place, or ask its owner",
    errno.EROFS: "nothing can be written there; choose another place",
    errno.ENOSPC: "make room, then type the same again",
    errno.EADDRINUSE: "choose another port with --port",
    errno.EADDRNOTAVAIL: "give an address of this machine with --bind, or leave --bind out",
    errno.EMFILE: "allow more open files with: ulimit -n 4096",
}


def run(work: Callable[[], int], arguments: Sequence[str]) -> int:
    """Run a command line; the code to exit with, after all is said."""
    signals: list[int] = []
    try:
        with _terminations(signals):
            code = work()
            sys.stdout.flush()
    except BrokenPipeError:  # As in `league schema | head`: nobody reads on, and that is no error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, Exception) as error:
        if "--debug" in arguments:
            traceback.print_exc()
        text, code = _told(error, signals)
        print(_harmless(text), file=sys.stderr, flush=True)
    return code


def _told(error: BaseException, signals: Sequence[int]) -> tuple[str, int]:
    """What to say of an error, and the code to exit with."""
    if isinstance(error, KeyboardInterrupt | click.Abort):
        after_ctrl_c = "\n" if sys.stderr.isatty() else ""  # The terminal has shown ^C.
        said = " ".join(["Stopped.", *map(str, error.args)])
        return after_ctrl_c + said, STOPPED + (signals[0] if signals else signal.SIGINT)
    if isinstance(error, click.UsageError):
        return in_words(error), error.exit_code
    if isinstance(error, click.ClickException):
        return f"Error: {error.format_message()}", error.exit_code
    if isinstance(error, LeagueError):
        return f"Error: {error}", FAILED
    if isinstance(error, OSError):
        return f"Error: {_of_system(error)}", FAILED
    return (
        f"Error: this is a fault of the program, not of what you typed: {type(error).__name__}: "
        f"{error}. Type the same again with --debug, and report what it prints.",
        FAILED,
    )


def _of_system(error: OSError) -> str:
    """What the system refused, and what can be done about it."""
    what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    advice = ADVICE.get(error.errno or 0)
    return f"{what}; {advice}" if advice else what


def _harmless(text: str) -> str:
    """Without the system's own remarks, and without what could harm a terminal."""
    from agentleague.protocol.printable import printable

    return printable(NOISE.sub("", text))


@contextmanager
def _terminations(signals: list[int]) -> Iterator[None]:
    """SIGTERM is as orderly an end as Ctrl-C, where that is one; `signals` gets what came."""
    before = signal.getsignal(signal.SIGTERM)
    is_ours = (
        threading.current_thread() is threading.main_thread()
        and before == signal.SIG_DFL
        and callable(signal.getsignal(signal.SIGINT))  # Not in the background of a script.
    )

    def stop(number: int, frame: FrameType | None) -> None:
        signals.append(number)
        signal.raise_signal(signal.SIGINT)

    if is_ours:
        signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        if is_ours:
            signal.signal(signal.SIGTERM, before)
