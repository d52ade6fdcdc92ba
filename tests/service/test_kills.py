"""The owners of leagues are killed at random instants, a hundred times in all; nothing is lost."""

import asyncio
from collections import Counter
from contextlib import AsyncExitStack
from random import Random

import pytest

from agentleague.league.events import MatchClosed, MatchDecided
from agentleague.records.reading import event_of
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.directory import open_reader
from commands import free_port
from service.service_run import agents_of, ended, organiser, verified
from service.test_serve_command import make, serving
from service.test_standby import HERE, OPTIONS, SEATED, killed, known, leagues_at

LEAGUES, KILLS = 4, 25
CUP = {"players": 4, "cycles": 60, "round_notice_seconds": 0.5, "lease_seconds": 3.0}


class Pair:
    """Two services on one database, each started again at its port when it was killed."""

    def __init__(self, database):
        self._database, self._stacks, self._processes = database, {}, {}
        self.ports = [free_port(), free_port()]
        self.urls = [f"http://127.0.0.1:{port}" for port in self.ports]

    async def start(self, number):
        stack = self._stacks[number] = AsyncExitStack()
        opened = serving(self._database, *OPTIONS, port=self.ports[number])
        _, self._processes[number] = await stack.enter_async_context(opened)

    async def kill(self, number):
        await killed(self._processes[number], None)
        await self._stacks[number].aclose()

    async def stop(self):
        for stack in self._stacks.values():
            await stack.aclose()


async def kill_owners(pair, agents, rng):
    """Kill whoever owns a league, at random instants; how often, before all leagues were over."""
    for kills in range(KILLS):
        await asyncio.sleep(rng.uniform(0.0, 3.0))  # The instant is drawn; no race is hidden.
        if all(each.ended.done() for each in agents):
            return kills
        owning = [number for number in (0, 1) if await leagues_at(pair.urls[number])]
        victim = rng.choice(owning or [0, 1])
        await pair.kill(victim)
        await pair.start(victim)
    return KILLS


def check(database, league, players):
    """Each match was decided and closed once, nobody forfeited, and all were told what is kept."""
    found = verified(database, league["league_id"])
    assert (found.complete, found.disputed, found.forfeited) == (True, [], 0)
    reader = open_reader(DatabaseUrl.parse(database).of(league["league_id"]))
    events = [event_of(row) for row in reader.read(league["league_id"])]
    results = {each.match_id: each.result for each in events if isinstance(each, MatchDecided)}
    for kind in (MatchDecided, MatchClosed):
        counts = Counter(each.match_id for each in events if isinstance(each, kind))
        assert set(counts.values()) == {1}
        assert len(counts) == 6 * CUP["cycles"]
    for player in players:
        told = player.host.role.memory.records()
        assert len(told) == 3 * CUP["cycles"]
        for match in told:
            winner = results[match["match_id"]].winner_player_id
            assert match["won"] is (winner == match["player_id"])


@pytest.mark.slow
@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_leagues_survive_twenty_five_kills_of_their_owners(database, seed):
    async def main():
        key, pair = organiser(database, "ann"), Pair(database)
        await asyncio.gather(pair.start(0), pair.start(1))
        made = [known(each, *pair.urls) for each in await make(pair.urls[0], key, LEAGUES, CUP)]
        agents = {}
        for each in made:
            agents[each["league_id"]] = await agents_of(each, 2, referees=0, place=SEATED)
            agents[each["league_id"]] += await agents_of(each, 2, place=HERE)
        everybody = [agent for some in agents.values() for agent in some]
        kills = await kill_owners(pair, everybody, Random(seed))
        await ended(everybody, seconds=300)
        await pair.stop()
        assert kills == KILLS
        return made, agents

    made, agents = asyncio.run(main())

    for league in made:
        check(database, league, agents[league["league_id"]][:4])
