import asyncio
import gc
import shutil
import socket
import ssl
import subprocess
import threading
import time

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from agentleague.errors import UNREACHABLE, NoAnswer, NoConnection
from agentleague.transport import guard
from agentleague.transport.guard import Guard
from agentleague.transport.http_client import ClientLimits, HttpClient, Post, request_of
from agentleague.transport.http_connection import Connection
from examples import examples
from scripted_server import server
from transport.ways import WAYS, runner_of

OK = b"HTTP/1.1 200 OK\r\n"
PLAIN = OK + b"Content-Type: application/json\r\nContent-Length: "


@pytest.fixture(params=WAYS)
def run(request):
    """Runs a scenario in one of the ways; one that hangs is ended."""

    def run_on(scenario):
        with runner_of(request.param) as runner:
            return runner.run(asyncio.wait_for(scenario, 120))

    return run_on


class Caller:
    """A client under test, with calls that can be awaited and a record of every callback."""

    def __init__(self, guard=None, **options):
        limits = {k: options.pop(k) for k in list(options) if k in ClientLimits.__annotations__}
        self.client = HttpClient(guard or Guard(), limits=ClientLimits(**limits), **options)
        self.told = []

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.client.stop()

    def start(self, url, body=b"{}", *, seconds=60.0, ordered=False):
        """Posts; the future has `cancel_call`, and an answer once `done` was called."""
        loop = asyncio.get_running_loop()
        future = loop.create_future()

        def done(answer):
            assert not posting
            self.told.append((body, answer))
            future.set_result(answer)  # A second call of `done` would raise here.

        posting = True
        until = loop.time() + seconds
        call = Post(request=request_of(body), until=until, done=done, ordered=ordered)
        self.client.send(url, (call,))
        posting = False
        return future, call.cancel

    async def post(self, url, body=b"{}", **options):
        return await self.start(url, body, **options)[0]


def outcome(answer):
    return answer.status, answer.body, type(answer.error)


