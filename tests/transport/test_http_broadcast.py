"""A broadcast over HTTP: in order, written once, and counted where it is answered."""

import asyncio
import json

import pytest
import uvloop

from agentleague.errors import NoAnswer, NoConnection, PeerRefused, TokenInvalid
from agentleague.protocol.messages import (
    LeagueStandingsUpdate,
    RoundAnnouncement,
    RoundCompleted,
    RoundCompletedAck,
)
from agentleague.protocol.tokens import is_proved
from agentleague.roles.effects import Address
from agentleague.runtime.clock import LoopClock
from agentleague.transport.guard import Guard
from agentleague.transport.http import HttpTransport, TransportPolicy
from scripted_server import server

ENDED, TABLE = RoundCompleted("league_1", 1), LeagueStandingsUpdate("league_1", 1)
NEXT = RoundAnnouncement("league_1", 2)
NAMES = ["ROUND_COMPLETED", "LEAGUE_STANDINGS_UPDATE", "ROUND_ANNOUNCEMENT"]
ACK = b'{"jsonrpc":"2.0","result":{"status":"ACKNOWLEDGED"},"id":1}'


def transport(receiver):
    clock = LoopClock(asyncio.get_running_loop())
    return HttpTransport(clock, TransportPolicy(receiver, Guard("local"), lambda: 0.0))


class League:
    """A manager, and agents that keep what they were told and answer by a function."""

    def __init__(self):
        self.manager, self.agents, self.heard = transport("manager"), [], {}

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        for each in (self.manager, *self.agents):
            await each.stop()

    async def agent(self, agent_id, answer=lambda message: RoundCompletedAck()):
        """The address of a new one; `answer` may also return an error, or None for silence."""
        agent, heard = transport("player"), self.heard.setdefault(agent_id, [])

        def on_ask(message, caller, reply):
            heard.append((type(message), caller))
            said = answer(message)
            if said is not None:
                reply(said)

        agent.listen(on_ask)
        self.agents.append(agent)
        port = await agent.start(0, ("127.0.0.1",))
        return Address(agent_id, f"http://127.0.0.1:{port}/mcp", "", (agent_id.encode(),))

    def types(self, agent_id):
        return [kind.__struct_config__.tag for kind, _ in self.heard[agent_id]]

    def tell(self, letters, seconds=60.0):
        """The broadcast, and a future with its failures."""
        loop = asyncio.get_running_loop()
        told = loop.create_future()
        broadcast = self.manager.broadcast(letters, loop.time() + seconds, told.set_result)
        assert not told.done()
        return broadcast, told


def run(scenario):
    async def main():
        async with League() as league:
            return await scenario(league)

    return uvloop.run(asyncio.wait_for(main(), 60))


def test_each_agent_gets_its_messages_in_order_and_one_text_goes_to_all():
    async def scenario(league):
        agents = [await league.agent(f"P0{number}") for number in (1, 2, 3)]
        letters = [(to, [ENDED, TABLE, NEXT]) for to in agents[:2]] + [(agents[2], [NEXT])]
        broadcast, told = league.tell(letters)
        assert broadcast.awaited == {"P01", "P02", "P03"}
        assert await told == {}
        assert broadcast.awaited == set()
        assert league.manager.calls == 7
        return league

    league = run(scenario)
    assert league.types("P01") == league.types("P02") == ["ROUND_COMPLETED", *NAMES[1:]]
    assert league.types("P03") == NAMES[2:]
    first, second = ([caller.body for _, caller in league.heard[each]] for each in ("P01", "P02"))
    assert first == second
    assert len({json.loads(body)["id"] for body in first}) == 3
    for agent_id, heard in league.heard.items():
        for _, caller in heard:
            assert is_proved(caller.proof, [agent_id.encode()], caller.body)


