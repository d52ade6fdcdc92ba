"""The contract of the HTTP server, on real sockets of the loopback."""

import asyncio
import gc
import logging
import socket
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from agentleague.errors import LeagueError
from agentleague.roles.stimuli import read_headers
from agentleague.transport.callers import Proxies
from agentleague.transport.http_server import (
    HttpRequest,
    HttpServer,
    Response,
    ServerLimits,
    _Connection,
)
from examples import examples
from transport.byte_tables import H2C, POST, ROWS, A, B, Row, on, sized
from transport.ways import WAYS, runner_of

SMALL = ServerLimits(body_bytes=1_000, header_bytes=2_000)
Answer = tuple[int, str]


class Peer:
    """A client that sees every byte."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.reader, self.writer = reader, writer
        self.head = b""

    def send(self, data: bytes) -> None:
        self.writer.write(data)

    async def send_slowly(self, data: bytes) -> None:
        for value in data:
            self.writer.write(bytes([value]))
            await asyncio.sleep(0)
            await asyncio.sleep(0)

    async def answer(self, *, is_head: bool = False) -> Answer:
        """The next answer; its status line and headers stay in `head`."""
        self.head = await self.reader.readuntil(b"\r\n\r\n")
        status = int(self.head.split(b" ", 2)[1])
        fields = dict(line.split(b": ") for line in self.head.split(b"\r\n")[1:-2])
        size = 0 if is_head else int(fields.get(b"Content-Length", b"0"))
        return status, (await self.reader.readexactly(size)).decode()

    async def rest(self) -> bytes:
        try:
            return await self.reader.read()
        except ConnectionResetError:
            return b""


def echo(request: HttpRequest, respond: Response) -> None:
    if request.body == b"raise":
        raise ValueError(request.body)
    if request.body in (b"202", b"204"):
        respond(int(request.body), b"")
    else:
        respond(200, request.body)


def name_of(error: LeagueError) -> bytes:
    return error.name.encode()


@asynccontextmanager
async def serving(
    on_request: Callable[[HttpRequest, Response], None] = echo, limits: ServerLimits = SMALL
) -> AsyncIterator[tuple[HttpServer, Callable[[], Awaitable[Peer]]]]:
    names = frozenset({"player.EXAMPLE"})
    server = HttpServer(on_request, refusal=name_of, names=names, limits=limits)
    port = await server.start(["127.0.0.1"], 0)
    peers: list[Peer] = []

    async def connect() -> Peer:
        peers.append(Peer(*await asyncio.open_connection("127.0.0.1", port)))
        return peers[-1]

    try:
        yield server, connect
    finally:
        for peer in peers:
            peer.writer.transport.abort()
        await server.stop(5.0)
        await asyncio.sleep(0)


def is_reading(server: HttpServer) -> bool:
    return all(connection._transport.is_reading() for connection in server._connections)


def run(talk: Callable[[], Awaitable[None]], loop: str = "uvloop") -> None:
    """Run on a loop of that kind; nothing may be left for its exception handler."""
    left: list[dict[str, Any]] = []
    with runner_of(loop) as runner:
        runner.get_loop().set_exception_handler(lambda _, context: left.append(context))
        runner.run(asyncio.wait_for(talk(), 120.0))  # type: ignore[arg-type]
    assert left == []


async def check_row(row: Row, peer: Peer, is_slow: bool) -> None:
    await (peer.send_slowly(row.sent) if is_slow else asyncio.sleep(0))
    peer.send(b"" if is_slow else row.sent)
    heads = [body == "" for _, body in row.answers]
    assert [await peer.answer(is_head=head) for head in heads] == row.answers
    assert (b"Connection: close" in peer.head) is not row.is_open
    if row.is_open:
        peer.send(sized(b"still open"))
        assert await peer.answer() == (200, "still open")
    else:
        assert await peer.rest() == b""
    assert not is_slow or peer.reader._buffer == b""


@pytest.mark.parametrize("loop", WAYS)
def test_each_row_of_bytes_gets_its_answers(loop: str) -> None:
    async def talk() -> None:
        wrong = []
        for row in ROWS:
            async with serving() as (_, connect):
                # Whole, again with a head that is known by now, and byte by byte.
                for is_slow in [False, False] if row.is_quick else [False, False, True]:
                    try:
                        await asyncio.wait_for(check_row(row, await connect(), is_slow), 20.0)
                    except (AssertionError, TimeoutError, asyncio.IncompleteReadError) as error:
                        wrong.append(f"{row.name}, {is_slow=}: {error!r}")
        assert wrong == []

    run(talk, loop)


def test_an_answer_has_the_headers_it_needs_and_no_more() -> None:
    def on_request(request: HttpRequest, respond: Response) -> None:
        respond(200, b"{}", [("X-One", "1")]) if request.body == b"x" else echo(request, respond)

    async def talk() -> None:
        async with serving(on_request) as (_, connect):
            peer = await connect()

            peer.send(sized(b"x") + sized(b"202") + sized(b"204") + on(b"GET"))

            await peer.answer()
            assert peer.head == (
                b"HTTP/1.1 200 OK\r\nX-One: 1\r\nContent-Type: application/json\r\n"
                b"Content-Length: 2\r\n\r\n"
            )
            await peer.answer()
            assert peer.head == b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n"
            await peer.answer()
            assert peer.head == b"HTTP/1.1 204 No Content\r\n\r\n"
            await peer.answer()
            assert b"\r\nAllow: POST\r\n" in peer.head

    run(talk)


def test_http_1_0_is_told_that_its_connection_stays_open() -> None:
    async def talk() -> None:
        async with serving() as (_, connect):
            peer = await connect()

            peer.send(b"POST /mcp HTTP/1.0\r\nConnection: keep-alive\r\n\r\n")

            await peer.answer()
            assert b"\r\nConnection: keep-alive\r\n" in peer.head

    run(talk)


def test_a_request_says_where_it_went_and_whence_it_came() -> None:
    requests: list[HttpRequest] = []

    def on_request(request: HttpRequest, respond: Response) -> None:
        requests.append(request)
        respond(200, b"")

    async def talk() -> None:
        async with serving(on_request) as (_, connect):
            peer = await connect()
            for _ in range(2):
                peer.send(sized(b"{}", head=on(b"POST", b"/?a=b")[:-2]))
                await peer.answer()

    run(talk)

    parsed, recognised = requests
    assert parsed == HttpRequest("/", b"{}", "127.0.0.1", "POST", parsed.head, "a=b")
    assert recognised == HttpRequest("/", b"{}", "127.0.0.1", "POST", recognised.head, "a=b")
    assert read_headers(parsed.head) == read_headers(recognised.head) == {"host": "127.0.0.1:8001"}


def test_a_head_is_recognised_whatever_proof_it_ends_with() -> None:
    requests: list[HttpRequest] = []

    def on_request(request: HttpRequest, respond: Response) -> None:
        requests.append(request)
        respond(200, b"")

    proofs = [b"ab12", b"cd34,ef56", b"a" * 1_100, b"x y", b"\xe9"]

    async def talk() -> None:
        async with serving(on_request) as (server, connect):
            peer = await connect()
            for proof in proofs:
                peer.send(sized(b"{}", b"X-League-Proof: %b\r\n" % proof))
                assert (await peer.answer())[0] == 200
            assert len(server.checks.heads) == 1 + len(proofs[3:])  # Others are no proofs.

    run(talk)

    read = [read_headers(request.head)["x-league-proof"].encode("latin-1") for request in requests]
    assert read == proofs


@pytest.mark.parametrize("loop", WAYS)
def test_answers_leave_in_the_order_of_the_requests(loop: str) -> None:
    held: list[tuple[bytes, Response]] = []

    async def talk() -> None:
        everything_held = asyncio.Event()

        def on_request(request: HttpRequest, respond: Response) -> None:
            held.append((request.body, respond))
            if len(held) == 3:
                everything_held.set()

        async with serving(on_request) as (_, connect):
            peer = await connect()
            peer.send(sized(b"1") + sized(b"2") + on(b"GET") + sized(b"3") + b"nonsense")
            await everything_held.wait()

            for body, respond in reversed(held):
                respond(200, body)

            answers = [await peer.answer() for _ in range(5)]
            assert [body for _, body in answers] == [
                "1", "2", "INVALID_REQUEST", "3", "INVALID_REQUEST",
            ]  # fmt: skip
            assert await peer.rest() == b""

    run(talk, loop)


@pytest.mark.parametrize("loop", WAYS)
def test_an_answer_to_a_peer_that_left_does_nothing(loop: str) -> None:
    async def talk() -> None:
        held: asyncio.Future[Response] = asyncio.get_running_loop().create_future()

        def on_request(request: HttpRequest, respond: Response) -> None:
            held.set_result(respond) if not held.done() else echo(request, respond)

        async with serving(on_request) as (server, connect):
            peer, other = await connect(), await connect()
            peer.send(A)
            respond = await held
            linger = b"\1\0\0\0\0\0\0\0"
            peer.writer.get_extra_info("socket").setsockopt(
                socket.SOL_SOCKET, socket.SO_LINGER, linger
            )
            peer.writer.transport.abort()
            while len(server._connections) > 1:
                other.send(A)
                await other.answer()

            respond(200, b"too late")

            other.send(A)
            assert await other.answer() == (200, "a")

    run(talk, loop)


@pytest.mark.parametrize("loop", WAYS)
def test_a_peer_that_has_said_all_still_gets_its_answers(loop: str) -> None:
    async def talk() -> None:
        held: list[Response] = []
        asked = asyncio.Event()

        def on_request(request: HttpRequest, respond: Response) -> None:
            held.append(respond)
            asked.set()

        async with serving(on_request) as (_, connect):
            peer, probe = await connect(), await connect()
            peer.send(A + POST)  # The second request never ends.
            peer.writer.write_eof()
            await asked.wait()
            probe.send(on(b"GET", b"/health"))
            await probe.answer()

            held[0](200, b"here")

            assert await peer.answer() == (200, "here")
            assert await peer.rest() == b""

    run(talk, loop)


def test_a_peer_that_asks_first_is_told_to_go_on() -> None:
    async def talk() -> None:
        async with serving() as (_, connect):
            for headers in [b"", H2C]:
                peer = await connect()
                peer.send(A + POST + headers + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")
                assert await peer.answer() == (200, "a")
                assert await peer.answer() == (100, "")

                peer.send(b"{}")

                assert await peer.answer() == (200, "{}")

    run(talk)


def test_a_peer_is_told_to_go_on_after_the_answers_before() -> None:
    async def talk() -> None:
        held: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        async with serving(lambda _, respond: held.set_result(respond)) as (_, connect):
            peer = await connect()
            peer.send(A + POST + b"Expect: 100-continue\r\nContent-Length: 2\r\n\r\n")

            (await held)(200, b"first")

            assert await peer.answer() == (200, "first")
            assert await peer.answer() == (100, "")

    run(talk)


@pytest.mark.parametrize("loop", WAYS)
def test_trickling_requests_are_closed_while_a_good_one_is_served(loop: str) -> None:
    limits = ServerLimits(request_seconds=0.3)

    async def trickle(peer: Peer, request: bytes) -> None:
        answer = asyncio.ensure_future(peer.answer())
        for value in request:
            peer.send(bytes([value]))
            if (await asyncio.wait([answer], timeout=0.02))[0]:
                break
        assert await answer == (408, "TIMEOUT_ERROR")
        assert await peer.rest() == b""

    async def talk() -> None:
        async with serving(limits=limits) as (_, connect):
            heads = [trickle(await connect(), sized(b"x" * 100)) for _ in range(20)]
            bodies = []
            for _ in range(20):
                peer = await connect()
                peer.send(POST + b"Content-Length: 1000\r\n\r\n")
                bodies.append(trickle(peer, b"x" * 999))
            for _ in range(20):  # The head is known by now, and its request not read by a parser.
                peer = await connect()
                peer.send(sized(b"x" * 1_000))
                assert await peer.answer() == (200, "x" * 1_000)
                peer.send(sized(b"x" * 1_000)[:-999])
                bodies.append(trickle(peer, b"x" * 998))
            trickles = asyncio.gather(*heads, *bodies)
            good = await connect()

            while not trickles.done():
                good.send(A)
                assert await good.answer() == (200, "a")

            await trickles

    run(talk, loop)


def test_idle_connections_are_closed_and_empty_lines_do_not_count() -> None:
    async def talk() -> None:
        async with serving(limits=ServerLimits(idle_seconds=0.1)) as (_, connect):
            fresh, used = await connect(), await connect()
            used.send(A)
            await used.answer()
            end = asyncio.ensure_future(asyncio.gather(fresh.rest(), used.rest()))

            while not (await asyncio.wait([end], timeout=0.02))[0]:
                used.send(b"\r\n")

            assert await end == [b"", b""]

    run(talk)


def test_an_answer_may_take_longer_than_every_deadline() -> None:
    limits = ServerLimits(idle_seconds=0.05, request_seconds=0.05)

    async def talk() -> None:
        held: list[Response] = []
        async with serving(lambda _, respond: held.append(respond), limits) as (_, connect):
            peer = await connect()
            peer.send(A)
            for _ in range(3):
                assert await (await connect()).rest() == b""

            held[0](200, b"at last")

            assert await peer.answer() == (200, "at last")

    run(talk)


@pytest.mark.parametrize("loop", WAYS)
def test_reading_pauses_while_too_many_requests_wait(loop: str) -> None:
    limits = ServerLimits(pipelined=4, request_seconds=0.1)

    async def talk() -> None:
        held: list[Response] = []
        async with serving(lambda _, respond: held.append(respond), limits) as (server, connect):
            peer = await connect()
            peer.send(A * 5_000)
            for _ in range(3):  # The deadline of a request does not run while we do not read.
                slow = await connect()
                slow.send(b"P")
                assert await slow.answer() == (408, "TIMEOUT_ERROR")
            assert 4 <= len(held) < 1_000
            assert not is_reading(server)

            for number in range(5_000):
                held[number](200, b"%d" % number)
                assert await peer.answer() == (200, str(number))

    run(talk, loop)


@pytest.mark.parametrize("loop", WAYS)
def test_reading_pauses_while_the_peer_does_not_read(loop: str) -> None:
    async def talk() -> None:
        asked = [0]

        def on_request(_: HttpRequest, respond: Response) -> None:
            asked[0] += 1
            respond(200, b"x" * 100_000)

        async with serving(on_request) as (server, connect):
            peer, probe = await connect(), await connect()
            peer.send(A * 1_000)
            for _ in range(50):
                probe.send(on(b"GET", b"/health"))
                await probe.answer()
            assert 0 < asked[0] < 1_000
            assert not is_reading(server)

            for _ in range(1_000):
                assert (await peer.answer())[0] == 200

    run(talk, loop)


@pytest.mark.parametrize("loop", WAYS)
def test_a_peer_that_never_reads_is_closed(loop: str) -> None:
    async def talk() -> None:
        def on_request(request: HttpRequest, respond: Response) -> None:
            if request.body == b"a":  # The other one waits for its answer for ever.
                respond(200, b"x" * 1_000_000)

        async with serving(on_request, ServerLimits(idle_seconds=0.1)) as (server, connect):
            peer = await connect()
            peer.writer.transport.pause_reading()
            peer.send(A * 50 + B)

            while server._connections:
                await (await connect()).rest()

    run(talk, loop)


def test_the_longest_idle_connection_makes_room() -> None:
    async def talk() -> None:
        async with serving(limits=ServerLimits(connections=2)) as (_, connect):
            first, second = await connect(), await connect()
            first.send(A)
            await first.answer()

            third = await connect()

            assert await second.rest() == b""
            for peer in (first, third):
                peer.send(A)
                assert await peer.answer() == (200, "a")

    run(talk)


@pytest.mark.parametrize("loop", WAYS)
def test_without_an_idle_connection_the_new_one_is_refused(loop: str) -> None:
    async def talk() -> None:
        async with serving(limits=ServerLimits(connections=2)) as (server, connect):
            busy = [await connect(), await connect()]
            for peer in busy:
                peer.send(A + B[:-1])
                await peer.answer()

            for _ in range(3):
                refused = await connect()
                refused.send(A)
                assert await refused.answer() == (503, "RATE_LIMITED")
                assert b"\r\nRetry-After: 1\r\n" in refused.head
                assert await refused.rest() == b""
                assert len(server._connections) <= 3

            for peer in busy:
                peer.send(B[-1:])
                assert await peer.answer() == (200, "bb")

    run(talk, loop)


class Wire(asyncio.Transport):
    """A transport from an address that no test machine has."""

    def __init__(self, source: str) -> None:
        super().__init__({"peername": (source, 1)})
        self.sent, self.writes, self.is_closed, self.is_paused = b"", 0, False, False

    def write(self, data: Any) -> None:
        self.sent += data
        self.writes += 1

    def write_eof(self) -> None:
        pass

    def is_closing(self) -> bool:
        return self.is_closed

    def pause_reading(self) -> None:
        self.is_paused = True

    def close(self) -> None:
        self.is_closed = True

    abort = close


def test_answers_that_are_ready_together_leave_together() -> None:
    async def talk() -> None:
        async with serving() as (server, _):
            wire, connection = Wire("127.0.0.1"), _Connection(server)
            connection.connection_made(wire)

            connection.data_received(A * 3)

            assert (wire.sent.count(b"HTTP/1.1 200 OK"), wire.writes) == (3, 1)
            connection.connection_lost(None)

    run(talk)


def test_answers_that_come_later_in_one_turn_leave_together_and_one_alone_at_once() -> None:
    asked: list[Response] = []

    async def talk() -> None:
        async with serving(lambda request, respond: asked.append(respond)) as (server, _):
            wire, connection = Wire("127.0.0.1"), _Connection(server)
            connection.connection_made(wire)
            connection.data_received(A * 3)
            for respond in asked:
                respond(200, b"late")
            assert wire.writes == 0
            await asyncio.sleep(0)
            assert (wire.sent.count(b"HTTP/1.1 200 OK"), wire.writes) == (3, 1)

            connection.data_received(A)
            asked[3](200, b"alone")
            assert wire.writes == 2
            connection.connection_lost(None)

    run(talk)


def test_a_request_in_parts_waits_for_the_rest_also_where_its_head_was_forgotten() -> None:
    async def talk() -> None:
        async with serving() as (server, _):
            wire, connection = Wire("127.0.0.1"), _Connection(server)
            connection.connection_made(wire)
            connection.data_received(A)

            connection.data_received(A[:-1])
            server.checks.heads.clear()
            assert not connection.is_idle
            connection.data_received(A[-1:])

            assert wire.sent.count(b"HTTP/1.1 200 OK") == 2
            assert connection.is_idle
            connection.connection_lost(None)

    run(talk)


def test_one_source_has_few_connections_and_loopback_or_a_proxy_many() -> None:
    async def talk() -> None:
        async with serving(limits=ServerLimits(connections_per_source=2)) as (server, _):

            def connect(source: str) -> tuple[Wire, _Connection]:
                wire, connection = Wire(source), _Connection(server)
                connection.connection_made(wire)
                return wire, connection

            near = [connect("127.0.0.1") for _ in range(3)] + [connect("::1") for _ in range(3)]
            server.is_proxy = Proxies(["192.0.2.9"]).trusts
            proxied = [connect("192.0.2.9") for _ in range(3)]
            (first, _), (second, busy) = connect("192.0.2.7"), connect("192.0.2.7")
            other, _ = connect("192.0.2.8")
            busy.data_received(b"P")

            third, also_busy = connect("192.0.2.7")
            also_busy.data_received(b"P")
            fourth, _ = connect("192.0.2.7")

            assert first.is_closed
            assert fourth.sent.startswith(b"HTTP/1.1 503 ")
            assert not any(wire.is_closed for wire in (second, third, other))
            assert not any(wire.is_closed for wire, _ in near + proxied)
            server._connections.clear()

    run(talk)


def test_this_machine_is_one_peer_by_all_its_addresses_and_leaves_room_for_others() -> None:
    async def talk() -> None:
        limits = ServerLimits(connections=8, connections_of_loopback=100)
        async with serving(limits=limits) as (server, _):

            def connect(source: str) -> Wire:
                wire, connection = Wire(source), _Connection(server)
                connection.connection_made(wire)
                connection.data_received(b"P")
                return wire

            near = [connect(f"127.0.0.{number}") for number in range(1, 6)] + [connect("::1")]
            refused, far = connect("127.9.9.9"), [connect("192.0.2.7")]

            assert not any(wire.sent for wire in (*near, *far))
            assert refused.sent.startswith(b"HTTP/1.1 503 ")
            for connection in tuple(server._connections):
                connection.abort()
            assert not server._of

    run(talk)


def calls_of(step: Callable[[], None]) -> int:
    """How many functions the server calls for one step."""
    calls = 0

    def count(frame: Any, what: str, _: Any) -> None:
        nonlocal calls  # The collector of garbage calls others at any time.
        calls += what in ("call", "c_call") and "agentleague" in frame.f_code.co_filename

    sys.setprofile(count)
    try:
        step()
    finally:
        sys.setprofile(None)
    return calls


@pytest.mark.parametrize("begun", [b"", b"P"], ids=["idle", "busy"])
def test_a_connection_too_many_costs_the_same_however_many_there_are(begun: bytes) -> None:
    async def cost(held: int) -> int:
        limits = ServerLimits(connections=2 * held, connections_of_loopback=held)
        async with serving(limits=limits) as (server, _):
            wires: list[Wire] = []

            def connect() -> None:
                wires.append(Wire("127.0.0.1"))
                connection = _Connection(server)
                connection.connection_made(wires[-1])
                connection.data_received(begun)

            for _ in range(held + 1):  # The first of too many finds out who is busy.
                connect()
            costs = [calls_of(connect) for _ in range(3)]

            assert sum(wire.is_closed for wire in wires) == (3 if begun else 4)
            assert sum(b"503" in wire.sent for wire in wires) == (4 if begun else 0)
            for connection in tuple(server._connections):
                connection.abort()
            return min(costs)  # The refusal is written anew each second.

    async def talk() -> None:
        assert await cost(100) == await cost(10) > 10

    run(talk)


GARBAGE = b"\x00\r\n\r\n"
NOWHERE = b"POST /nowhere HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 0\r\n\r\n"
HEALTH = b"GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"


@pytest.mark.parametrize("asked", [NOWHERE, GARBAGE], ids=["refused", "refused for good"])
def test_only_so_many_refusals_wait_and_a_connection_that_adds_one_is_dropped(asked: bytes) -> None:
    async def talk() -> None:
        async with serving(limits=ServerLimits(held=3)) as (server, _):
            server.refusal_delay = lambda source: 0.01
            wires = []
            for _ in range(5):
                wires.append(Wire("192.0.2.7"))
                connection = _Connection(server)
                connection.connection_made(wires[-1])
                connection.data_received(asked)

            assert server._held == 3
            assert [wire.is_paused for wire in wires] == [False] * 3 + [True] * 2
            await asyncio.sleep(0.05)  # Timers ring in their order: theirs was before.
            assert server._held == 0
            assert [bool(wire.sent) for wire in wires] == [True] * 3 + [False] * 2
            server._connections.clear()

    run(talk)


@pytest.mark.parametrize("path", [b"/mcp", b"/nowhere"])
def test_a_request_whose_answer_waits_does_not_keep_its_body(path: bytes) -> None:
    held: list[Response] = []

    def hold(request: HttpRequest, respond: Response) -> None:
        assert request.body == b"x" * 900
        held.append(respond)

    async def talk() -> None:
        async with serving(hold) as (server, _):
            server.refusal_delay = lambda source: 3600.0
            connection = _Connection(server)
            connection.connection_made(Wire("192.0.2.7"))
            connection.data_received(sized(b"x" * 900).replace(b"/mcp", path))

            (response,) = connection._waiting
            assert held == ([response] if path == b"/mcp" else [])
            assert not [
                each for each in gc.get_referents(response) if isinstance(each, HttpRequest)
            ]
            server._connections.clear()

    run(talk)


def test_a_dropped_peer_is_served_nothing_more_and_closed_at_its_deadline() -> None:
    async def talk() -> None:
        served: list[HttpRequest] = []
        limits = ServerLimits(held=1)
        async with serving(lambda asked, _: served.append(asked), limits) as (server, _):
            server.refusal_delay = lambda source: 60.0
            wire, connection = Wire("192.0.2.7"), _Connection(server)
            connection.connection_made(wire)

            connection.data_received(NOWHERE * 3 + A * 3 + GARBAGE)

            assert (wire.is_paused, wire.sent, server._held) == (True, b"", 1)
            assert not served
            assert connection.is_idle  # Another connection may take its place.
            assert not wire.is_closed
            connection.expire()
            assert wire.is_closed
            server._connections.clear()

    run(talk)


def test_whether_a_server_is_well_is_never_answered_late() -> None:
    async def talk() -> None:
        async with serving(limits=ServerLimits(held=0)) as (server, connect):
            server.refusal_delay = lambda source: 60.0
            peer = await connect()

            peer.send(HEALTH)

            assert (await peer.answer())[0] == 200

    run(talk)


def test_never_more_connections_than_half_the_descriptors() -> None:
    resource = pytest.importorskip("resource")
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]

    server = HttpServer(echo, refusal=name_of, limits=ServerLimits(connections=2**40))

    assert server._connections_max == (2**30 if limit == resource.RLIM_INFINITY else limit // 2)


@pytest.mark.parametrize("loop", WAYS)
def test_a_server_listens_on_every_host_with_one_port(loop: str) -> None:
    async def talk() -> None:
        server = HttpServer(echo, refusal=name_of)

        port = await server.start(["127.0.0.1", "127.0.0.2", "192.0.2.77", "no.invalid"], 0)

        for host in ("127.0.0.1", "127.0.0.2"):
            peer = Peer(*await asyncio.open_connection(host, port))
            peer.send(A)
            assert await peer.answer() == (200, "a")
            peer.writer.transport.abort()
        with pytest.raises(OSError, match="in use"):
            await HttpServer(echo, refusal=name_of).start(["127.0.0.1"], port)
        with pytest.raises(OSError, match="assign"):
            await HttpServer(echo, refusal=name_of).start(["192.0.2.77"], 0)
        await server.stop()

        again = HttpServer(echo, refusal=name_of)
        assert await again.start(["127.0.0.1", "localhost"], port) == port
        await again.stop()

    run(talk, loop)


@pytest.mark.parametrize("loop", WAYS)
def test_stopping_lets_answers_out_and_closes_the_idle(loop: str) -> None:
    async def talk() -> None:
        held: list[Response] = []
        asked = asyncio.Event()

        def on_request(request: HttpRequest, respond: Response) -> None:
            held.append(respond)
            asked.set()

        async with serving(on_request) as (server, connect):
            idle, waiting, halfway = await connect(), await connect(), await connect()
            halfway.send(A[:-1])
            waiting.send(A)
            await asked.wait()
            asked.clear()

            stopping = asyncio.ensure_future(server.stop(20.0))

            assert await idle.rest() == b""
            with pytest.raises(OSError, match=r"Connect|refused"):
                await connect()
            halfway.send(A[-1:])
            await asked.wait()
            for peer, respond in zip((waiting, halfway), held, strict=True):
                respond(200, b"bye")
                assert await peer.answer() == (200, "bye")
                assert b"\r\nConnection: close\r\n" in peer.head
                assert await peer.rest() == b""
            await stopping

    run(talk, loop)


@pytest.mark.parametrize("loop", WAYS)
def test_stopping_closes_connections_that_are_just_being_accepted(loop: str) -> None:
    async def talk() -> None:
        for turns in range(5):
            server = HttpServer(echo, refusal=name_of)
            port = await server.start(["127.0.0.1"], 0)
            with socket.create_connection(("127.0.0.1", port), 5) as peer:
                peer.setblocking(False)
                for _ in range(turns):
                    await asyncio.sleep(0)

                await server.stop()  # A socket that nobody closed would warn.

                with suppress(ConnectionResetError):
                    assert await server.loop.sock_recv(peer, 1) == b""

    run(talk, loop)


@pytest.mark.parametrize("loop", WAYS)
def test_stopping_does_not_wait_for_ever(loop: str) -> None:
    async def talk() -> None:
        held: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        async with serving(lambda _, respond: held.set_result(respond)) as (server, connect):
            peer = await connect()
            peer.send(A)
            respond = await held

            await server.stop(0.05)

            assert await peer.rest() == b""
            respond(200, b"too late")

    run(talk, loop)


def test_our_own_errors_are_logged_and_not_told(caplog: pytest.LogCaptureFixture) -> None:
    async def talk() -> None:
        async with serving() as (_, connect):
            peer = await connect()
            peer.send(sized(b"raise"))
            assert await peer.answer() == (500, "INTERNAL_ERROR")

    run(talk)

    assert [record.exc_info is not None for record in caplog.records] == [True]


FRAGMENTS = [row.sent for row in ROWS if len(row.sent) < 3_000 and b"raise" not in row.sent]
PIECES = st.lists(st.sampled_from(FRAGMENTS) | st.binary(max_size=30), max_size=6).map(b"".join)


@settings(max_examples=examples(150), suppress_health_check=list(HealthCheck))
@given(stream=PIECES, cuts=st.lists(st.integers(0, 4_000), max_size=5), flip=st.integers(0, 4_000))
def test_any_bytes_in_any_pieces_get_the_same_answers(
    caplog: pytest.LogCaptureFixture, stream: bytes, cuts: list[int], flip: int
) -> None:
    if flip < len(stream):
        stream = stream[:flip] + bytes([stream[flip] ^ 1]) + stream[flip + 1 :]
    bounds = [0, *sorted(cut for cut in cuts if cut < len(stream)), len(stream)]
    pieces = [stream[start:end] for start, end in pairwise(bounds)]
    received: list[bytes] = []

    async def talk() -> None:
        async with serving() as (server, connect):
            for parts in ([stream], [stream], pieces):
                wire, connection = Wire("127.0.0.1"), _Connection(server)
                connection.connection_made(wire)
                for part in parts:
                    connection.data_received(part)
                received.append(wire.sent.replace(b"HTTP/1.1 100 Continue\r\n\r\n", b""))
                connection.connection_lost(None)
            peer = await connect()
            peer.send(stream)
            peer.writer.write_eof()
            await peer.rest()
            good = await connect()
            good.send(A)
            assert await good.answer() == (200, "a")

    with caplog.at_level(logging.ERROR):
        run(talk)

    assert received[0] == received[1] == received[2]
    assert caplog.records == []
