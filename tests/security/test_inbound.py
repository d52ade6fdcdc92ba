"""What unknown callers can do to a running manager by many or slow requests."""

import asyncio
import json
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path

import pytest
import uvloop

from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.managers import Home, open_manager
from agentleague.runtime.network import default_address
from agentleague.runtime.processes import Place
from agentleague.transport.http import Buckets, Rate
from agentleague.transport.http_server import ServerLimits
from security.spies import message

SECONDS = 60
HOSTS = ("127.0.0.1",)
PLAYERS = 6
FLOOD = Path(__file__).with_name("flood.py")


def request(said, host="127.0.0.1"):
    """A message as bytes on the wire."""
    body = json.dumps({"jsonrpc": "2.0", "method": said["message_type"], "params": said, "id": 1})
    head = f"POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n"
    return (head + body).encode()


def registration(name, port=23_999):
    told = {"display_name": name, "contact_endpoint": f"http://127.0.0.1:{port}/mcp"}
    return message("LEAGUE_REGISTER_REQUEST", player_meta=told)


def referee():
    told = {"display_name": "Owl", "contact_endpoint": "http://127.0.0.1:23998/mcp"}
    return message("REFEREE_REGISTER_REQUEST", referee_meta={**told, "locks": True})


QUERY = message("LEAGUE_QUERY", query_type="GET_STATUS")


