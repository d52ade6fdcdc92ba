"""Agents at a manager that is below a path, or has several addresses, over real HTTP."""

import asyncio
from types import SimpleNamespace

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
