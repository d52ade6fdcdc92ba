"""A manager that starts where a league lies already."""

import asyncio
import gc
import sqlite3
import threading

import pytest

from agentleague.errors import Damaged
from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.host import Host
from agentleague.runtime.processes import Home, Place, open_manager
from agentleague.storage.directory import open_reader

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
