"""Agents at a manager that is below a path, or has several addresses, over real HTTP."""

import asyncio
from types import SimpleNamespace

import pytest

from agentleague.errors import NoConnection
from agentleague.runtime.manager_tools import ManagerTools, new_seat
from agentleague.runtime.state_files import Whose, open_state
from forwarders import forwarders
from runtime.test_seated_players import a_manager, a_player, anywhere, played, players


def at(url, manager):
    """The manager as agents know it: by this URL."""
    return SimpleNamespace(url=url, host=manager.host)


def test_a_league_below_a_path_is_played_by_seated_and_ordinary_players(tmp_path):
    async def main():
        async with (
            a_manager(tmp_path, players=4) as manager,
            forwarders(manager.transport.port, "/leagues/cup") as (front,),
        ):
            cup = at(front.url, manager)
            agents = [await a_player(cup, name, outbound=True) for name in "AB"]
            agents += [await a_player(cup, name, anywhere()) for name in "CD"]

            assert await played(cup, *agents) == 0

            assert players(manager)["P01"].endpoint == "/seats/P01/mcp"
            assert front.requests > 20
            assert front.strays == 0

    asyncio.run(main())


async def trouble(manager, acts):
    """Do this and that, each after ten more matches."""
    league = manager.host.role.league
    for number, act in enumerate(acts, 1):
        while sum(row.played for row in league.table.rows()) < 20 * number:  # noqa: ASYNC110
            await asyncio.sleep(0.005)
        await act()


def test_a_league_goes_on_at_the_other_address_when_one_is_cut_off_or_stopped(tmp_path):
    async def main():
        settings = {"players": 6, "cycles": 4, "lease_seconds": 1.0}
        async with (
            a_manager(tmp_path, **settings) as manager,
            forwarders(manager.transport.port, "", "/leagues/cup") as (one, other),
        ):
            cup = at(f"{one.url},{other.url}", manager)
            agents = [await a_player(cup, name, outbound=True) for name in "ABC"]
            agents += [await a_player(cup, name, anywhere()) for name in "DEF"]
            acts = (one.cut, one.open, other.stall, other.go_on)
            acting = asyncio.create_task(trouble(manager, acts))

            assert await played(cup, *agents) == 0

            await acting
            assert len(players(manager)) == 6  # Nobody registered twice.
            assert min(one.requests, other.requests) > 50
            assert one.strays == other.strays == 0

    asyncio.run(main())


def test_a_player_comes_back_as_itself_at_whichever_address_answers(tmp_path):
    async def main():
        async with (
            a_manager(tmp_path / "cup", players=3) as manager,
            forwarders(manager.transport.port, "", "/leagues/cup") as (one, other),
        ):
            for urls in ((one.url, other.url), (other.url, one.url)):
                cup = at(",".join(urls), manager)
                state = open_state(tmp_path / "state", Whose(cup.url, "player", "A", 0))
                player = await a_player(cup, "A", state=state, outbound=True)
                assert await asyncio.wait_for(player.registered, 20) == "P01"
                await player.stop()
                state.close()
                await other.cut()
            assert list(players(manager)) == ["P01"]

    asyncio.run(main())


def test_a_person_s_page_finds_the_manager_at_the_address_that_answers(tmp_path):
    async def main():
        async with (
            a_manager(tmp_path, players=3) as manager,
            forwarders(manager.transport.port, "", "/leagues/cup") as (one, other),
        ):
            tools, urls = ManagerTools(), f"{one.url},{other.url}"
            await one.cut()
            await tools.call(urls, "join_league", new_seat(), name="Ann")
            await other.cut()
            with pytest.raises(NoConnection):
                await tools.call(urls, "join_league", new_seat(), name="Bob")
            await tools.close()
            assert [each.display_name for each in players(manager).values()] == ["Ann"]

    asyncio.run(main())
