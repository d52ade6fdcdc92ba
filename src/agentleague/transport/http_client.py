"""Posts small bodies over HTTP/1.1: absolute deadlines, capped answers, judged addresses.

A call costs no task: it is written to an idle connection and called back by the parser. An *origin*
(scheme, host, port) owns its connections and the calls that wait for one; a *connection* owns the
calls sent on it, oldest first, and only a shared one has several. A call that is over (answered,
failed, timed out, cancelled) never calls back again; a connection that lost a call in one of the
last two ways takes no more calls and ends with its last one.
"""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from agentleague.errors import UNREACHABLE, EndpointNotAllowed, NoConnection
from agentleague.protocol.tokens import PROOF_HEADER
from agentleague.roles.effects import Headers
from agentleague.roles.stimuli import write_headers
from agentleague.transport.event_loop import Deadlines, WriteBatching
from agentleague.transport.guard import Dialer, Endpoint, Guard, Resolve, no_connection, parse_url
from agentleague.transport.http_connection import Call, ClientLimits, Connection, Done, HttpAnswer

_LENGTH = b"\r\nContent-Length: "  # how each head ends
_PROOF = b"\r\n%b: %%b" % PROOF_HEADER.encode()
__all__ = ["ClientLimits", "HttpAnswer", "HttpClient", "PostOptions"]


class PostOptions(NamedTuple):
    """How a request is sent."""

    shared: bool = False  # whether it may go behind other shared calls on one connection
    headers: Headers = ()  # beside those of every request
    proof: str = ""  # that a manager sent it


class Origin:
    """The connections to one scheme, host and port, and the calls that wait for one."""

    def __init__(
        self, endpoint: Endpoint, limits: ClientLimits, dialer: Dialer, deadlines: Deadlines
    ) -> None:
        self.loop, self.deadlines = deadlines.loop, deadlines
        self.batching = WriteBatching(self.loop)
        self.waiting: deque[Call] = deque()
        self.connections: list[Connection] = []
        self.idle: list[Connection] = []  # The longest idle first.
        self._endpoint, self._limits, self._dialer = endpoint, limits, dialer
        self._sweeper: asyncio.TimerHandle | None = None

    def take(self, call: Call) -> None:
        """Sends it on the connection that came to rest last, or as soon as there is one."""
        idle, seconds = self.idle, self._limits.idle_seconds
        if idle and not self.waiting and call.started - idle[-1].idle_since < seconds:
            idle.pop().send(call)
        else:
            self.waiting.append(call)
            self.pump()

    def pump(self) -> None:
        """Sends what waits, first come first served, as far as there are connections."""
        while self.waiting and (connection := self._connection_for(self.waiting[0])):
            connection.send(self.waiting.popleft())

    def _connection_for(self, call: Call) -> Connection | None:
        while self.idle:
            idle = self.idle.pop()
            idle_seconds = self.loop.time() - idle.idle_since
            if idle_seconds < self._limits.idle_seconds and not call.fresh:
                return idle
            idle.drop()
        full = len(self.connections) >= self._limits.connections_per_origin
        if call.shared:
            open_ones = [each for each in self.connections if each.shared and each.usable]
            connection = min(open_ones, key=lambda each: len(each.calls), default=None)
            is_all = full or len(open_ones) >= self._limits.shared_per_origin
            most = self._limits.pipelined
            if connection and (
                is_all or len(connection.calls) < min(self._limits.shared_few, most)
            ):
                return connection if len(connection.calls) < most else None
        if full:
            return None
        connection = Connection(self, self._limits)
        self.connections.append(connection)
        connection.opening = self.loop.create_task(self._dial(connection))
        return connection

    async def _dial(self, connection: Connection) -> None:
        try:
            await self._dialer.dial(self._endpoint, connection)
        except (OSError, ValueError) as error:
            connection.end(no_connection(self._endpoint, error))

    def rest(self, connection: Connection) -> None:
        connection.idle_since = self.loop.time()
        self.idle.append(connection)
        if self._sweeper is None:
            self._sweeper = self.loop.call_later(self._limits.idle_seconds, self._sweep)

    def forget(self, connection: Connection) -> None:
        """It is closed."""
        self.connections.remove(connection)
        if connection in self.idle:
            self.idle.remove(connection)

    def _sweep(self) -> None:
        oldest = self.loop.time() - self._limits.idle_seconds + 0.001  # uvloop counts whole ms.
        while self.idle and self.idle[0].idle_since <= oldest:
            self.idle[0].drop()
        self._sweeper = None
        if self.idle:
            at = self.idle[0].idle_since + self._limits.idle_seconds
            self._sweeper = self.loop.call_at(at, self._sweep)


class HttpClient:
    """Posts to many origins from one event loop; no redirects, proxies, cookies, compression."""

    def __init__(
        self, guard: Guard, *, limits: ClientLimits | None = None, resolve: Resolve | None = None
    ) -> None:
        self._limits, self._dialer = limits or ClientLimits(), Dialer(guard, resolve)
        self._targets: dict[str, tuple[bytes, Origin]] = {}  # By URL: the head of a request.
        self._origins: dict[tuple[str, str, int], Origin] = {}
        self._deadlines: Deadlines | None = None
        self._stopped = False

    def post(
        self,
        url: str,
        body: bytes,
        until: float,
        done: Done,
        options: PostOptions = PostOptions(),  # noqa: B008 (It is immutable.)
    ) -> Callable[[], None]:
        """Posts `body`, tells `done` once what became of it by `until`; returns how to cancel."""
        try:
            head, origin = self._targets.get(url) or self._target(url)
        except EndpointNotAllowed as refusal:
            answer = HttpAnswer(0, b"", None, NoConnection(str(refusal), kind=UNREACHABLE), 0.0)
            return asyncio.get_running_loop().call_soon(done, answer).cancel
        shared, headers, proof = options
        if headers:
            head = _with(write_headers(headers), head)
        if proof:  # The last one before the length: so the server recognises the rest.
            head = _with(_PROOF % proof.encode(), head)
        call = Call(origin, b"%b%d\r\n\r\n%b" % (head, len(body), body), until, done, shared)
        if until > call.started:
            origin.take(call)
        return call.cancel

    def _target(self, url: str) -> tuple[bytes, Origin]:
        if self._stopped:
            raise EndpointNotAllowed("the client was stopped")
        endpoint = parse_url(url)
        if len(self._targets) >= self._limits.targets:
            self._targets.clear()
            self._origins = {key: each for key, each in self._origins.items() if each.connections}
        if self._deadlines is None:
            self._deadlines = Deadlines(asyncio.get_running_loop())
        origin = self._origins.get(endpoint[:3])
        if origin is None:
            origin = Origin(endpoint, self._limits, self._dialer, self._deadlines)
            self._origins[endpoint[:3]] = origin
        return self._targets.setdefault(url, (endpoint.post_head, origin))

    async def stop(self) -> None:
        """Fails what is outstanding, closes every connection, and refuses later calls."""
        self._stopped = True
        self._targets.clear()
        problem = NoConnection("the client was stopped")
        opening = []
        for origin in self._origins.values():
            while origin.waiting:
                origin.waiting.popleft().finish(0, b"", None, problem)
            for connection in origin.connections[:]:
                opening.append(connection.opening)
                connection.end(problem, final=True)
        await asyncio.gather(*filter(None, opening), return_exceptions=True)
        await asyncio.sleep(0)  # The transports close their sockets in this turn of the loop.


def _with(lines: bytes, head: bytes) -> bytes:
    """The head of a request with more headers, before its length."""
    end = -len(_LENGTH)
    return head[:end] + lines + head[end:]
