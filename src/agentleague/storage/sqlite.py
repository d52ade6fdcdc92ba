"""A journal in one SQLite file: what `done` has confirmed survives kill -9 and a power cut.

One thread writes. `append` only checks and queues; the thread takes all that waits (an append is
never split over two transactions), chains and inserts the rows, commits, and hands all answers of
the commit to the event loop in one piece. While it waits for the disk the next batch gathers.

A full disk is waited out: the same batch is tried again and nobody is answered meanwhile. Every
other error ends the journal: those who wait are told, and all that follows is refused.

`DIR/manager.lock` is locked by the operating system for as long as the process lives, so there is
one writer; its first line is the writer's pid. Readers need no lock.
"""

import asyncio
import logging
import os
import sqlite3
from collections import deque
from collections.abc import AsyncIterator, Callable, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain as chained
from itertools import islice
from pathlib import Path
from threading import Condition, Thread
from typing import Literal, NamedTuple

from agentleague.errors import Claimed, Damaged, StorageError, StorageFull
from agentleague.roles.effects import Event
from agentleague.roles.ports import Head, Row
from agentleague.storage import chain
from agentleague.storage.directory import FILE_NAME, has_journal
from agentleague.storage.lock import hold, publish, release

Done = Callable[[Sequence[Head] | StorageError], None]

SCHEMA_VERSION = 1
ROWS_AT_ONCE = 64  # in a statement; after each one the writer queues for the interpreter again
BUSY_SECONDS = 30.0  # how long another program (a backup, a shell) may hold the file


@dataclass(frozen=True)
class JournalLimits:
    """The limits of a journal."""

    batch: int = 512  # events in a transaction
    waiting: int = 10_000  # events not yet committed
    retry_seconds: float = 1.0  # between two tries to write to a full disk
    followed: int = 500  # rows that a follower reads before it hands them on
    follow_seconds: float = 0.1  # between two looks for rows that another process wrote


# A plain table: as fast as WITHOUT ROWID for short rows, and above 1 KB a row, where WITHOUT ROWID
# spills each one into a page of its own, twice as fast in half the space.
_SCHEMA = f"""
BEGIN;
CREATE TABLE rows (
    league_id TEXT NOT NULL, seq INTEGER NOT NULL, at TEXT NOT NULL, kind TEXT NOT NULL,
    version INTEGER NOT NULL, body BLOB NOT NULL, hash BLOB NOT NULL,
    PRIMARY KEY (league_id, seq)
);
PRAGMA user_version = {SCHEMA_VERSION};
COMMIT;
"""
_COLUMNS = ", ".join(Row._fields)
_ROW = "(?, ?, ?, ?, ?, ?, ?)"
_ROWS_OF = f"SELECT {_COLUMNS} FROM rows WHERE league_id = ? AND seq"
_SELECT = f"{_ROWS_OF} > ? ORDER BY seq"
FIND = f"{_ROWS_OF} BETWEEN ? AND ? AND instr(body, ?) ORDER BY seq"

_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)
_CORRUPT = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_log = logging.getLogger(__name__)


class _Append(NamedTuple):
    league_id: str
    at: float
    entries: list[chain.Entry]
    done: Done


class SqliteReader:
    """The journal of a directory, for reading; each call opens and closes the file for itself."""

    def __init__(self, directory: Path, limits: JournalLimits = JournalLimits()) -> None:  # noqa: B008
        self._directory, self._limits = directory, limits

    def leagues(self) -> list[str]:
        """The leagues that have rows. Raises StorageError if there is no journal it can read."""
        with _reading(self._directory) as connection:
            found = connection.execute("SELECT DISTINCT league_id FROM rows ORDER BY league_id")
            leagues = [league_id for (league_id,) in found]
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

    async def follow(self, league_id: str, after: int = 0) -> AsyncIterator[Row]:
        """The same rows, then each later one soon after its commit; all reading is in a thread.

        Another process may be the one that writes: so this looks again from time to time, also for
        a journal that does not exist yet.
        """
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
        """What SQLite finds wrong with the file, or None: a row that no index finds is not read."""
        problem = self._problem()
        return None if problem is None else f"SQLite says of the file: {problem}"

    def _problem(self) -> str | None:
        try:
            with closing(_connect(self._directory, "ro")) as connection:
                (found,) = connection.execute("PRAGMA integrity_check(1)").fetchone()
        except (sqlite3.Error, UnicodeDecodeError) as error:
            return str(error)
        return None if found == "ok" else str(found).splitlines()[-1]

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
                self._connection = _connect(self._directory, "ro")
            connection = self._connection
            (version,) = connection.execute("PRAGMA data_version").fetchone()
            if version == self._version_read or not _schema_version(connection, self._directory):
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


