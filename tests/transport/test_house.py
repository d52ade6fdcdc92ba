"""A house: all agents of a process at one port, and on one connection."""

import asyncio
from collections import Counter

from agentleague.protocol.messages import GameInvitation, GameJoinAck
from agentleague.roles.effects import Address
from agentleague.runtime.clock import LoopClock
from agentleague.runtime.processes import Place
from agentleague.transport.guard import Guard
from agentleague.transport.house import House
from agentleague.transport.http import HttpTransport, TransportPolicy

AGENTS = 5


def transport(receiver, house=None):
    clock = LoopClock(asyncio.get_running_loop())
    return HttpTransport(clock, TransportPolicy(receiver, Guard("local"), lambda: 0.0), house)


def answering(name):
    def on_ask(message, caller, reply):
        reply(GameJoinAck(message.match_id, name, "2026-03-04T09:00:00Z", accept=True))

    return on_ask


def in_a_house(talk):
    """Run `talk` with five players of a house, their URLs, and somebody who calls them."""

    async def main():
        house, caller, urls = House(), transport("manager"), []
        players = [transport("player", house) for _ in range(AGENTS)]
        place = Place(0, hosts=("127.0.0.1",), house=house)
        try:
            for number, player in enumerate(players):
                player.listen(answering(f"P0{number}"))
                urls.append(await place.open(player))
            return await talk(house, caller, players, urls)
        finally:
            await caller.stop()
            for player in players:
                await player.stop()

    return asyncio.run(main())


async def call(caller, url, number, house="h_1"):
    loop = asyncio.get_running_loop()
    answered = loop.create_future()
    to = Address("them", url, house=house)
    invitation = GameInvitation(
        league_id="l", round_id=1, match_id=f"R1M{number}", game_type="even_odd", player_id="P01"
    )
    caller.call(to, invitation, loop.time() + 5.0, answered.set_result)
    return await answered


def connections(house):
    return len(house._server._connections)


def test_each_agent_of_a_house_has_a_path_of_its_own_at_one_port():
    async def talk(house, caller, players, urls):
        answers = [await call(caller, url, 1) for url in urls]
        return urls, [answer.message.player_id for answer in answers]

    urls, names = in_a_house(talk)
    assert names == [f"P0{number}" for number in range(AGENTS)]
    assert Counter(url.rpartition("/mcp/")[0] for url in urls).most_common()[0][1] == AGENTS
    assert len(set(urls)) == AGENTS


def test_all_of_a_house_are_called_on_one_connection_and_strangers_on_others():
    async def talk(house, caller, players, urls):
        asked = [call(caller, url, number) for url in urls for number in (1, 2, 3)]
        answers = await asyncio.gather(*asked)
        together = connections(house)
        await asyncio.gather(*(call(caller, url, 1, house="") for url in urls))
        return [a.message.match_id for a in answers], together, connections(house)

    matches, together, later = in_a_house(talk)
    assert matches == ["R1M1", "R1M2", "R1M3"] * AGENTS
    assert together <= 2
    assert later == together + AGENTS


def test_who_leaves_a_house_is_gone_and_the_others_stay():
    async def talk(house, caller, players, urls):
        assert (await call(caller, urls[0], 1)).message.player_id == "P00"
        await players[0].stop()
        gone, there = await call(caller, urls[0], 1), await call(caller, urls[1], 1)
        return "nothing at /mcp/1" in str(gone.error), there.message.player_id

    assert in_a_house(talk) == (True, "P01")


def test_a_house_opens_one_port_also_for_agents_that_come_together():
    async def main():
        house, place = House(), None
        players = [transport("player", house) for _ in range(3)]
        place = Place(0, hosts=("127.0.0.1",), house=house)
        urls = await asyncio.gather(*(place.open(player) for player in players))
        for player in players:
            await player.stop()
        return {url.rpartition("/mcp/")[0] for url in urls}, len(house._server._listeners)

    ports, listeners = asyncio.run(main())
    assert (len(ports), listeners) == (1, 1)


def test_a_path_where_nobody_lives_is_refused():
    async def talk(house, caller, players, urls):
        return (await call(caller, urls[0].rpartition("/")[0] + "/99", 1)).error

    assert in_a_house(talk) is not None
