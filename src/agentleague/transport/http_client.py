"""Posts small bodies over HTTP/1.1: absolute deadlines, capped answers, judged addresses.

A call costs no task: it is written to an idle connection and called back by the parser. An *origin*
(scheme, host, port, and the house of those who share connections there) owns its connections and
the calls that wait for one; a *connection* owns the calls sent on it, oldest first, and only a
shared one has several. A call that is over (answered,
failed, timed out, cancelled) never calls back again; a connection that lost a call in one of the
last two ways takes no more calls and ends with its last one.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Callable

from agentleague.errors import EndpointNotAllowed, NoConnection
from agentleague.transport.deadlines import Deadlines
from agentleague.transport.guard import Dialer, Endpoint, Guard, Resolve, parse_url
from agentleague.transport.http_connection import Call, ClientLimits, Connection, Done, HttpAnswer
from agentleague.transport.listening import descriptors
from agentleague.transport.write_batching import WriteBatching

__all__ = ["ClientLimits", "HttpAnswer", "HttpClient"]

_SHARED_PER_ORIGIN = 2  # To a house it is one: what an agent is told comes in order.
_FEW = 8  # Calls on a shared connection before a second one is opened.
_TARGETS_MAX = 4096
_CROWD = "*"  # The house of all who have one where there are too many.
_HOUSE_IDLE_SECONDS = 20.0  # Servers of ours keep a connection for longer than that.


class Census:
    """How many connections this process has, by all its clients."""

    connections = 0


class Desk:
    """What all calls of a client have in common."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self.loop, self.deadlines, self.batching = loop, Deadlines(loop), WriteBatching(loop)
        self.connections_many = descriptors() // 4


class Origin:
    """The connections to one scheme, host and port, and the calls that wait for one."""

    def __init__(
        self, endpoint: Endpoint, house: str, limits: ClientLimits, dialer: Dialer, desk: Desk
    ) -> None:
        self.loop, self.deadlines, self.batching = desk.loop, desk.deadlines, desk.batching
        self.waiting: deque[Call] = deque()
        self.connections: list[Connection] = []
        self.idle: list[Connection] = []  # The longest idle first.
        self._endpoint, self.house, self._limits, self._dialer = endpoint, house, limits, dialer
        self._desk = desk
        self._sweeper: asyncio.TimerHandle | None = None

    @property
    def idle_seconds(self) -> float:
        """How long a connection is kept that nobody uses: while there is room, to ours longer."""
        has_room = self.house and Census.connections < self._desk.connections_many
        return _HOUSE_IDLE_SECONDS if has_room else self._limits.idle_seconds

    def take(self, call: Call) -> None:
        """Sends it on the connection that came to rest last, or as soon as there is one."""
        idle, seconds = self.idle, self.idle_seconds
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
            if idle_seconds < self.idle_seconds and not call.fresh:
                return idle
            idle.drop()
        full = len(self.connections) >= self._limits.connections_per_origin
        if call.shared:
            open_ones = [each for each in self.connections if each.shared and each.usable]
            connection = min(open_ones, key=lambda each: len(each.calls), default=None)
            is_all = full or len(open_ones) >= (1 if self.house else _SHARED_PER_ORIGIN)
            most = self._limits.pipelined
            if connection and (is_all or len(connection.calls) < min(_FEW, most)):
                return connection if len(connection.calls) < most else None
        if full:
            return None
        connection = Connection(self, self._limits)
        self.connections.append(connection)
        Census.connections += 1
        connection.opening = self.loop.create_task(self._dial(connection))
        return connection

    async def _dial(self, connection: Connection) -> None:
        try:
            await self._dialer.dial(self._endpoint, connection)
        except (OSError, ValueError) as error:
            connection.end(NoConnection(f"no connection to {self._endpoint.authority}: {error}"))

    def rest(self, connection: Connection) -> None:
        connection.idle_since = self.loop.time()
        self.idle.append(connection)
        if self._sweeper is None:
            self._sweeper = self.loop.call_later(self.idle_seconds, self._sweep)

    def forget(self, connection: Connection) -> None:
        """It is closed."""
        self.connections.remove(connection)
        Census.connections -= 1
        if connection in self.idle:
            self.idle.remove(connection)

    def _sweep(self) -> None:
        oldest = self.loop.time() - self.idle_seconds + 0.001  # uvloop counts whole ms.
        while self.idle and self.idle[0].idle_since <= oldest:
            self.idle[0].drop()
        self._sweeper = None
        if self.idle:
            at = self.idle[0].idle_since + self.idle_seconds
            self._sweeper = self.loop.call_at(at, self._sweep)


class HttpClient:
    """Posts to many origins from one event loop; no redirects, proxies, cookies, compression."""

    def __init__(
        self, guard: Guard, *, limits: ClientLimits | None = None, resolve: Resolve | None = None
    ) -> None:
        self._limits, self._dialer = limits or ClientLimits(), Dialer(guard, resolve)
        # By URL and house: the head of a request.
        self._targets: dict[tuple[str, str], tuple[bytes, Origin]] = {}
        self._origins: dict[tuple[str, str, int, str], Origin] = {}
        self._houses: Counter[tuple[str, str, int]] = Counter()
        self._desk: Desk | None = None
        self._stopped = False

    def post(
        self,
        url: str,
        body: bytes,
        until: float,
        done: Done,
        shared: str | None = None,
    ) -> Callable[[], None]:
        """Posts `body`, tells `done` once what became of it by `until`; returns how to cancel.

        A call that is `shared` may go behind others to this origin that are shared by that name.
        """
        try:
            house = shared or ""
            head, origin = self._targets.get((url, house)) or self._target(url, house)
        except EndpointNotAllowed as refusal:
            answer = HttpAnswer(0, b"", None, NoConnection(str(refusal)), 0.0)
            return asyncio.get_running_loop().call_soon(done, answer).cancel
        call = Call(
            origin, b"%b%d\r\n\r\n%b" % (head, len(body), body), until, done, shared is not None
        )
        if until > call.started:
            origin.take(call)
        return call.cancel

    def _target(self, url: str, house: str) -> tuple[bytes, Origin]:
        if self._stopped:
            raise EndpointNotAllowed("the client was stopped")
        endpoint = parse_url(url)
        if len(self._targets) >= _TARGETS_MAX:
            self._targets.clear()
            self._origins = {key: each for key, each in self._origins.items() if each.connections}
            self._houses = Counter(key[:3] for key in self._origins if key[3])
        if self._desk is None:
            self._desk = Desk(asyncio.get_running_loop())
        origin = self._origin(endpoint, house)
        return self._targets.setdefault((url, house), (endpoint.post_head, origin))

    def _origin(self, endpoint: Endpoint, house: str) -> Origin:
        """Where many houses are at one place, the later ones are as one."""
        assert self._desk
        place, known = endpoint[:3], self._origins.get((*endpoint[:3], house))
        if known:
            return known
        if house and self._houses[place] >= self._limits.connections_per_origin:
            house = _CROWD
        elif house:
            self._houses[place] += 1
        new = Origin(endpoint, house, self._limits, self._dialer, self._desk)
        return self._origins.setdefault((*place, house), new)

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
