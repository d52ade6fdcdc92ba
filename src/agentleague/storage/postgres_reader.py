"""Read journals in a PostgreSQL database, also while others write to them; nothing is changed."""

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from itertools import islice
from time import perf_counter
from typing import Any, TypeVar

import psycopg
from psycopg import conninfo

from agentleague.errors import Lost, StorageError
from agentleague.roles.ports import Head, Row
from agentleague.storage import chain
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.postgres_errors import NOT_THERE, explain, explaining, is_passing
from agentleague.storage.queued import QueueLimits

SCHEMA_VERSION = 1
CHANNEL = "agentleague"  # Whoever has written says so there, with the league's id.
COLUMNS = ", ".join(Row._fields)
_ROWS_OF = f"SELECT {COLUMNS} FROM agentleague.rows WHERE league_id = %s AND seq"
_SELECT = f"{_ROWS_OF} > %s ORDER BY seq LIMIT %s"
FIND = f"{_ROWS_OF} BETWEEN %s AND %s AND position(%b IN body) > 0 ORDER BY seq"
_TAIL = "SELECT seq, hash FROM agentleague.rows WHERE league_id = %s ORDER BY seq DESC LIMIT 1"
# From one league's id to the next along the index: DISTINCT would read every row.
_LEAGUES = """
WITH RECURSIVE found(id) AS (
    SELECT min(league_id) FROM agentleague.rows
    UNION ALL
    SELECT (SELECT min(league_id) FROM agentleague.rows WHERE league_id > id) FROM found
    WHERE id IS NOT NULL
)
SELECT id FROM found WHERE id IS NOT NULL
"""
_PROVED = "SELECT league_id, lost_until, lost_hash FROM agentleague.owners WHERE lost_until > 0"
_Answer = TypeVar("_Answer")


@dataclass(frozen=True)
class PostgresLimits(QueueLimits):
    """The limits of a journal in PostgreSQL."""

    lease_seconds: float = 3.5  # that a league stays its owner's after the last word from it
    retry_seconds: float = 0.5  # between two tries while the database is away, or full
    statement_seconds: float = 10.0  # that the database may take over rows or a lease
    followed: int = 500  # rows that are read at once
    follow_seconds: float = 1.0  # between two looks for rows, if nobody says that there are some
    notify_seconds: float = 0.05  # between two hints that there are rows


class Connection(psycopg.Connection[tuple[Any, ...]]):
    """A connection that gives up when the server says nothing for so long."""

    seconds: float | None = None

    def wait(self, gen: Generator[Any, Any, _Answer], *options: Any, **others: Any) -> _Answer:
        """Wait for the network; the driver itself would wait for ever."""
        return super().wait(
            _limited(gen, self.seconds) if self.seconds else gen, *options, **others
        )


def _limited(
    generator: Generator[Any, Any, _Answer], seconds: float
) -> Generator[Any, Any, _Answer]:
    until, wanted = perf_counter() + seconds, None
    try:
        wanted = next(generator)
        while True:
            ready = yield wanted
            if not ready and perf_counter() > until:
                raise psycopg.OperationalError(f"no answer within {seconds:g} seconds")
            wanted = generator.send(ready)
    except StopIteration as end:
        answer: _Answer = end.value
        return answer


def connect(url: DatabaseUrl, limits: PostgresLimits, *, writes: bool = False) -> Connection:
    """Open a connection: each statement is a transaction. Raises psycopg.Error."""
    # A cut network is noticed about when the lease is over; what the URL says counts more.
    options: dict[str, Any] = {
        "connect_timeout": 3,
        "application_name": "agentleague",
        "keepalives_idle": 2,
        "keepalives_interval": 1,
        "keepalives_count": 2,
        "tcp_user_timeout": round(limits.lease_seconds * 1000),
        "client_encoding": "utf8",
        **conninfo.conninfo_to_dict(url.conninfo),
    }
    connection: Connection = Connection.connect(autocommit=True, **options)
    threshold, connection.prepare_threshold = connection.prepare_threshold, None
    try:
        # Else a role that may create functions in `public` could have its own ones run by ours.
        wanted = "SET search_path = pg_catalog"
        if writes:
            # What is prepared belongs to a session, which a pooler may give to somebody else.
            if session_of(connection) == connection.info.backend_pid:
                connection.prepare_threshold = threshold
            seconds = limits.statement_seconds
            connection.seconds = seconds + 1  # The server says it first, if it can.
            wanted += "; SET synchronous_commit = on; SET idle_in_transaction_session_timeout = '5s"
            wanted += f"'; SET statement_timeout = {round(seconds * 1000)}"
        connection.execute(wanted.encode())
        return connection
    except BaseException:
        connection.close()
        raise


