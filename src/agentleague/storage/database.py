"""Short questions to the database of a league, each with a connection of its own."""

from contextlib import closing
from typing import Any

from agentleague.errors import StorageError
from agentleague.storage.database_url import DatabaseUrl

# The packages, not the extra: an index knows another project by the name of this one.
INSTALL = "python -m pip install cryptography 'psycopg[binary]'"


def check_driver() -> None:
    """Raises StorageError where the packages of the extra are missing."""
    try:
        import cryptography  # noqa: F401
        import psycopg  # noqa: F401
    except ImportError:
        raise StorageError(
            f"a league on PostgreSQL needs more packages; add them to the Python of agentleague: "
            f"{INSTALL} (with pipx or uv: docs/how-to/install.md, Extras)"
        ) from None


def ask(url: DatabaseUrl, statement: str, *values: Any) -> list[tuple[Any, ...]]:
    """The rows of an answer; none where no league was ever begun. Raises StorageError."""
    check_driver()
    from psycopg.errors import InvalidSchemaName, UndefinedTable

    from agentleague.storage.postgres_errors import explaining
    from agentleague.storage.postgres_reader import PostgresLimits, connect

    with explaining(url), closing(connect(url, PostgresLimits())) as connection:
        try:
            cursor = connection.execute(statement.encode(), values)
        except (InvalidSchemaName, UndefinedTable):
            return []
        return cursor.fetchall() if cursor.description else []