class SqliteJournal(SqliteReader):
    """The journal of the manager that runs in this directory.

    `wall` gives the Unix seconds that rows are dated with; `deliver` runs a function on the event
    loop's thread; `pages_max` limits the file (tests fill the disk with it).
    """

    def __init__(
        self,
        directory: Path,
        wall: Callable[[], float],
        deliver: Callable[[Callable[[], None]], None],
        *,
        limits: JournalLimits = JournalLimits(),  # noqa: B008
        pages_max: int = 0,
    ) -> None:
        super().__init__(directory, limits)
        self.pages_max = pages_max
        self.commits = 0
        self.waiting = 0  # events not yet committed
        self.state: Literal["ok", "full", "failed"] = "ok"
        self._wall = wall
        self._deliver = deliver
        self._lock: int | None = None
        # Open as long as the claim, so that a full disk never has to take a new -wal or -shm file.
        self._connection: sqlite3.Connection | None = None
        self._thread = Thread(target=self._write, name="journal", daemon=True)
        self._heads: dict[str, Head] = {}  # where the next batch goes on
        self._last: dict[str, int] = {}  # the last row of each claimed league, queued ones counted
        self._queue: deque[_Append] = deque()  # all that is not committed, in order
        self._changed = Condition()
        self._closing = False
        self._end: StorageError | None = None  # why everything is refused

    def claim(self, league_id: str) -> Head:
        """Become the one who appends to this league.

        Raises:
            Claimed: another manager writes to the directory, or this one claimed the league before.
            StorageError: the directory cannot hold a journal.
        """
        if self._end is not None:
            raise self._end
        if league_id in self._last:
            raise Claimed(f"league {league_id} is claimed already; close the journal first")
        try:
            connection = self._connection or self._start()
            head = _last_head(connection, league_id)
        except (OSError, sqlite3.Error) as error:
            raise StorageError(f"cannot keep a journal in {self._directory}: {error}") from error
        self._heads[league_id] = head
        self._last[league_id] = head.seq
        return head

    def find(self, league_id: str, first: int, last: int, text: bytes) -> Sequence[Row]:
        """Of the committed rows from `first` to `last` those in whose body this text stands."""
        assert self._connection is not None, "claim a league first"
        try:
            found = self._connection.execute(FIND, (league_id, first, last, text))
            return [*map(Row._make, found)]
        except sqlite3.Error as error:
            raise StorageError(f"cannot read the journal in {self._directory}: {error}") from error

    def publish(self, address: str, command: str = "") -> None:
        """Say in the directory where its manager is called, and how it was begun."""
        assert self._lock is not None, "claim a league first"
        publish(self._lock, address, command)

    def append(self, league_id: str, after: int, events: Sequence[Event], done: Done) -> None:
        """Write the events behind row `after`, all or none.

        A refusal reaches `done` before this returns; all else by way of the event loop.
        """
        with self._changed:
            refusal = self._refusal(league_id, after, len(events))
            if refusal is None:
                entries = [chain.entry(event) for event in events]
                self._queue.append(_Append(league_id, self._wall(), entries, done))
                self.waiting += len(entries)
                self._last[league_id] += len(entries)
                self._changed.notify()
        if refusal is not None:
            done(refusal)

    def close(self) -> None:
        """Write what waits, stop the thread and let another manager have the directory.

        The last answers are handed to `deliver` before this returns. On a full disk what waits is
        given up.
        """
        with self._changed:
            self._end = self._end or StorageError("the journal is closed")
            self._closing = True
            self._changed.notify()
        if self._connection is not None and self._lock is not None:
            self._thread.join()
            self._connection.close()
            release(self._lock)
            self._lock = None

    def _start(self) -> sqlite3.Connection:
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = hold(self._directory)
        try:
            connection = _prepare(self._directory)
        except BaseException:
            release(lock)
            raise
        self._lock, self._connection = lock, connection
        self._thread.start()
        return connection

    def _refusal(self, league_id: str, after: int, count: int) -> StorageError | None:
        if self._end is not None:
            return self._end
        # Where nothing waits an append may be larger than the limit, or it never could be written.
        if self.waiting and self.waiting + count > self._limits.waiting:
            return StorageFull(f"the journal is {self.waiting:,} events behind")
        return chain.refusal(league_id, after, self._last.get(league_id))

    def _write(self) -> None:
        try:
            with closing(_connect(self._directory, "rw")) as connection:
                connection.execute("PRAGMA synchronous = FULL")
                while batch := self._take():
                    self._commit(connection, batch)
        except Exception as error:  # Whatever it was, those who wait must be told.
            self._fail(error)

    def _take(self) -> list[_Append]:
        with self._changed:
            self._changed.wait_for(lambda: self._queue or self._closing)
            batch: list[_Append] = []
            size = 0
            for append in self._queue:
                size += len(append.entries)
                if batch and size > self._limits.batch:
                    break
                batch.append(append)
            return batch

    def _commit(self, connection: sqlite3.Connection, batch: list[_Append]) -> None:
        rows: list[Row] = []
        answers: list[tuple[Done, Sequence[Head] | StorageError]] = []
        for append in batch:
            head = self._heads[append.league_id]
            at = chain.moment(append.at)
            added = chain.extend(head, append.league_id, at, append.entries)
            heads = chain.heads(added)
            self._heads[append.league_id] = heads[-1] if heads else head
            rows += added
            answers.append((append.done, heads))

        while not self._insert(connection, rows):
            self._wait_for_room()
        if self.state == "full":
            self.state = "ok"
            _log.warning("there is room for the journal in %s again", self._directory)
        with self._changed:
            for _ in batch:
                self._queue.popleft()
            self.waiting -= len(rows)
        self.commits += 1
        self._deliver(partial(_answer, answers))

    def _insert(self, connection: sqlite3.Connection, rows: list[Row]) -> bool:
        if self.pages_max:
            connection.execute(f"PRAGMA max_page_count = {self.pages_max}")
        is_one = len(rows) <= ROWS_AT_ONCE  # A statement by itself is a transaction.
        try:
            if not is_one:
                connection.execute("BEGIN IMMEDIATE")
            for start in range(0, len(rows), ROWS_AT_ONCE):
                piece = rows[start : start + ROWS_AT_ONCE]
                connection.execute(_insertion(len(piece)), [*chained.from_iterable(piece)])
            if not is_one:
                connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode not in _FULL:
                raise
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            return False
        return True

    def _wait_for_room(self) -> None:
        if self.state == "ok":
            self.state = "full"
            _log.error("no room for the journal in %s; free some to go on", self._directory)
        with self._changed:
            if self._changed.wait_for(lambda: self._closing, self._limits.retry_seconds):
                raise StorageFull(f"closed while there was no room in {self._directory}")

    def _fail(self, error: Exception) -> None:
        _log.error("the journal in %s cannot go on: %s", self._directory, error)
        if not isinstance(error, StorageError):
            error = StorageError(f"cannot write the journal in {self._directory}: {error}")
        with self._changed:
            self.state = "failed"
            self._end = error
            answers = [(append.done, error) for append in self._queue]
            self._queue.clear()
            self.waiting = 0
        self._deliver(partial(_answer, answers))


