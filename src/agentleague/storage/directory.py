"""Which journal a directory holds: all who read or write one open it here, through its port."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # A command that only lists commands loads no database.
    from agentleague.roles.ports import Journal, JournalReader

FILE_NAME = "journal.sqlite"
HEAD_NAME = "journal.head"
SETTINGS_NAME = "manager.settings"  # what a manager was given besides the rules, with its codes


def has_journal(directory: Path) -> bool:
    """Whether there is a journal that somebody has written to."""
    path = directory / FILE_NAME
    return path.is_file() and path.stat().st_size > 0


def has_journal_file(directory: Path) -> bool:
    """Whether there is a file of a journal, be it empty as a manager killed at once leaves it."""
    return (directory / FILE_NAME).exists()


def manager_address(directory: Path) -> str | None:
    """Where to call the manager of this directory from this machine, if one holds its lock."""
    from agentleague.storage.lock import address_in, is_held

    # An address in a file that nobody holds may belong to another program by now.
    return address_in(directory) if is_held(directory) else None


def last_row(directory: Path, league_id: str) -> int:
    """The number of the last row as journal.head notes it; 0 where it does not."""
    from agentleague.storage.head import read_heads

    head = read_heads(directory).get(league_id)
    return head.seq if head else 0


def repair_command(directory: Path) -> str:
    """What saves what is left of a damaged journal, as it is typed."""
    to = f"{directory}-repaired" if directory.name.strip(".") else "NEW"
    return f"league repair {shlex.quote(str(directory))} --to {shlex.quote(to)}"


def remedy(directory: Path) -> str:
    """What to do about a journal that cannot be read to its end."""
    return (
        f"nothing was changed. Restore a copy of {shlex.quote(str(directory))}, or save what is "
        f"left of it with: {repair_command(directory)}"
    )


def may_hold_more(directory: Path) -> bool:
    """Whether a repair may find rows that SQLite does not: in its log, or in a damaged file."""
    from agentleague.storage.sqlite_reader import file_problem
    from agentleague.storage.wal import WAL_NAME

    log = directory / WAL_NAME
    if log.exists() and log.stat().st_size:
        return True
    return has_journal(directory) and file_problem(directory) is not None


def open_reader(directory: Path) -> "JournalReader":
    """The journal of a directory, to be read; no file is created, and nothing is held open."""
    from agentleague.storage.sqlite_reader import SqliteReader

    return SqliteReader(directory)


def open_journal(
    directory: Path,
    wall: Callable[[], float],
    deliver: Callable[[Callable[[], None]], None],
    *,
    survives: bool = True,
) -> "Journal":
    """The journal of the manager in this directory; one that need not survive a cut is faster."""
    from agentleague.storage.sqlite import SqliteJournal
    from agentleague.storage.sqlite_reader import JournalLimits

    return SqliteJournal(directory, wall, deliver, limits=JournalLimits(syncs=survives))