class PostgresReader:
    """The journals of a database, for reading; each call opens a connection for itself."""

    def __init__(self, url: DatabaseUrl, limits: PostgresLimits = PostgresLimits()) -> None:  # noqa: B008
        self._url, self._limits = url, limits

    def leagues(self) -> list[str]:
        """The leagues that have rows. Raises StorageError if there is no journal it can read."""
        with self._reading() as connection:
            return sorted(league_id for (league_id,) in connection.execute(_LEAGUES))

    def read(self, league_id: str, after: int = 0) -> Iterator[Row]:
        """The rows of a league after a number, each one verified; also while a manager writes.

        Raises:
            Damaged: a row is not what was written, or there is no row of that number.
            StorageError: there is no journal, it is away, or a newer agentleague wrote it.
        """
        with self._reading() as connection:
            yield from _rows(connection, league_id, after, self._limits.followed)

    def find(self, league_id: str, first: int, last: int, text: bytes) -> Sequence[Row]:
        """Of the committed rows from `first` to `last` those in whose body this text stands."""
        with self._reading() as connection:
            return find(connection, league_id, first, last, text)

    async def follow(self, league_id: str, after: int = 0) -> AsyncIterator[Row]:
        """The same rows, then each later one soon after its commit; all reading is in a thread."""
        thread, loop = ThreadPoolExecutor(1, "follow"), asyncio.get_running_loop()
        later = _LaterRows(self._url, league_id, after, self._limits)
        try:
            while True:
                rows = await loop.run_in_executor(thread, later.read)
                for row in rows:
                    yield row
                if len(rows) < self._limits.followed and not later.is_told:
                    await later.wait()
        finally:
            thread.submit(later.close)
            thread.shutdown(wait=False)

    def damage(self) -> str | None:
        """What is wrong beyond the rows that can be read, or None: rows that are proved gone."""
        with self._reading() as connection:
            for league_id, until, text in connection.execute(_PROVED).fetchall():
                lost = find_lost(connection, league_id, Head(until, bytes.fromhex(text)))
                if lost and self._url.league_id in ("", league_id):
                    return str(lost)
        return None

    def size_bytes(self) -> int:
        """How much room the rows of all leagues take."""
        with self._reading() as connection:
            return size_bytes(connection)

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        with explaining(self._url), closing(connect(self._url, self._limits)) as connection:
            if not schema_version(connection, self._url):
                raise StorageError(f"there is no journal in {self._url.of('')}")
            yield connection