@lru_cache(maxsize=ROWS_AT_ONCE)
def _insertion(count: int) -> str:
    return f"INSERT INTO rows ({_COLUMNS}) VALUES {', '.join([_ROW] * count)}"


def _answer(answers: Sequence[tuple[Done, Sequence[Head] | StorageError]]) -> None:
    for done, result in answers:
        done(result)


def _connect(directory: Path, mode: str) -> sqlite3.Connection:
    uri = f"{(directory / FILE_NAME).resolve().as_uri()}?mode={mode}"
    # Each connection has one user at a time; the last one to use it may be in another thread.
    return sqlite3.connect(
        uri, uri=True, isolation_level=None, timeout=BUSY_SECONDS, check_same_thread=False
    )


def _prepare(directory: Path) -> sqlite3.Connection:
    # Never open a file that exists but through SQLite: closing it would drop SQLite's own locks.
    with suppress(FileExistsError):
        os.close(os.open(directory / FILE_NAME, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    connection = _connect(directory, "rw")
    try:
        version = _schema_version(connection, directory)
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise StorageError(
                f"SQLite cannot use its write-ahead log in {directory}, as on many network "
                "shares; use a --dir on a local disk"
            )
        if version == 0:
            connection.executescript(_SCHEMA)
    except BaseException:
        connection.close()
        raise
    return connection


@contextmanager
def _reading(directory: Path) -> Iterator[sqlite3.Connection]:
    if not (directory / FILE_NAME).exists():
        raise StorageError(f"there is no journal in {directory}")
    with _explaining(directory), closing(_connect(directory, "ro")) as connection:
        if _schema_version(connection, directory) == 0:
            raise StorageError(f"the journal in {directory} is empty")
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
        raise Damaged(
            f"the journal in {directory} cannot be read: its schema is damaged"
        ) from error


def _schema_version(connection: sqlite3.Connection, directory: Path) -> int:
    version: int = connection.execute("PRAGMA user_version").fetchone()[0]
    if version > SCHEMA_VERSION:
        raise StorageError(
            f"the journal in {directory} has format {version} and this agentleague knows "
            f"{SCHEMA_VERSION}; use a newer agentleague"
        )
    return version


def _last_head(connection: sqlite3.Connection, league_id: str) -> Head:
    query = "SELECT seq, hash FROM rows WHERE league_id = ? ORDER BY seq DESC LIMIT 1"
    found = connection.execute(query, (league_id,)).fetchone()
    return Head(*found) if found else chain.start(league_id)


def _rows(connection: sqlite3.Connection, league_id: str, after: int) -> Generator[Row, None, None]:
    """The rows of a league after a number, each one verified."""
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
