"""The HTTP/1.1 server of an agent: small JSON POSTs in, answers out in the order of the requests.

`httptools` reads the bytes; this file adds what a parser cannot: limits on bytes, seconds and
connections, checks that keep browsers and foreign names out, and the order of the answers. No
task or timer per request: `on_request` runs inside `data_received`, one sweep sees to deadlines.
"""

import asyncio
import errno
import logging
from collections import Counter, deque
from collections.abc import Callable, Collection, Sequence
from functools import partial
from math import inf
from typing import NamedTuple, Protocol, cast

from agentleague import errors
from agentleague.protocol.hosts import is_loopback
from agentleague.transport.http_reader import Exchange, Headers, Reader, Refused, Rules
from agentleague.transport.http_reader import ServerLimits as ServerLimits
from agentleague.transport.listening import BACKLOG, descriptors, listen
from agentleague.transport.write_batching import WriteBatching

log = logging.getLogger(__name__)
_START_ATTEMPTS = 16
_NEAR = "this machine"
_SLICE_BYTES = 16_384  # Read at once: a whole message of 10 KB, head and all.


class HttpRequest(NamedTuple):
    """A POST that passed every check of the server; `source` is the peer's IP address."""

    path: str
    body: bytes
    source: str


class Respond(Protocol):
    """Answers one request, exactly once, now or later; or drops its peer instead."""

    def __call__(self, status: int, body: bytes, extra_headers: Headers = (), /) -> None: ...

    def drop(self) -> None: ...


