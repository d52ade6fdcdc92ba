"""Posts small bodies over HTTP/1.1: absolute deadlines, capped answers, judged addresses.

A call costs no task: it is written to an idle connection and called back by the parser. An *origin*
(scheme, host, port) owns its connections and the calls that wait for one; a *connection* owns the
calls sent on it, oldest first, and only the one for ordered calls has several. A call that is over
(answered, failed, timed out, cancelled) never calls back again; a connection that lost a call in
one of the last two ways takes no more calls and ends with its last one.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from agentleague.errors import UNREACHABLE, EndpointNotAllowed, LeagueError, NoAnswer, NoConnection
from agentleague.protocol.seats import PREFIX as SEATS
from agentleague.protocol.tokens import proof_line
from agentleague.roles.ports import Cancel
from agentleague.transport.event_loop import Deadlines, WriteBatching, descriptors
from agentleague.transport.guard import Dialer, Endpoint, Guard, Resolve, no_connection, parse_url
from agentleague.transport.http_connection import Call, ClientLimits, Connection, HttpAnswer
from agentleague.transport.manager_addresses import ManagerAddresses

__all__ = ["Call", "ClientLimits", "HttpAnswer", "HttpClient", "Post", "request_of"]

Done = Callable[[HttpAnswer], None]
# By all origins of a client; also the connections that are kept for longer.
_Shared = tuple[Deadlines, WriteBatching, set[Connection]]
_SPARE = 256  # descriptors that are for files and for new connections


def request_of(body: bytes, proof_keys: tuple[bytes, ...] = ()) -> bytes:
    """A request from the end of its usual headers on: its proof, its length, its body."""
    if not proof_keys:
        return b"\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body)
    proof = proof_line(proof_keys, body)
    return b"%b\r\nContent-Length: %d\r\n\r\n%b" % (proof, len(body), body)


class Post(Call):
    """A call that tells a function what became of it."""

    done: Done

    def answered(
        self, status: int, body: bytes, retry_after: float | None, error: Any, seconds: float
    ) -> None:
        self.done(HttpAnswer(status, body, retry_after, error, seconds, self.session))


class Origin:
    """The connections to one scheme, host and port, and the calls that wait for one."""

    def __init__(
        self, endpoint: Endpoint, limits: ClientLimits, dialer: Dialer, shared: _Shared
    ) -> None:
        self.deadlines, self.batching, self._kept = shared
        self.loop = self.deadlines.loop
        self.waiting: deque[Call] = deque()
        self.connections: list[Connection] = []
        self.idle: list[Connection] = []  # The longest idle first.
        self.lines: dict[str, Connection] = {}  # By URL: where its last ordered call was sent.
        self._endpoint, self._limits, self._dialer = endpoint, limits, dialer
        self.is_swept = False  # Whether a timer will look at the idle ones.
        # What is late and was not sent: no player at a seat is to blame for it.
        at_seat = partial(NoConnection, kind=UNREACHABLE)
        self.unsent: Callable[..., LeagueError] = at_seat if SEATS in endpoint.path else NoAnswer
        # Told of calls that fail, and of an HTTP status but 200, where a manager has alternatives.
        self.on_failure: Callable[[LeagueError | None, float, float], None] | None = None
        self.on_status: Callable[[int, float, float], LeagueError | None] | None = None

    def pump(self) -> None:
        """Sends what waits, first come first served, as far as there are connections."""
        while self.waiting and (connection := self._connection_for(self.waiting[0])):
            connection.send((self.waiting.popleft(),))

    def _connection_for(self, call: Call) -> Connection | None:
        line = self.lines.get(call.line)
        if line and line.usable and line.calls:
            return line if len(line.calls) < self._limits.pipelined else None
        while self.idle:
            idle = self.idle.pop()
            if self.loop.time() < idle.idle_until and not call.fresh:
                return idle
            idle.drop()
        if len(self.connections) >= self._limits.connections_per_origin:
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

    def forget(self, connection: Connection) -> None:
        """It is closed."""
        self.connections.remove(connection)
        self._kept.discard(connection)
        if self.lines.get(connection.line) is connection:
            del self.lines[connection.line]
        if connection in self.idle:
            self.idle.remove(connection)

    def rest(self, connection: Connection, now: float) -> None:
        """It has no calls: keep it for the next, for longer if it is one to an agent of ours."""
        kept, limits = self._kept, self._limits
        if connection.line and len(kept) < limits.kept:
            kept.add(connection)
        seconds = limits.kept_seconds if connection in kept else limits.idle_seconds
        connection.idle_until = now + seconds
        self.idle.append(connection)
        if not self.is_swept:
            self.sweep()

    def abandon(self, since: float, problem: LeagueError) -> None:
        """Fail the calls that were sent before."""
        for call in [each for each in self.waiting if each.started < since]:
            self.waiting.remove(call)
            call.fail(problem)
        for connection in self.connections[:]:
            if connection.calls and connection.calls[0].started < since:
                connection.end(problem, final=True)

    def sweep(self) -> None:
        """Drop what nobody used for so long, and look again when that is true of the next."""
        soon = self.loop.time() + 0.001  # uvloop counts whole ms.
        while self.idle and self.idle[0].idle_until <= soon:
            self.idle[0].drop()
        self.is_swept = bool(self.idle)
        if self.is_swept:
            self.loop.call_at(self.idle[0].idle_until, self.sweep)


class HttpClient:
    """Posts to many origins from one event loop; no redirects, proxies, cookies, compression."""

    def __init__(
        self,
        guard: Guard,
        *,
        limits: ClientLimits | None = None,
        resolve: Resolve | None = None,
        managers: ManagerAddresses | None = None,
    ) -> None:
        limits = limits or ClientLimits()
        kept = min(limits.kept, descriptors() // 2 - _SPARE)
        self._limits, self._dialer = replace(limits, kept=kept), Dialer(guard, resolve)
        self._targets: dict[str, tuple[bytes, Origin]] = {}  # By URL: the head of a request.
        self._origins: dict[tuple[str, str, int, bool], Origin] = {}
        self._shared: _Shared | None = None
        self._stopped, self._managers = False, managers
        if managers:
            managers.watchers.append(self._moved)

    def post(self, url: str, body: bytes, until: float, done: Done, headers: bytes = b"") -> Cancel:
        """Posts `body`, tells `done` once what became of it by `until`; returns how to cancel."""
        call = Post(request=headers + request_of(body), until=until, done=done)
        self.send(url, (call,))
        return call.cancel

    def send(self, url: str, calls: Sequence[Call]) -> None:
        """Sends calls of one kind, in order; each is told once what became of it in their time."""
        try:
            head, origin = self._targets.get(url) or self._target(url)
        except EndpointNotAllowed as refusal:
            problem = NoConnection(str(refusal), kind=UNREACHABLE)
            asyncio.get_running_loop().call_soon(_fail, calls, problem)
            return
        now, deadlines, first = origin.loop.time(), origin.deadlines, calls[0]
        line = url if first.ordered else ""
        for call in calls:
            call.origin, call.request, call.started = origin, head + call.request, now
            call.line = line
            deadlines.open.add(call)
        if first.until < deadlines.rings_at:
            deadlines.watch(first)
        idle, ahead = origin.idle, origin.lines.get(line)
        is_behind = ahead is not None and ahead.calls
        if first.until <= now:
            return
        if idle and now < idle[-1].idle_until and not is_behind and not origin.waiting:
            idle.pop().send(calls)  # The one that came to rest last.
        else:
            origin.waiting.extend(calls)
            origin.pump()

    def _target(self, url: str) -> tuple[bytes, Origin]:
        if self._stopped:
            raise EndpointNotAllowed("the client was stopped")
        managers = self._managers
        at_manager = managers.where(url) if managers else None
        endpoint = parse_url(at_manager or url)
        if len(self._targets) >= self._limits.targets:
            self._targets.clear()
            self._origins = {key: each for key, each in self._origins.items() if each.connections}
        if self._shared is None:
            loop = asyncio.get_running_loop()
            self._shared = Deadlines(loop), WriteBatching(loop), set()
        key, limits = (*endpoint[:3], SEATS in endpoint.path), self._limits
        if key[3]:  # Each call waits there as long as a player thinks.
            most = max(limits.connections_per_origin, limits.kept)
            limits = replace(limits, connections_per_origin=most)
        origin = self._origins.get(key)
        if origin is None:
            origin = self._origins[key] = Origin(endpoint, limits, self._dialer, self._shared)
        if managers and at_manager:
            self._watch(origin, managers)
        return self._targets.setdefault(url, (endpoint.post_head, origin))

    def _watch(self, origin: Origin, managers: ManagerAddresses) -> None:
        """Have the manager's addresses told what becomes of calls to it."""
        origin.on_failure, origin.on_status = managers.failed, managers.answered

    def _moved(self, now: float, problem: LeagueError) -> None:
        """The manager is called at another address: earlier calls fail, in the next turn."""
        self._targets.clear()
        for origin in self._origins.values():
            if origin.on_failure is not None:
                origin.loop.call_soon(origin.abandon, now, problem)

    async def stop(self) -> None:
        """Fails what is outstanding, closes every connection, and refuses later calls."""
        self._stopped = True
        self._targets.clear()
        problem = NoConnection("the client was stopped")
        opening = []
        for origin in self._origins.values():
            while origin.waiting:
                origin.waiting.popleft().fail(problem)
            for connection in origin.connections[:]:
                opening.append(connection.opening)
                connection.end(problem, final=True)
        await asyncio.gather(*filter(None, opening), return_exceptions=True)
        await asyncio.sleep(0)  # The transports close their sockets in this turn of the loop.


class PlayerClient(HttpClient):
    """Calls players, of whom some sit at a manager that may have several addresses."""

    def _watch(self, origin: Origin, managers: ManagerAddresses) -> None:
        origin.on_failure = managers.player_failed


def _fail(calls: Sequence[Call], problem: NoConnection) -> None:
    for call in calls:
        if not call.over:
            call.fail(problem)
