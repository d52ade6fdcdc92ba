"""Where a league lies, and what is kept beside its journal."""

import os
import stat
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier

import pytest

from agentleague.errors import StorageError
from agentleague.runtime.state_files import keep_settings, kept_settings, read_secrets
from agentleague.runtime.state_files import write_secrets as write
from agentleague.storage import kept
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.directory import (
    dir_option,
    manager_address,
    open_journal,
    open_reader,
    published,
    with_league,
)
from agentleague.storage.durable import write_private
from agentleague.storage.kept import key_file, read_kept, service_key, write_kept
from agentleague.storage.postgres_reader import PostgresLimits, connect


@pytest.fixture
def url(database, tmp_path, monkeypatch):
    """The league `cup` in a database with tables, seen from a machine of its own."""
    monkeypatch.setenv("LEAGUE_STATE", str(tmp_path / "state"))
    monkeypatch.delenv("LEAGUE_SERVICE_KEY_FILE", raising=False)
    url = DatabaseUrl.parse(f"{database}#cup")
    journal = open_journal(url, lambda: 0.0, lambda call: call())
    journal.claim("cup")
    journal.close()
    return url


def begin(postgres, url, league_id):
    """Let a league have a row and an owner, whose lease is over."""
    database = url.conninfo.rpartition("/")[2]
    row = f"'{league_id}', 1, '', 'league_opened', 1, '', ''"
    postgres.execute(f"INSERT INTO agentleague.rows VALUES ({row})", database)
    owner = f"'{league_id}', 1, '', '', now()"
    postgres.execute(
        f"INSERT INTO agentleague.owners VALUES ({owner}) ON CONFLICT DO NOTHING", database
    )


@pytest.mark.parametrize(
    ("typed", "shown"),
    [
        ("postgres://ann:s%40me@db:5433/cups#cup", "postgresql://ann@db:5433/cups#cup"),
        ("postgresql://db/cups?sslmode=verify-full&password=same", None),
        ("postgresql://db/cups?sslmode=verify-full&PassWord=same&sslpassword=same", None),
        ("postgresql://db/cups?oauth_client_secret=a&scram_client_key=b&sslmode=verify-full", None),
        ("postgresql://one:1,two:2/cups", "postgresql://one:1,two:2/cups"),
        ("postgresql://[::1]:5432/cups", "postgresql://[::1]:5432/cups"),
        ("postgresql:///?service=cups", "postgresql:///?service=cups"),
    ],
)
def test_a_url_is_shown_without_its_password(typed, shown):
    url = DatabaseUrl.parse(typed)

    assert str(url) == (shown or "postgresql://db/cups?sslmode=verify-full")
    assert repr(url) == f"DatabaseUrl({str(url)!r})"
    assert DatabaseUrl.parse(str(url)).league_id == url.league_id


@pytest.mark.parametrize(
    "password",
    ["s@zyx", "s/zyx", "s?zyx", "s#zyx", "1#zyx", "1?zyx", "s:zyx", "5%zyx", "zyx%00", "zyx\0"],
)
def test_a_password_that_breaks_the_url_is_not_repeated(password):
    with pytest.raises(StorageError, match="%40 for @") as wrong:
        DatabaseUrl.parse(f"postgresql://ann:{password}@db/cups")

    assert "zyx" not in str(wrong.value)


def test_a_command_to_type_names_the_place():
    assert dir_option(Path("my cup")) == "--dir 'my cup'"
    url = DatabaseUrl.parse("postgresql://ann:pw@db/cups#cup")
    assert dir_option(url) == "--journal 'postgresql://ann@db/cups#cup'"


def test_a_directory_keeps_what_only_its_owner_may_read(tmp_path):
    write_kept(tmp_path, "admin.token", b"secret")

    assert read_kept(tmp_path, "admin.token") == b"secret"
    assert stat.S_IMODE((tmp_path / "admin.token").stat().st_mode) == 0o600
    assert read_kept(tmp_path, "secret.key") is None


def test_a_database_keeps_secrets_that_it_cannot_read(url, postgres):
    made = write(url, "7")
    keep_settings(url, {"join_code": "one two three"})

    assert read_secrets(url, "7") == made
    assert kept_settings(url) == {"join_code": "one two three"}
    assert kept_settings(url.of("other")) == {}
    database = url.conninfo.rpartition("/")[2]
    stored = postgres.execute("SELECT data FROM agentleague.kept", database)
    assert made.admin_token.encode() not in b"".join(data for (data,) in stored)
    assert stat.S_IMODE(key_file().stat().st_mode) == 0o600


