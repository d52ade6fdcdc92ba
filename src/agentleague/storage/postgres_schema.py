"""The tables of all leagues in a PostgreSQL database, which the first who needs them makes."""

from collections.abc import Callable, Iterator
from contextlib import closing
from threading import RLock
from typing import TypeVar

import psycopg

from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.postgres_errors import explain, is_passing
from agentleague.storage.postgres_reader import (
    SCHEMA_VERSION,
    Connection,
    PostgresLimits,
    connect,
    schema_version,
    session_of,
)

_T = TypeVar("_T")

# Sent as one transaction; the lock makes the second of two that begin at once find all of it.
# Ids are compared by their bytes: the order of a language changes with the system's libraries.
_SCHEMA = f"""
SELECT pg_advisory_xact_lock(hashtext('agentleague'));
CREATE SCHEMA IF NOT EXISTS agentleague;
CREATE TABLE IF NOT EXISTS agentleague.format (version int NOT NULL);
CREATE TABLE IF NOT EXISTS agentleague.rows (
    league_id text COLLATE "C" NOT NULL, seq bigint NOT NULL, at text NOT NULL, kind text NOT NULL,
    version int NOT NULL, body bytea NOT NULL, hash bytea NOT NULL, PRIMARY KEY (league_id, seq)
);
CREATE TABLE IF NOT EXISTS agentleague.owners (
    league_id text COLLATE "C" PRIMARY KEY, epoch bigint NOT NULL, owner text NOT NULL,
    address text NOT NULL DEFAULT '', lease_until timestamptz NOT NULL,
    lost_until bigint NOT NULL DEFAULT 0, lost_hash text NOT NULL DEFAULT ''
);
CREATE TABLE IF NOT EXISTS agentleague.kept (
    league_id text COLLATE "C", name text, data bytea NOT NULL, PRIMARY KEY (league_id, name)
);
CREATE TABLE IF NOT EXISTS agentleague.leagues (
    league_id text COLLATE "C" PRIMARY KEY, organiser text NOT NULL, state text NOT NULL,
    phase text NOT NULL DEFAULT '', created timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE IF NOT EXISTS agentleague.organisers (
    name text PRIMARY KEY, key_digest bytea NOT NULL
);
CREATE TABLE IF NOT EXISTS agentleague.workers (
    worker text PRIMARY KEY, address text NOT NULL, seen_until timestamptz NOT NULL
);
INSERT INTO agentleague.format
    SELECT {SCHEMA_VERSION} WHERE NOT EXISTS (SELECT FROM agentleague.format);
"""

_REPLICAS = """
SELECT 1 FROM pg_stat_replication WHERE sync_state = 'async' AND state = 'streaming' LIMIT 1
"""


def open_database(url: DatabaseUrl, limits: PostgresLimits) -> Connection:
    """A connection to a database that has our tables. Raises psycopg.Error or StorageError."""
    connection = connect(url, limits, writes=True)
    try:
        if not schema_version(connection, url):
            connection.execute(_SCHEMA)
    except BaseException:
        connection.close()
        raise
    return connection


def cautions(connection: Connection, url: DatabaseUrl, limits: PostgresLimits) -> Iterator[str]:
    """By what this database may lose decisions, as far as it can be seen. Raises psycopg.Error."""
    first = session_of(connection)
    if first != connection.info.backend_pid:
        with closing(connect(url, limits, writes=True)) as other:
            is_shared = session_of(other) == first or session_of(connection) != first
        if is_shared:
            yield (
                f"{url.of('')} is a pooler in transaction mode: settings get lost, or reach other "
                "programs; let it pool sessions (pool_mode = session), or connect directly"
            )
    if connection.execute(_REPLICAS).fetchone():  # Who may not see replicas finds none.
        yield (
            f"a replica follows {url.of('')} asynchronously: if it takes over, the last decisions "
            "may be gone, and who owned a league; name it in synchronous_standby_names"
        )


class LastingConnection:
    """One connection to these tables, which any thread may use; it is opened again when lost."""

    def __init__(self, url: DatabaseUrl, limits: PostgresLimits) -> None:
        self._url, self._limits, self._using = url, limits, RLock()
        self._connection: Connection | None = None

    def ask(self, act: Callable[[Connection], _T]) -> _T:
        """Let the database do what may be done twice. Raises StorageError."""
        with self._using:
            is_old = self._connection is not None
            try:
                if self._connection is None:
                    self._connection = open_database(self._url, self._limits)
                return act(self._connection)
            except psycopg.Error as error:
                self.close()
                if is_old and is_passing(error):
                    return self.ask(act)
                raise explain(error, self._url) from None

    def close(self) -> None:
        """Let the connection go."""
        with self._using:
            if self._connection is not None:
                self._connection.close()
            self._connection = None
