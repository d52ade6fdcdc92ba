"""Read a journal in its SQLite file, also while a manager writes to it; nothing is changed."""

import asyncio
import shlex
import sqlite3
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from agentleague.errors import Damaged, Lost, StorageError
from agentleague.roles.ports import Head, Row
from agentleague.storage import chain
from agentleague.storage.directory import FILE_NAME, has_journal
from agentleague.storage.head import read_heads
from agentleague.storage.queued import QueueLimits
from agentleague.storage.wal import WAL_NAME, hidden_commits

SCHEMA_VERSION = 2
BUSY_SECONDS = 30.0  # how long another program (a backup, a shell) may hold the file


@dataclass(frozen=True)
class JournalLimits(QueueLimits):
    """The limits of a journal."""

    retry_seconds: float = 1.0  # between two tries to write to a full disk
    followed: int = 500  # rows that a follower reads before it hands them on
    follow_seconds: float = 0.1  # between two looks for rows that another process wrote
    sync_seconds: float = 1.0  # that journal.head may lag behind after a power cut
    syncs: bool = True  # whether a commit is on disk before anybody hears of it


COLUMNS = ", ".join(Row._fields)
_ROWS_OF = f"SELECT {COLUMNS} FROM rows WHERE league_id = ? AND seq"
_SELECT = f"{_ROWS_OF} > ? ORDER BY seq"
FIND = f"{_ROWS_OF} BETWEEN ? AND ? AND instr(body, ?) ORDER BY seq"
_CORRUPT = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)


class SqliteReader:
    """The journal of a directory, for reading; each call opens and closes the file for itself."""

    def __init__(self, directory: Path, limits: JournalLimits = JournalLimits()) -> None:  # noqa: B008
        self._directory, self._limits = directory, limits

    def leagues(self) -> list[str]:
        """The leagues that have rows. Raises StorageError if there is no journal it can read."""
        query = "SELECT DISTINCT league_id FROM rows ORDER BY league_id"
        with _reading(self._directory, may_be_empty=True) as connection:
            # A manager that was killed at once left no table; what is lost, journal.head tells.
            is_begun = schema_version(connection, self._directory) > 0
            leagues = [each for (each,) in connection.execute(query)] if is_begun else []
        if not all(isinstance(league_id, str) for league_id in leagues):
            raise Damaged(f"the journal in {self._directory} has rows of a league without a name")
        return leagues

    def read(self, league_id: str, after: int = 0) -> Iterator[Row]:
        """The rows of a league after a number, each one verified; also while a manager writes.

        Raises:
            Damaged: a row is not what was written, or there is no row of that number.
            StorageError: there is no journal, or a newer agentleague wrote it.
        """
        with _reading(self._directory) as connection:
            yield from _rows(connection, league_id, after)

    def find(self, league_id: str, first: int, last: int, text: bytes) -> Sequence[Row]:
        """Of the committed rows from `first` to `last` those in whose body this text stands."""
        with _reading(self._directory) as connection:
            return [*map(Row._make, connection.execute(FIND, (league_id, first, last, text)))]

    async def follow(self, league_id: str, after: int = 0) -> AsyncIterator[Row]:
        """The same rows, then each later one soon after its commit; all reading is in a thread."""
        # Another process may write: so this looks again, also for a journal that is not there yet.
        thread, loop = ThreadPoolExecutor(1, "follow"), asyncio.get_running_loop()
        later = _LaterRows(self._directory, league_id, after, self._limits.followed)
        try:
            while True:
                rows = await loop.run_in_executor(thread, later.read)
                for row in rows:
                    yield row
                if len(rows) < self._limits.followed:
                    await asyncio.sleep(self._limits.follow_seconds)
        finally:
            thread.submit(later.close)
            thread.shutdown(wait=False)

    def damage(self) -> str | None:
        """What is wrong beyond the rows that can be read, or None: rows gone or in no index."""
        try:
            lost: Damaged | None = find_lost(self._directory)
        except Damaged as error:
            lost = error
        if lost:
            return str(lost)
        problem = file_problem(self._directory) if has_journal(self._directory) else None
        return None if problem is None else f"SQLite says of the file: {problem}"

    def size_bytes(self) -> int:
        """How much room the rows take."""
        return (self._directory / FILE_NAME).stat().st_size


class _LaterRows:
    """The rows that a follower has not read yet; one connection, which one thread uses."""

    def __init__(self, directory: Path, league_id: str, after: int, rows_max: int) -> None:
        self._directory, self._league_id = directory, league_id
        self._after, self._rows_max = after, rows_max
        self._connection: sqlite3.Connection | None = None
        self._version_read = 0  # of the data in which there is no further row

    def read(self) -> list[Row]:
        """The next rows; none if nobody has committed anything since, or there is no journal."""
        with _explaining(self._directory):
            if self._connection is None:
                if not has_journal(self._directory):
                    return []
                self._connection = connect(self._directory, "ro")
            connection = self._connection
            (version,) = connection.execute("PRAGMA data_version").fetchone()
            if version == self._version_read or not schema_version(connection, self._directory):
                return []
            with closing(_rows(connection, self._league_id, self._after)) as rows:
                found = list(islice(rows, self._rows_max))
        if found:
            self._after = found[-1].seq
        if len(found) < self._rows_max:
            self._version_read = version
        return found

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()