class Line:
    """One connection to a manager, seen byte by byte."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer

    async def ask(self, said):
        self.writer.write(request(said))
        return await self.answer()

    async def answer(self):
        """Status, headers and body of the next answer."""
        head = (await self.reader.readuntil(b"\r\n\r\n")).decode().split("\r\n")
        fields = dict(line.split(": ", 1) for line in head[1:] if line)
        body = await self.reader.readexactly(int(fields.get("Content-Length", "0")))
        return int(head[0].split()[1]), fields, body

    async def is_over(self):
        """Read whatever comes until the connection is closed."""
        while not await self.is_closed():
            pass
        return True

    async def is_closed(self):
        try:
            return await self.reader.read(1) == b""
        except ConnectionResetError:
            return True


@asynccontextmanager
async def manager(directory, place, **more):
    settings = ManagerSettings(league_id="league_test", players=500, **more)
    running = await open_manager(settings, Home(directory), place)
    port = int(running.url.split(":")[2].split("/")[0])
    lines = []

    async def connect():
        lines.append(Line(*await asyncio.open_connection(place.hosts[0], port)))
        return lines[-1]

    try:
        yield connect
    finally:
        for line in lines:
            line.writer.transport.abort()
        await running.stop()


def run(scenario):
    return uvloop.run(asyncio.wait_for(scenario, SECONDS))


def test_forty_trickling_connections_are_closed_and_a_good_agent_notices_nothing(tmp_path):
    place = Place(0, hosts=HOSTS, server=ServerLimits(request_seconds=1.0))
    slow = request({**QUERY, "padding": "x" * 2_000})
    head_bytes = slow.index(b"\r\n\r\n") + 4

    async def trickle(line, begun):
        """Send on, a byte at a time, until the manager has had enough."""
        line.writer.write(slow[:begun])
        answer = asyncio.ensure_future(line.answer())
        for value in slow[begun:-1]:
            line.writer.write(bytes([value]))
            if (await asyncio.wait([answer], timeout=0.05))[0]:
                break
        return (await answer)[0], await line.is_closed()

    async def scenario():
        async with manager(tmp_path, place) as connect:
            begun = [0] * 20 + [head_bytes] * 20  # Slow heads, and slow bodies.
            closing = asyncio.gather(*[trickle(await connect(), each) for each in begun])
            good, answers = await connect(), []
            while not closing.done():
                status, _, body = await good.ask(QUERY)
                answers.append((status, b'"result"' in body))
                await asyncio.wait([closing], timeout=0.01)
            return await closing, answers

    closed, answers = run(scenario())

    assert closed == [(408, True)] * 40
    assert set(answers) == {(200, True)}


def five_at_once():
    """Unknown callers may ask five times, and then no more for a long time."""
    rate = Rate(per_second=0.01, burst=5.0, wait_seconds=0.0, refusal_seconds=0.0)
    return Place(0, hosts=HOSTS, rate=rate)


def test_an_unknown_caller_over_the_rate_is_told_when_to_come_back_and_a_known_agent_is_served(
    tmp_path,
):
    async def scenario():
        async with manager(tmp_path, five_at_once()) as connect:
            unknown, known = await connect(), await connect()
            _, _, body = await known.ask(registration("Ann"))
            token = json.loads(body)["result"]["auth_token"]
            answers = [await unknown.ask(QUERY) for _ in range(6)]
            of_known = [(await known.ask({**QUERY, "auth_token": token}))[0] for _ in range(7)]
            impostor = await unknown.ask({**QUERY, "auth_token": token[:-1] + "?"})
            return answers, of_known, impostor[0]

    answers, of_known, impostor = run(scenario())

    assert [status for status, _, _ in answers] == [200] * 4 + [429] * 2
    _, fields, body = answers[-1]
    assert int(fields["Retry-After"]) > 0
    assert json.loads(body)["error"]["data"]["error_code"] == "E047"
    assert of_known == [200] * 5 + [429] * 2  # It has an allowance of its own.
    assert impostor == 429


def test_what_cannot_be_read_counts_against_the_rate_too(tmp_path):
    async def scenario():
        async with manager(tmp_path, five_at_once()) as connect:
            line = await connect()
            return [(await line.ask({"message_type": "DANCE"}))[0] for _ in range(7)]

    assert run(scenario()) == [200] * 5 + [429] * 2


def test_a_refusal_waits_for_its_turn_and_one_that_comes_seldom_does_not_wait():
    buckets = Buckets(Rate(per_second=10.0, refusal_seconds=0.3))

    holds = [buckets.hold("192.0.2.7", now=5.0) for _ in range(6)]

    assert holds == pytest.approx([0.0, 0.1, 0.2, 0.3, 0.3, 0.3])
    assert buckets.hold("192.0.2.8", now=5.0) == 0.0
    assert buckets.hold("192.0.2.7", now=6.0) == 0.0


@pytest.mark.parametrize(
    ("asked", "first", "then"),
    [
        (request(QUERY), 200, 429),
        (b"GET /elsewhere HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n", 404, 404),
        (b"POST /mcp HTTP/1.1\r\nHost: elsewhere\r\nContent-Length: 0\r\n\r\n", 403, 403),
    ],
    ids=["query", "nothing there", "another host"],
)
def test_a_caller_that_asks_too_much_is_answered_slowly_while_others_are_served(
    asked, first, then, tmp_path
):
    place = Place(0, hosts=HOSTS, rate=Rate(per_second=20.0, burst=2.0, wait_seconds=0.0))

    async def scenario():
        async with manager(tmp_path, place) as connect:
            greedy, known = await connect(), await connect()
            _, _, body = await known.ask(referee())
            said = {**QUERY, "auth_token": json.loads(body)["result"]["auth_token"]}
            greedy.writer.write(asked * 30)
            answers = asyncio.ensure_future(in_turn(greedy, 30))
            served = 0
            while not answers.done():
                served += (await known.ask(said))[0] == 200
            return await answers, served

    async def in_turn(line, count):
        return [(await line.answer())[0] for _ in range(count)]

    statuses, served = run(scenario())

    assert statuses[0] == first
    assert statuses[1:].count(then) > 20  # On a slow machine one or two more are within the rate.
    assert served > 30  # In the time of thirty answers.


def test_registrations_over_the_rate_wait_for_their_turn_and_none_is_lost(tmp_path):
    place = Place(0, hosts=HOSTS, rate=Rate(per_second=20.0, burst=5.0, wait_seconds=60.0))

    async def scenario():
        async with manager(tmp_path, place) as connect:
            lines = [await connect() for _ in range(25)]
            asked = [
                line.ask(registration(f"Player {n}", 24_000 + n)) for n, line in enumerate(lines)
            ]
            answers = await asyncio.gather(*asked)
            return sorted(json.loads(body)["result"]["player_id"] for _, _, body in answers)

    assert run(scenario()) == [f"P{number:02}" for number in range(1, 26)]


def test_one_address_of_the_network_has_few_connections_to_a_manager_unless_it_is_a_proxy(tmp_path):
    address = default_address()
    if not address or ":" in address:
        pytest.skip("this machine is in no network: it has no address but loopback")
    place = Place(0, hosts=(address,), server=ServerLimits(connections_per_source=3))
    behind = replace(place, trusted_proxies=(address,))

    async def proxied():
        async with manager(tmp_path / "proxied", behind) as connect:
            busy = [await connect() for _ in range(4)]
            return {(await each.ask(QUERY))[0] for each in busy}

    async def scenario():
        async with manager(tmp_path / "plain", place) as connect:
            idle = await connect()
            busy = [await connect(), await connect()]
            for line in busy:
                line.writer.write(b"P")
            assert (await idle.ask(QUERY))[0] == 200
            newer = await connect()
            newer.writer.write(request(QUERY) + b"P")
            assert (await newer.answer())[0] == 200
            closed = await idle.is_closed()  # The longest idle made room.
            refused = await connect()
            return closed, (await refused.answer())[0]

    assert run(scenario()) == (True, 503)
    assert run(proxied()) == {200}