NONE = type(None)
BAD = (0, b"", NoConnection)
BIG = b"x" * 10_240
STREAM = b"Content-Type: Text/Event-Stream; x=y\r\nTransfer-Encoding: chunked\r\n\r\n"
ANSWERS = {
    # name: bytes, whether the server then closes, outcome
    "length": (OK + b"Content-Length: 2\r\n\r\nok", False, (200, b"ok", NONE)),
    "ours": (PLAIN + b"2\r\n\r\nok", False, (200, b"ok", NONE)),
    "ours, empty": (PLAIN + b"0\r\n\r\n", False, (200, b"", NONE)),
    "ours, of the limit": (PLAIN + b"10240\r\n\r\n" + BIG, False, (200, BIG, NONE)),
    "ours, over the limit": (PLAIN + b"10241\r\n\r\n" + BIG + b"x", False, BAD),
    "ours, too short": (PLAIN + b"3\r\n\r\nok", True, BAD),
    "ours, no number": (PLAIN + b"2x\r\n\r\nok", False, BAD),
    "lower case": (OK + b"content-length: 2\r\n\r\nok", False, (200, b"ok", NONE)),
    "no body": (OK + b"Content-Length: 0\r\n\r\n", False, (200, b"", NONE)),
    "204": (b"HTTP/1.1 204 No Content\r\n\r\n", False, (204, b"", NONE)),
    "202": (b"HTTP/1.1 202 Accepted\r\nContent-Length: 0\r\n\r\n", False, (202, b"", NONE)),
    "202 until the end": (b"HTTP/1.1 202 Accepted\r\n\r\n", True, (202, b"", NONE)),
    "no reason": (b"HTTP/1.1 200\r\nContent-Length: 2\r\n\r\nok", False, (200, b"ok", NONE)),
    "500": (b"HTTP/1.1 500 No\r\nContent-Length: 2\r\n\r\nno", False, (500, b"no", NONE)),
    "304": (b"HTTP/1.1 304 Same\r\nContent-Length: 5\r\n\r\n", False, (304, b"", NONE)),
    "until the end": (OK + b"\r\nall of it", True, (200, b"all of it", NONE)),
    "1.0": (b"HTTP/1.0 200 OK\r\n\r\nold", True, (200, b"old", NONE)),
    "1.0 length": (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok", False, (200, b"ok", NONE)),
    "close": (
        OK + b"Connection: close\r\nContent-Length: 2\r\n\r\nok",
        False,
        (200, b"ok", NONE),
    ),
    "close until the end": (OK + b"Connection: close\r\n\r\nok", True, (200, b"ok", NONE)),
    "event stream that ends": (
        OK + STREAM + b'21\r\n: hello\r\n\r\ndata: {"result":1}\r\n\r\n\r\n0\r\n\r\n',
        False,
        (200, b'{"result":1}', NONE),
    ),
    "event stream that stays open after the answer": (
        OK + STREAM + b'14\r\ndata: {"result":1}\n\n\r\n3\r\n: a\r\n',
        False,
        (200, b'{"result":1}', NONE),
    ),
    "event stream that ends without an answer": (
        OK + STREAM + b"3\r\n: a\r\n0\r\n\r\n",
        False,
        (200, b": a", NONE),
    ),
    "event stream without end": (OK + STREAM + b"8\r\ndata: x\n\r\n" * 2_000, False, BAD),
    "chunked": (
        OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n3;x=y\r\nayy\r\n0\r\n\r\n",
        False,
        (200, b"okayy", NONE),
    ),
    "trailers": (
        OK + b"Transfer-Encoding: Chunked\r\nTrailer: T\r\n\r\n2\r\nok\r\n0\r\nT: v\r\n\r\n",
        False,
        (200, b"ok", NONE),
    ),
    "identity": (
        OK + b"Content-Encoding: identity\r\nContent-Length: 2\r\n\r\nok",
        False,
        (200, b"ok", NONE),
    ),
    "1xx": (
        b"HTTP/1.1 100 Continue\r\n\r\n" * 5 + OK + b"Content-Length: 2\r\n\r\nok",
        False,
        (200, b"ok", NONE),
    ),
    "early hints": (
        b"HTTP/1.1 103 Early\r\nLink: <x>\r\nContent-Length: 7\r\n\r\n" + OK + b"\r\nok",
        True,
        (200, b"ok", NONE),
    ),
    "upgrade offered": (
        OK + b"Upgrade: h2c\r\nConnection: Upgrade\r\nContent-Length: 2\r\n\r\nok",
        False,
        (200, b"ok", NONE),
    ),
    "blank line first": (b"\r\n" + OK + b"Content-Length: 2\r\n\r\nok", False, (200, b"ok", NONE)),
    "longest body": (OK + b"Content-Length: 10240\r\n\r\n" + BIG, False, (200, BIG, NONE)),
    "longest until the end": (OK + b"\r\n" + BIG, True, (200, BIG, NONE)),
    "surplus answer": (
        (OK + b"Content-Length: 2\r\n\r\nok") * 2,
        False,
        (200, b"ok", NONE),
    ),
    "surplus garbage": (OK + b"Content-Length: 2\r\n\r\nok???", False, (200, b"ok", NONE)),
    "surplus after close": (
        OK + b"Connection: close\r\nContent-Length: 2\r\n\r\nok???",
        False,
        (200, b"ok", NONE),
    ),
    # From here on there is no answer.
    "nothing": (b"", True, BAD),
    "half a status line": (b"HTTP/1.1 2", True, BAD),
    "half the headers": (OK + b"Content-Length: 2\r\n", True, BAD),
    "half the body": (OK + b"Content-Length: 2\r\n\r\no", True, BAD),
    "half the chunks": (OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\nok\r\n", True, BAD),
    "only 1xx": (b"HTTP/1.1 100 Continue\r\n\r\n", True, BAD),
    "six 1xx": (b"HTTP/1.1 100 Continue\r\n\r\n" * 6, False, BAD),
    "101": (b"HTTP/1.1 101 Go\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n", False, BAD),
    "bare 101": (b"HTTP/1.1 101 Go\r\n\r\n", True, BAD),
    "garbage": (b"SSH-2.0-OpenSSH_9.9\r\n", False, BAD),
    "a request": (b"POST /mcp HTTP/1.1\r\n\r\n", False, BAD),
    "status 000": (b"HTTP/1.1 000 No\r\nContent-Length: 0\r\n\r\n", False, BAD),
    "status 000 until the end": (b"HTTP/1.1 000 No\r\n\r\n", True, BAD),
    "status 99": (b"HTTP/1.1 099 No\r\nContent-Length: 0\r\n\r\n", False, BAD),
    "status x": (b"HTTP/1.1 2xx OK\r\n\r\n", False, BAD),
    "two lengths": (OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\nok", False, BAD),
    "negative length": (OK + b"Content-Length: -2\r\n\r\nok", False, BAD),
    "huge length": (OK + b"Content-Length: 99999999999999999999\r\n\r\n", False, BAD),
    "length and chunked": (
        OK + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        False,
        BAD,
    ),
    "bad chunk": (OK + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", False, BAD),
    "gzip": (OK + b"Content-Encoding: gzip\r\nContent-Length: 2\r\n\r\n\x1f\x8b", False, BAD),
    "gzip transfer": (OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", False, BAD),
    "gzip until the end": (OK + b"Transfer-Encoding: gzip\r\n\r\n\x1f\x8b", True, BAD),
    "too long": (OK + b"Content-Length: 10241\r\n\r\n" + BIG + b"x", False, BAD),
    "too long until the end": (OK + b"\r\n" + BIG + b"x", False, BAD),
    "too long in chunks": (
        OK + b"Transfer-Encoding: chunked\r\n\r\n" + (b"1000\r\n" + b"x" * 4096 + b"\r\n") * 3,
        False,
        BAD,
    ),
    "one long header": (OK + b"X: " + b"y" * 9_000, False, BAD),
    "one long header, all there": (
        OK + b"X: " + b"y" * 9_000 + b"\r\nContent-Length: 0\r\n\r\n",
        False,
        BAD,
    ),
    "1xx and one long header": (
        b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"X: " + b"y" * 9_000,
        False,
        BAD,
    ),
    "many headers": (OK + b"X: y\r\n" * 2_000, False, BAD),
    "long reason": (b"HTTP/1.1 200 " + b"y" * 9_000, False, BAD),
    "long trailer": (
        OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\nT: " + b"y" * 9_000 + b"\r\n\r\n",
        False,
        BAD,
    ),
    "endless blank lines": (b"\r\n" * 5_000, False, BAD),
}


def answering(data, piece, closes):
    async def script(line):
        await line.request()
        await line.send(data, piece)
        if not closes:
            await line.wait_for_end()

    return script


@pytest.mark.parametrize("piece", [None, 1], ids=["at once", "byte by byte"])
def test_raw_bytes_become_an_answer_or_none(run, piece):
    async def answer_to(data, closes):
        async with server(answering(data, piece, closes)) as peer, Caller() as caller:
            return outcome(await caller.post(peer.url))

    async def scenario():
        return {name: await answer_to(*row[:2]) for name, row in ANSWERS.items()}

    assert run(scenario()) == {name: row[2] for name, row in ANSWERS.items()}


@pytest.mark.parametrize(
    ("end", "reusable"),
    [
        (b"Content-Length: 2\r\n\r\nok", True),
        (b"Connection: close\r\nContent-Length: 0\r\n\r\n", False),
    ],
)
def test_a_connection_is_reused_unless_the_peer_closes_it(run, end, reusable):
    async def script(line):
        while True:
            await line.request()
            await line.send(OK + end)

    async def scenario():
        async with server(script) as peer, Caller() as caller:
            for _ in range(3):
                assert (await caller.post(peer.url)).status == 200
            return peer.connections

    assert run(scenario()) == (1 if reusable else 3)


def test_an_answer_of_our_own_servers_is_read_alike_wherever_it_is_cut(run):
    answer = PLAIN + b"12\r\n\r\n" + b'{"a":"12345"'
    cuts = range(1, len(answer))

    async def script(line):
        for cut in cuts:
            await line.request()
            await line.send(answer[:cut])
            await asyncio.sleep(0)
            await line.send(answer[cut:])

    async def scenario():
        async with server(script) as peer, Caller() as caller:
            return [outcome(await caller.post(peer.url)) for _ in cuts], peer.connections

    answers, connections = run(scenario())
    assert set(answers) == {(200, b'{"a":"12345"', NONE)}
    assert connections == 1


@pytest.mark.parametrize("surplus", [OK + b"Content-Length: 1\r\n\r\n!", b"HTT", b"?"])
def test_a_surplus_answer_is_never_taken_for_the_next_one(run, surplus):
    async def script(line):
        body = await line.request()
        await line.send(OK + b"Content-Length: 1\r\n\r\n" + body + surplus)
        await line.wait_for_end()

    async def scenario():
        async with server(script) as peer, Caller(connections_per_origin=1) as caller:
            calls = [caller.start(peer.url, body)[0] for body in (b"1", b"2", b"3")]
            return [(await call).body for call in calls], peer.connections

    assert run(scenario()) == ([b"1", b"2", b"3"], 3)


def test_the_request_is_plain_http_with_the_right_host(run):
    async def script(line):
        await line.request()
        await line.answer(b"")

    async def scenario(host, name):
        async with server(script, host=host) as peer, Caller() as caller:
            answer = await caller.post(f"http://{name}:{peer.port}?a=b", b'{"x":1}')
            assert answer.error is None
            return peer.heads[0].decode().replace(str(peer.port), "PORT"), peer.requests

    head, requests = run(scenario("127.0.0.1", "127.0.0.1"))
    assert requests == [b'{"x":1}']
    assert head == (
        "POST /mcp?a=b HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Type: application/json\r\n"
        "Accept: application/json, text/event-stream\r\n"
        "Accept-Encoding: identity\r\nContent-Length: 7\r\n\r\n"
    )
    assert "Host: localhost:PORT\r\n" in run(scenario("127.0.0.1", "LOCALHOST"))[0]
    if socket.has_ipv6:
        assert "Host: [::1]:PORT\r\n" in run(scenario("::1", "[::1]"))[0]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [(b"3", 3.0), (b"0", 0.0), (b"99999", 60.0), (b"9" * 500, 60.0), (b"-1", None), (b"Mon", None)],
)
def test_retry_after_is_read_in_seconds_and_bounded(run, value, seconds):
    data = b"HTTP/1.1 429 Slow\r\nRetry-After: " + value + b"\r\nContent-Length: 0\r\n\r\n"

    async def scenario():
        async with server(answering(data, None, False)) as peer, Caller() as caller:
            answer = await caller.post(peer.url)
            return answer.status, answer.retry_after

    assert run(scenario()) == (429, seconds)


# Deadlines.


async def silent(line):
    await line.request()
    await line.wait_for_end()


async def dripping(line):
    await line.request()
    await line.send(OK + b"Content-Length: 10000\r\n\r\n")
    while True:
        await line.send(b"x")
        await asyncio.sleep(0.01)


async def dripping_headers(line):
    await line.request()
    await line.send(OK)
    while True:
        await line.send(b"X: y\r\n")
        await asyncio.sleep(0.01)


async def deaf(line):
    await asyncio.Event().wait()


@pytest.mark.parametrize("script", [silent, dripping, dripping_headers, deaf])
def test_the_deadline_is_absolute(run, script):
    async def scenario():
        async with server(script) as peer, Caller() as caller:
            answer = await caller.post(peer.url, b"x" * 9_000, seconds=0.06)
            assert answer.seconds >= 0.05
            assert str(answer.error) in (
                "no answer in time",
                "its answer began and did not end in time",
                "nobody took the connection in time",  # on a machine that is busy
            )
            return outcome(answer)

    assert run(scenario()) == (0, b"", NoAnswer)


WHY = [
    (b"", "it closed the connection without an answer"),
    (OK + b"Content-Length: 9\r\n\r\n{", "it closed the connection in the middle of its answer"),
    (b"SSH-2.0-\x1bOpenSSH\r\n", "it is not HTTP: SSH-2.0-?OpenSSH"),
    (OK + b"Content-Encoding: gzip\r\n\r\n", "its content-encoding is gzip, and only identity is"),
    (OK + b"Content-Length: 10241\r\n\r\n" + BIG + b"x", "its answer is longer than 10240 bytes"),
]


def test_each_way_not_to_answer_has_words_of_its_own(run):
    async def said_of(data):
        async def script(line):
            await line.request()
            if data:
                await line.send(data)

        async with server(script) as peer, Caller() as caller:
            return str((await caller.post(peer.url)).error)

    for data, words in WHY:
        assert words in run(said_of(data))


def test_the_deadline_runs_while_a_name_is_resolved(run):
    async def resolve(*_, **__):
        await asyncio.Event().wait()

    async def scenario():
        async with Caller(resolve=resolve) as caller:
            answer = await caller.post("http://slow.example/", seconds=0.03)
            assert str(answer.error) == "nobody took the connection in time"
            assert answer.error.context["kind"] == UNREACHABLE
            return outcome(answer)

    assert run(scenario()) == (0, b"", NoAnswer)


def test_a_call_whose_time_is_over_is_not_sent(run):
    async def scenario():
        async with server(silent) as peer, Caller() as caller:
            late = outcome(await caller.post(peer.url, seconds=-1))
            return late, peer.connections

    assert run(scenario()) == ((0, b"", NoAnswer), 0)


def test_an_answer_that_arrived_while_the_loop_was_busy_is_an_answer(run):
    listening = socket.create_server(("127.0.0.1", 0))
    wake, woken = socket.socketpair()
    busy, answered = threading.Event(), threading.Event()

    def serve():
        connection, _ = listening.accept()
        with connection:
            connection.recv(65536)
            wake.send(b"!")
            busy.wait(5)
            connection.sendall(OK + b"Content-Length: 2\r\n\r\nok")
            answered.set()
            connection.recv(1)

    def be_busy():
        woken.recv(1)
        busy.set()
        answered.wait(5)
        until = time.perf_counter() + 0.3
        while time.perf_counter() < until:
            pass

    async def scenario():
        asyncio.get_running_loop().add_reader(woken, be_busy)
        async with Caller() as caller:
            url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
            answer = await caller.post(url, seconds=0.25)
        asyncio.get_running_loop().remove_reader(woken)
        return outcome(answer)

    thread = threading.Thread(target=serve)
    with listening, wake, woken:
        thread.start()
        assert run(scenario()) == (200, b"ok", NONE)
        thread.join(5)


def test_a_retry_after_a_timeout_gets_a_fresh_connection(run):
    async def script(line):
        await line.request()
        if line.number > 1:
            await line.answer(b"second")
        await line.wait_for_end()

    async def scenario():
        async with server(script) as peer, Caller() as caller:
            first = await caller.post(peer.url, seconds=0.03)
            assert await peer.closed.get() == 1
            second = await caller.post(peer.url)
            return type(first.error), second.body

    assert run(scenario()) == (NoAnswer, b"second")


# Connections that end.


def test_an_idle_connection_is_closed_after_its_time(run):
    async def script(line):
        await line.request()
        await line.answer(b"")
        await line.wait_for_end()

    async def scenario():
        async with server(script) as peer, Caller(idle_seconds=0.03) as caller:
            await caller.post(peer.url)
            return await peer.closed.get()

    assert run(scenario()) == 1


def test_connections_with_ordered_calls_are_kept_for_longer_but_only_so_many(run):
    async def script(line):
        while await line.request():
            await line.answer(b"%d" % line.number)

    async def scenario():
        limits = {"idle_seconds": 0.02, "kept_seconds": 60, "kept": 1}
        async with server(script) as kept, server(script) as other, Caller(**limits) as caller:
            for peer in (kept, other):
                await caller.post(peer.url, ordered=True)
            assert await other.closed.get() == 1
            return [(await caller.post(peer.url)).body for peer in (kept, other)]

    assert run(scenario()) == [b"1", b"2"]


def test_never_more_kept_connections_than_half_the_descriptors(run):
    resource = pytest.importorskip("resource")
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]

    async def scenario():
        async with Caller(kept=2**40) as caller:
            return caller.client._limits.kept

    assert run(scenario()) < (2**30 if limit == resource.RLIM_INFINITY else limit / 2)


@pytest.mark.parametrize("surprise", [b"", OK, b"\r\n"])
def test_data_or_an_end_on_an_idle_connection_drops_it(run, surprise):
    async def script(line):
        await line.request()
        await line.answer(b"%d" % line.number)
        if line.number == 1:
            await told.wait()
            await line.send(surprise) if surprise else line.writer.write_eof()
        await line.wait_for_end()

    async def scenario():
        nonlocal told
        told = asyncio.Event()
        async with server(script) as peer, Caller(idle_seconds=60) as caller:
            await caller.post(peer.url)
            told.set()
            assert await peer.closed.get() == 1
            return (await caller.post(peer.url)).body

    told = None
    assert run(scenario()) == b"2"


def ending_on_the_second_request(last_words, then):
    async def script(line):
        if line.number == 1:
            await line.request()
            await line.answer(b"first")
            await line.request()
            if last_words:
                await line.send(last_words)
            return
        await then(line)

    return script


async def answering_second(line):
    await line.answer(b"second " + await line.request())


async def leaving(line):
    await line.request()


@pytest.mark.parametrize(
    ("last_words", "then", "expected", "connections"),
    [
        (b"", answering_second, (200, b"second b", NONE), 2),  # Stale: replaced.
        (b"", leaving, BAD, 2),  # Replaced once, not twice.
        (b"H", answering_second, BAD, 1),  # The answer had begun.
    ],
)
def test_a_stale_connection_is_replaced_once(run, last_words, then, expected, connections):
    async def scenario():
        script = ending_on_the_second_request(last_words, then)
        async with server(script) as peer, Caller() as caller:
            await caller.post(peer.url, b"a")
            answer = outcome(await caller.post(peer.url, b"b"))
            assert peer.requests == [b"a"] + [b"b"] * connections
            return answer, peer.connections

    assert run(scenario()) == (expected, connections)


def test_the_idle_siblings_of_a_stale_connection_are_not_tried(run):
    async def script(line):
        await line.answer(await line.request())
        if line.number > 2:
            await echo(line)
        await line.request()

    async def scenario():
        async with server(script) as peer, Caller() as caller:
            for call in [caller.start(peer.url)[0] for _ in range(2)]:
                await call
            answer = await caller.post(peer.url, b"x")
            return answer.body, peer.requests.count(b"x"), peer.connections

    assert run(scenario()) == (b"x", 2, 3)


def test_a_fresh_connection_that_ends_is_not_replaced(run):
    async def scenario():
        async with server(leaving) as peer, Caller() as caller:
            return outcome(await caller.post(peer.url)), peer.connections

    assert run(scenario()) == (BAD, 1)


def test_the_replacement_of_a_stale_connection_has_the_same_deadline(run):
    async def scenario():
        script = ending_on_the_second_request(b"", silent)
        async with server(script) as peer, Caller() as caller:
            await caller.post(peer.url)
            return outcome(await caller.post(peer.url, seconds=0.05))

    assert run(scenario()) == (0, b"", NoAnswer)


def test_an_answer_before_the_request_was_sent_in_full_ends_the_connection(run):
    async def script(line):
        await line.answer(b"too big")
        await asyncio.Event().wait()

    async def scenario():
        async with server(script) as peer, Caller() as caller:
            for _ in range(2):
                assert (await caller.post(peer.url, b"x" * 20_000_000)).body == b"too big"
            return peer.connections

    assert run(scenario()) == 2


def test_nobody_listens(run):
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]

    async def scenario():
        async with Caller() as caller:
            return outcome(await caller.post(f"http://127.0.0.1:{port}/"))

    assert run(scenario()) == BAD


# Many calls at once.


async def echo(line):
    while True:
        await line.answer(await line.request())


def test_calls_over_the_limit_wait_in_order(run):
    async def scenario():
        async with server(echo) as peer, Caller(connections_per_origin=2) as caller:
            bodies = [b"%d" % n for n in range(20)]
            calls = [caller.start(peer.url, body)[0] for body in bodies]
            assert [(await call).body for call in calls] == bodies
            return sorted(peer.requests) == sorted(bodies), peer.connections

    assert run(scenario()) == (True, 2)


def test_the_deadline_runs_while_a_call_waits(run):
    async def scenario():
        async with server(silent) as peer, Caller(connections_per_origin=1) as caller:
            first, _ = caller.start(peer.url, b"a", seconds=5)
            second = await caller.post(peer.url, b"b", seconds=0.03)
            assert not first.done()
            return outcome(second), peer.requests

    assert run(scenario()) == ((0, b"", NoAnswer), [b"a"])


def test_no_player_is_blamed_for_a_call_to_a_seat_that_was_never_sent(run):
    """At a seat this error means that the manager is away, NoAnswer that the player is late."""

    async def resolve(*_, **__):
        await asyncio.Event().wait()

    async def scenario():
        few = {"connections_per_origin": 1, "kept": 3}  # At a seat as many as may be kept.
        async with server(silent) as peer, Caller(**few) as caller, Caller(resolve=resolve) as far:
            seat = peer.url.replace("/mcp", "/seats/P01/mcp")
            sent = [caller.start(seat, b"a")[0] for _ in range(3)]
            while len(peer.requests) < len(sent):  # noqa: ASYNC110
                await asyncio.sleep(0.001)
            waited = await caller.post(seat, b"b", seconds=0.03)
            unheard = await far.post("http://slow.example/seats/P01/mcp", seconds=0.03)
            return waited.error, unheard.error, peer.requests

    *errors, requests = run(scenario())

    assert [(type(each), each.context["kind"]) for each in errors] == [
        (NoConnection, UNREACHABLE)
    ] * 2
    assert requests == [b"a"] * 3


def test_a_call_that_times_out_makes_room_for_the_next(run):
    async def script(line):
        body = await line.request()
        if body == b"b":
            await line.answer(b"b")
        await line.wait_for_end()

    async def scenario():
        async with server(script) as peer, Caller(connections_per_origin=1) as caller:
            first, _ = caller.start(peer.url, b"a", seconds=0.03)
            second, _ = caller.start(peer.url, b"b")
            return type((await first).error), (await second).body

    assert run(scenario()) == (NoAnswer, b"b")


def test_a_callback_may_post_again_on_the_same_connection(run):
    async def scenario():
        async with server(echo) as peer, Caller(connections_per_origin=1) as caller:
            loop = asyncio.get_running_loop()
            ended = loop.create_future()
            left = 10

            def done(answer):
                nonlocal left
                left -= 1
                if left:
                    caller.client.post(peer.url, b"x", loop.time() + 5, done)
                else:
                    ended.set_result(answer.status)

            caller.client.post(peer.url, b"x", loop.time() + 5, done)
            return await ended, peer.connections, len(peer.requests)

    assert run(scenario()) == (200, 1, 10)


# Cancelling and stopping.


def test_a_cancelled_call_is_never_told_and_its_connection_is_closed(run):
    async def scenario():
        async with server(silent) as peer, Caller() as caller:
            _, cancel = caller.start(peer.url)
            await peer.asked.wait()
            cancel()
            cancel()
            await peer.closed.get()
            return caller.told

    assert run(scenario()) == []


def test_a_call_may_be_cancelled_before_it_is_sent(run):
    async def scenario():
        async with server(echo) as peer, Caller(connections_per_origin=1) as caller:
            _, connecting = caller.start(peer.url, b"a")
            _, waiting = caller.start(peer.url, b"b")
            _, refused = caller.start("nonsense", b"c")
            _, late = caller.start(peer.url, b"d", seconds=-1)
            for cancel in (connecting, waiting, refused, late):
                cancel()
            await caller.post(peer.url, b"e")
            return [body for body, _ in caller.told], peer.requests

    assert run(scenario()) == ([b"e"], [b"e"])


def test_cancelling_after_the_answer_changes_nothing(run):
    async def scenario():
        async with server(echo) as peer, Caller() as caller:
            for _ in range(2):
                call, cancel = caller.start(peer.url)
                await call
                cancel()
            return peer.connections

    assert run(scenario()) == 1


def test_stop_fails_what_is_outstanding_and_what_comes_later(run):
    async def script(line):
        await line.request()
        await line.answer(b"")
        await line.request()
        outstanding.set()
        await line.wait_for_end()

    async def scenario():
        nonlocal outstanding
        outstanding = asyncio.Event()
        async with server(script) as peer, Caller(connections_per_origin=1) as caller:
            await caller.post(peer.url)
            sent, _ = caller.start(peer.url, b"a")
            waiting, _ = caller.start(peer.url, b"b")
            await outstanding.wait()
            connecting, _ = caller.start(f"http://localhost:{peer.port}/", b"c")
            await caller.client.stop()
            assert peer.connections == 1
            later = await caller.post(peer.url, b"d")
            await peer.closed.get()
            return [outcome(await call) for call in (sent, waiting, connecting)] + [outcome(later)]

    outstanding = None
    assert run(scenario()) == [BAD] * 4


# Ordered calls.


def test_ordered_calls_are_pipelined_and_answered_in_order(run):
    async def script(line):
        for number in [await line.request() for _ in range(32)]:
            await line.answer(number)
        await line.wait_for_end()

    async def scenario():
        async with server(script) as peer, Caller() as caller:
            calls = [caller.start(peer.url, b"%d" % n, ordered=True)[0] for n in range(32)]
            answers = [(await call).body for call in calls]
            return answers, peer.connections

    assert run(scenario()) == ([b"%d" % number for number in range(32)], 1)


def test_a_few_ordered_calls_go_on_one_connection_in_one_piece(run):
    async def script(line):
        come.set_result(await line.reader.read(65_536))
        await line.wait_for_end()

    async def scenario():
        nonlocal come
        come = asyncio.get_running_loop().create_future()
        async with server(script) as peer, Caller() as caller:
            for body in (b"a", b"b", b"c"):
                caller.start(peer.url, body, ordered=True)
            return (await come).count(b"POST "), peer.connections

    come = None
    assert run(scenario()) == (3, 1)


def test_answers_that_come_together_are_told_apart_wherever_they_are_cut(run):
    cuts = (1, 60, 80, 84, 85, 90, 200, 2_871, 2_872, 2_949, 2_954)
    bodies = [b"one", b"two" * 900, b"three"]
    plain = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"
    wire = b"".join(plain % (len(body), body) for body in bodies)

    def cut_at(cut):
        async def script(line):
            for _ in bodies:
                await line.request()
            line.writer.write(wire[:cut])
            await line.writer.drain()
            await asyncio.sleep(0.002)  # So that the rest comes by itself; it may come together.
            line.writer.write(wire[cut:])
            await line.wait_for_end()

        return script

    async def scenario():
        for cut in cuts:
            async with server(cut_at(cut)) as peer, Caller() as caller:
                calls = [caller.start(peer.url, b"?", ordered=True)[0] for _ in bodies]
                assert [(await call).body for call in calls] == bodies, cut

    run(scenario())


def test_more_answers_than_calls_end_an_ordered_connection(run):
    plain = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1\r\n\r\n"

    async def script(line):
        for _ in range(2):
            await line.request()
        line.writer.write((plain + b"x") * 3)
        await line.wait_for_end()

    async def scenario():
        async with server(script) as peer, Caller() as caller:
            calls = [caller.start(peer.url, b"?", ordered=True)[0] for _ in range(2)]
            answers = [outcome(await call) for call in calls]
            return answers, await peer.closed.get()

    answers, closed = run(scenario())
    assert closed == 1
    assert answers == [(200, b"x", NONE)] * 2


def test_a_call_that_is_given_up_before_it_goes_out_is_never_sent(run):
    async def scenario():
        async with server(echo) as peer, Caller() as caller:
            await caller.post(peer.url, b"0", ordered=True)
            _, cancel = caller.start(peer.url, b"1", ordered=True)
            cancel()
            await caller.post(peer.url, b"2", ordered=True)
            return peer.requests

    assert run(scenario()) == [b"0", b"2"]


def test_an_ordered_connection_takes_so_many_calls_and_no_more(run):
    async def script(line):
        while True:
            await line.request()

    async def scenario():
        async with server(script) as peer, Caller(pipelined=3) as caller:
            calls = [caller.start(peer.url, b"%d" % n, ordered=True)[0] for n in range(8)]
            ended = await caller.post(peer.url, b"9", seconds=0.05, ordered=True)
            assert not any(call.done() for call in calls)
            return type(ended.error), peer.requests, peer.connections

    assert run(scenario()) == (NoAnswer, [b"0", b"1", b"2"], 1)


def test_an_ordered_call_never_waits_behind_one_that_is_not_ordered(run):
    async def script(line):
        if await line.request() == b"ordered":
            await line.answer(b"at once")
        await line.wait_for_end()

    async def scenario():
        async with server(script) as peer, Caller() as caller:
            alone = [caller.start(peer.url, b"alone")[0] for _ in range(2)]
            answer = await caller.post(peer.url, b"ordered", ordered=True)
            return answer.body, [call.done() for call in alone]

    assert run(scenario()) == (b"at once", [False, False])


def test_a_connection_that_another_call_has_taken_is_no_longer_that_of_ordered_ones(run):
    async def script(line):
        while (said := await line.request()) != b"alone":
            await line.answer(said)
        await line.wait_for_end()

    async def scenario():
        async with server(script) as peer, Caller() as caller:
            await caller.post(peer.url, b"first", ordered=True)
            alone, _ = caller.start(peer.url, b"alone")
            answer = await caller.post(peer.url, b"second", ordered=True)
            return answer.body, alone.done(), peer.connections

    assert run(scenario()) == (b"second", False, 2)


def test_ordered_calls_to_one_url_never_wait_behind_those_to_another(run):
    async def script(line):
        if await line.request() == b"hangs":
            await line.wait_for_end()
        await line.answer(b"at once")
        await line.wait_for_end()

    async def scenario():
        async with server(script) as peer, Caller() as caller:
            hanging, _ = caller.start(peer.url, b"hangs", ordered=True)
            answer = await caller.post(f"{peer.url}/other", b"answers", ordered=True)
            return answer.body, hanging.done()

    assert run(scenario()) == (b"at once", False)


def test_a_timeout_on_an_ordered_connection_costs_its_neighbours_nothing(run):
    async def script(line):
        if line.number > 1:
            await echo(line)
        assert [await line.request() for _ in range(3)] == [b"slow", b"a", b"b"]
        await timed_out.wait()
        for body in (b"slow", b"a", b"b"):
            await line.answer(body)
        await line.wait_for_end()

    async def scenario():
        nonlocal timed_out
        timed_out = asyncio.Event()
        async with server(script) as peer, Caller(connections_per_origin=1) as caller:
            slow, _ = caller.start(peer.url, b"slow", seconds=0.05, ordered=True)
            neighbours = [caller.start(peer.url, body, ordered=True)[0] for body in (b"a", b"b")]
            assert type((await slow).error) is NoAnswer
            assert peer.requests == [b"slow", b"a", b"b"]
            after, _ = caller.start(peer.url, b"c", ordered=True)
            timed_out.set()
            bodies = [(await call).body for call in (*neighbours, after)]
            return bodies, await peer.closed.get(), peer.connections

    timed_out = None
    assert run(scenario()) == ([b"a", b"b", b"c"], 1, 2)


def test_ordered_calls_behind_the_last_answer_go_to_fresh_connections_in_order(run):
    async def script(line):
        body = await line.request()
        await line.send(OK + b"Connection: close\r\nContent-Length: 1\r\n\r\n" + body)

    async def scenario():
        async with server(script) as peer, Caller(connections_per_origin=2) as caller:
            bodies = [b"%d" % n for n in range(8)]
            calls = [caller.start(peer.url, body, ordered=True)[0] for body in bodies]
            answers = [(await call).body for call in calls]
            return answers == [body for body, _ in caller.told] == peer.requests == bodies

    assert run(scenario())


# Where the client does not go.


def test_a_redirect_is_an_answer_and_nothing_is_sent_on(run):
    async def scenario():
        async with server(echo) as attacker:
            redirect = (
                b"HTTP/1.1 307 Go\r\nLocation: %b\r\nContent-Length: 0\r\n\r\n"
                % attacker.url.encode()
            )
            async with server(answering(redirect, None, False)) as peer, Caller() as caller:
                answer = await caller.post(peer.url, b'{"auth_token":"secret"}')
            return answer.status, attacker.connections

    assert run(scenario()) == (307, 0)


def test_who_answers_no_connection_could_not_be_reached_and_who_closes_it_could(run, monkeypatch):
    async def unanswered(*about):
        await asyncio.Event().wait()

    async def closing(line):
        await line.request()

    async def scenario():
        async with server(closing) as peer, Caller() as caller:
            closed = await caller.post(peer.url)
            monkeypatch.setattr(guard.Dialer, "_connect", unanswered)
            monkeypatch.setattr(guard, "_LAST_SECONDS", 0.01)
            return closed.error, (await caller.post(peer.url, seconds=60)).error

    closed, unreached = run(scenario())
    assert (type(closed), closed.context["kind"]) == (NoConnection, "closed")
    assert (type(unreached), unreached.context["kind"]) == (NoConnection, "unreachable")


def test_proxies_of_the_environment_are_ignored(run, monkeypatch):
    async def scenario():
        async with server(echo) as proxy, server(echo) as peer, Caller() as caller:
            for name in ("http_proxy", "HTTP_PROXY", "https_proxy", "all_proxy", "ALL_PROXY"):
                monkeypatch.setenv(name, f"http://127.0.0.1:{proxy.port}")
            return (await caller.post(peer.url)).status, proxy.connections

    assert run(scenario()) == (200, 0)


def test_a_name_is_judged_by_what_it_means_at_each_connection(run):
    async def resolve(host, port, **_):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (addresses.pop(0), port))]

    async def script(line):
        await line.request()
        await line.send(OK + b"Connection: close\r\nContent-Length: 0\r\n\r\n")

    async def scenario():
        async with server(script) as peer, Caller(resolve=resolve) as caller:
            url = f"http://rebinding.example:{peer.port}/"
            Guard().check_url(url)
            answers = [await caller.post(url) for _ in range(3)]
            return [(each.status, type(each.error)) for each in answers], peer.connections

    addresses = ["127.0.0.1", "169.254.169.254", "0.0.0.0"]
    assert run(scenario()) == ([(200, NONE), (0, NoConnection), (0, NoConnection)], 1)


