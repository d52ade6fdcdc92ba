"""Every way in which a database can be away, tried with a real server."""

import signal
import socket
from contextlib import closing
from functools import partial
from queue import SimpleQueue
from threading import Event, Thread

import pytest

from agentleague.errors import StorageError
from agentleague.roles.effects import Event as JournalEvent
from agentleague.storage.database_url import DatabaseUrl
from postgres_server import empty_database

pytest.importorskip("psycopg")

import psycopg

from agentleague.storage.postgres import PostgresJournal
from agentleague.storage.postgres_errors import explain, is_passing
from agentleague.storage.postgres_reader import PostgresLimits, PostgresReader

pytestmark = pytest.mark.process
SECONDS = 30.0
LIMITS = PostgresLimits(retry_seconds=0.02, lease_seconds=60.0)  # However busy the machine is.


class Noted(JournalEvent, frozen=True, kw_only=True, tag="noted"):
    text: str


def journal_at(url: str) -> PostgresJournal:
    return PostgresJournal(DatabaseUrl.parse(url), lambda: 0.0, lambda run: run(), limits=LIMITS)


def begin(journal, after, text):
    answers = SimpleQueue()
    journal.append("cup", after, [Noted(text=text)], answers.put)
    return partial(answers.get, timeout=SECONDS)


def numbers(url):
    return [row.seq for row in PostgresReader(DatabaseUrl.parse(url)).read("cup")]


def until(is_so):
    for _ in range(int(SECONDS / 0.01)):
        if is_so():
            return
        Event().wait(0.01)
    raise AssertionError("it never came to that")


def end_connections(postgres, url):
    of = f"FROM pg_stat_activity WHERE datname = '{name_of(url)}'"
    postgres.execute(f"SELECT pg_terminate_backend(pid) {of}")


def name_of(url):
    return url.rpartition("/")[2]


@pytest.fixture
def wrong(database, postgres):
    """A URL that is wrong in one way."""

    def url(way):
        other = postgres.url(name_of(database), user="league:wrong-secret")
        return {
            "password": other,
            "no password": postgres.url(name_of(database), user="league"),
            "role": postgres.url(name_of(database), user="nobody:wrong-secret"),
            "database": postgres.url("nothing"),
            "refused": database.replace(f":{postgres.port}/", ":1/"),
            "host": database.replace("127.0.0.1", "no-such-host.invalid"),
            "tls": f"{database}?sslmode=require",
            "option": f"{database}?colour=blue",
        }[way]

    return url


@pytest.mark.parametrize(
    ("way", "said", "code"),
    [
        ("password", "check user and password", 2),
        ("no password", "give a password in the URL, in PGPASSWORD or in ~/.pgpass", 2),
        ("role", "check user and password", 2),  # The server does not say that there is none.
        ("database", 'database "nothing" does not exist; check its name, or create it', 2),
        ("refused", "Connection refused; is PostgreSQL running there, and does it listen", 1),
        ("host", "check the host's name", 1),
        ("tls", "it has no TLS; set it up there, or use sslmode=prefer", 1),
        ("option", "options that PostgreSQL does not know", 1),
    ],
)
def test_who_cannot_connect_is_told_why_and_what_to_do_and_sees_no_password(wrong, way, said, code):
    with closing(journal_at(wrong(way))) as journal, pytest.raises(StorageError) as refused:
        journal.claim("cup")
    with pytest.raises(StorageError) as unread:
        PostgresReader(DatabaseUrl.parse(wrong(way))).leagues()

    assert said in str(refused.value)
    assert str(unread.value) == str(refused.value)
    assert "wrong-secret" not in str(refused.value)
    assert "sesame" not in str(refused.value)
    assert getattr(refused.value, "exit_code", 1) == code  # With 2, systemd does not try again.


def test_another_program_at_the_port_is_told_apart():
    with socket.create_server(("127.0.0.1", 0)) as listener:

        def answer():
            client, _ = listener.accept()
            with client:
                client.recv(1000)
                client.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")

        Thread(target=answer, daemon=True).start()
        url = f"postgresql://ann@127.0.0.1:{listener.getsockname()[1]}/cups"
        told = pytest.raises(StorageError, match="it is not PostgreSQL that answers")
        with closing(journal_at(url)) as journal, told:
            journal.claim("cup")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ("OWNER TO postgres", "this role may not do that: the first manager makes"),
        ("SET default_transaction_read_only = on", "name the primary server"),
        ("CONNECTION LIMIT 0", "raise its max_connections or end other"),
    ],
)
def test_a_database_that_cannot_hold_a_journal_says_why(postgres, database, change, said):
    postgres.execute(f"ALTER DATABASE {name_of(database)} {change}")

    with closing(journal_at(database)) as journal, pytest.raises(StorageError, match=said):
        journal.claim("cup")


