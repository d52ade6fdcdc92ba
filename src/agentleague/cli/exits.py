"""How a command ends: its exit code, and an error text that says what to type next.

0 done, 1 failed, 2 misused, 3 verification found a difference, 130 stopped by Ctrl-C, 143 by
SIGTERM, 129 by the end of its terminal. There is no traceback without --debug.
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
from pathlib import Path
from types import FrameType

import click

from agentleague.errors import LeagueError

FAILED, STOPPED = 1, 128  # The number of the signal is added to the latter.
EXTRA = re.compile(r"Got unexpected extra arguments? \((.*)\)")
REMARK = re.compile(r"\s{2,}\S.*")  # after an example
# The system's own remarks.
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
    """Run a command line, print its error if it fails, and return the exit code."""
    signals: list[int] = []
    try:
        with _terminations(signals):
            code = work()
            sys.stdout.flush()
    except BrokenPipeError:  # As in `league schema | head`: not an error.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (KeyboardInterrupt, Exception) as error:
        if "--debug" in arguments:
            traceback.print_exc()
        from agentleague.protocol.printable import printable

        text, code = _text_and_code(error, signals)
        print(printable(NOISE.sub("", text)), file=sys.stderr, flush=True)
    return code


def _text_and_code(error: BaseException, signals: Sequence[int]) -> tuple[str, int]:
    if isinstance(error, KeyboardInterrupt | click.Abort):
        after_ctrl_c = "\n" if sys.stderr.isatty() else ""  # The terminal has shown ^C.
        text = " ".join(["Stopped.", *map(str, error.args)])
        return after_ctrl_c + text, STOPPED + (signals[0] if signals else signal.SIGINT)
    if isinstance(error, click.UsageError):
        return _usage_error(error), error.exit_code
    if isinstance(error, click.ClickException):
        return f"Error: {error.format_message()}", error.exit_code
    if isinstance(error, LeagueError) or hasattr(error, "exit_code"):  # A wrong setting has one.
        return f"Error: {error}", getattr(error, "exit_code", FAILED)
    if isinstance(error, OSError):
        return f"Error: {_system_error(error)}", FAILED
    return (
        f"Error: this is a fault of the program, not of what you typed: {type(error).__name__}: "
        f"{error}. Type the same again with --debug, and report what it prints.",
        FAILED,
    )


def _usage_error(error: click.UsageError) -> str:
    context = error.ctx
    if isinstance(error, click.exceptions.NoArgsIsHelpError) or context is None:
        return error.format_message()
    is_group = isinstance(context.command, click.Group)
    lines = [f"Error: {_mistake(error, context)}"]
    example = None if is_group else _example(context, _options_in(error))
    if example:
        lines.append(f"For example: {example}")
    lines.append(f"All {'commands' if is_group else 'options'}: {context.command_path} --help")
    return "\n".join(lines)


def _mistake(error: click.UsageError, context: click.Context) -> str:
    extra = EXTRA.fullmatch(error.message)
    if isinstance(error, click.NoSuchOption):
        near = " or ".join((error.possibilities or _commands_like(error.option_name, context))[:2])
        return f"there is no option {error.option_name}{f'; did you mean {near}?' if near else ''}"
    if isinstance(error, click.BadOptionUsage):
        return _wrong_value(error.option_name, error.message, context)
    if isinstance(error, click.MissingParameter) and error.param:
        return f"{_shown(error.param, context)} is missing; type: {_usage(context)}"
    if isinstance(error, click.BadParameter) and error.param:
        verb = "" if error.message.startswith("must ") else ":"
        return f"{_shown(error.param, context)}{verb} {error.message}"
    if extra:
        return f"{extra[1]!r} is not expected here{_left_out(extra[1], context)}"
    if isinstance(context.command, click.Group) and error.message.startswith("No such command"):
        there = ", ".join(context.command.list_commands(context))
        return f"{error.message[0].lower()}{error.message[1:].rstrip('.')}; there are: {there}"
    return error.message


def _left_out(extra: str, context: click.Context) -> str:
    """The option whose name was left out, guessed from its value."""
    likely = {
        "--players": extra.isdecimal(),
        "--player": extra.endswith(".py"),
        "--game": extra.endswith(".py"),
        "--dir": Path(extra).is_dir(),
    }
    known = {name for param in context.command.params for name in param.opts}
    near = next((name for name, fits in likely.items() if fits and name in known), None)
    return f"; did you mean {near} {extra}?" if near else ""


def _commands_like(option: str, context: click.Context) -> list[str]:
    """The command that was typed as an option, if it is one."""
    name, command = option.lstrip("-"), context.command
    is_one = isinstance(command, click.Group) and name in command.list_commands(context)
    return [f"{context.command_path} {name}"] if is_one else []


def _wrong_value(name: str, message: str, context: click.Context) -> str:
    if "requires" not in message:
        return f"{name} takes no value"
    param = next(param for param in context.command.params if name in param.opts)
    return f"{name} needs a value: {name} {param.make_metavar(context)}"


def _shown(param: click.Parameter, context: click.Context) -> str:
    return param.opts[-1] if isinstance(param, click.Option) else param.make_metavar(context)


def _usage(context: click.Context) -> str:
    """The shortest command line that is complete."""
    words = [context.command_path]
    for param in context.command.params:
        metavar = param.make_metavar(context)
        is_named = isinstance(param, click.Argument) and metavar[:1] != "["  # or by an option
        if not param.required and not is_named:
            continue
        name = f"{param.opts[-1]} " if isinstance(param, click.Option) else ""
        words.append(name + metavar)
    return " ".join(words)


def _options_in(error: click.UsageError) -> list[str]:
    if isinstance(error, click.NoSuchOption):
        return list(error.possibilities or ())
    if isinstance(error, click.BadOptionUsage):
        return [error.option_name]
    param = error.param if isinstance(error, click.BadParameter) else None
    return param.opts if isinstance(param, click.Option) else []


def _example(context: click.Context, names: list[str]) -> str | None:
    lines = [line.strip() for line in (context.command.help or "").splitlines()]
    examples = [REMARK.sub("", line) for line in lines if line.startswith("league ")]
    fitting = [line for line in examples if set(names) & set(line.split())]
    return next(iter(fitting or examples), None)


def _system_error(error: OSError) -> str:
    what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
    advice = ADVICE.get(error.errno or 0)
    return f"{what}; {advice}" if advice else what


@contextmanager
def _terminations(signals: list[int]) -> Iterator[None]:
    """Let SIGTERM and SIGHUP end the command as Ctrl-C does; `signals` gets the number."""
    is_possible = threading.current_thread() is threading.main_thread()
    numbers = (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM))  # Windows has no SIGHUP.
    handled = {each for each in numbers if is_possible and signal.getsignal(each) == signal.SIG_DFL}

    def stop(number: int, frame: FrameType | None) -> None:
        signals.append(number)
        if callable(signal.getsignal(signal.SIGINT)):
            signal.raise_signal(signal.SIGINT)
        else:  # It is ignored in the background of a script.
            raise KeyboardInterrupt

    for each in handled:
        signal.signal(each, stop)
    try:
        yield
    finally:
        for each in handled:
            signal.signal(each, signal.SIG_DFL)