@pytest.mark.parametrize("url", ["http://10.0.0.1/", "http://u@127.0.0.1/", "nonsense", ""])
def test_a_url_that_is_not_allowed_gets_nothing_sent(run, url):
    async def scenario():
        async with Caller() as caller:
            return outcome(await caller.post(url))

    assert run(scenario()) == BAD


def test_a_name_that_no_resolver_can_take_is_no_connection(run):
    async def scenario():
        async with Caller() as caller:
            return outcome(await caller.post("http://" + "a" * 70 + ".example/"))

    assert run(scenario()) == BAD


# TLS.


@pytest.fixture(scope="module")
def certificate(tmp_path_factory):
    """A self-signed certificate and key for 127.0.0.1, in one file."""
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("openssl is not installed")
    folder = tmp_path_factory.mktemp("tls")
    command = (
        "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2 -subj /CN=x"
    )
    files = ["-addext", "subjectAltName=IP:127.0.0.1", "-keyout", "key.pem", "-out", "cert.pem"]
    subprocess.run([openssl, *command.split(), *files], cwd=folder, check=True, capture_output=True)
    (folder / "both.pem").write_bytes(
        (folder / "key.pem").read_bytes() + (folder / "cert.pem").read_bytes()
    )
    return folder


def serving_tls(folder):
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(folder / "both.pem")
    return context


