"""The HTTP/1.1 server of an agent: small JSON POSTs in, answers out in the order of the requests.

`http_parsers` reads the bytes; this file adds what a parser cannot: limits on bytes, seconds and
connections, checks that keep browsers and foreign names out, and the order of the answers. No
task or timer per request: `on_request` runs inside `data_received`, one sweep sees to deadlines.
"""

import asyncio
import errno
import logging
import socket
from collections import OrderedDict, deque
from collections.abc import Callable, Collection, Sequence
from contextlib import ExitStack, suppress
from functools import partial
from math import inf
from typing import cast

from agentleague import errors
from agentleague.protocol.hosts import is_loopback
from agentleague.roles.stimuli import Headers, write_headers
from agentleague.roles.tally import Times
from agentleague.transport.event_loop import WriteBatching, descriptors
from agentleague.transport.http_reader import Reader, RequestChecks, ServerLimits
from agentleague.transport.http_response import Handler, HttpRequest, Refused, Response

__all__ = ["HttpRequest", "HttpServer", "Response", "ServerLimits"]

log = logging.getLogger(__name__)
Health = Callable[[], tuple[int, bytes, Headers]]  # how `/health` is answered
_START_ATTEMPTS = 16
_NEAR = "this machine"
_SLICE_BYTES = 16_384  # Read at once: a whole message of 10 KB, head and all.


