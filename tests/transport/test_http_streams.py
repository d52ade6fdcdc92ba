"""Handlers of other paths and methods, and answers that are sent piece by piece; real sockets."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress

import pytest
import uvloop

from agentleague.errors import LeagueError
from agentleague.roles.stimuli import read_headers
from agentleague.transport.http_response import Handler, HttpRequest, Response, Stream
from agentleague.transport.http_server import HttpServer, ServerLimits

LOOPS = {"asyncio": asyncio.new_event_loop, "uvloop": uvloop.new_event_loop}
HOST = b"Host: 127.0.0.1\r\n"
EVENTS = (("Content-Type", "text/event-stream"),)
GET = b"GET /live/1 HTTP/1.1\r\n" + HOST + b"\r\n"
POST = b"POST /mcp HTTP/1.1\r\n" + HOST + b"Content-Length: 2\r\n\r\n{}"
START = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
ECHO = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


class Sending:
    """A stream that a test sends the pieces of."""

    def __init__(self, stream: Stream) -> None:
        self.send = stream.send
        self.is_cancelled = False
        self.complete, self.left = asyncio.Event(), asyncio.Event()

    async def run(self) -> None:
        try:
            await self.complete.wait()
        except asyncio.CancelledError:
            self.is_cancelled = True
            raise
        finally:
            self.left.set()


class Application:
    """A server with a handler below /live; the test sends the pieces."""

    def __init__(self) -> None:
        self.streams: asyncio.Queue[Sending] = asyncio.Queue()
        self.requests: list[HttpRequest] = []
        self.port = 0

    def live(self, request: HttpRequest, respond: Response) -> None:
        self.requests.append(request)
        respond.stream(200, EVENTS, self.produce)

    async def produce(self, stream: Stream) -> None:
        sending = Sending(stream)
        self.streams.put_nowait(sending)
        await sending.run()

    async def connect(self, *sent: bytes) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.write(b"".join(sent))
        return reader, writer


def echo(request: HttpRequest, respond: Response) -> None:
    respond(200, request.body)


def refusal(error: LeagueError) -> bytes:
    return str(error).encode()


@asynccontextmanager
async def serving(
    handler: Handler | None = None, limits: ServerLimits | None = None
) -> AsyncIterator[tuple[Application, HttpServer]]:
    application = Application()
    server = HttpServer(echo, refusal=refusal, limits=limits or ServerLimits())
    server.route("/live/*", ("GET",), handler or application.live)
    application.port = await server.start(["127.0.0.1"], 0)
    try:
        yield application, server
    finally:
        await server.stop()


@pytest.fixture(params=LOOPS)
def run(request: pytest.FixtureRequest) -> Callable[[Callable[[], Awaitable[None]]], None]:
    def run_on_loop(talk: Callable[[], Awaitable[None]]) -> None:
        with asyncio.Runner(loop_factory=LOOPS[request.param]) as runner:
            runner.run(asyncio.wait_for(talk(), 10.0))  # type: ignore[arg-type]

    return run_on_loop


def test_a_handler_sees_method_path_and_headers(run) -> None:
    async def talk() -> None:
        async with serving() as (application, _):
            lines = b"Authorization: Bearer x\r\nMcp-Session-Id: 7\r\nX-A: 1\r\nx-a:  2 \r\n"
            reader, writer = await application.connect(
                b"GET /live/1?page=2 HTTP/1.1\r\n" + HOST + lines + b"\r\n"
            )
            (await application.streams.get()).complete.set()
            assert await reader.readuntil(b"0\r\n\r\n") == START + b"0\r\n\r\n"
            writer.close()

            (request,) = application.requests
            assert (request.method, request.path, request.query) == ("GET", "/live/1", "page=2")
            assert read_headers(request.head) == {
                "host": "127.0.0.1",
                "authorization": "Bearer x",
                "mcp-session-id": "7",
                "x-a": "1, 2",
            }

    run(talk)


def test_a_head_that_is_recognised_carries_its_query_and_headers_too(run) -> None:
    seen: list[tuple[str, str, str]] = []

    def note(request: HttpRequest, respond: Response) -> None:
        seen.append((request.path, request.query, read_headers(request.head)["authorization"]))
        respond(200, request.body)

    async def talk() -> None:
        async with serving() as (application, server):
            server.route("/mcp", ("POST",), note)
            for token in (b"a", b"a", b"b", b"a"):
                line = b"Authorization: Bearer %b\r\nContent-Length:" % token
                post = POST.replace(b"Content-Length:", line).replace(
                    b"/mcp", b"/mcp?a=1?%20" + token
                )
                reader, writer = await application.connect(post)
                await reader.readuntil(b"{}")
                writer.close()

    run(talk)

    assert seen == [("/mcp", f"a=1?%20{token}", f"Bearer {token}") for token in "aaba"]


def test_other_methods_and_paths_are_refused_as_ever(run) -> None:
    asked = {
        b"POST /live/1": (b"405", b"Allow: GET, HEAD"),
        b"GET /mcp": (b"405", b"Allow: POST"),
        b"DELETE /health": (b"405", b"Allow: GET, HEAD"),
        b"GET /elsewhere": (b"404", b"There is nothing at /elsewhere."),
    }

    async def talk() -> None:
        async with serving() as (application, _):
            for line, (status, text) in asked.items():
                close = b"Connection: close\r\n\r\n"
                reader, writer = await application.connect(line + b" HTTP/1.1\r\n" + HOST + close)
                answer = await reader.read()
                assert answer.startswith(b"HTTP/1.1 " + status), line
                assert text in answer, line
                writer.close()

    run(talk)


@pytest.mark.parametrize("is_stream", [False, True])
def test_an_answer_with_a_header_that_would_be_two_is_refused(run, is_stream) -> None:
    bad = [("X-Name", "a\r\nSet-Cookie: x=1"), ("X\nY", "a"), ("X-Name", "\0"), ("X:Y", "a")]
    bad += [("", "a"), ("X-Name", "a\r"), ("X-Name", "\u2028")]
    refused = []

    async def produce(stream: Stream) -> None: ...

    def handle(request: HttpRequest, respond: Response) -> None:
        for header in bad:
            try:
                if is_stream:
                    respond.stream(200, [header], produce)
                else:
                    respond(200, b"{}", [header])
            except ValueError:
                refused.append(header)
        respond(200, b"{}", [("X-Good", "a b\t\xe9")])

    async def talk() -> None:
        async with serving(handle) as (application, _):
            reader, writer = await application.connect(GET)
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200 OK\r\nX-Good: a b\t\xe9\r\nContent-Type")
            writer.close()

    run(talk)

    assert refused == bad


def test_a_stream_arrives_piece_by_piece_and_the_next_answer_follows_it(run) -> None:
    async def talk() -> None:
        async with serving() as (application, _):
            reader, writer = await application.connect(POST, GET, POST)
            stream = await application.streams.get()
            assert await reader.readexactly(len(ECHO + START)) == ECHO + START
            for piece in (b"data: 1\n\n", b"x" * 20):
                await stream.send(piece)
                assert await reader.readuntil(b"\r\n") == b"%x\r\n" % len(piece)
                assert await reader.readexactly(len(piece) + 2) == piece + b"\r\n"
            await stream.send(b"")

            stream.complete.set()

            assert await reader.readexactly(5 + len(ECHO)) == b"0\r\n\r\n" + ECHO
            with pytest.raises(ConnectionResetError):
                await stream.send(b"more")
            writer.close()

    run(talk)


def test_a_stream_waits_for_its_turn_behind_another(run) -> None:
    async def talk() -> None:
        async with serving() as (application, _):
            reader, writer = await application.connect(GET, GET)
            first, second = [await application.streams.get() for _ in range(2)]
            early = asyncio.ensure_future(second.send(b"second"))
            await first.send(b"first")
            assert not early.done()

            first.complete.set()
            await early
            second.complete.set()

            chunks = (b"5\r\nfirst\r\n0\r\n\r\n", b"6\r\nsecond\r\n0\r\n\r\n")
            expected = START + chunks[0] + START + chunks[1]
            assert await reader.readexactly(len(expected)) == expected
            writer.close()

    run(talk)


def test_a_slow_reader_holds_the_sender_back_and_loses_nothing(run) -> None:
    piece, pieces = b"x" * 65_536, 200

    async def talk() -> None:
        async with serving() as (application, _):
            reader, writer = await application.connect(GET)
            stream = await application.streams.get()
            sent = 0

            async def send_all() -> None:
                nonlocal sent
                for _ in range(pieces):
                    await stream.send(piece)
                    sent += 1
                stream.complete.set()

            sending = asyncio.ensure_future(send_all())
            before = -1
            while before < sent:  # Until the buffers of both sides are full.
                before = sent
                for _ in range(100):
                    await asyncio.sleep(0)
            assert sent < pieces

            received = b""
            while not received.endswith(b"\r\n0\r\n\r\n"):
                received += await reader.read(1_000_000)
            await sending
            assert received.count(b"x") == pieces * len(piece) + 1  # One is in "text/".
            writer.close()

    run(talk)


@pytest.mark.parametrize("leaves", ["closes", "aborts"])
def test_when_the_client_leaves_its_stream_is_cancelled(run, leaves: str) -> None:
    async def talk() -> None:
        async with serving() as (application, _):
            _, writer = await application.connect(GET)
            stream = await application.streams.get()
            await stream.send(b"1")

            if leaves == "closes":
                writer.close()
            else:
                writer.transport.abort()

            await stream.left.wait()
            assert stream.is_cancelled

    run(talk)


def test_a_reader_that_stops_reading_is_cut_off_after_a_while(run) -> None:
    async def talk() -> None:
        limits = ServerLimits(idle_seconds=0.05)
        async with serving(limits=limits) as (application, _):
            _, writer = await application.connect(GET)
            stream = await application.streams.get()
            with suppress(ConnectionResetError):
                while True:
                    await stream.send(b"x" * 65_536)
            await stream.left.wait()
            assert stream.is_cancelled
            writer.close()

    run(talk)


def test_in_http_1_0_the_end_of_the_connection_ends_the_stream(run) -> None:
    async def talk() -> None:
        async with serving() as (application, _):
            old = b"GET /live/1 HTTP/1.0\r\nConnection: keep-alive\r\n\r\n"
            reader, writer = await application.connect(old, old)
            stream = await application.streams.get()
            await stream.send(b"all ")
            await stream.send(b"there is")
            stream.complete.set()

            head, _, body = (await reader.read()).partition(b"\r\n\r\n")
            assert b"Connection: close" in head
            assert b"chunked" not in head
            assert body == b"all there is"
            writer.close()

    run(talk)


def test_head_gets_no_body_and_the_connection_goes_on(run) -> None:
    async def talk() -> None:
        async with serving() as (application, _):
            reader, writer = await application.connect(GET.replace(b"GET", b"HEAD"), POST)
            assert await reader.readexactly(len(START + ECHO)) == START + ECHO
            assert application.streams.empty()  # Nothing was produced for it.
            writer.close()

    run(talk)


def test_a_server_that_stops_ends_its_streams_and_waits_for_them(run) -> None:
    async def talk() -> None:
        async with serving() as (application, server):
            reader, writer = await application.connect(GET)
            stream = await application.streams.get()
            await stream.send(b"1")

            await server.stop()

            assert stream.is_cancelled
            assert (await reader.read()).endswith(b"1\r\n1\r\n0\r\n\r\n")
            writer.close()

    run(talk)


async def raising(stream: Stream) -> None:
    await stream.send(b"1")
    raise ValueError("a bug")


async def cancelling_itself(stream: Stream) -> None:
    await stream.send(b"1")
    raise asyncio.CancelledError


@pytest.mark.parametrize("produce", [raising, cancelling_itself])
def test_a_stream_that_fails_is_cut_off_and_does_not_look_whole(run, produce, caplog) -> None:
    def handle(request: HttpRequest, respond: Response) -> None:
        respond.stream(200, EVENTS, produce)

    async def talk() -> None:
        async with serving(handle) as (application, _):
            reader, writer = await application.connect(GET)
            received = b""
            with suppress(ConnectionResetError):
                while piece := await reader.read(1_000):
                    received += piece
            assert not received.endswith(b"0\r\n\r\n")
            writer.close()

    run(talk)

    assert ("ValueError: a bug" in caplog.text) == (produce is raising)


def test_a_handler_that_fails_after_it_began_a_stream_ends_the_connection(run, caplog) -> None:
    async def produce(stream: Stream) -> None:
        await stream.send(b"1")

    def fail(request: HttpRequest, respond: Response) -> None:
        respond.stream(200, EVENTS, produce)
        raise ValueError("a bug")

    async def talk() -> None:
        async with serving(fail) as (application, _):
            reader, writer = await application.connect(GET)
            with suppress(ConnectionResetError):
                assert await reader.read() == b""
            writer.close()

    run(talk)

    assert "A request to /live/1 failed." in caplog.text