def test_who_fails_is_told_once_with_the_last_error_that_a_call_would_have_given():
    def refuse_the_first(message):
        return TokenInvalid("no") if isinstance(message, RoundCompleted) else RoundCompletedAck()

    async def scenario(league):
        letters = [
            (await league.agent("good"), [ENDED, TABLE]),
            (await league.agent("refuses", refuse_the_first), [ENDED, TABLE]),
            (Address("away", "http://127.0.0.1:1/mcp", "", (b"key",)), [ENDED, TABLE]),
            (Address("no address", "ftp://127.0.0.1/", "", (b"key",)), [ENDED, TABLE]),
        ]
        return await league.tell(letters)[1], league.types("refuses")

    failures, heard = run(scenario)
    assert {agent_id: type(error) for agent_id, error in failures.items()} == {
        "refuses": PeerRefused,
        "away": NoConnection,
        "no address": NoConnection,
    }
    assert failures["refuses"].context["code"] == "E012"
    assert heard == NAMES[:2]


def test_one_that_is_silent_has_failed_when_the_time_is_over():
    async def scenario(league):
        to = await league.agent("silent", lambda message: None)
        return await league.tell([(to, [ENDED, TABLE])], seconds=0.05)[1]

    failures = run(scenario)
    assert [(agent_id, type(error)) for agent_id, error in failures.items()] == [
        ("silent", NoAnswer)
    ]


def test_meanwhile_it_is_known_who_is_waited_for():
    async def scenario(league):
        may_answer, loop = asyncio.Event(), asyncio.get_running_loop()

        async def late(line):
            await line.request()
            await may_answer.wait()
            await line.answer(ACK)
            await line.wait_for_end()

        async with server(late) as peer:
            good, slow = await league.agent("good"), Address("slow", peer.url, "", (b"key",))
            broadcast, told = league.tell([(slow, [ENDED]), (good, [ENDED])])
            behind = loop.create_future()
            league.manager.call(good, TABLE, loop.time() + 60, behind.set_result)
            await behind
            waiting = broadcast.awaited
            may_answer.set()
            return waiting, await told, broadcast.awaited

    assert run(scenario) == ({"slow"}, {}, set())


def test_nothing_goes_out_if_one_message_cannot_be_written():
    async def scenario(league):
        good, bad = await league.agent("P01"), await league.agent("P02")
        with pytest.raises(TypeError):
            league.tell([(good, [ENDED]), (bad, [RoundCompleted("league_1", object())])])
        _, told = league.tell([(good, [TABLE])])
        await told
        return league.types("P01")

    assert run(scenario) == ["LEAGUE_STANDINGS_UPDATE"]


def test_after_a_cancel_nothing_is_told():
    async def scenario(league):
        broadcast, told = league.tell([(await league.agent("P01", lambda message: None), [ENDED])])
        broadcast.cancel()
        assert broadcast.awaited == set()
        other, others_told = league.tell([(await league.agent("P02"), [ENDED])])
        await others_told
        other.cancel()
        return told.done()

    assert run(scenario) is False


def test_what_a_stale_connection_did_not_answer_goes_out_again_in_order_on_a_fresh_one():
    async def one_answer(line):
        await line.request()
        await line.send(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%b" % (len(ACK), ACK))

    async def scenario(league):
        async with server(one_answer) as peer:
            to = Address("P01", peer.url, "", (b"key",))
            _, told = league.tell([(to, [ENDED, TABLE, NEXT])])
            return await told, [json.loads(body)["params"] for body in peer.requests]

    failures, requests = run(scenario)
    assert failures == {}
    assert [request["message_type"] for request in requests] == NAMES


def test_later_messages_go_behind_those_that_are_not_answered_yet_on_the_same_connection():
    async def scenario(league):
        async def late(line):
            bodies = [await line.request() for _ in range(4)]
            for _ in bodies:
                await line.answer(ACK)
            await line.wait_for_end()

        async with server(late) as peer:
            to = Address("P01", peer.url, "", (b"key",))
            called = asyncio.get_running_loop().create_future()
            _, first = league.tell([(to, [ENDED, TABLE])])
            _, second = league.tell([(to, [NEXT])])
            until = asyncio.get_running_loop().time() + 60
            league.manager.call(to, ENDED, until, called.set_result)
            assert (await first, await second, (await called).error) == ({}, {}, None)
            return peer.connections, [json.loads(body)["params"] for body in peer.requests]

    connections, requests = run(scenario)
    assert connections == 1
    assert [request["message_type"] for request in requests] == [*NAMES, NAMES[0]]
