"""The demo: whatever fails, it ends, and leaves no process behind."""

import asyncio
import sqlite3
from urllib.parse import urlsplit

import pytest

from agentleague.errors import StorageError
from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.local_league import AgentGroup, LocalWorkers, RemoteWorkers, play
from agentleague.runtime.managers import Home
from agentleague.storage.lock import address_in
from agentleague.storage.sqlite import SqliteJournal

USUAL_PORTS = range(8000, 8200)  # of a manager, referees and players that were told none
NOBODY = "http://127.0.0.1:9/mcp"


@pytest.mark.thorough  # Each waits five seconds for its agents.
@pytest.mark.parametrize("rows", [3, 12])  # during registration; while the league runs
def test_a_journal_that_fails_ends_the_demo_with_its_error(rows, tmp_path, monkeypatch):
    insert, written = SqliteJournal._insert, []

    def fail_after(self, connection, batch):
        written.extend(batch)
        if len(written) > rows:
            raise sqlite3.OperationalError("the disk is gone")
        return insert(self, connection, batch)

    monkeypatch.setattr(SqliteJournal, "_insert", fail_after)
    settings = ManagerSettings(league_id="league_test", players=4, referees=1)
    playing = play(settings, Home(tmp_path, "7"), lambda league, awaited: None, game="even_odd")

    with pytest.raises(StorageError, match="the disk is gone"):
        asyncio.run(asyncio.wait_for(playing, 30))


def test_nobody_finds_a_demo_where_players_look_for_a_manager_by_themselves(tmp_path):
    settings = ManagerSettings(league_id="league_test", players=2, referees=1)
    urls = set()

    def look(league, awaited):
        urls.add(address_in(tmp_path))
        urls.update(each.endpoint for each in league.roster.players.values())

    asyncio.run(play(settings, Home(tmp_path, "7"), look, game="even_odd"))

    assert len(urls) == 3
    assert not any(urlsplit(url).port in USUAL_PORTS for url in urls)


@pytest.mark.process
def test_a_process_of_agents_that_is_not_done_is_ended_at_once():
    async def main():
        workers = RemoteWorkers(AgentGroup("player", 0, 1, NOBODY, "even_odd", None))
        assert workers._process.is_alive()
        await workers.stop()
        return workers._process.is_alive()

    assert asyncio.run(main()) is False


@pytest.mark.parametrize(("at_once", "rows"), [(1, [[4], [5], [6]]), (2, [[4, 5], [6]])])
def test_agents_register_in_their_order_or_so_many_at_once(at_once, rows):
    opened, seen = [], []

    class Registering:
        """An agent that is registered when all have had their turn."""

        @property
        async def registered(self):
            await asyncio.sleep(0)
            if opened:
                seen.append(opened.copy())
                opened.clear()

    async def open_agent(group, number):
        opened.append(number)
        return Registering()

    group = AgentGroup("player", 4, 3, NOBODY, "even_odd", None, at_once=at_once)
    asyncio.run(LocalWorkers(group, open_agent).start())

    assert seen == rows
