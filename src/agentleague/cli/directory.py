"""The place of a league as commands use it: which one, whether it is free, who writes to it."""

import os
import re
import shlex
from collections.abc import Callable, Sequence
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from agentleague.cli.output import say
from agentleague.errors import StorageError
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.directory import (
    FILE_NAME,
    HEAD_NAME,
    SETTINGS_NAME,
    JournalPlace,
    has_journal_file,
    with_league,
)
from agentleague.storage.directory import dir_option as dir_option
from agentleague.storage.directory import manager_address as manager_address

Command = TypeVar("Command", bound=Callable[..., Any])

SECRETS = ("secret.key", "admin.token")
OWN_NAMES = (FILE_NAME, HEAD_NAME, SETTINGS_NAME, *SECRETS, "manager.lock", "log")
SETTINGS = ".toml"  # A league may lie beside its settings.
SHOWN_MAX = 3
VARIABLE = "LEAGUE_JOURNAL"  # Not by click: --dir must work where it is set.

NO_DATABASE = "this is for a directory: PostgreSQL keeps its own files whole, and has backups"


class Place(click.Path):
    """A directory, or the URL of a database; its error text repeats no password."""

    def __init__(self, *, is_url: bool = False, file_okay: bool = True) -> None:
        super().__init__(path_type=Path, file_okay=file_okay)
        self._is_url = is_url

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The place that was typed."""
        if not isinstance(value, str) or not (self._is_url or "://" in value):
            return super().convert(value, param, ctx)
        try:
            return DatabaseUrl.parse(value)
        except StorageError as error:
            return self.fail(str(error), param, ctx)


def journal_option(command: Command, is_demo: bool = False) -> Command:
    """--journal, for a database."""
    variable = "" if is_demo else f"  [env var: {VARIABLE}]"
    text = f"The same for a league on PostgreSQL: postgresql://...{variable}"
    return click.option("--journal", metavar="URL", type=Place(is_url=True), help=text)(command)


def database_option(command: Command) -> Command:
    """--journal, for a command that needs a database."""
    text = f"The database: postgresql://USER@HOST/DATABASE  [env var: {VARIABLE}]"
    kind = Place(is_url=True)
    return click.option(
        "--journal", required=True, envvar=VARIABLE, metavar="URL", type=kind, help=text
    )(command)


def _chosen(named: Sequence[Any], default: str | None, *, looks: bool = True) -> Any:
    """The one place that was named, else that of the environment, else the default."""
    given = [each for each in named if each]
    if len(given) > 1:
        what = "directory" if all(isinstance(each, Path) for each in given) else "place"
        raise click.UsageError(f"name one {what}: either {given[0]} or {dir_option(given[1])}")
    if not given and looks and os.environ.get(VARIABLE):
        try:
            given.append(DatabaseUrl.parse(os.environ[VARIABLE]))
        except StorageError as error:
            raise click.UsageError(f"{VARIABLE}: {error}") from None
    place = given[0] if given else Path(default) if default else None
    if isinstance(place, Path) and place.name == FILE_NAME:  # Its directory is meant.
        place = place.parent
    return place


def directory_argument(
    default: str | None = None,
    help_text: str = "The same as DIR.",
    *,
    is_needed: bool = True,
    is_path: bool = False,
) -> Callable[[Command], Command]:
    """Add DIR to a command, with --dir or --journal before it or without.

    Without a default it may be needed. A database comes with the league in it, if there is one;
    a command for which only a path will do takes none.
    """

    def add(command: Command) -> Command:
        @wraps(command)
        def with_directory(*, argument: Any, option: Any, journal: Any = None, **more: Any) -> Any:
            looks = not (is_path or more.get("manager_url"))
            place = _chosen((argument, option, journal), default, looks=looks)
            if place is None and is_needed:
                context = click.get_current_context()
                raise click.UsageError(f"DIR is missing; type: {context.command_path} DIR", context)
            if is_path and isinstance(place, DatabaseUrl):
                raise click.UsageError(f"{place} is a database; {NO_DATABASE}")
            return command(directory=with_league(place) if place else None, **more)

        metavar = "DIR" if is_needed and not default else "[DIR]"
        option = click.option("--dir", "option", metavar="DIR", type=Place(), help=help_text)
        argument = click.argument("argument", metavar=metavar, required=False, type=Place())
        rest = with_directory if is_path else journal_option(with_directory)
        return argument(option(rest))  # type: ignore[return-value]

    return add


def place_and_file(*order: str) -> Callable[[Command], Command]:
    """Add DIR and FILE in this order, and --journal, beside which FILE stands alone."""

    def add(command: Command) -> Command:
        @wraps(command)
        def with_both(*, typed: Sequence[Any], journal: Any, **more: Any) -> Any:
            values = [*typed]
            if len(values) == 1:
                values.insert(order.index("DIR"), None)
            named = dict(zip(order, values, strict=False))
            place = _chosen((named.get("DIR"), journal), None)
            if not place or len(values) != len(order) or not isinstance(named["FILE"], Path):
                context = click.get_current_context()
                words = " ".join(order)
                raise click.UsageError(f"type: {context.command_path} {words}", context)
            return command(directory=place, file=named["FILE"], **more)

        argument = click.argument("typed", nargs=-1, metavar=" ".join(order), type=Place())
        return argument(journal_option(with_both))  # type: ignore[return-value]

    return add


def place_option(
    text: str, default: str | None = None, *, is_new: bool = False, is_demo: bool = False
) -> Callable[[Command], Command]:
    """Add --dir and --journal; for a league that may be new a database may come without one.

    A demo must not end up in the database that the environment names for other commands.
    """

    def add(command: Command) -> Command:
        @wraps(command)
        def with_place(*, directory: Any, journal: Any, **more: Any) -> Any:
            place = _chosen((directory, journal), default, looks=not is_demo)
            if is_new and not is_demo and isinstance(place, Path) and os.environ.get(VARIABLE):
                say(f"{VARIABLE} is set and does not count: --dir {place} was typed.")
            return command(directory=place if is_new or not place else with_league(place), **more)

        kind = Place(file_okay=False)
        option = click.option("--dir", "directory", metavar="DIR", type=kind, help=text)
        return option(journal_option(with_place, is_demo))  # type: ignore[return-value]

    return add


def stem(place: JournalPlace) -> str:
    """What files about a league are called after, beside its directory or here."""
    if isinstance(place, DatabaseUrl):
        return place.league_id or "league"
    return str(place if place.name.strip(".") else place.resolve())


def with_directory(sentence: str, directory: JournalPlace) -> str:
    """What a manager says, with its directory in the commands that it names."""
    return sentence.replace("--dir DIR", dir_option(directory))


def check_free(directory: JournalPlace) -> None:
    """Raises UsageError if other files are there and no league: a new one would mix with them."""
    if isinstance(directory, DatabaseUrl) or not directory.is_dir() or has_journal_file(directory):
        return
    there = [path.name for path in directory.iterdir() if path.suffix != SETTINGS]
    others = sorted(name for name in there if not name.startswith((".", *OWN_NAMES)))
    if others:
        more = ", ..." if len(others) > SHOWN_MAX else ""
        raise click.UsageError(
            f"--dir {directory} holds other files and no league "
            f"({', '.join(others[:SHOWN_MAX])}{more}); name a new directory, or an empty one"
        )


def check_new(place: JournalPlace) -> None:
    """Raises UsageError if it is a directory that holds something, or a file."""
    if isinstance(place, Path) and place.exists() and (place.is_file() or any(place.iterdir())):
        raise click.UsageError(f"{place} is there already; name a new directory, or an empty one")


def season_command(directory: JournalPlace) -> str:
    """What runs the league of this directory if it is one of a season, where players are known
    by the leagues before; else nothing.
    """
    from agentleague.records.seasons import is_season

    if isinstance(directory, DatabaseUrl):
        return ""
    at = Path(stem(directory))
    is_of_season = re.fullmatch("[0-9]{3}", at.name) and is_season(at.parent)
    return f"league season {shlex.quote(str(at.parent))}" if is_of_season else ""


def start_command(directory: JournalPlace) -> str:
    """What goes on with the league of this place."""
    return season_command(directory) or f"league manager {dir_option(directory)}"


def no_manager(directory: JournalPlace) -> str:
    """The sentence for a place where no manager runs: how to start it."""
    start = start_command(directory)
    if isinstance(directory, DatabaseUrl):
        return (
            f"no manager of {directory} can be called from this machine; if one runs on another "
            f"that is called there alone, type this there, else start it with: {start}"
        )
    is_kept = (directory / SETTINGS_NAME).exists()  # `league demo` keeps none.
    is_demo = has_journal_file(directory) and not is_kept
    demo = " (a demo cannot go on: its players ended with it)" if is_demo else ""
    return f"no manager runs in {directory}{demo}; start it with: {start}"


def how_to_approve(referees: Sequence[str], directory: JournalPlace | None) -> str:
    """What the organiser types for referees that wait."""
    where = dir_option(directory) if directory else "--dir DIR"
    each = " or ".join(f"league approve {referee_id} {where}" for referee_id in referees[:3])
    return f"Let a referee in that waits, if you know it, with: {each}"