class HttpServer:
    """Listens with one port on several addresses and hands each good POST to `on_request`."""

    def __init__(
        self,
        on_request: Callable[[HttpRequest, Respond], None],
        *,
        refusal: Callable[[errors.LeagueError], bytes],
        paths: frozenset[str] = frozenset({"/mcp", "/"}),
        names: frozenset[str] = frozenset(),
        limits: ServerLimits = ServerLimits(),  # noqa: B008 (It is frozen.)
    ) -> None:
        self.on_request, self.refusal, self.limits = on_request, refusal, limits
        self.refusal_delay: Callable[[str], float] = lambda source: (
            0.0
        )  # How long our own answers wait.
        self.rules = Rules(limits, paths, names)
        self.stopping = False
        self.loop: asyncio.AbstractEventLoop
        self.batching: WriteBatching
        self._connections_max = min(limits.connections, descriptors() // 2)
        most = self._connections_max - self._connections_max // 4
        self._near_max = min(limits.connections_of_loopback, most)
        self._connections: set[_Connection] = set()
        self._of: Counter[str] = Counter()  # How many connections whom.
        self._held = 0
        self._listeners: list[asyncio.Server] = []
        self._sweep_seconds = min(0.25, limits.request_seconds / 4, limits.idle_seconds / 4)
        self._sweep_timer: asyncio.TimerHandle | None = None
        self._drained: asyncio.Future[None] | None = None

    async def start(self, hosts: Sequence[str], port: int) -> int:
        """Listen on each host that this machine has, all with the same port, and return the port.

        Raises: OSError when the port is busy or the machine has none of the hosts.
        """
        self.loop = asyncio.get_running_loop()
        self.batching = WriteBatching(self.loop)
        for attempts_left in reversed(range(_START_ATTEMPTS)):
            try:
                sockets = await listen(hosts, port)
                break
            except OSError as error:
                # A port that the system picked for one host may be busy on the next: pick again.
                if port or error.errno != errno.EADDRINUSE or not attempts_left:
                    raise
        for sock in sockets:
            listener = self.loop.create_server(
                lambda: _Connection(self), sock=sock, backlog=BACKLOG
            )
            self._listeners.append(await listener)
        return cast(int, sockets[0].getsockname()[1])

    async def stop(self, seconds: float = 5.0) -> None:
        """Accept no more, let answers in flight go out, close the rest when the time is over."""
        self.stopping = True
        for listener in self._listeners:
            listener.close()
        for connection in tuple(self._connections):
            if connection.is_idle:
                connection.close()
        if self._connections:
            self._drained = self.loop.create_future()
            await asyncio.wait([self._drained], timeout=seconds)
        for connection in tuple(self._connections):
            connection.abort()
        if self._sweep_timer is not None:
            self._sweep_timer.cancel()
        await asyncio.sleep(0)  # The loop closes the sockets of aborted connections one turn later.

    def admit(self, connection: "_Connection") -> bool:
        """Count a new connection; over a limit, close the longest idle one for it or say no."""
        whose, fits = connection.whose, True
        limit = self._near_max if whose == _NEAR else self.limits.connections_per_source
        if self._of[whose] >= limit:
            fits = _make_room([c for c in self._connections if c.whose == whose], limit)
        fits = fits and _make_room(self._connections, self._connections_max)
        self._connections.add(connection)
        self._of[whose] += 1
        if self._sweep_timer is None:
            self._sweep_timer = self.loop.call_later(self._sweep_seconds, self._sweep)
        return fits

    def forget(self, connection: "_Connection") -> None:
        """Count a connection no longer; it may be forgotten already."""
        if connection in self._connections:
            self._connections.discard(connection)
            self._of[connection.whose] -= 1
            if not self._of[connection.whose]:
                del self._of[connection.whose]
        if self._drained and not self._connections and not self._drained.done():
            self._drained.set_result(None)

    def hold(self, seconds: float, tell: Callable[[], None], drop: Callable[[], None]) -> None:
        """Tell a refusal later; where too many wait already, drop whoever it is for."""
        if not seconds:
            tell()
        elif self._held >= self.limits.held:
            drop()
        else:
            self._held += 1
            self.loop.call_later(seconds, self._tell, tell)

    def _tell(self, tell: Callable[[], None]) -> None:
        self._held -= 1
        tell()

    def _sweep(self) -> None:
        now = self.loop.time()
        for connection in tuple(self._connections):
            if connection.deadline <= now:
                connection.expire()
        self._sweep_timer = None
        if self._connections:
            self._sweep_timer = self.loop.call_later(self._sweep_seconds, self._sweep)


class _Connection(asyncio.Protocol):
    """The exchanges of one peer, and a deadline for what the peer must do next."""

    def __init__(self, server: HttpServer) -> None:
        self.source = self.whose = ""  # Its address; all of this machine are one peer.
        self.deadline = 0.0  # 0 while it must be set anew, infinite while the peer owes us nothing.
        self._server, self._limits = server, server.limits
        self._reader = Reader(server.rules)
        self._waiting: deque[Exchange] = deque()  # In the order of the requests.
        self._unread = b""  # Received, but not yet given to the reader.
        self._reading = self._paused = self._peer_is_slow = self._eof = self._closing = False
        self._corked = False  # Answers go out at the end of this turn.

    @property
    def is_idle(self) -> bool:
        return not self._reader.begun and not self._waiting

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.source = (transport.get_extra_info("peername") or ("",))[0]
        self.whose = _NEAR if is_loopback(self.source) else self.source
        if not self._server.admit(self):
            busy = errors.RateLimited("This server has too many connections.", retry_after=1)
            self._fail(Refused(503, busy, [("Retry-After", "1")]))
        elif self._server.stopping:
            self.close()
        self.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self._reader.close()
        self._waiting.clear()
        self._server.forget(self)

    def data_received(self, data: bytes) -> None:
        self._reading = True
        if self._unread or len(data) > _SLICE_BYTES or self._is_blocked():
            self._unread += data
            while self._unread and not self._is_blocked():
                piece, self._unread = self._unread[:_SLICE_BYTES], self._unread[_SLICE_BYTES:]
                self._read(piece)
        else:
            self._read(data)
        self._reading = False
        self._settle()

    def _read(self, piece: bytes) -> None:
        complete = self._reader.complete
        refused = self._reader.feed(piece)
        for exchange in complete:
            self._hand_over(exchange)
        complete.clear()
        if refused is not None and not self._peer_is_slow:
            self._fail(refused, self._server.refusal_delay(self.source))
        self._write()

    def eof_received(self) -> bool:
        self._eof = True
        self._reader.end()
        self._settle()
        return bool(self._waiting)

    def pause_writing(self) -> None:
        self._peer_is_slow = True
        self.deadline = self._server.loop.time() + self._limits.idle_seconds
        self._settle()

    def resume_writing(self) -> None:
        self._peer_is_slow, self.deadline = False, 0.0
        self._settle()

    def expire(self) -> None:
        """Do what must be done when the deadline has passed."""
        if self._reader.begun and not self._peer_is_slow:
            self._fail(Refused(408, errors.NoAnswer("The request did not arrive in time.")))
            self.flush()
        else:
            self.abort()

    def abort(self) -> None:
        """Close at once, whatever is on its way."""
        self._reader.end()
        self._waiting.clear()
        self._server.forget(self)
        self._transport.abort()

    def drop(self) -> None:
        """Forget it, read no more, close later: who is closed at once comes back at once."""
        self._reader.end()
        self._reader.complete.clear()  # Whoever hands them over has none left.
        self._waiting.clear()
        self._unread, self._peer_is_slow = b"", True
        self.deadline = self._server.loop.time() + self._limits.request_seconds

    def close(self) -> None:
        """Close when what is written has gone out."""
        self._reader.end()
        self._closing, self.deadline = True, 0.0
        self._transport.close()

    def flush(self) -> None:
        """Send each answer whose turn has come: where others wait too, at the end of this turn."""
        if self._reading or self._corked:
            return
        if len(self._waiting) > 1:
            self._corked = True
            self._server.batching.later(self._pull)
        else:
            self._write()
            self._settle()

    def _pull(self) -> None:
        self._corked = False
        self._write()
        self._settle()

    def _hand_over(self, exchange: Exchange) -> None:
        exchange.peer = self
        body, exchange.body = exchange.body, b""  # Its answer may wait, and needs it no more.
        self._waiting.append(exchange)
        if exchange.refused is not None:
            self._refuse(exchange, exchange.refused, self._server.refusal_delay(self.source))
            return
        if exchange.answer is not None:  # Whether we are well is never answered late.
            return
        try:
            request = HttpRequest(exchange.path, body, self.source)
            self._server.on_request(request, exchange)
        except Exception:
            log.exception("A request to %s failed.", exchange.path)
            if exchange.answer is None:
                exchange(500, self._server.refusal(errors.InternalError("Our own fault.")))

    def _fail(self, refused: "Refused", seconds: float = 0.0) -> None:
        self._reader.end()
        exchange = Exchange("", b"")
        exchange.peer = self
        self._waiting.append(exchange)
        self._refuse(exchange, refused, seconds)

    def _refuse(self, exchange: Exchange, refused: "Refused", seconds: float) -> None:
        body = self._server.refusal(refused.error)
        tell = partial(exchange, refused.status, body, refused.headers)
        self._server.hold(seconds, tell, self.drop)

    def _write(self) -> None:
        reader, waiting, ready, is_last = self._reader, self._waiting, [], False
        is_final = reader.ended or (self._server.stopping and not reader.begun)
        while waiting and waiting[0].answer is not None:
            exchange = waiting.popleft()
            is_last = is_final and not waiting
            ready.append(exchange.wire(is_last))
        if reader.continue_due and not waiting:
            reader.continue_due = False
            ready.append(b"HTTP/1.1 100 Continue\r\n\r\n")
        if ready and not self._transport.is_closing():
            self._transport.write(b"".join(ready))
        if is_last:
            self._finish()

    def _finish(self) -> None:
        if self._eof or self._server.stopping:
            self.close()
        elif not self._transport.is_closing():
            # Closing on unread bytes may destroy our answer: say that we are done, then read on.
            self._closing, self.deadline = True, 0.0
            self._transport.write_eof()

    def _is_blocked(self) -> bool:
        return self._peer_is_slow or len(self._waiting) >= self._limits.pipelined

    def _settle(self) -> None:
        """Decide whether to read on, and until when the peer must have done something."""
        reader = self._reader
        is_held = self._waiting or self._paused or self._peer_is_slow or self._closing
        if is_held or reader.begun or not reader.moved:
            self._weigh()
        else:  # As nearly always: all is read and answered.
            self.deadline = self._server.loop.time() + self._limits.idle_seconds
        reader.moved = False

    def _weigh(self) -> None:
        reader = self._reader
        if self._is_blocked():
            if not self._paused and not self._transport.is_closing():
                self._paused = True
                self._transport.pause_reading()
        elif self._paused:
            self._server.loop.call_soon(self._read_on)
        if self._peer_is_slow:
            return
        if self._waiting and (self._paused or not reader.begun):
            self.deadline = inf
        elif reader.moved or self.deadline in (0.0, inf):
            is_due = reader.begun or self._closing
            seconds = self._limits.request_seconds if is_due else self._limits.idle_seconds
            self.deadline = self._server.loop.time() + seconds

    def _read_on(self) -> None:
        if self._paused and not self._is_blocked() and not self._transport.is_closing():
            self._paused = False
            self._transport.resume_reading()
            self.data_received(b"")


def _make_room(connections: Collection[_Connection], limit: int) -> bool:
    excess = len(connections) + 1 - limit
    if excess <= 0:
        return True
    idle = sorted((c for c in connections if c.is_idle), key=lambda c: c.deadline)
    for connection in idle[:excess]:
        connection.abort()
    return len(idle) >= excess
