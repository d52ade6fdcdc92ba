"""A journal in one SQLite file: what `done` has confirmed survives kill -9 and a power cut.

One thread writes. `append` only checks and queues; the thread takes all that waits (an append is
never split over two transactions), chains and inserts the rows, commits, and hands all answers of
the commit to the event loop in one piece. While it waits for the disk the next batch gathers.

A full disk is waited out: the same batch is tried again and nobody is answered meanwhile. Every
other error ends the journal: those who wait are told, and all that follows is refused.

`DIR/manager.lock` is locked by the operating system for as long as the process lives, so there is
one writer; its first line is the writer's pid. Readers need no lock. A lock file can be deleted: so
each claim raises an epoch in the database, and every insertion compares it. Of two managers only
the later one can write.

`DIR/journal.head` says outside the database how far it went, so a journal that has lost rows is
noticed before anything is decided anew.
"""

import logging
import os
import shlex
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, closing, contextmanager, suppress
from functools import lru_cache
from itertools import chain as chained
from pathlib import Path
from threading import Event as Signal
from typing import Literal

from agentleague.errors import Claimed, Lost, StorageError, StorageFull
from agentleague.roles.ports import Head, Row
from agentleague.storage import sqlite_reader
from agentleague.storage.directory import FILE_NAME, HEAD_NAME, may_hold_more, remedy
from agentleague.storage.durable import sync_directory
from agentleague.storage.head import HeadFile
from agentleague.storage.lock import hold, publish, release
from agentleague.storage.queued import LAST, Claim, QueuedJournal
from agentleague.storage.sqlite_reader import JournalLimits, SqliteReader, connect

ROWS_AT_ONCE = 64  # in a statement; after each one the writer queues for the interpreter again


# A plain table: as fast as WITHOUT ROWID for short rows, and above 1 KB a row, where WITHOUT ROWID
# spills each one into a page of its own, twice as fast in half the space.
_ROWS = """
CREATE TABLE rows (
    league_id TEXT NOT NULL, seq INTEGER NOT NULL, at TEXT NOT NULL, kind TEXT NOT NULL,
    version INTEGER NOT NULL, body BLOB NOT NULL, hash BLOB NOT NULL,
    PRIMARY KEY (league_id, seq)
);
"""
_OWNER = """
CREATE TABLE owner (epoch INTEGER NOT NULL);
INSERT INTO owner VALUES (0);
"""
TABLES = f"{_ROWS.strip().removesuffix(';')}; {_OWNER.partition(';')[0].strip()}"
_MISSING = {0: _ROWS + _OWNER, 1: _OWNER}  # what a journal of an older version does not have
_ROW = "(?, ?, ?, ?, ?, ?, ?)"
INSERT = f"INSERT INTO rows ({sqlite_reader.COLUMNS}) VALUES {_ROW}"

_TAKE_OVER = "UPDATE owner SET epoch = :epoch + 1 WHERE epoch = :epoch"

_FULL = (sqlite3.SQLITE_FULL, sqlite3.SQLITE_IOERR_SHMSIZE)
_log = logging.getLogger(__name__)


