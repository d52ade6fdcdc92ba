"""Read the league of a directory from its journal, also while a manager writes to it."""

import sqlite3
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from agentleague.errors import Damaged, StorageError
from agentleague.league.events import read_event
from agentleague.league.league import League
from agentleague.roles.effects import Event
from agentleague.roles.ports import Row
from agentleague.storage.sqlite import FILE_NAME, leagues_in, read_directory


def has_journal(directory: Path) -> bool:
    """Whether there is a journal that somebody has written to."""
    path = directory / FILE_NAME
    return path.is_file() and path.stat().st_size > 0


def read_rows(directory: Path) -> list[Row]:
    """All rows of the one league in a directory, each one verified; none if it has not begun.

    Raises:
        Damaged: a row is not what was written, or there are rows of several leagues.
        StorageError: there is no journal, or it cannot be read.
    """
    try:
        leagues = leagues_in(directory)
        if len(leagues) > 1:
            raise Damaged(f"the journal in {directory} has rows of {len(leagues)} leagues, not one")
        return [row for name in leagues for row in read_directory(directory, name)]
    except StorageError as error:
        if _is_rot(error.__cause__):
            raise Damaged(str(error)) from error
        raise


def event_of(row: Row) -> Event:
    """The decision that a row holds.

    Raises:
        Damaged: it is of a kind or version that this program does not know.
    """
    return read_event(row.kind, row.version, row.body)


def folded(rows: Iterable[Row]) -> League:
    """The league as these rows leave it.

    Raises:
        Damaged: a row cannot be read, or cannot follow those before it.
    """
    league = League()
    for row in rows:
        event = event_of(row)
        try:
            league.apply(event)
        except (AssertionError, LookupError, ValueError):
            raise Damaged(
                f"row {row.seq} ({row.kind}) of league {row.league_id} cannot follow those before "
                "it; `league verify` says more"
            ) from None
    return league


def open_league(directory: Path) -> tuple[League, list[Row]]:
    """The league of a directory, and the rows that it was read from.

    Raises:
        StorageError: there is none, or it cannot be read.
    """
    if has_journal(directory) and (rows := read_rows(directory)):
        return folded(rows), rows
    raise StorageError(no_league(directory))


def no_league(directory: Path) -> str:
    """What to tell whoever looked for a league where there is none."""
    return (
        f"there is no league in {directory}; give the directory that holds its {FILE_NAME}, or "
        f"play one: league demo --dir {directory}"
    )


def file_damage(directory: Path) -> str | None:
    """What SQLite itself finds wrong with the file: a row that no index finds is a row unread.

    None where it finds nothing.
    """
    uri = f"{(directory / FILE_NAME).resolve().as_uri()}?mode=ro"
    try:
        with closing(sqlite3.connect(uri, uri=True)) as connection:
            (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        return str(error)
    return None if found == "ok" else str(found).splitlines()[-1]


def _is_rot(error: BaseException | None) -> bool:
    code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # The rest says where it was found.
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