def test_what_was_put_under_another_league_cannot_be_read(url, postgres):
    write_kept(url, "admin.token", b"secret")
    moved = "UPDATE agentleague.kept SET league_id = 'other' WHERE league_id = 'cup'"
    postgres.execute(moved, url.conninfo.rpartition("/")[2])

    with pytest.raises(StorageError, match=r"admin\.token of .*#other is not what a manager"):
        read_kept(url.of("other"), "admin.token")


@pytest.mark.parametrize("data", [b"", b"short", b"longer than a nonce and a tag"])
def test_what_somebody_else_wrote_into_the_database_is_no_secret_of_ours(url, postgres, data):
    write_kept(url, "admin.token", b"secret")
    changed = f"UPDATE agentleague.kept SET data = '{data.decode()}' WHERE league_id = 'cup'"
    postgres.execute(changed, url.conninfo.rpartition("/")[2])

    with pytest.raises(StorageError, match=r"admin\.token of .*#cup is not what a manager"):
        read_kept(url, "admin.token")


def test_a_url_that_the_driver_cannot_read_is_in_no_traceback():
    url = DatabaseUrl.parse("postgresql://ann:zyx@[::1]x/cups#cup")

    with pytest.raises(StorageError) as wrong:
        read_kept(url, "admin.token")

    assert "zyx" not in "".join(traceback.format_exception(wrong.value))


def test_functions_of_other_roles_are_not_run_by_ours(url, postgres):
    database = url.conninfo.rpartition("/")[2]
    for name, of, to in (
        ("pg_total_relation_size", "text", "bigint"),
        ("unnest", "text[]", "text"),
    ):
        postgres.execute(
            f"CREATE FUNCTION public.{name}({of}) RETURNS {to} LANGUAGE plpgsql AS "
            "$$BEGIN RAISE EXCEPTION 'run as %', current_user; END$$",
            database,
        )

    assert open_reader(url).size_bytes() > 0
    with closing(connect(url, PostgresLimits())) as connection:
        assert connection.execute("SELECT unnest('{a}'::text[])").fetchall() == [("a",)]


@pytest.mark.parametrize("has_another", [False, True])
def test_a_machine_without_the_service_key_says_what_to_copy(
    url, tmp_path, monkeypatch, has_another
):
    write_kept(url, "admin.token", b"secret")
    elsewhere = tmp_path / "elsewhere.key"
    monkeypatch.setenv("LEAGUE_SERVICE_KEY_FILE", str(elsewhere))
    if has_another:
        elsewhere.write_text("ab" * 32)

    why = "is not the service key" if has_another else r"\(No such file or directory\)"
    with pytest.raises(StorageError, match=f"{why}.*copy that file.*{elsewhere}"):
        read_kept(url, "admin.token")
    assert elsewhere.exists() == has_another
    elsewhere.write_bytes((tmp_path / "state" / "service.key").read_bytes())
    assert read_kept(url, "admin.token") == b"secret"


def test_threads_that_begin_at_once_make_one_service_key(url, monkeypatch):
    together = Barrier(2, timeout=30)

    def write_together(*about):
        write_private(*about)
        together.wait()  # Both have found that there is none.

    monkeypatch.setattr(kept, "write_private", write_together)
    with ThreadPoolExecutor(2) as pool:
        keys = set(pool.map(service_key, [url] * 2))

    assert len(keys) == 1
    assert os.listdir(key_file().parent) == ["service.key"]


def test_a_database_with_several_leagues_wants_one_named(url, postgres):
    unnamed = url.of("")
    assert with_league(unnamed) == unnamed  # It was claimed, and nothing was written.
    begin(postgres, url, "cup")
    assert with_league(unnamed) == url
    begin(postgres, url, "second")

    with pytest.raises(StorageError, match=r"several leagues; add one of these.*: #cup, #second"):
        with_league(unnamed)


def test_a_manager_on_a_database_is_found_while_its_lease_lasts(url):
    journal = open_journal(url, lambda: 0.0, lambda call: call())
    journal.claim("cup")
    for here, found in (
        ("http://127.0.0.1:8000/mcp", True),
        ("http://192.0.2.7:8000/mcp", True),
        ("http://127.0.0.1:8000/mcp#another-machine", False),  # At ours others may listen.
    ):
        journal.publish(here if "#" in here else published(here, here))
        assert manager_address(url) == (here if found else None)
    journal.close()

    assert manager_address(url) is None


def test_a_database_that_is_away_is_said_without_a_password():
    pytest.importorskip("psycopg", reason="no PostgreSQL: psycopg is not installed")
    url = DatabaseUrl.parse(f"postgresql://ann:{os.urandom(8).hex()}@127.0.0.1:9/cups#cup")

    with pytest.raises(StorageError, match="refused") as away:
        manager_address(url)
    assert url.conninfo.partition("ann:")[2].partition("@")[0] not in str(away.value)