class SqliteJournal(QueuedJournal[Claim], SqliteReader):
    """The journal of the manager in this directory, for the event loop to which `deliver` leads.

    `wall` gives the Unix seconds that rows are dated with.
    """

    def __init__(
        self,
        directory: Path,
        wall: Callable[[], float],
        deliver: Callable[[Callable[[], None]], None],
        *,
        limits: JournalLimits = JournalLimits(),  # noqa: B008
    ) -> None:
        SqliteReader.__init__(self, directory, limits)
        super().__init__(wall, deliver, limits)
        self.pages_max = 0  # of the file, if not 0: a test fills the disk with it
        self.state: Literal["ok", "full", "failed"] = "ok"
        self.lost: Lost | None = None
        self._proved: Lost | None = None  # what ended it
        self._lock: int | None = None
        # Open as long as the claim, so that a full disk never has to take a new -wal or -shm file.
        self._connection: sqlite3.Connection | None = None
        self._epoch = 0
        self._has_taken_over = Signal()
        self._head_file: HeadFile  # while it holds the lock
        self._head_failed = False
        self._synced_at = 0.0  # when the head file was, last

    def claim(self, league_id: str, *, accept_loss: bool = False) -> Head:
        """Become the one who appends to this league.

        A loss of this league that is accepted is in `lost`; until a row is committed, which should
        say so, the next claim finds it again.

        Raises:
            Claimed: another manager writes to the directory, or this one claimed the league before.
            Lost: rows that were committed are gone; nothing was changed.
            StorageError: the directory cannot hold a journal.
        """
        if self._end is not None:
            raise self._end
        if league_id in self._claims:
            raise Claimed(f"league {league_id} is claimed already; close the journal first")
        try:
            connection = self._connection or self._start(league_id if accept_loss else None)
            # So that nobody adds to what is read now. It never waits long: where there is no room,
            # or another program holds the file, the key of a row still keeps two apart.
            self._has_taken_over.wait(self._limits.retry_seconds)
            head = sqlite_reader.last_head(connection, league_id)
            self._head_file.add(league_id)
            if head.seq and not self.lost:
                self._head_file.write(league_id, head)
                self._head_file.sync()
        except (OSError, sqlite3.Error) as error:
            raise StorageError(f"cannot keep a journal in {self._directory}: {error}") from error
        self._claims[league_id] = Claim(league_id, head, head.seq)
        return head

    def end(self, lost: Lost) -> Lost:
        """Write no more: somebody proves that rows are gone. The next claim finds the same."""
        self._proved = Lost(f"{lost}; {_instead(self._directory)}", **lost.context)
        with self._queueing:
            self._end = self._end or self._proved
        return self._proved

    def find(self, league_id: str, first: int, last: int, text: bytes) -> Sequence[Row]:
        """Of the committed rows from `first` to `last` those in whose body this text stands."""
        assert self._connection is not None, "claim a league first"
        try:
            found = self._connection.execute(sqlite_reader.FIND, (league_id, first, last, text))
            return [*map(Row._make, found)]
        except sqlite3.Error as error:
            raise StorageError(f"cannot read the journal in {self._directory}: {error}") from error

    def publish(self, address: str) -> None:
        """Say in the directory where its manager is called."""
        assert self._lock is not None, "claim a league first"
        publish(self._lock, address)

    def close(self) -> None:
        """Write what waits, unless the disk is full, and let another manager have the directory.

        The last answers are handed to `deliver` before this returns.
        """
        self._stop_queueing()
        if self._connection is not None and self._lock is not None:
            self._thread.join()
            self._connection.close()
            with self._noting():
                if self._proved:
                    of = self._proved.context
                    head = Head(of["lost_until"], bytes.fromhex(of["hash"]))
                    self._head_file.write(of["league_id"], head)
                self._head_file.close()
            release(self._lock)
            self._lock = None

    def _start(self, accepted: str | None) -> sqlite3.Connection:
        """Open the journal; `accepted` is the league of which rows may be lost."""
        self._directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        sync_directory(self._directory.parent)
        with ExitStack() as undo:
            lock = hold(self._directory)
            undo.callback(release, lock)
            # Before anything is opened for writing: a refusal changes nothing.
            lost = sqlite_reader.find_lost(self._directory)
            if lost and lost.context["league_id"] != accepted:
                raise Lost(f"{lost}; {_instead(self._directory)}", **lost.context)
            connection = prepare(self._directory)
            undo.callback(connection.close)
            self._head_file = HeadFile(self._directory)
            if lost:
                _accept(lost, connection, self._head_file)
            undo.pop_all()
        self._lock, self._connection, self.lost = lock, connection, lost
        self._thread.start()
        return connection

    def _write(self) -> None:
        try:
            with closing(connect(self._directory, "rw")) as connection:
                level = "FULL" if self._limits.syncs else "OFF"
                connection.execute(f"PRAGMA synchronous = {level}")
                self._until_there_is_room(lambda: self._take_over(connection))
                while self._next is not LAST:
                    # Wait for something to write, or until the head file is to be synced.
                    self._take(None if self._head_file.is_synced else self._limits.sync_seconds)
                    is_idle = not self._batch
                    if not is_idle:
                        self._commit(connection)
                    self._sync_head(is_idle=is_idle)
        except Exception as error:  # Whatever it was, those who wait must be told.
            self._fail(error)

    def _commit(self, connection: sqlite3.Connection) -> None:
        added = self._chain()
        rows = [*chained.from_iterable(added)]
        self._until_there_is_room(lambda: self._insert(connection, rows))
        claims = {}
        for append, new in zip(self._batch, added, strict=True):
            if new:
                append.claim.head = new[-1]
                claims[append.claim.league_id] = new[-1]
        with self._noting():  # Before anybody is told of these rows, which are on disk already.
            for league_id, head in claims.items():
                self._head_file.write(league_id, head)
        self._settle(added)

    def _until_there_is_room(self, write: Callable[[], bool]) -> None:
        while not write():
            if self.state == "ok":
                self.state = "full"
                _log.error("no room for the journal in %s; free some to go on", self._directory)
            if self._closing.wait(self._limits.retry_seconds):
                raise StorageFull(f"closed while there was no room in {self._directory}")
        if self.state == "full":
            self.state = "ok"
            _log.warning("there is room for the journal in %s again", self._directory)

    def _take_over(self, connection: sqlite3.Connection) -> bool:
        """Raise the epoch: whoever claimed before cannot write any more."""
        (epoch,) = connection.execute("SELECT epoch FROM owner").fetchone()
        try:
            taken = connection.execute(_TAKE_OVER, {"epoch": epoch}).rowcount
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode not in _FULL:
                raise
            return False
        if not taken:
            raise Claimed(f"another manager begins in {self._directory} at the same instant")
        self._epoch = epoch + 1
        self._has_taken_over.set()
        return True

    def _insert(self, connection: sqlite3.Connection, rows: list[Row]) -> bool:
        if self.pages_max:
            connection.execute(f"PRAGMA max_page_count = {self.pages_max}")
        is_one = len(rows) <= ROWS_AT_ONCE  # A statement by itself is a transaction.
        try:
            if not is_one:
                connection.execute("BEGIN IMMEDIATE")
            for start in range(0, len(rows), ROWS_AT_ONCE):
                self._insert_as_owner(connection, rows[start : start + ROWS_AT_ONCE])
            if not is_one:
                connection.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode not in _FULL:
                raise
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            return False
        return True

    def _insert_as_owner(self, connection: sqlite3.Connection, rows: list[Row]) -> None:
        values = [*chained.from_iterable(rows), self._epoch]
        if connection.execute(_insertion(len(rows)), values).rowcount != len(rows):
            raise Claimed(
                f"another manager has taken over {self._directory}; this one stops, and has told "
                "nobody what it could not write"
            )

    def _sync_head(self, *, is_idle: bool) -> None:
        """Sync the head file after a second without rows, as after a round, or under load."""
        now = self._wall()
        if is_idle or abs(now - self._synced_at) >= self._limits.sync_seconds:
            with self._noting():
                self._head_file.sync()
            self._synced_at = now

    @contextmanager
    def _noting(self) -> Iterator[None]:
        """A head file that lags behind accuses nobody: then it can only be said."""
        try:
            yield
        except OSError as error:
            if not self._head_failed:
                _log.warning("%s cannot be written: %s", self._directory / HEAD_NAME, error)
            self._head_failed = True

    def _fail(self, error: Exception) -> None:
        _log.error("the journal in %s cannot go on: %s", self._directory, error)
        if not isinstance(error, StorageError):
            error = StorageError(f"cannot write the journal in {self._directory}: {error}")
        self.state = "failed"
        self._end_with(error)


