"""Save what is left of a damaged journal: its longest true chain, in a new directory.

The rows prove themselves by their chain of hashes, whatever they are read from. So everything that
SQLite can be made to read is tried: the files as they are, and copies with the pages of the
write-ahead log put in, without the wrong ones and with them. SQLite takes the log up to the first
wrong frame only, while the pages behind it mostly hold all that was lost. Nothing is ever written
to the damaged directory.

The new journal keeps the old one's head. So if rows are lost its manager says so too, until the
organiser accepts it.
"""

import shutil
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

from agentleague.errors import Claimed, StorageError
from agentleague.roles.ports import Head, Row
from agentleague.storage import chain
from agentleague.storage.directory import FILE_NAME
from agentleague.storage.durable import appearing, write_private
from agentleague.storage.head import HeadFile, read_heads
from agentleague.storage.lock import is_held
from agentleague.storage.sqlite import INSERT, prepare
from agentleague.storage.sqlite_reader import COLUMNS, connect
from agentleague.storage.wal import WAL_NAME, hidden_commits, salvaged

# By the index, and without it.
_QUERIES = tuple(
    f"SELECT {COLUMNS} FROM rows {hint} WHERE league_id = ? AND seq > ? {order}"
    for hint, order in (("", "ORDER BY seq"), ("NOT INDEXED", ""))
)


class Repaired(NamedTuple):
    """What became of a journal."""

    league_id: str
    last: int  # the last row that was saved
    lost_until: int  # the last row that is known to have been there; the same if nothing is lost
    unproved: list[Row]  # rows in between that can be read, but may be anything


def repair(
    directory: Path, to: Path, files: Sequence[str], progress: Callable[[int], None]
) -> Repaired:
    """Write the longest true chain into `to`, which appears when it is complete.

    Of the other `files` in the directory those that are there go with it, for their owner alone.

    Raises:
        Claimed: a manager runs there.
        StorageError: not one row can be saved.
        OSError: a file cannot be read or written.
    """
    if is_held(directory):
        raise Claimed(f"a manager runs in {directory}; stop it first")
    with appearing(to) as new, TemporaryDirectory(prefix=".", dir=new.parent) as beside:
        made = _save(directory, list(_trials(directory, Path(beside))), new, progress)
        for name in files:
            if (directory / name).is_file():
                write_private(new / name, (directory / name).read_bytes())
    return made


def _trials(directory: Path, beside: Path) -> Iterator[Path]:
    """Copies of the journal: with its log as it is, and with what may be true of the log put in."""
    for number, frames in enumerate([None, *salvaged(directory)]):
        trial = beside / str(number)
        trial.mkdir()
        (trial / FILE_NAME).touch()
        if (directory / FILE_NAME).exists():
            shutil.copyfile(directory / FILE_NAME, trial / FILE_NAME)
        if frames is not None:
            with (trial / FILE_NAME).open("r+b") as file:
                for frame in frames:
                    file.seek((frame.page - 1) * len(frame.content))
                    file.write(frame.content)
        elif (directory / WAL_NAME).exists():
            shutil.copyfile(directory / WAL_NAME, trial / WAL_NAME)
        yield trial


def _save(
    directory: Path, trials: list[Path], new: Path, progress: Callable[[int], None]
) -> Repaired:
    noted = {league_id: head for league_id, head in read_heads(directory).items() if head.seq}
    league_id = next(iter(noted), None) or _league_in(trials)
    end = noted.get(league_id, chain.start(league_id))
    head, is_end_there = chain.start(league_id), end.seq == 0
    with closing(prepare(new)) as connection:
        connection.execute("BEGIN")
        for row in _true_rows(trials, league_id):
            connection.execute(INSERT, row)
            head = Head(row.seq, row.hash)
            is_end_there |= head == end
            progress(row.seq)
        connection.execute("COMMIT")
    if head.seq == 0:
        raise StorageError(f"not one row of {directory} can be saved; restore a copy of it")
    found = {row.seq: row for each in trials for row in _readable(each, league_id, head.seq)}
    unproved = [found[seq] for seq in sorted(found)]
    if unproved:
        end = max(end, Head(unproved[-1].seq, unproved[-1].hash))
    elif is_end_there and (noted or not _hides_more(directory, trials, league_id, head.seq)):
        end = head
    elif is_end_there:
        end = Head(head.seq + 1, bytes(32))
    with closing(HeadFile(new)) as file:
        file.add(league_id)
        file.write(league_id, end)
    return Repaired(league_id, head.seq, end.seq, unproved)


def _true_rows(trials: list[Path], league_id: str) -> Iterator[Row]:
    """The longest chain there is; a row that one copy does not have may be in another."""
    head, before = chain.start(league_id), -1
    while head.seq > before:
        before = head.seq
        for trial in trials:
            for row in _readable(trial, league_id, head.seq):
                if chain.is_intact(row, head.seq + 1, head.hash):
                    yield row
                    head = Head(row.seq, row.hash)


def _hides_more(directory: Path, trials: list[Path], league_id: str, last: int) -> bool:
    """Whether the log proves that there was more, and nothing more was found."""
    if not hidden_commits(directory):
        return False
    return sum(1 for _ in _true_rows(trials[:1], league_id)) == last


def _readable(trial: Path, league_id: str, after: int) -> Iterator[Row]:
    """All rows after a number that SQLite finds, be they true or not; damage ends a query."""
    for query in _QUERIES:
        with suppress(sqlite3.Error, UnicodeDecodeError), closing(connect(trial, "ro")) as journal:
            for found in journal.execute(query, (league_id, after)):
                if chain.is_typed(found):
                    yield Row._make(found)


def _league_in(trials: list[Path]) -> str:
    for trial in trials:
        with suppress(sqlite3.Error, UnicodeDecodeError), closing(connect(trial, "ro")) as found:
            for (league_id,) in found.execute("SELECT league_id FROM rows NOT INDEXED LIMIT 1"):
                return str(league_id)
    return ""
