"""Where a journal lies, a directory or a database: all who read or write one open it here."""

import shlex
from collections.abc import Callable, Sequence
from pathlib import Path
from socket import gethostname
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from agentleague.errors import Claimed, StorageError
from agentleague.protocol.hosts import is_loopback
from agentleague.storage.database import ask, check_driver
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


def leagues_in(place: JournalPlace) -> Sequence[str]:
    """The leagues that are there; of a database only that which its URL names, if it names one."""
    if isinstance(place, Path):
        return open_reader(place).leagues() if has_journal(place) else ()
    found = ask(
        place,
        "SELECT league_id FROM agentleague.owners o WHERE %s IN ('', league_id) AND EXISTS "
        "(SELECT FROM agentleague.rows r WHERE r.league_id = o.league_id) ORDER BY league_id",
        place.league_id,
    )
    return [league_id for (league_id,) in found]


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


def dir_option(place: JournalPlace) -> str:
    """A place as it is typed; a password is left out."""
    name = "journal" if isinstance(place, DatabaseUrl) else "dir"
    return f"--{name} {shlex.quote(str(place))}"


def another(place: JournalPlace) -> str:
    """The option for another league."""
    return dir_option(place.of("ANOTHER")) if isinstance(place, DatabaseUrl) else "--dir ANOTHER"


class Lease(NamedTuple):
    """Where the manager is that has a league, and until when if it says no more."""

    address: str
    machine: str  # empty: others may call it too
    until: str


def lease_of(url: DatabaseUrl) -> Lease | None:
    """Which manager has a league now; None if none has it."""
    found = ask(
        url,
        "SELECT split_part(address, '#', 1), split_part(address, '#', 2), lease_until::text "
        "FROM agentleague.owners WHERE league_id = %s AND lease_until > clock_timestamp()",
        url.league_id,
    )
    return Lease(*found[0]) if found else None


def is_served(url: DatabaseUrl) -> bool:
    """Whether a service runs this league."""
    statement = "SELECT 1 FROM agentleague.leagues WHERE league_id = %s AND state = 'open'"
    return bool(ask(url, statement, url.league_id))


def published(url: str, here: str) -> str:
    """Where a manager on a database says it is: with its machine, if it is called there alone."""
    return f"{here}#{gethostname()}" if is_loopback(urlsplit(url).hostname or "") else url


def manager_address(place: JournalPlace) -> str | None:
    """Where to call the manager of this league from this machine, if one runs and can be called."""
    if isinstance(place, DatabaseUrl):
        lease = lease_of(place)
        # At that address of this machine another program may listen, and get a key.
        is_here = lease and lease.machine in ("", gethostname())
        return (lease.address or None) if lease and is_here else None
    from agentleague.storage.lock import address_in, is_held

    # An address in a file that nobody holds may belong to another program by now.
    return address_in(place) if is_held(place) else None


def last_row(place: JournalPlace, league_id: str) -> int:
    """The number of the last row as journal.head notes it; 0 where it does not."""
    if isinstance(place, DatabaseUrl):
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
        check_driver()
        from agentleague.storage.postgres_reader import PostgresReader

        return PostgresReader(place)
    from agentleague.storage.sqlite_reader import SqliteReader

    return SqliteReader(place)


def open_journal(
    place: JournalPlace,
    wall: Callable[[], float],
    deliver: Callable[[Callable[[], None]], None],
    *,
    survives: bool = True,
    on_ownership_lost: Callable[[str, Claimed], None] = lambda league_id, error: None,
) -> "Journal":
    """The journal of a manager; one in a directory that need not survive a cut is faster.

    `on_ownership_lost` is told that another manager has taken over a league in a database.
    """
    if isinstance(place, DatabaseUrl):
        check_driver()
        from agentleague.storage.postgres import PostgresJournal

        journal = PostgresJournal(place, wall, deliver)
        journal.on_ownership_lost = on_ownership_lost
        return journal
    from agentleague.storage.sqlite import SqliteJournal
    from agentleague.storage.sqlite_reader import JournalLimits

    return SqliteJournal(place, wall, deliver, limits=JournalLimits(syncs=survives))