@lru_cache(maxsize=ROWS_AT_ONCE)
def _insertion(count: int) -> str:
    rows = f"SELECT * FROM (VALUES {', '.join([_ROW] * count)})"
    # In one statement with the rows: nobody can take over in between.
    return f"INSERT INTO rows ({sqlite_reader.COLUMNS}) {rows} WHERE (SELECT epoch FROM owner) = ?"


def prepare(directory: Path) -> sqlite3.Connection:
    """Open the journal of a directory for writing; it is created, or brought to this format."""
    # Never open a file that exists but through SQLite: closing it would drop SQLite's own locks.
    with suppress(FileExistsError):
        os.close(os.open(directory / FILE_NAME, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    connection = connect(directory, "rw")
    try:
        version = sqlite_reader.schema_version(connection, directory)
        (mode,) = connection.execute("PRAGMA journal_mode = WAL").fetchone()
        if mode != "wal":
            raise StorageError(
                f"SQLite cannot use its write-ahead log in {directory}, as on many network "
                "shares; use a --dir on a local disk"
            )
        # Else a commit could be confirmed by the one after it, which a power cut may undo.
        connection.execute("PRAGMA synchronous = FULL")
        now = sqlite_reader.SCHEMA_VERSION
        if version < now:
            missing = f"{_MISSING[version]} PRAGMA user_version = {now}"
            connection.executescript(f"BEGIN; {missing}; COMMIT;")
    except BaseException:
        connection.close()
        raise
    return connection


def _accept(lost: Lost, connection: sqlite3.Connection, head_file: HeadFile) -> None:
    """Begin the write-ahead log anew: else it would prove the same loss again and again."""
    league_id, until = lost.context["league_id"], lost.context["lost_until"]
    head_file.add(league_id)
    if head_file.seq(league_id) < until:
        head_file.write(league_id, Head(until, bytes(32)))  # Until the next row it is not accepted.
        head_file.sync()
    (is_busy, _, _) = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    if is_busy:
        raise StorageError("another program reads the journal; end it, then try again")


def _instead(directory: Path) -> str:
    """What to do about rows that are gone; a repair is no help where nothing else is wrong."""
    accept = "go on without them: the same command with --accept-loss"
    if may_hold_more(directory):
        return f"{remedy(directory)}, or {accept}"
    return f"nothing was changed. Restore a copy of {shlex.quote(str(directory))}, or {accept}"
