"""Short questions to the database of a league, each with a connection of its own."""

from typing import Any

from agentleague.errors import StorageError
from agentleague.protocol.printable import one_line
from agentleague.storage.database_url import DatabaseUrl

INSTALL = "pip install 'agentleague[postgres]'"
CONNECT_SECONDS = 5


def ask(url: DatabaseUrl, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """The rows of an answer; none where no league was ever begun. Raises StorageError."""
    try:
        import psycopg
        from psycopg.errors import InvalidSchemaName, UndefinedTable
    except ImportError:
        raise StorageError(
            f"a league on PostgreSQL needs more packages; install them with: {INSTALL}"
        ) from None
    try:
        with psycopg.connect(
            url.conninfo, autocommit=True, connect_timeout=CONNECT_SECONDS
        ) as connection:
            cursor = connection.execute(statement.encode(), values)
            return cursor.fetchall() if cursor.description else []
    except (InvalidSchemaName, UndefinedTable):
        return []
    except psycopg.Error as error:
        raise StorageError(f"{url} cannot be used now: {one_line(str(error), 500)}") from None