def test_a_newer_format_is_refused_by_all(postgres, database):
    with closing(journal_at(database)) as journal:
        journal.claim("cup")
    postgres.execute("UPDATE agentleague.format SET version = 99", name_of(database))

    newer = "have format 99 and this agentleague knows 1; use a newer agentleague"
    with closing(journal_at(database)) as journal, pytest.raises(StorageError, match=newer):
        journal.claim("cup")
    with pytest.raises(StorageError, match=newer):
        numbers(database)


def test_a_database_without_a_journal_says_so(database):
    with pytest.raises(StorageError, match="there is no journal in postgresql://league@127"):
        numbers(database)


def test_a_database_that_is_stopped_or_killed_is_waited_out(own_postgres):
    server = own_postgres()
    with empty_database(server) as url, closing(journal_at(url)) as journal:
        journal.claim("cup")
        last = 0
        for by in (signal.SIGINT, signal.SIGQUIT, signal.SIGKILL):
            assert len(begin(journal, last, "a")()) == 1

            server.stop(by)
            answers = [begin(journal, last + 1, "b"), begin(journal, last + 2, "c")]
            until(lambda: journal.state == "away")
            with pytest.raises(StorageError, match="the database is away"):
                journal.find("cup", 1, 2, b"a")
            server.start()

            assert [len(answer()) for answer in answers] == [1, 1]
            until(lambda: journal.state == "ok")
            assert journal.find("cup", last + 1, last + 2, b'"a"')[0].seq == last + 1
            last += 3
        assert numbers(url) == [*range(1, 10)]

        server.stop()
        answer = begin(journal, last, "d")
        until(lambda: journal.state == "away")
        journal.close()
        assert "closed while the journal could not be written" in str(answer())
        server.start()


def test_connections_that_are_ended_by_the_operator_are_made_anew(postgres, database):
    with closing(journal_at(database)) as journal:
        journal.claim("cup")
        for number in range(5):
            end_connections(postgres, database)
            assert len(begin(journal, number, "a")()) == 1
        assert numbers(database) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("way", ["read-only", "too many connections"])
def test_while_it_runs_a_database_is_waited_out_that_cannot_be_written(postgres, database, way):
    with closing(journal_at(database)) as journal:
        journal.claim("cup")
        change, back = {
            "read-only": ("SET default_transaction_read_only = on", "RESET ALL"),
            "too many connections": ("CONNECTION LIMIT 0", "CONNECTION LIMIT -1"),
        }[way]
        postgres.execute(f"ALTER DATABASE {name_of(database)} {change}")
        end_connections(postgres, database)
        answer = begin(journal, 0, "a")
        until(lambda: journal.state == "away")

        postgres.execute(f"ALTER DATABASE {name_of(database)} {back}")

        assert len(answer()) == 1
        assert journal.state == "ok"


def test_a_table_that_is_gone_ends_the_journal_and_those_who_wait_are_told(postgres, database):
    with closing(journal_at(database)) as journal:
        journal.claim("cup")
        postgres.execute("DROP TABLE agentleague.rows", name_of(database))

        assert 'relation "agentleague.rows" does not exist' in str(begin(journal, 0, "a")())
        assert journal.state == "failed"
        assert "does not exist" in str(begin(journal, 0, "b")())


class Refused(psycopg.OperationalError):
    sqlstate = "53300"


def test_no_room_is_full_and_what_no_retry_mends_is_told_apart():
    url = DatabaseUrl.parse("postgresql://ann:secret@db/cups#cup")

    full = explain(psycopg.errors.DiskFull("could not extend file"), url)

    assert type(full).__name__ == "StorageFull"
    assert str(full) == (
        "the database postgresql://ann@db/cups says: could not extend file; it has no room; "
        "free some on its disk"
    )
    assert is_passing(Refused("sorry, too many clients already"))
    assert is_passing(psycopg.errors.AdminShutdown("ended"))
    assert is_passing(psycopg.OperationalError("the connection is lost"))
    assert not is_passing(psycopg.errors.UndefinedTable("no table"))
    assert not is_passing(psycopg.errors.DataCorrupted("invalid page"))
    assert not is_passing(psycopg.errors.InsufficientPrivilege("permission denied"))


def test_a_journal_that_is_closed_while_an_attempt_fails_tries_once_more(database, postgres):
    journal = journal_at(database)
    journal.claim("cup")
    with psycopg.connect(postgres.url(name_of(database))) as other:
        other.execute("LOCK TABLE agentleague.rows")  # Until the end of its transaction.
        answered = begin(journal, 0, "x")
        waits = "FROM pg_locks WHERE NOT granted AND relation = 'agentleague.rows'::regclass"
        waits += " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        for may_close in (False, True):  # One attempt may always fail.
            until(lambda: other.execute(f"SELECT pid {waits}").fetchall())
            if may_close:
                closing_it = Thread(target=journal.close)
                closing_it.start()
                until(journal._closing.is_set)
            other.execute(f"SELECT pg_terminate_backend(pid, 10000) {waits}")

    closing_it.join(SECONDS)

    assert [row.seq for row in answered()] == [1]
    assert numbers(database) == [1]
