"""Handlers of other paths and methods; real sockets."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import pytest
from msgspec.structs import replace

from agentleague.errors import LeagueError
from agentleague.roles.stimuli import read_headers
from agentleague.transport.http_response import Handler, HttpRequest, Response
from agentleague.transport.http_server import HttpServer, listen
from transport.ways import WAYS, runner_of

HOST = b"Host: 127.0.0.1\r\n"
GET = b"GET /live/1 HTTP/1.1\r\n" + HOST + b"\r\n"
POST = b"POST /mcp HTTP/1.1\r\n" + HOST + b"Content-Length: 2\r\n\r\n{}"
ECHO = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"


class Application:
    """A server with a handler below /live."""

    def __init__(self) -> None:
        self.requests: list[HttpRequest] = []
        self.port = 0

    def live(self, request: HttpRequest, respond: Response) -> None:
        self.requests.append(request)
        respond(200, b"{}")

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
    handler: Handler | None = None,
) -> AsyncIterator[tuple[Application, HttpServer]]:
    application = Application()
    server = HttpServer(echo, refusal=refusal)
    server.route("/live/*", ("GET",), handler or application.live)
    application.port = await server.start(["127.0.0.1"], 0)
    try:
        yield application, server
    finally:
        await server.stop()


@pytest.fixture(params=WAYS)
def run(request: pytest.FixtureRequest) -> Callable[[Callable[[], Awaitable[None]]], None]:
    def run_on_loop(talk: Callable[[], Awaitable[None]]) -> None:
        with runner_of(request.param) as runner:
            runner.run(asyncio.wait_for(talk(), 10.0))  # type: ignore[arg-type]

    return run_on_loop


def test_a_handler_sees_method_path_and_headers(run) -> None:
    async def talk() -> None:
        async with serving() as (application, _):
            lines = b"Authorization: Bearer x\r\nMcp-Session-Id: 7\r\nX-A: 1\r\nx-a:  2 \r\n"
            reader, writer = await application.connect(
                b"GET /live/1?page=2 HTTP/1.1\r\n" + HOST + lines + b"\r\n"
            )
            assert await reader.readuntil(b"{}") == ECHO
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


def test_an_answer_with_a_header_that_would_be_two_is_refused(run) -> None:
    bad = [("X-Name", "a\r\nSet-Cookie: x=1"), ("X\nY", "a"), ("X-Name", "\0"), ("X:Y", "a")]
    bad += [("", "a"), ("X-Name", "a\r"), ("X-Name", "\u2028")]
    refused = []

    def handle(request: HttpRequest, respond: Response) -> None:
        for header in bad:
            try:
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


def test_head_gets_no_body_and_the_connection_goes_on(run) -> None:
    async def talk() -> None:
        async with serving() as (application, _):
            reader, writer = await application.connect(GET.replace(b"GET", b"HEAD"), POST)
            assert await reader.readuntil(b"{}") == ECHO.removesuffix(b"{}") + ECHO
            writer.close()

    run(talk)


def test_a_server_answers_by_its_routes_what_another_took_on_sockets_it_was_given(run) -> None:
    async def talk() -> None:
        application, inner = Application(), HttpServer(echo, refusal=refusal)
        inner.route("/live/*", ("GET",), application.live)
        inner.refusal_delay = lambda source: 0.01

        def hand_on(request: HttpRequest, respond: Response) -> None:
            inner.handle(replace(request, path=request.path.removeprefix("/inner")), respond)

        outer = HttpServer(echo, refusal=refusal)
        outer.route("/inner/*", ("GET", "POST"), hand_on)
        sockets = await listen(["127.0.0.1"], 0)
        await outer.serve(sockets)
        application.port = sockets[0].getsockname()[1]
        reader, writer = await application.connect(
            GET.replace(b"/live", b"/inner/live"),
            POST.replace(b"/mcp", b"/inner/mcp"),
            POST.replace(b"/mcp", b"/inner/none"),
        )
        for expected in (ECHO, ECHO, b"HTTP/1.1 404 Not Found"):
            assert await reader.readexactly(len(expected)) == expected
        assert b"There is nothing at /none." in await reader.readuntil(b"none.")
        assert application.requests[0].path == "/live/1"
        writer.close()
        await outer.stop()
        await inner.stop()

    run(talk)
