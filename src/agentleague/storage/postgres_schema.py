"""The tables of all leagues in a PostgreSQL database, which the first who needs them makes."""

from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.postgres_reader import (
    SCHEMA_VERSION,
    Connection,
    PostgresLimits,
    connect,
    schema_version,
)

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
    created timestamptz NOT NULL DEFAULT now()
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
