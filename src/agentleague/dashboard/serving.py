"""Serve a dashboard: its sockets, its server, what keeps it current, and its end."""

import asyncio
import errno
import logging
import socket
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from agentleague.dashboard.app import Dashboard
from agentleague.dashboard.following import Following
from agentleague.runtime.processes import PORTS_TRIED, Place
from agentleague.transport.http_server import listen

HEAD_BYTES = 16_384
HEAD_SECONDS = 10.0  # that the first request of a connection may take
CONNECTIONS_MAX = 1_000  # twice the streams


class Server(uvicorn.Server):
    """uvicorn without its own signals: who serves decides when it ends."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        yield


class Connection(H11Protocol):
    """A connection that is closed if no request comes: uvicorn would wait for ever."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self.loop.call_later(HEAD_SECONDS, self._close_if_silent)

    def _close_if_silent(self) -> None:
        if self.cycle is None:
            self.transport.close()


async def open_sockets(place: Place, *, moves_on: bool) -> list[socket.socket]:
    """Listen there, or on the next free port. Raises OSError."""
    for port in range(place.port, place.port + PORTS_TRIED):
        try:
            return await listen(place.hosts, port)
        except OSError as error:
            if error.errno != errno.EADDRINUSE or not moves_on:
                raise
    raise OSError(f"no port from {place.port} on is free")


def url_of(place: Place, port: int) -> str:
    """What a person types into a browser."""
    host = place.called_at or place.hosts[0]
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


async def serve(
    dashboard: Dashboard,
    following: Following,
    sockets: Sequence[socket.socket],
    stopped: Awaitable[Any],
    started: Callable[[], None] = lambda: None,
) -> None:
    """Serve until `stopped` is done; `started` is called when pages can be fetched."""
    config = uvicorn.Config(
        dashboard,
        http=Connection,
        ws="none",
        lifespan="off",
        log_config=None,
        access_log=False,
        server_header=False,
        proxy_headers=False,
        h11_max_incomplete_event_size=HEAD_BYTES,
        limit_concurrency=CONNECTIONS_MAX,
        timeout_graceful_shutdown=2,
    )
    server = Server(config)
    work = [asyncio.create_task(each) for each in (following.run(), dashboard.live.run())]
    serving = asyncio.create_task(server.serve(sockets=list(sockets)))
    try:
        started()
        ends = asyncio.ensure_future(stopped)
        await asyncio.wait([ends, serving, *work], return_when=asyncio.FIRST_COMPLETED)
    finally:
        faults = logging.getLogger("uvicorn.error")
        faults.disabled = True  # What is cut off now is no fault.
        dashboard.live.close()
        server.should_exit = True
        for each in work:
            each.cancel()
        await serving
        faults.disabled = False
    for each in work:
        if each.done() and not each.cancelled():
            each.result()