class HttpServer:
    """Listens with one port on several addresses and hands each good POST to `on_request`."""

    def __init__(
        self,
        on_request: Handler,
        *,
        refusal: Callable[[errors.LeagueError], bytes],
        paths: frozenset[str] = frozenset({"/mcp", "/"}),
        names: frozenset[str] = frozenset(),
        limits: ServerLimits = ServerLimits(),  # noqa: B008 (It is frozen.)
    ) -> None:
        self.refusal, self.limits = refusal, limits
        # How long our own answers wait.
        self.refusal_delay: Callable[[str], float] = lambda source: 0.0
        # Whether many come from one address: it may have as many connections as this machine.
        self.is_proxy: Callable[[str], bool] = lambda source: False
        self.checks = RequestChecks(limits, names)
        self.health: Health = lambda: (200, b'{"status":"ok"}', ())
        self.route("/health", ("GET",), lambda request, respond: respond(*self.health()))
        for path in paths:
            self.route(path, ("POST",), on_request)
        self.stopping = False
        self.loop: asyncio.AbstractEventLoop
        self.batching: WriteBatching
        self._connections_max = min(limits.connections, descriptors() // 2)
        most = self._connections_max - self._connections_max // 4
        self._near_max = min(limits.connections_of_loopback, most)
        self._connections: set[_Connection] = set()
        self._all = _Group(self._connections_max)
        self._of: dict[str, _Group] = {}  # The connections of each peer.
        self._held = 0
        self.answers: dict[int, int] = {}  # by status, so far
        self.bytes_in = self.bytes_out = self.dropped = 0
        self.lag = Times()  # how late the sweeps were: the event loop had other work
        self._busy = (-1, b"")  # The second in which it was written, and the answer.
        self._listeners: list[asyncio.Server] = []
        self._sweep_seconds = min(0.25, limits.request_seconds / 4, limits.idle_seconds / 4)
        self._sweep_timer: asyncio.TimerHandle | None = None
        self._drained: asyncio.Future[None] | None = None

    def route(self, path: str, methods: Collection[str], handler: Handler) -> None:
        """Let this handler answer a path, or all that begin like it if it ends with `*`."""
        self.checks.route(path, methods, handler)

    async def start(self, hosts: Sequence[str], port: int) -> int:
        """Listen on each host that this machine has, all with one port, and return the port."""
        for attempts_left in reversed(range(_START_ATTEMPTS)):
            try:
                sockets = await listen(hosts, port)
                break
            except OSError as error:
                # A port that the system picked for one host may be busy on the next: pick again.
                if port or error.errno != errno.EADDRINUSE or not attempts_left:
                    raise
        await self.serve(sockets)
        return cast(int, sockets[0].getsockname()[1])

    async def serve(self, sockets: Sequence[socket.socket]) -> None:
        """Take the connections of sockets that listen already, maybe for other processes too."""
        self.loop = asyncio.get_running_loop()
        self.batching = WriteBatching(self.loop)
        for sock in sockets:
            listener = self.loop.create_server(
                lambda: _Connection(self), sock=sock, backlog=BACKLOG
            )
            self._listeners.append(await listener)

    def handle(self, request: HttpRequest, respond: Response) -> None:
        """Answer, by the routes of this server, a request that another server took."""
        self.loop, respond.counts = asyncio.get_running_loop(), self.answers
        try:
            handler = self.checks.find_handler(request.path, request.method)
        except Refused as refused:
            tell = partial(respond, refused.status, self.refusal(refused.error), refused.headers)
            self.hold(self.refusal_delay(request.source), tell, respond.drop)
        else:
            handler(request, respond)

    async def stop(self, seconds: float = 5.0) -> None:
        """Accept no more, let answers in flight go out, close the rest when the time is over."""
        self.stopping = True
        await self._stop_listening()
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

    async def _stop_listening(self) -> None:
        """Before Python 3.13 a connection that is just being accepted is lost by `close`."""
        for listener in self._listeners:
            for sock in listener.sockets:
                with suppress(NotImplementedError):  # Windows accepts in one turn.
                    self.loop.remove_reader(sock.fileno())
        await asyncio.sleep(0)  # It belongs to the listener.
        await asyncio.sleep(0)  # It is one of our connections.
        for listener in self._listeners:
            listener.close()

    def admit(self, connection: "_Connection") -> bool:
        """Count a new connection; over a limit, close the longest idle one for it or say no."""
        own = self._group_of(connection.whose)
        fits = own.make_room() and self._all.make_room()
        self._connections.add(connection)
        self._all.size += 1
        self._join(connection, own)
        if self._sweep_timer is None:
            self._sweep_later()
        return fits

    def forget(self, connection: "_Connection") -> None:
        """Count a connection no longer; it may be forgotten already."""
        self._connections.discard(connection)
        for group in connection.groups:
            group.size -= 1
            group.resting.pop(connection, None)
            if not group.size:
                self._of.pop(connection.whose, None)
        connection.groups = ()
        if self._drained and not self._connections and not self._drained.done():
            self._drained.set_result(None)

    def _group_of(self, whose: str) -> "_Group":
        if whose in self._of:
            return self._of[whose]
        is_many = whose == _NEAR or self.is_proxy(whose)
        return _Group(self._near_max if is_many else self.limits.connections_per_source)

    def _join(self, connection: "_Connection", own: "_Group") -> None:
        own.size += 1
        self._of[connection.whose], connection.groups = own, (own, self._all)

    def exempt(self, connection: "_Connection") -> None:
        """Count a connection among all, and not among those of its peer until `readmit`."""
        if self._all in connection.groups[1:]:
            own = connection.groups[0]
            own.size -= 1
            own.resting.pop(connection, None)
            connection.groups = (self._all,)
            if not own.size:
                del self._of[connection.whose]

    def readmit(self, connection: "_Connection") -> None:
        """Count it among those of its peer again, who may have more than it may for a while."""
        self._join(connection, self._group_of(connection.whose))

    def busy(self, connection: "_Connection") -> bytes:
        """The answer to a connection that finds no room; written once a second, as it tells it."""
        second = int(self.loop.time())
        self.answers[503] = self.answers.get(503, 0) + 1
        if self._busy[0] != second:
            error = errors.RateLimited("This server has too many connections.", retry_after=1)
            headers = write_headers([("Retry-After", "1")])
            response = Response(connection, answer=(503, self.refusal(error), headers))
            self._busy = (second, response.wire(is_last=True))
        return self._busy[1]

    def hold(self, seconds: float, tell: Callable[[], None], drop: Callable[[], None]) -> None:
        """Tell a refusal later; where too many wait already, drop the connection."""
        if not seconds:
            tell()
        elif self._held >= self.limits.held:
            self.dropped += 1
            drop()
        else:
            self._held += 1
            self.loop.call_later(seconds, self._tell, tell)

    def _tell(self, tell: Callable[[], None]) -> None:
        self._held -= 1
        tell()

    def _sweep(self) -> None:
        now = self.loop.time()
        if self._sweep_timer:
            self.lag.add(max(0.0, now - self._sweep_timer.when()))
        for connection in tuple(self._connections):
            if not connection.deadline:
                connection.rest()
            elif connection.deadline <= now:
                connection.expire()
        self._sweep_timer = None
        if self._connections:
            self._sweep_later()

    def _sweep_later(self) -> None:
        self._sweep_timer = self.loop.call_later(self._sweep_seconds, self._sweep)


class _Group:
    """Connections that share a limit: how many there are, and which rest, the longest first.

    Room is made without a look at the others, or a flood would cost more than it sends. One that
    is busy again stays among those that rest until it is looked at, once: it comes back by itself.
    One that was used meanwhile, which only its deadline tells, goes to the end of them.
    """

    def __init__(self, limit: int) -> None:
        self.limit, self.size = limit, 0
        self.resting: OrderedDict[_Connection, None] = OrderedDict()

    def make_room(self) -> bool:
        """Close idle connections until one more fits; False if all are busy."""
        while self.size >= self.limit:
            if not self.resting:
                return False
            longest, _ = self.resting.popitem(last=False)
            if longest.is_idle and longest.deadline:
                longest.abort()
            elif longest.is_idle:
                longest.rest()
        return True


class _Connection(asyncio.Protocol):
    """The requests of one peer and their answers; a deadline for what the peer must do next."""

    def __init__(self, server: HttpServer) -> None:
        self.source = self.whose = ""  # Its address; all of this machine are one peer.
        self.groups: tuple[_Group, ...] = ()  # All, and those of its peer.
        # 0 if it must be set anew, which the sweep does; infinite if the peer owes us nothing.
        self.deadline = 0.0
        self._server, self._limits = server, server.limits
        self._reader = Reader(server.checks)
        self._waiting: deque[Response] = deque()  # In the order of the requests.
        self._unread = b""  # Received, but not yet given to the reader.
        self._paused = self.is_slow = self._eof = self._closing = False
        self.is_reading = False  # It hands over requests just now, and sends answers afterwards.
        self._is_batched = False  # Answers go out at the end of this turn.

    @property
    def is_idle(self) -> bool:
        return not self._reader.begun and not self._waiting

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self.source = self._reader.source = (transport.get_extra_info("peername") or ("",))[0]
        self.whose = _NEAR if is_loopback(self.source) else self.source
        if not self._server.admit(self):
            self._reader.end()
            self._transport.write(self._server.busy(self))
            self._finish()
        elif self._server.stopping:
            self.close()
        self.flush()

    def connection_lost(self, exc: Exception | None) -> None:
        self._reader.close()
        self._give_up()
        self._server.forget(self)

    def data_received(self, data: bytes) -> None:
        reader, waiting = self._reader, self._waiting
        self._server.bytes_in += len(data)
        is_held = waiting or self._unread or self.is_slow or self._paused or self._closing
        if is_held or reader.begun or len(data) > _SLICE_BYTES:
            self._receive(data)
            return
        self.is_reading = True
        data = reader.recall(data, self._hand_over)
        if data:
            self._read(data)
        elif waiting:
            self._write()
        self.is_reading = False
        if waiting or reader.begun or self.is_slow or self._closing:
            self._settle()
        elif reader.moved:  # As nearly always: all is read and answered.
            self.deadline, reader.moved = 0.0, False

    def _receive(self, data: bytes) -> None:
        self.is_reading = True
        self._unread += data
        while self._unread and not self._is_blocked():
            piece, self._unread = self._unread[:_SLICE_BYTES], self._unread[_SLICE_BYTES:]
            self._read(piece)
        self.is_reading = False
        self._settle()

    def _read(self, piece: bytes) -> None:
        complete = self._reader.complete
        refused = self._reader.feed(piece, self._hand_over)
        for each in complete:
            self._hand_over(*each)
        complete.clear()
        if refused is not None and not self.is_slow:
            self._fail(refused, self._server.refusal_delay(self.source))
        self._write()

    def eof_received(self) -> bool:
        self._eof = True
        self._reader.end()
        if self._waiting and self._waiting[0].lost:  # Nobody half-closes and reads on.
            self.abort()
        self._settle()
        return bool(self._waiting)

    def pause_writing(self) -> None:
        self.is_slow = True
        self._rest(self._limits.idle_seconds)
        self._settle()

    def resume_writing(self) -> None:
        self.is_slow, self.deadline = False, 0.0
        self._settle()

    def expire(self) -> None:
        """Do what must be done when the deadline has passed."""
        if self._reader.begun and not self.is_slow:
            self._fail(Refused(408, errors.NoAnswer("The request did not arrive in time.")))
            self.flush()
        else:
            self.abort()

    def abort(self) -> None:
        """Close at once, whatever is on its way."""
        self._reader.end()
        self._give_up()
        self._server.forget(self)
        self._transport.abort()

    def drop(self) -> None:
        """Forget it, read no more, close later: who is closed at once comes back at once."""
        self._reader.end()
        self._reader.complete.clear()  # No more requests are handed over.
        self._give_up()
        self._unread, self.is_slow = b"", True
        self._rest(self._limits.request_seconds)

    def close(self) -> None:
        """Close when what is written has gone out."""
        self._reader.end()
        self._closing, self.deadline = True, 0.0
        self._transport.close()

    def flush(self) -> None:
        """Send each answer whose turn has come: where others wait too, at the end of this turn."""
        if self.is_reading or self._is_batched:
            return
        if len(self._waiting) > 1:
            self._is_batched = True
            self._server.batching.later(self._flush_now)
        else:
            self._flush_now()

    def _flush_now(self) -> None:
        self._is_batched = False
        self._write()
        self._settle()

    def exempt(self) -> None:
        """It is of a known peer: until it has its answers it is not among those of its address."""
        self._server.exempt(self)

    def _give_up(self) -> None:
        for response in self._waiting:
            if response.lost and response.answer is None:
                response.lost()
        self._waiting.clear()

    def _hand_over(
        self, request: HttpRequest, handler: Handler | Refused, is_head: bool, is_old: bool
    ) -> None:
        response = Response(self, is_head, is_old)
        self._waiting.append(response)
        if isinstance(handler, Refused):
            self._refuse(response, handler, self._server.refusal_delay(self.source))
            return
        try:
            handler(request, response)
        except Exception:
            log.exception("A request to %s failed.", request.path)
            if response.answer is None:
                response(500, self._server.refusal(errors.InternalError("Our own fault.")))

    def _fail(self, refused: Refused, seconds: float = 0.0) -> None:
        self._reader.end()
        response = Response(self)
        self._waiting.append(response)
        self._refuse(response, refused, seconds)

    def _refuse(self, response: Response, refused: Refused, seconds: float) -> None:
        body = self._server.refusal(refused.error)
        tell = partial(response, refused.status, body, refused.headers)
        self._server.hold(seconds, tell, self.drop)

    def _write(self) -> None:
        reader, waiting, ready, is_last = self._reader, self._waiting, [], False
        answers = self._server.answers
        is_final = reader.ended or (self._server.stopping and not reader.begun)
        while waiting and (answer := waiting[0].answer):
            response, is_last = waiting[0], is_final and len(waiting) == 1
            ready.append(response.wire(is_last))
            answers[answer[0]] = answers.get(answer[0], 0) + 1
            waiting.popleft()
        if len(self.groups) == 1 and not waiting:  # It was exempt for what is answered now.
            self._server.readmit(self)
        if reader.continue_due and not waiting:
            reader.continue_due = False
            ready.append(b"HTTP/1.1 100 Continue\r\n\r\n")
        if ready and not self._transport.is_closing():
            wire = b"".join(ready)
            self._server.bytes_out += len(wire)
            self._transport.write(wire)
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
        return self.is_slow or len(self._waiting) >= self._limits.pipelined

    def rest(self) -> None:
        """It owes us a request, or the rest of one; or it is to close."""
        is_due = self._reader.begun or self._closing
        self._rest(self._limits.request_seconds if is_due else self._limits.idle_seconds)

    def _rest(self, seconds: float) -> None:
        """It owes us something, and may have to make room for another."""
        self.deadline = self._server.loop.time() + seconds
        for group in self.groups:
            group.resting[self] = None
            group.resting.move_to_end(self)

    def _settle(self) -> None:
        """Decide whether to read on, and until when the peer must have done something."""
        reader = self._reader
        if self._is_blocked():
            if not self._paused and not self._transport.is_closing():
                self._paused = True
                self._transport.pause_reading()
        elif self._paused:
            self._server.loop.call_soon(self._read_on)
        owes_nothing = self._waiting and (self._paused or not reader.begun)
        if owes_nothing and not self.is_slow:
            self.deadline = inf
        elif not self.is_slow and (reader.moved or self.deadline in (0.0, inf)):
            self.rest()
        reader.moved = False

    def _read_on(self) -> None:
        if self._paused and not self._is_blocked() and not self._transport.is_closing():
            self._paused = False
            self._transport.resume_reading()
            self.data_received(b"")


BACKLOG = 1_024
_NO_SUCH_HOST = {errno.EADDRNOTAVAIL, errno.EAFNOSUPPORT}


async def listen(hosts: Sequence[str], port: int) -> list[socket.socket]:
    """A socket for each host that this machine has, all with one port. Raises OSError if none."""
    sockets: list[socket.socket] = []
    trouble = OSError("There is no host to listen on.")
    with ExitStack() as opened:
        for address, family in (await _resolve(hosts)).items():
            try:
                sock = socket.create_server((address, port), family=family, backlog=BACKLOG)
            except OSError as error:
                if error.errno not in _NO_SUCH_HOST:
                    raise
                trouble = error
            else:
                sockets.append(opened.enter_context(sock))
                port = sock.getsockname()[1]
        if not sockets:
            raise trouble
        opened.pop_all()
    return sockets


async def _resolve(hosts: Sequence[str]) -> dict[str, int]:
    loop, families = asyncio.get_running_loop(), dict[str, int]()
    for host in hosts:
        with suppress(socket.gaierror):
            infos = await loop.getaddrinfo(host, None, type=socket.SOCK_STREAM)
            families |= {str(info[4][0]): int(info[0]) for info in infos}
    return families
