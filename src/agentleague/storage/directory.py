"""Where a journal lies, a directory or a database: all who read or write one open it here."""

import shlex
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING

from agentleague.errors import StorageError
from agentleague.storage.database_url import DatabaseUrl

if TYPE_CHECKING:  # A command that only lists commands loads no database.
    from agentleague.roles.ports import Journal, JournalReader

FILE_NAME = "journal.sqlite"
HEAD_NAME = "journal.head"
SETTINGS_NAME = "manager.settings"  # what a manager was given besides the rules, with its codes


JournalPlace = Path | DatabaseUrl


def has_journal(place: JournalPlace) -> bool:
    """Whether there is a journal that somebody has written to."""
    if isinstance(place, DatabaseUrl):
        return bool(leagues_in(place))
    path = place / FILE_NAME
    return path.is_file() and path.stat().st_size > 0


def has_journal_file(place: JournalPlace) -> bool:
    """Whether there is a file of a journal, be it empty as a manager killed at once leaves it."""
    if isinstance(place, DatabaseUrl):
        return has_journal(place)
    return (place / FILE_NAME).exists()


def leagues_in(url: DatabaseUrl) -> list[str]:
    """The league that a URL names, if it is there; all that are there if it names none."""
    from agentleague.storage.database import ask

    found = ask(url, "SELECT league_id FROM agentleague.rows WHERE seq = 1 ORDER BY league_id")
    return [each for (each,) in found if url.league_id in ("", each)]


def with_league(place: JournalPlace) -> JournalPlace:
    """A database with the only league in it. Raises StorageError where there are several."""
    if isinstance(place, Path) or place.league_id:
        return place
    leagues = leagues_in(place)
    if len(leagues) > 1:
        raise StorageError(
            f"{place} holds several leagues; add one of these to the URL: "
            + ", ".join(f"#{league_id}" for league_id in leagues)
        )
    return place.of(leagues[0]) if leagues else place


def as_option(place: JournalPlace) -> str:
    """A place as it is typed; a password is left out."""
    name = "journal" if isinstance(place, DatabaseUrl) else "dir"
    return f"--{name} {shlex.quote(str(place))}"


def another(place: JournalPlace) -> str:
    """The option for another league."""
    return as_option(place.of("ANOTHER")) if isinstance(place, DatabaseUrl) else "--dir ANOTHER"


def manager_address(place: JournalPlace) -> str | None:
    """Where to call the manager of this league, if one runs: in a directory, on this machine."""
    if isinstance(place, DatabaseUrl):
        from agentleague.storage.database import ask

        statement = (
            "SELECT address FROM agentleague.owners "
            "WHERE league_id = %s AND lease_until > clock_timestamp()"
        )
        return next((address for (address,) in ask(place, statement, place.league_id)), "") or None
    from agentleague.storage.lock import address_in, is_held

    # An address in a file that nobody holds may belong to another program by now.
    return address_in(place) if is_held(place) else None


def last_row(place: JournalPlace, league_id: str) -> int:
    """The number of the last row as journal.head notes it; 0 where it does not."""
    if isinstance(place, DatabaseUrl):
        from agentleague.storage.database import ask

        found = ask(place, "SELECT max(seq) FROM agentleague.rows WHERE league_id = %s", league_id)
        return found[0][0] or 0 if found else 0
    from agentleague.storage.head import read_heads

    head = read_heads(place).get(league_id)
    return head.seq if head else 0


def repair_command(directory: Path) -> str:
    """What saves what is left of a damaged journal, as it is typed."""
    to = f"{directory}-repaired" if directory.name.strip(".") else "NEW"
    return f"league repair {shlex.quote(str(directory))} --to {shlex.quote(to)}"


def remedy(place: JournalPlace) -> str:
    """What to do about a journal that cannot be read to its end."""
    if isinstance(place, DatabaseUrl):
        return "nothing was changed. Restore the database from a backup"
    return (
        f"nothing was changed. Restore a copy of {shlex.quote(str(place))}, or save what is "
        f"left of it with: {repair_command(place)}"
    )


def may_hold_more(place: JournalPlace) -> bool:
    """Whether a repair may find rows that SQLite does not: in its log, or in a damaged file."""
    if isinstance(place, DatabaseUrl):
        return False
    from agentleague.storage.sqlite_reader import file_problem
    from agentleague.storage.wal import WAL_NAME

    log = place / WAL_NAME
    if log.exists() and log.stat().st_size:
        return True
    return has_journal(place) and file_problem(place) is not None


def open_reader(place: JournalPlace) -> "JournalReader":
    """The journal of a league, to be read; nothing is created, and nothing is held open."""
    if isinstance(place, DatabaseUrl):
        module = import_module("agentleague.storage.postgres_reader")
        reader: JournalReader = module.PostgresReader(place)
        return reader
    from agentleague.storage.sqlite_reader import SqliteReader

    return SqliteReader(place)


def open_journal(
    place: JournalPlace,
    wall: Callable[[], float],
    deliver: Callable[[Callable[[], None]], None],
    *,
    survives: bool = True,
) -> "Journal":
    """The journal of a manager; one in a directory that need not survive a cut is faster."""
    if isinstance(place, DatabaseUrl):
        module = import_module("agentleague.storage.postgres")
        journal: Journal = module.PostgresJournal(place, wall, deliver)
        return journal
    from agentleague.storage.sqlite import SqliteJournal
    from agentleague.storage.sqlite_reader import JournalLimits

    return SqliteJournal(place, wall, deliver, limits=JournalLimits(syncs=survives))
