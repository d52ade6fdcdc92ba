"""Players at a seat of their manager, over real HTTP: told to, or because nobody can call them."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from agentleague.errors import LeagueError
from agentleague.player import strategies
from agentleague.player.role import TAKEN
from agentleague.roles.agent import BY_SEAT
from agentleague.roles.settings import ManagerSettings, PlayerSettings, RefereeSettings
from agentleague.runtime.managers import Home, open_manager
from agentleague.runtime.network import place_of_agent
from agentleague.runtime.processes import CannotListen, Place, open_player, open_referee
from agentleague.runtime.state_files import Whose, open_state
from commands import free_port
from crash.cup import until

HOSTS = ("127.0.0.1",)
CLOSED = Place(0, hosts=HOSTS, listens=False)


def anywhere(**more):
    return Place(0, hosts=HOSTS, **more)


@asynccontextmanager
async def a_manager(directory, **settings):
    manager = await open_manager(ManagerSettings(**settings), Home(directory), anywhere())
    for probes in filter(None, (manager.probes, manager.looks)):
        probes.seconds = 0.05
    try:
        yield manager
    finally:
        await manager.stop()


async def a_player(manager, name, place=CLOSED, state=None, **settings):
    own = {"manager_url": manager.url, "display_name": name, **settings}
    make = lambda url: PlayerSettings(endpoint=url, **own)  # noqa: E731
    player = await open_player(make, strategies.random, place, state=state)
    player.said = []
    player.tell(player.said.append)
    return player


def is_seated(manager):
    return bool(players(manager)) and players(manager)["P01"].is_seated


def players(manager):
    return manager.host.role.league.roster.players


async def played(manager, *agents):
    """The whole league; how many lost without a game."""
    make = lambda url: RefereeSettings(endpoint=url, manager_url=manager.url)  # noqa: E731
    agents = [*agents, await open_referee(make, anywhere())]
    await asyncio.wait_for(asyncio.gather(*[each.ended for each in agents]), 30)
    for each in agents:
        await each.stop()
    return sum(row.technical_losses for row in manager.host.role.league.table.rows())


def test_seated_and_ordinary_players_play_a_league_and_all_hear_of_its_end(tmp_path):
    async def main():
        async with a_manager(tmp_path, players=4, cycles=2) as manager:
            agents = [await a_player(manager, name, outbound=True) for name in "AB"]
            agents += [await a_player(manager, name, anywhere()) for name in "CD"]
            assert [each.url == "" for each in agents] == [True, True, False, False]
            assert await played(manager, *agents) == 0
            assert [each.endpoint for each in players(manager).values()][:2] == [
                "/seats/P01/mcp",
                "/seats/P02/mcp",
            ]
            for each in agents:
                assert each.said[-1].startswith("The league is over.")

    asyncio.run(main())


@pytest.mark.parametrize("unreachable", ["mark", "refuse"])
def test_one_that_cannot_be_called_joins_through_a_seat_and_plays(tmp_path, unreachable):
    async def main():
        async with a_manager(tmp_path, players=2, unreachable=unreachable) as manager:
            nowhere = anywhere(endpoint=f"http://127.0.0.1:{free_port()}/mcp")
            lost = await a_player(manager, "A", nowhere)
            await asyncio.to_thread(until, lambda: is_seated(manager), "it has a seat")
            assert await played(manager, lost, await a_player(manager, "B", anywhere())) == 0
            assert BY_SEAT in lost.said

    asyncio.run(main())


def test_one_that_cannot_open_a_port_joins_through_a_seat_and_says_why(tmp_path):
    async def main():
        async with a_manager(tmp_path, players=2) as manager:
            shut = Place(0, hosts=("192.0.2.1",))  # An address of nobody.
            for told in ({"outbound": False}, {"bind": "192.0.2.1"}):
                with pytest.raises(CannotListen):
                    await a_player(manager, "A", shut, **told)
            player = await a_player(manager, "A", shut)
            assert await asyncio.wait_for(player.registered, 20) == "P01"
            await player.stop()
            assert player.said[0].startswith("It cannot listen here (")
            assert players(manager)["P01"].is_seated

    asyncio.run(main())


def test_one_that_is_started_again_comes_back_to_its_seat_without_being_told(tmp_path):
    async def main():
        async with a_manager(tmp_path / "cup", players=2) as manager:
            for outbound in (True, None):
                state = open_state(tmp_path / "state", Whose(manager.url, "player", "A", 0))
                player = await a_player(manager, "A", anywhere(), state, outbound=outbound)
                assert await asyncio.wait_for(player.registered, 20) == "P01"
                await player.stop()
                state.close()
                assert player.url == ""
            assert list(players(manager)) == ["P01"]

    asyncio.run(main())


def test_the_older_of_two_programs_at_one_seat_ends_and_says_why(tmp_path):
    async def main():
        async with a_manager(tmp_path / "cup", players=2) as manager:
            state = open_state(tmp_path / "state", Whose(manager.url, "player", "A", 0))
            older = await a_player(manager, "A", state=state, outbound=True)
            await asyncio.wait_for(older.registered, 20)
            newer = await a_player(manager, "A", state=state, outbound=True)
            await asyncio.wait_for(older.ended, 20)
            with pytest.raises(LeagueError, match=f"^{TAKEN[:40]}|^the manager does not know"):
                older.check()
            assert not newer.ended.done()
            await older.stop()
            await newer.stop()
            state.close()

    asyncio.run(main())


def test_a_league_without_seats_refuses_them(tmp_path):
    async def main():
        async with a_manager(tmp_path, players=2, seats=False) as manager:
            player = await a_player(manager, "A", outbound=True)
            await asyncio.wait_for(player.ended, 20)
            with pytest.raises(LeagueError, match="gives no seats"):
                player.check()
            await player.stop()

    asyncio.run(main())


def test_who_only_calls_out_needs_no_address_and_has_no_end_point():
    said = []
    outbound = PlayerSettings(manager_url="http://192.0.2.1:8000/mcp", outbound=True)

    assert place_of_agent(outbound, said.append).listens is False
    assert said == []
    with pytest.raises(LeagueError, match="has no --endpoint"):
        place_of_agent(
            PlayerSettings(outbound=True, endpoint="http://127.0.0.1:8101/mcp"), said.append
        )
