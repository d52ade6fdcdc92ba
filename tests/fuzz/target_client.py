"""Bytes to the HTTP client: each call is told exactly once, and within its limits."""

import asyncio
from collections import deque
from random import Random
from zlib import crc32

from agentleague.transport.guard import Endpoint, Guard
from agentleague.transport.http_client import ClientLimits, HttpAnswer, HttpClient, Post, request_of
from agentleague.transport.http_connection import Connection
from fuzz.loop import StillLoop, Wire
from fuzz.seeds import HTTP_ANSWERS

SEEDS = HTTP_ANSWERS
LIMITS = ClientLimits(body_bytes=1_000, header_bytes=2_000, connections_per_origin=2)


class Peer:
    """Stands for the dialer: each connection is made at once, and answered with the same bytes."""

    def __init__(self) -> None:
        self.reached: deque[tuple[Connection, Wire]] = deque()
        self.unsent = 0

    async def dial(self, endpoint: Endpoint, protocol: Connection) -> None:
        wire = Wire(unsent=self.unsent)
        self.reached.append((protocol, wire))
        protocol.connection_made(wire)


def one(data: bytes) -> None:
    """One to five calls, ordered or not; the bytes come in pieces, then perhaps an end."""
    rng = Random(crc32(data))
    loop = StillLoop()
    asyncio._set_running_loop(loop)  # type: ignore[arg-type]
    try:
        _talk(data, rng, loop)
    finally:
        asyncio._set_running_loop(None)


def _talk(data: bytes, rng: Random, loop: StillLoop) -> None:
    client, peer = HttpClient(Guard(), limits=LIMITS), Peer()
    client._dialer = peer  # type: ignore[assignment]
    peer.unsent = rng.choice((0, 0, 0, 5))
    told: dict[int, HttpAnswer] = {}
    cancels = []
    calls = rng.randint(1, 5)
    for number in range(calls):

        def done(answer: HttpAnswer, number: int = number) -> None:
            assert number not in told, "told twice"
            told[number] = answer

        ordered = rng.random() < 0.5
        url = "http://127.0.0.1:8101/mcp"
        until = loop.time() + 5.0
        call = Post(request=request_of(b"{}"), until=until, done=done, ordered=ordered)
        client.send(url, (call,))
        cancels.append(call.cancel)
    loop.settle()
    cancelled = rng.randrange(calls) if rng.random() < 0.2 else None
    if cancelled is not None:
        cancels[cancelled]()
    _answer(data, rng, peer, loop)
    loop.advance(30.0)
    assert not any(origin.waiting for origin in client._origins.values())
    wanted = set(range(calls)) - ({cancelled} if cancelled not in told else set())
    assert set(told) == wanted, "not told"
    for answer in told.values():
        assert (answer.status == 0) == (answer.error is not None)
        assert len(answer.body) <= LIMITS.body_bytes
        assert answer.retry_after is None or 0 <= answer.retry_after <= 60
        assert len(str(answer.error)) < 500
    assert not any(origin.connections for origin in client._origins.values())


def _answer(data: bytes, rng: Random, peer: Peer, loop: StillLoop) -> None:
    for _ in range(20):  # A client that dials for ever would be caught by what is asserted.
        if not peer.reached:
            return
        protocol, wire = peer.reached.popleft()
        at = 0
        while at < len(data) and not wire.is_closed:
            size = rng.choice((1, 7, 100, 5_000))
            protocol.data_received(data[at : at + size])
            at += size
            loop.settle()
        if not wire.is_closed and rng.random() < 0.5:
            protocol.eof_received()
        if wire.is_closed or rng.random() < 0.7:
            wire.close()
            protocol.connection_lost(None)
        loop.settle()
