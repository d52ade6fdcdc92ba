"""One port for all agents of a process, each at a path of its own.

Whoever calls several of them needs one connection, and reads and writes much at once. It is for
agents that answer at once: on a connection answers come in the order of the requests.
"""

import asyncio
from collections.abc import Callable, Sequence

from agentleague.errors import LeagueError
from agentleague.transport.http_server import HttpRequest, HttpServer, Respond, ServerLimits

OnRequest = Callable[[HttpRequest, Respond], None]
Refusal = Callable[[LeagueError], bytes]
Toll = Callable[[str], float]


class House:
    """Opens its port with the first agent, and closes it with the last, for good."""

    def __init__(self, names: frozenset[str] = frozenset()) -> None:
        self._names = names  # host names under which others may ask for it
        self._rooms: dict[str, OnRequest] = {}
        self._server: HttpServer | None = None
        self._port = 0
        self._opening = asyncio.Lock()
        self._rooms_total = 0
        self._is_closed = False

    def room(
        self, on_request: OnRequest, refusal: Refusal, refusal_delay: Toll, limits: ServerLimits
    ) -> "Room":
        """A place for one more agent; what is nobody's is refused as the first one does."""
        assert not self._is_closed, "all have left this house"
        self._rooms_total += 1
        path = f"/mcp/{self._rooms_total}"
        if self._server is None:
            self._server = HttpServer(
                self._on_request,
                refusal=refusal,
                paths=frozenset(),
                names=self._names,
                limits=limits,
            )
            self._server.refusal_delay = refusal_delay
        self._server.rules.paths |= {path}
        self._rooms[path] = on_request
        return Room(self, self._server, path)

    async def open(self, server: HttpServer, hosts: Sequence[str], port: int) -> int:
        """The port, which is opened only once."""
        async with self._opening:
            if not self._port:
                self._port = await server.start(hosts, port)
        return self._port

    async def leave(self, server: HttpServer, path: str) -> None:
        """One agent goes."""
        self._rooms.pop(path, None)
        server.rules.paths -= {path}
        server.rules.heads.clear()  # One that is remembered leads to it.
        if not self._rooms:
            self._is_closed = True
            await server.stop()

    def _on_request(self, request: HttpRequest, respond: Respond) -> None:
        self._rooms[request.path](request, respond)


class Room:
    """One agent's part of the server."""

    def __init__(self, house: House, server: HttpServer, path: str) -> None:
        self.path = path
        self.hold = server.hold
        self._house, self._server = house, server

    async def start(self, hosts: Sequence[str], port: int) -> int:
        """Listen, where nobody of the house does yet; returns the port of all."""
        return await self._house.open(self._server, hosts, port)

    async def stop(self) -> None:
        """Listen no more, where nobody else of the house does."""
        await self._house.leave(self._server, self.path)
