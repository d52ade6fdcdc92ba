"""Bytes to the HTTP server: the same answers however they are cut, and a good peer is served."""

from collections.abc import Sequence
from itertools import pairwise
from random import Random
from zlib import crc32

from agentleague.transport.event_loop import WriteBatching
from agentleague.transport.http_server import (
    HttpRequest,
    HttpServer,
    Response,
    ServerLimits,
    _Connection,
)
from fuzz.complaints import no_complaints
from fuzz.loop import StillLoop, Wire
from fuzz.seeds import STREAMS, posted

SEEDS = STREAMS
STATUSES = {200, 400, 403, 404, 405, 408, 413, 415, 431}
CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
LIMITS = ServerLimits(body_bytes=1_000, header_bytes=2_000, pipelined=8)


class Service:
    """One server that lives as long as the run, with answers that come at once or later."""

    def __init__(self) -> None:
        self.loop, self.held = StillLoop(), list[tuple[Response, bytes]]()
        self.server = HttpServer(
            self._on_request, refusal=lambda error: error.name.encode(), limits=LIMITS
        )
        self.server.loop = self.loop  # type: ignore[assignment]
        self.server.batching = WriteBatching(self.loop)  # type: ignore[arg-type]

    def talk(self, pieces: Sequence[bytes]) -> bytes:
        """All that is answered to these bytes, but for the permission to go on."""
        wire, connection = Wire(), _Connection(self.server)
        connection.connection_made(wire)
        for piece in pieces:
            # A loop reads nothing for a connection that asked it not to.
            connection.data_received(piece)
            while wire.is_paused and self.held:
                self._release()
        while self.held:
            self._release()
        if not connection.eof_received() and not wire.is_closed:
            wire.close()
        self.loop.advance(40.0)
        assert wire.is_closed or not connection._waiting, "somebody waits for ever"
        connection.connection_lost(None)
        assert not self.server._connections
        return wire.sent.replace(CONTINUE, b"")

    def _on_request(self, request: HttpRequest, respond: Response) -> None:
        assert len(request.body) <= LIMITS.body_bytes
        assert request.path in ("/mcp", "/")
        if crc32(request.body) % 3 == 0:
            self.held.append((respond, request.body))
        else:
            respond(200, request.body)

    def _release(self) -> None:
        """The last one first: the order of the answers is the server's affair."""
        held, self.held = self.held, []
        for respond, body in reversed(held):
            respond(200, body)
        self.loop.settle()


SERVICE = Service()


def one(data: bytes) -> None:
    """Whole, again with heads that are known by now, cut anywhere, and byte by byte."""
    with no_complaints():
        _talk(data)


def _talk(data: bytes) -> None:
    whole = SERVICE.talk([data])
    check_answers(whole)
    assert SERVICE.talk([data]) == whole
    rng = Random(crc32(data))
    bounds = [0, *sorted(rng.randint(0, len(data)) for _ in range(3)), len(data)]
    pieces = [data[start:end] for start, end in pairwise(bounds)]
    assert _same(SERVICE.talk(pieces), whole)
    if len(data) < 300:
        assert _same(SERVICE.talk([data[n : n + 1] for n in range(len(data))]), whole)
    assert SERVICE.talk([posted(b"well")]).endswith(b"\r\n\r\nwell")
    assert len(SERVICE.server.checks.heads) <= 1_024


def _same(some: bytes, others: bytes) -> bool:
    """Whether the answers are alike, but for what is too long.

    The limit on padding (long heads, chunk extensions, trailers) is looked at after each slice of
    16 KB: by how much came at once the same request is refused as too long, refused for another
    fault, or served, and after a refusal nothing more is.
    """
    (before, last), (before_other, last_other) = _refusal(some), _refusal(others)
    if any(status in (b"413", b"431") for status in (last, last_other)):
        return before.startswith(before_other) or before_other.startswith(before)
    return (before, last) == (before_other, last_other)


def _refusal(sent: bytes) -> tuple[bytes, bytes]:
    """The answers before the refusal that ended the connection, and its status, if there is one."""
    before, _, last = sent.rpartition(b"HTTP/1.1 ")
    is_refusal = last[:1] == b"4" and b"\r\nConnection: close\r\n" in last
    return (before, last[:3]) if is_refusal else (sent, b"")


def check_answers(sent: bytes) -> None:
    """Each is whole and of a known kind, and they follow one another without a gap."""
    while sent:
        head, end, rest = sent.partition(b"\r\n\r\n")
        assert end, "half a head"
        line, *fields = head.split(b"\r\n")
        assert int(line.split(b" ")[1]) in STATUSES, line
        length = next(int(f[16:]) for f in fields if f.startswith(b"Content-Length: "))
        # An answer to HEAD has a length and no body: what follows is the next answer, or nothing.
        is_bodiless = not rest or rest.startswith(b"HTTP/1.1 ")
        sent = rest if is_bodiless else rest[length:]
