"""What stands between a journal and its database, or behind it: poolers and replicas."""

import logging
import shutil
import subprocess
from contextlib import closing
from queue import SimpleQueue
from threading import Event

import pytest

from agentleague.roles.effects import Event as JournalEvent
from agentleague.storage.database_url import DatabaseUrl
from commands import RUNNING, free_port
from postgres_server import PASSWORD, ROLE, SECONDS, empty_database

pytest.importorskip("psycopg")

import psycopg

from agentleague.storage.postgres import PostgresJournal

pytestmark = pytest.mark.process
POOLER = """
[databases]
* = host=127.0.0.1 port={at}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = plain
auth_file = {users}
pool_mode = {mode}
"""


class Noted(JournalEvent, frozen=True, kw_only=True, tag="noted"):
    number: int


def journal_at(url):
    return PostgresJournal(DatabaseUrl.parse(url), lambda: 0.0, lambda run: run())


def until(is_so):
    for _ in range(int(SECONDS / 0.05)):
        if is_so():
            return
        Event().wait(0.05)
    raise AssertionError("it never came to that")


def answers(url):
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


@pytest.fixture
def pooled(postgres, database):
    """Gives the URL of the same database through PgBouncer."""
    program = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin")
    if program is None:
        pytest.skip("pgbouncer is not installed")

    def through(mode):
        port, home = free_port(), postgres.data.parent  # Where its user may read.
        users, settings = home / "users", home / "settings"
        users.write_text(f'"{ROLE}" "{PASSWORD}"\n')
        settings.write_text(POOLER.format(at=postgres.port, port=port, users=users, mode=mode))
        pooler = subprocess.Popen(
            [program, "-q", settings], stderr=subprocess.DEVNULL, **postgres.runs_as
        )
        RUNNING.append(pooler)
        url = database.replace(f":{postgres.port}/", f":{port}/")
        until(lambda: answers(url))
        return url

    return through


@pytest.mark.parametrize("mode", ["session", "transaction"])
def test_a_journal_works_behind_a_pooler_which_is_said_if_it_shares_sessions(pooled, mode, caplog):
    url = pooled(mode)

    for attempt in range(2):  # The second finds the sessions of the first.
        with closing(journal_at(url)) as one, closing(journal_at(url)) as two:
            heads, told = [one.claim("cup"), two.claim("shield")], SimpleQueue()
            for number in range(20):
                for journal, name, head in zip((one, two), ("cup", "shield"), heads, strict=True):
                    journal.append(name, head.seq + number, [Noted(number=number)], told.put)
            assert [len(told.get(timeout=SECONDS)) for _ in range(40)] == [1] * 40, attempt

    said = [each for each in caplog.messages if "pooler in transaction mode" in each]
    assert bool(said) == (mode == "transaction")


def test_a_replica_that_follows_asynchronously_is_said_to_who_may_see_it(own_postgres, caplog):
    server = own_postgres("wal_level = replica\nmax_wal_senders = 2\n")
    with (server.data / "pg_hba.conf").open("a") as access:
        access.write("host replication postgres 127.0.0.1/32 trust\n")
    server.execute("SELECT pg_reload_conf()")
    with empty_database(server) as url:
        server.follow()
        follows = "SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'"
        until(lambda: server.execute(follows))

        with caplog.at_level(logging.WARNING), closing(journal_at(url)) as journal:
            journal.claim("cup")
        assert not caplog.messages
        server.execute(f"GRANT pg_monitor TO {ROLE}")
        with caplog.at_level(logging.WARNING), closing(journal_at(url)) as journal:
            journal.claim("cup")

    assert "asynchronously" in caplog.text
    assert "synchronous_standby_names" in caplog.text
    assert PASSWORD not in caplog.text
