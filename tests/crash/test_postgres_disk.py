"""The disk of a PostgreSQL server is really full: the league waits, and goes on when there is room.

Where rows find no room the server says so. Where its log finds none it ends in panic, perhaps for
good: then it is started again, as an operator would.
"""

import os
import shutil
import subprocess
import tempfile
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from agentleague.storage.database_url import DatabaseUrl
from crash.cup import Cup, until
from crash.test_disk import asked
from postgres_server import PASSWORD

psycopg = pytest.importorskip("psycopg")

SETTINGS = "min_wal_size = 2MB\nmax_wal_size = 2MB\nwal_recycle = off\n"
LEFT = 64 * 1024  # bytes that the league itself fills


class ServersDisk:
    """A file system on which all files of a server lie, or its log alone; it can be filled."""

    prefix = ()

    def __init__(self, at, megabytes):
        self.at, self._filler = at, at / "filler"
        words = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=777", "none", at]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"no file system may be mounted here: {done.stderr.strip()}")
        self.inside = self.directory = None  # the database, when it is there

    def fill(self):
        """Leave only a little room, which the league uses up."""
        self._filler.write_bytes(bytes(shutil.disk_usage(self.at).free - LEFT))

    def free(self):
        """Make room again."""
        self._filler.unlink()


@contextmanager
def small_disk(megabytes):
    if not hasattr(os, "geteuid") or os.geteuid():
        pytest.skip("only root mounts file systems")
    at = Path(tempfile.mkdtemp(prefix="small-"))
    try:
        yield ServersDisk(at, megabytes)
    finally:
        subprocess.run(["umount", "--lazy", at], check=False, capture_output=True)
        at.rmdir()


def begin_another_file(server):
    """Let the log go on in a new file, for which there is no room; files may be there for later."""
    with suppress(psycopg.Error):
        for _ in range(20):
            server.execute("SELECT pg_switch_wal()")
            server.execute("CREATE TABLE filler AS SELECT 1")
            server.execute("DROP TABLE filler")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("there", "megabytes", "said"),
    [
        ("everything", 100, "ERROR:  could not extend file"),
        ("the log", 12, "PANIC:  could not write to file"),
    ],
)
def test_a_server_whose_disk_is_full_is_waited_out_by_the_whole_league(
    there, megabytes, said, own_postgres, tmp_path, monkeypatch
):
    monkeypatch.setenv("PGPASSWORD", PASSWORD)
    with small_disk(megabytes) as disk:
        initdb, data = ["--wal-segsize=1"], None
        if there == "everything":
            data = disk.at / "data"
        else:
            initdb.append(f"--waldir={disk.at / 'log'}")
        server = own_postgres(SETTINGS, initdb, data)
        server.execute("CREATE DATABASE cups OWNER league")
        disk.inside = disk.directory = DatabaseUrl.parse(server.url("cups#cup", user="league"))
        cup = Cup(tmp_path, rules={"cycles": 40}, disk=disk)
        place = ("--port", cup.port, "--journal", str(disk.inside))
        cup.commands["manager"] = ("manager", *place, "--players", 4, "--exit")
        cup.open()
        until(cup.is_playing, "the first result is told")

        disk.fill()
        if there == "the log":
            begin_another_file(server)
        else:  # Longer than the lease lasts.
            until(lambda: server.log().count("No space left") >= 10, "the manager has tried again")
        until(lambda: "the journal waits" in cup.said("manager"), "the journal waits")
        until(lambda: asked(cup) == (503, "1"), "the manager says that it waits")
        disk.free()
        if not server.is_there:
            server.stop()
            server.start()

        cup.ends().check()
        assert said in server.log()
        server.close()