def test_https_with_an_unknown_certificate_is_no_connection(run, certificate):
    async def scenario():
        async with server(echo, tls=serving_tls(certificate)) as peer, Caller() as caller:
            answer = await caller.post(peer.url)
            assert "its certificate is not trusted" in str(answer.error)
            return outcome(answer), peer.requests

    assert run(scenario()) == (BAD, [])


def test_https_with_a_trusted_certificate_works_and_is_reused(run, certificate, monkeypatch):
    monkeypatch.setenv("SSL_CERT_FILE", str(certificate / "cert.pem"))

    async def scenario():
        async with server(echo, tls=serving_tls(certificate)) as peer, Caller() as caller:
            answers = [await caller.post(peer.url, body) for body in (b"a", b"b")]
            wrong_name = await caller.post(f"https://localhost:{peer.port}/")
            assert "its certificate is not trusted" in str(wrong_name.error)
            return [answer.body for answer in answers], peer.requests

    assert run(scenario()) == ([b"a", b"b"], [b"a", b"b"])


# Whatever comes.

PIECES = st.sampled_from(
    [part for data, _, _ in ANSWERS.values() for part in data[:400].splitlines(keepends=True)]
    + [
        OK,
        b"\r\n",
        b"Content-Length: 3\r\n\r\n",
        b"Transfer-Encoding: chunked\r\n\r\n",
        b"0\r\n\r\n",
    ]
)
WHATEVER = st.binary(max_size=200) | st.lists(PIECES | st.binary(max_size=8), max_size=12).map(
    b"".join
)