def connect(directory: Path, mode: str) -> sqlite3.Connection:
    uri = f"{(directory / FILE_NAME).resolve().as_uri()}?mode={mode}"
    # Each connection has one user at a time; the last one to use it may be in another thread.
    return sqlite3.connect(
        uri, uri=True, isolation_level=None, timeout=BUSY_SECONDS, check_same_thread=False
    )


def file_problem(directory: Path) -> str | None:
    """What SQLite finds wrong with the file of a journal, or None."""
    try:
        with closing(connect(directory, "ro")) as connection:
            (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
    except (sqlite3.Error, UnicodeDecodeError) as error:
        return str(error)
    return None if found == "ok" else str(found).splitlines()[-1]


def find_lost(directory: Path) -> Lost | None:
    """What is gone of the rows that were committed; StorageError if the journal cannot be read."""
    # The head is read first: it is never ahead of the journal, which may go on meanwhile.
    found = (_lost(directory, *each) for each in read_heads(directory).items())
    return next(filter(None, found), None) or _lost_in_log(directory)


def _lost(directory: Path, league_id: str, head: Head) -> Lost | None:
    last = 0
    if has_journal(directory):
        with _explaining(directory), closing(connect(directory, "ro")) as connection:
            if schema_version(connection, directory):
                last = last_head(connection, league_id).seq
                if last >= head.seq and _head_at(connection, league_id, head.seq) == head:
                    return None
    if head.seq == 0:
        return None
    sentence = chain.gone(league_id, last, head)
    return Lost(sentence, league_id=league_id, seq=last, lost_until=head.seq)


def _lost_in_log(directory: Path) -> Lost | None:
    """Where there is no head, or it lags behind, the log may still prove that there was more."""
    commits = hidden_commits(directory)
    if not commits or not has_journal(directory):
        return None
    with _explaining(directory), closing(connect(directory, "ro")) as connection:
        query = "SELECT league_id, max(seq) FROM rows GROUP BY league_id"
        found = schema_version(connection, directory) and connection.execute(query).fetchone()
    league_id, last = found or ("", 0)
    is_one = commits == 1
    sentence = (
        f"{WAL_NAME} is damaged behind row {last} of league {league_id}: at least {commits} "
        f"{'commit' if is_one else 'commits'} after it {'is' if is_one else 'are'} gone"
    )
    return Lost(sentence, league_id=league_id, seq=last, lost_until=last + 1)


@contextmanager
def _reading(directory: Path, *, may_be_empty: bool = False) -> Iterator[sqlite3.Connection]:
    if not (directory / FILE_NAME).exists():
        raise StorageError(f"there is no journal in {directory}")
    with _explaining(directory), closing(connect(directory, "ro")) as connection:
        if schema_version(connection, directory) == 0 and not may_be_empty:
            start = f"league manager --dir {shlex.quote(str(directory))}"
            raise StorageError(f"the journal in {directory} is empty; begin a league with: {start}")
        yield connection


@contextmanager
def _explaining(directory: Path) -> Iterator[None]:
    """Raise errors of SQLite as errors of the journal."""
    try:
        yield
    except sqlite3.Error as error:
        code = getattr(error, "sqlite_errorcode", 0) & 0xFF  # The rest says where it was found.
        kind = Damaged if code in _CORRUPT else StorageError
        raise kind(f"cannot read the journal in {directory}: {error}") from error
    except UnicodeDecodeError as error:  # SQLite quotes a damaged schema in its own error.
        sentence = f"the journal in {directory} cannot be read: its schema is damaged"
        raise Damaged(sentence) from error


def schema_version(connection: sqlite3.Connection, directory: Path) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > SCHEMA_VERSION:
        raise StorageError(
            f"the journal in {directory} has format {version} and this agentleague knows "
            f"{SCHEMA_VERSION}; use a newer agentleague"
        )
    return version


def last_head(connection: sqlite3.Connection, league_id: str) -> Head:
    query = "SELECT seq, hash FROM rows WHERE league_id = ? ORDER BY seq DESC LIMIT 1"
    found = connection.execute(query, (league_id,)).fetchone()
    return Head(*found) if found else chain.start(league_id)


def _rows(connection: sqlite3.Connection, league_id: str, after: int) -> Generator[Row, None, None]:
    seq = after
    try:
        head = _head_at(connection, league_id, after)
        with closing(connection.execute(_SELECT, (league_id, after))) as found:
            for row in chain.verified(head, map(Row._make, found)):
                seq = row.seq
                yield row
    except sqlite3.Error as error:
        raise chain.damaged(league_id, seq + 1, f"cannot be read: {error}") from error


def _head_at(connection: sqlite3.Connection, league_id: str, seq: int) -> Head:
    if seq == 0:
        return chain.start(league_id)
    query = "SELECT hash FROM rows WHERE league_id = ? AND seq = ?"
    found = connection.execute(query, (league_id, seq)).fetchone()
    if not found or not isinstance(found[0], bytes):
        raise chain.damaged(league_id, seq)
    return Head(seq, found[0])
