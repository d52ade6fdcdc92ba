"""The directory of a league as commands use it: which one, whether it is free, who writes to it."""

import shlex
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from agentleague.storage.directory import FILE_NAME, HEAD_NAME, SETTINGS_NAME, has_journal_file
from agentleague.storage.directory import manager_address as manager_address

Command = TypeVar("Command", bound=Callable[..., Any])

SECRETS = ("secret.key", "admin.token")
OWN_NAMES = (FILE_NAME, HEAD_NAME, SETTINGS_NAME, *SECRETS, "manager.lock", "log")
SETTINGS = ".toml"  # A league may lie beside its settings.
SHOWN_MAX = 3


def directory_argument(
    default: str | None = None, help_text: str = "The same as DIR.", *, is_needed: bool = True
) -> Callable[[Command], Command]:
    """Add DIR to a command, with --dir before it or without; without a default it may be needed."""

    def add(command: Command) -> Command:
        @wraps(command)
        def with_directory(*, argument: Path | None, option: Path | None, **more: Any) -> Any:
            if argument and option:
                raise click.UsageError(f"name one directory: either {argument} or --dir {option}")
            directory = argument or option or (Path(default) if default else None)
            if directory is None and is_needed:
                context = click.get_current_context()
                raise click.UsageError(f"DIR is missing; type: {context.command_path} DIR", context)
            if directory and directory.name == FILE_NAME:  # Its directory is meant.
                directory = directory.parent
            return command(directory=directory, **more)

        metavar = "DIR" if is_needed and not default else "[DIR]"
        kind = click.Path(path_type=Path)
        option = click.option("--dir", "option", metavar="DIR", type=kind, help=help_text)
        argument = click.argument("argument", metavar=metavar, required=False, type=kind)
        return argument(option(with_directory))  # type: ignore[return-value]

    return add


def dir_option(directory: Path) -> str:
    """--dir as it is typed."""
    return f"--dir {shlex.quote(str(directory))}"


def with_directory(sentence: str, directory: Path) -> str:
    """What a manager says, with its directory in the commands that it names."""
    return sentence.replace("--dir DIR", dir_option(directory))


def check_free(directory: Path) -> None:
    """Raises UsageError if other files are there and no league: a new one would mix with them."""
    if not directory.is_dir() or has_journal_file(directory):
        return
    there = [path.name for path in directory.iterdir() if path.suffix != SETTINGS]
    others = sorted(name for name in there if not name.startswith((".", *OWN_NAMES)))
    if others:
        more = ", ..." if len(others) > SHOWN_MAX else ""
        raise click.UsageError(
            f"--dir {directory} holds other files and no league "
            f"({', '.join(others[:SHOWN_MAX])}{more}); name a new directory, or an empty one"
        )


def check_new(directory: Path) -> None:
    """Raises UsageError unless a league can be written there: it is new, or an empty directory."""
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise click.UsageError(
            f"{directory} is there already; name a new directory, or an empty one"
        )


def no_manager(directory: Path) -> str:
    """The sentence for a directory where no manager runs: how to start it."""
    start = f"league manager {dir_option(directory)}"
    is_kept = (directory / SETTINGS_NAME).exists()  # `league demo` keeps none.
    is_demo = has_journal_file(directory) and not is_kept
    demo = " (a demo cannot go on: its players ended with it)" if is_demo else ""
    return f"no manager runs in {directory}{demo}; start it with: {start}"


def how_to_approve(referees: Sequence[str], directory: Path | None) -> str:
    """What the organiser types for referees that wait."""
    where = dir_option(directory) if directory else "--dir DIR"
    each = " or ".join(f"league approve {referee_id} {where}" for referee_id in referees[:3])
    return f"Let a referee in that waits, if you know it, with: {each}"
