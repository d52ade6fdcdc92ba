"""What a database says when it is away, in sentences for a person, and whether it may come back."""

import re
from collections.abc import Iterator
from contextlib import contextmanager

import psycopg

from agentleague.errors import StorageAway, StorageError, StorageFull
from agentleague.protocol.printable import one_line
from agentleague.storage.database_url import DatabaseUrl

NO_ROOM = "53100"
READ_ONLY = "25006"
TAKEN = "23505"  # a row of that number is there
NOT_THERE = ("42P01", "3F000")  # no table or no schema: no journal yet

# Of these a retry may be better off: connection, resources, operator, locks, the system itself.
_PASSING_CLASSES = ("08", "40", "53", "57", "58")
_PASSING = {READ_ONLY, TAKEN, "55P03", "55006"}

_REMEDIES = {
    NO_ROOM: "it has no room; free some on its disk",
    READ_ONLY: "it is read-only, as a stand-by is; name the primary server",
    "42501": "this role may not do that: the first manager makes the tables (GRANT CREATE ON "
    "DATABASE … TO …), and managers and organisers own them, or may do all (GRANT ALL ON SCHEMA "
    "agentleague TO …; GRANT ALL ON ALL TABLES IN SCHEMA agentleague TO …)",
    "53300": "it has too many connections; raise its max_connections or end other programs",
}
# A server says at the door what is wrong in words alone, mostly English ones.
_WORDS = {
    "password authentication failed": "check user and password (or PGPASSWORD, or ~/.pgpass)",
    "no password supplied": "give a password in the URL, in PGPASSWORD or in ~/.pgpass",
    "no pg_hba.conf entry": "let this machine in: pg_hba.conf of the server says who may connect",
    'FATAL: database "': "check its name, or create it with: createdb",
    'FATAL: role "': "check the user's name, or create it with: createuser",
    "Connection refused": "is PostgreSQL running there, and does it listen at this address?",
    "resolve host": "check the host's name",
    "translate host name": "check the host's name",
    "SSL negotiation": "it is not PostgreSQL that answers at this port",
    "expected authentication request": "it is not PostgreSQL that answers at this port",
    "does not support SSL": "it has no TLS; set it up there, or use sslmode=prefer",
    "certificate": "check sslmode and sslrootcert",
    "too many clients": _REMEDIES["53300"],
    "remaining connection slots": _REMEDIES["53300"],
    "too many connections": _REMEDIES["53300"],
}
_QUESTION = re.compile(r" Is the server running [^?]*\?")  # which the remedy asks too

_NOT_LET_IN = (
    "password authentication failed",
    "no password supplied",
    "no pg_hba.conf entry",
    " does not exist",
)


class NotLetIn(StorageAway):
    """A database that does not open before somebody mends the URL or the server's settings."""

    exit_code = 2  # as of a wrong setting: whoever starts commands again does not start this one


def is_passing(error: psycopg.Error) -> bool:
    """Whether the same statement may succeed later, perhaps on a new connection."""
    state = error.sqlstate
    if state is None:  # No word from the server: the connection is gone, or was never there.
        return isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
    return state[:2] in _PASSING_CLASSES or state in _PASSING


def explain(error: psycopg.Error, url: DatabaseUrl) -> StorageError:
    """The same as an error of the journal."""
    state = error.sqlstate
    # A URL that cannot be read is quoted by the driver, with its password.
    if state is None and isinstance(error, psycopg.ProgrammingError):
        return StorageError("the URL of the database has options that PostgreSQL does not know")
    words = one_line(_QUESTION.sub("", " ".join(str(error).split())), 500)
    told = (remedy for text, remedy in _WORDS.items() if text in words)
    remedy = _REMEDIES.get(state, "") if state else next(told, "")
    kind = StorageAway if is_passing(error) else StorageError
    kind = StorageFull if state == NO_ROOM else kind
    kind = NotLetIn if not state and any(text in words for text in _NOT_LET_IN) else kind
    return kind(f"the database {url.of('')} says: {words}{remedy and f'; {remedy}'}")


@contextmanager
def explaining(url: DatabaseUrl) -> Iterator[None]:
    """Raise errors of PostgreSQL as errors of the journal."""
    try:
        yield
    except psycopg.Error as error:
        raise explain(error, url) from None  # Its own text may repeat the URL, password and all.