class _LaterRows:
    """The rows that a follower has not read yet; one connection, which one thread uses."""

    def __init__(
        self, url: DatabaseUrl, league_id: str, after: int, limits: PostgresLimits
    ) -> None:
        self._url, self._league_id, self._after, self._limits = url, league_id, after, limits
        self._connection: Connection | None = None
        self._is_begun = self._was_there = False
        self.is_told = False  # that there are more rows

    def read(self) -> list[Row]:
        """The next rows; none if there is no journal, or the database is away."""
        self.is_told = False
        try:
            if self._connection is None:
                self._connection = connect(self._url, self._limits)
                self._was_there = True
                self._connection.add_notify_handler(self._notified)
                with suppress(psycopg.Error):  # A pooler may refuse it: then it looks again.
                    self._connection.execute(f"LISTEN {CHANNEL}")
            self._is_begun = self._is_begun or bool(schema_version(self._connection, self._url))
            if not self._is_begun:
                return []
            rows = _rows(self._connection, self._league_id, self._after, self._limits.followed)
            found = list(islice(rows, self._limits.followed))
        except psycopg.Error as error:
            self.close()
            if not (self._was_there and is_passing(error)):
                raise explain(error, self._url) from None
            return []
        if found:
            self._after = found[-1].seq
        return found

    async def wait(self) -> None:
        """Until there may be more: until somebody says so, or the time is over."""
        told, loop = asyncio.Event(), asyncio.get_running_loop()
        watched = None
        with suppress(NotImplementedError, psycopg.Error):  # Not every loop of Windows watches.
            if self._connection:
                watched = self._connection.fileno()
                loop.add_reader(watched, told.set)
        try:
            with suppress(TimeoutError):
                await asyncio.wait_for(told.wait(), self._limits.follow_seconds)
        finally:
            if watched is not None:
                loop.remove_reader(watched)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _notified(self, notice: psycopg.Notify) -> None:
        self.is_told = self.is_told or notice.payload == self._league_id


def schema_version(connection: Connection, url: DatabaseUrl) -> int:
    """The format of the journals of a database; 0 if there are none."""
    try:
        version = int(
            _one(connection, "SELECT coalesce(max(version), 0) FROM agentleague.format")[0]
        )
    except psycopg.Error as error:
        if error.sqlstate in NOT_THERE:
            return 0
        raise
    if version > SCHEMA_VERSION:
        raise StorageError(
            f"the journals in {url.of('')} have format {version} and this agentleague knows "
            f"{SCHEMA_VERSION}; use a newer agentleague"
        )
    return version


def session_of(connection: Connection) -> int:
    """The process of the server that runs the statements of this connection just now."""
    return int(_one(connection, "SELECT pg_backend_pid()")[0])


def find(
    connection: Connection, league_id: str, first: int, last: int, text: bytes
) -> Sequence[Row]:
    found = connection.execute(FIND, (league_id, first, last, text), binary=True)
    return [*map(Row._make, found)]


def size_bytes(connection: Connection) -> int:
    return int(_one(connection, "SELECT pg_total_relation_size('agentleague.rows')")[0])


def last_head(connection: Connection, league_id: str) -> Head:
    found = connection.execute(_TAIL, (league_id,), binary=True).fetchone()
    return Head(*found) if found else chain.start(league_id)


def find_lost(connection: Connection, league_id: str, proved: Head) -> Lost | None:
    """What is gone of the rows up to one that somebody has proved to have been there."""
    last = last_head(connection, league_id).seq
    if last >= proved.seq and _head_at(connection, league_id, proved.seq) == proved:
        return None
    sentence = chain.gone(league_id, last, proved)
    seq, until, text = min(last, proved.seq - 1), proved.seq, proved.hash.hex()
    return Lost(sentence, league_id=league_id, seq=seq, lost_until=until, hash=text)


def _rows(
    connection: Connection, league_id: str, after: int, at_once: int
) -> Generator[Row, None, None]:
    """The rows of a league after a number, each one verified, in pages: nothing is held open."""
    last: Head | Row = _head_at(connection, league_id, after)
    while True:
        found = connection.execute(_SELECT, (league_id, last.seq, at_once), binary=True).fetchall()
        for row in chain.verified(last, map(Row._make, found)):
            yield row
            last = row
        if len(found) < at_once:
            return


def _head_at(connection: Connection, league_id: str, seq: int) -> Head:
    if seq == 0:
        return chain.start(league_id)
    query = "SELECT hash FROM agentleague.rows WHERE league_id = %s AND seq = %s"
    found = connection.execute(query, (league_id, seq), binary=True).fetchone()
    if not found:
        raise chain.damaged(league_id, seq)
    return Head(seq, found[0])


def _one(connection: Connection, query: str) -> tuple[Any, ...]:
    found = connection.execute(query.encode()).fetchone()
    assert found is not None
    return found
