"""A manager that starts where a league lies already."""

import asyncio
import gc
import sqlite3
import threading
from contextlib import closing

import pytest

from agentleague.errors import Claimed, Damaged, Lost, StorageError
from agentleague.records.reading import open_league
from agentleague.roles.settings import ManagerSettings
from agentleague.runtime import managers
from agentleague.runtime.host import Host
from agentleague.runtime.managers import Home, open_manager
from agentleague.runtime.processes import Place
from agentleague.runtime.state_files import read_secrets
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.directory import FILE_NAME, open_reader

SETTINGS = ManagerSettings(league_id="league_test", players=2)


def test_the_journal_is_read_in_threads_while_the_loop_answers(tmp_path, monkeypatch):
    readers, connect = set(), sqlite3.connect

    def noting(name, **more):
        if name.endswith("mode=ro"):
            readers.add(threading.get_ident())
        return connect(name, **more)

    async def start_and_stop():
        manager = await open_manager(SETTINGS, Home(tmp_path), Place(0, hosts=("127.0.0.1",)))
        await manager.stop()

    asyncio.run(start_and_stop())
    monkeypatch.setattr(sqlite3, "connect", noting)
    asyncio.run(start_and_stop())

    assert readers
    assert threading.get_ident() not in readers


def test_a_league_can_be_read_as_soon_as_its_manager_is_there(tmp_path):
    async def begun():
        manager = await open_manager(SETTINGS, Home(tmp_path), Place(0, hosts=("127.0.0.1",)))
        rows = [*open_reader(tmp_path).read("league_test")]
        await manager.stop()
        return rows

    assert [row.kind for row in asyncio.run(begun())] == ["league_opened"]


def test_the_secrets_of_a_league_that_another_manager_has_just_begun_stay(
    database, tmp_path, monkeypatch
):
    url = DatabaseUrl.parse(f"{database}#league_test")
    monkeypatch.setenv("LEAGUE_SERVICE_KEY_FILE", str(tmp_path / "service.key"))

    async def begun():
        manager = await open_manager(SETTINGS, Home(url), Place(0, hosts=("127.0.0.1",)))
        await manager.stop()

    asyncio.run(begun())
    secrets = read_secrets(url)
    monkeypatch.setattr(managers, "leagues_in", lambda place: ())  # as it was when it looked
    with pytest.raises(Claimed, match="another manager has begun league_test meanwhile"):
        asyncio.run(begun())

    assert read_secrets(url) == secrets


@pytest.mark.parametrize("has_header", [False, True])
def test_a_manager_killed_before_its_journal_had_a_table_begins_in_its_second_start(
    tmp_path, has_header
):
    begun_journal(tmp_path, has_header)

    async def begun():
        manager = await open_manager(SETTINGS, Home(tmp_path), Place(0, hosts=("127.0.0.1",)))
        await manager.stop()

    with pytest.raises(StorageError, match="there is no league"):
        open_league(tmp_path)
    asyncio.run(begun())
    assert [row.kind for row in open_reader(tmp_path).read("league_test")] == ["league_opened"]


@pytest.mark.parametrize("has_header", [False, True])
def test_a_journal_that_has_lost_its_table_is_no_new_one(tmp_path, has_header):
    async def start_and_stop():
        manager = await open_manager(SETTINGS, Home(tmp_path), Place(0, hosts=("127.0.0.1",)))
        await manager.stop()

    asyncio.run(start_and_stop())
    for path in tmp_path.glob("journal.sqlite*"):
        path.unlink()
    begun_journal(tmp_path, has_header)

    with pytest.raises(Lost, match="row 1 of league league_test was committed and is gone"):
        asyncio.run(start_and_stop())


def begun_journal(directory, has_header):
    """What a manager leaves of its journal that is killed in its first milliseconds."""
    (directory / FILE_NAME).touch()
    if has_header:
        with closing(sqlite3.connect(directory / FILE_NAME)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")


def test_a_journal_that_cannot_be_replayed_leaves_the_collector_on(tmp_path, monkeypatch):
    def damaged(host, rows, read):
        assert not gc.isenabled()
        raise Damaged("row 1")

    async def start():
        return await open_manager(SETTINGS, Home(tmp_path), Place(0, hosts=("127.0.0.1",)))

    async def begin():
        await (await start()).stop()

    asyncio.run(begin())
    monkeypatch.setattr(Host, "replay", damaged)

    with pytest.raises(Damaged, match="row 1"):
        asyncio.run(start())
    assert gc.isenabled()