SHARED = st.booleans()


@settings(max_examples=examples(150))
@given(data=WHATEVER, piece=st.integers(1, 50), calls=st.integers(1, 3), ordered=SHARED)
@example(data=OK + b"\r\n" + OK, piece=7, calls=3, ordered=True)
def test_whatever_comes_each_call_is_told_exactly_once(data, piece, calls, ordered):
    complaints = []

    async def scenario():
        loop = asyncio.get_running_loop()
        loop.set_exception_handler(lambda _, context: complaints.append(context))
        async with server(answering(data, piece, True)) as peer:
            caller = Caller(connections_per_origin=1)
            started = [caller.start(peer.url, b"%d" % n, ordered=ordered)[0] for n in range(calls)]
            answers = [await call for call in started]
            await caller.client.stop()
            for answer in answers:
                assert (answer.status == 0) == (answer.error is not None)
                assert len(answer.body) <= 10_240
            return len(caller.told)

    assert asyncio.run(asyncio.wait_for(scenario(), 10)) == calls
    assert not complaints


@pytest.mark.parametrize("answer", [b"", b"???", OK + b"Content-Encoding: gzip\r\n\r\n"])
def test_a_connection_that_failed_is_freed_without_the_collector(run, answer):
    async def script(line):
        await line.request()
        await line.send(answer)

    async def scenario():
        async with Caller() as caller, server(script) as peer:
            gc.collect()
            gc.disable()
            try:
                for _ in range(20):
                    assert isinstance((await caller.post(peer.url)).error, NoConnection)
                alive = sum(isinstance(each, Connection) for each in gc.get_objects())
            finally:
                gc.enable()
            return alive

    assert run(scenario()) <= 3  # The last ones are still being closed.


def test_the_session_of_an_mcp_server_is_told_with_its_answer(run):
    async def script(line):
        await line.request()
        await line.send(OK + b"mcp-session-id: abc\r\nContent-Length: 2\r\n\r\n{}")
        await line.request()
        await line.answer(b"{}")

    async def scenario():
        async with server(script) as peer, Caller() as caller:
            return [(await caller.post(peer.url)).session for _ in range(2)]

    assert run(scenario()) == ["abc", ""]
