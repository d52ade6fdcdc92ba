"""One worker of a service: a process that runs leagues and takes requests for all of them.

It is started by `service/processes.py`, which tells it on its standard input what to do, and ends
when that is closed: a worker does not outlive its parent.
"""

import asyncio
import logging
import os
import socket
import sys
from collections.abc import Callable
from functools import partial

import msgspec
from msgspec import Struct

from agentleague.errors import LeagueError, StorageError
from agentleague.protocol.hosts import is_loopback
from agentleague.roles.settings import ManagerSettings, ServiceSettings
from agentleague.runtime.clock import wall
from agentleague.runtime.managers import deliver_to
from agentleague.runtime.network import default_address, place_of_manager
from agentleague.runtime.processes import SELF, Place, run
from agentleague.runtime.stopping import stop_signal
from agentleague.service.forwarding import INNER_LIMITS, Seal
from agentleague.service.leagues import (
    LOOK_SECONDS,
    OPERATORS,
    ServedLeagues,
    WorkerPlace,
    lease_seconds,
)
from agentleague.service.router import Router, refusal
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.kept import service_key
from agentleague.storage.postgres import PostgresJournal
from agentleague.storage.postgres_leagues import PostgresLeagues
from agentleague.storage.postgres_reader import PostgresLimits
from agentleague.transport.event_loop import settle
from agentleague.transport.http_server import HttpServer

log = logging.getLogger(__name__)
FAILED = 3  # exit code: its journal cannot go on


class Orders(Struct, frozen=True):
    """What a worker is told when it starts."""

    settings: ServiceSettings
    conninfo: str  # It may hold a password, and so it is no argument.
    sockets: tuple[int, ...]  # descriptors on which all workers listen
    url: str  # under which agents call the service
    level: int = logging.WARNING


def place_of(settings: ServiceSettings, say: Callable[[str], None]) -> Place:
    """Where a service listens, and whom its leagues may call. Raises LeagueError."""
    own = {name: getattr(settings, name) for name in OPERATORS}
    return place_of_manager(ManagerSettings(**own), say)


async def serve(orders: Orders, stopped: "asyncio.Future[None]") -> int:
    """Run leagues until stopped; the exit code. Raises LeagueError."""
    settings, url = orders.settings, DatabaseUrl(orders.conninfo)
    deliver = partial(deliver_to, asyncio.get_running_loop())
    limits = PostgresLimits(lease_seconds=lease_seconds(settings))
    journal = PostgresJournal(url, wall, deliver, limits=limits)
    table, place = PostgresLeagues(url), place_of(settings, lambda sentence: None)
    seal = Seal(await asyncio.to_thread(service_key, url))
    inner = HttpServer(_nothing, refusal=refusal, paths=frozenset(), limits=INNER_LIMITS)
    address = await _open_inner(inner, settings.internal_bind)
    own = WorkerPlace(journal.owner, address, orders.url, place)
    leagues = ServedLeagues(settings, own, table, journal, url.of)
    router = Router(leagues, seal, settings)
    outer = HttpServer(_nothing, refusal=refusal, paths=frozenset(), names=place.names)
    router.serve(inner, is_public=False)
    router.serve(outer, is_public=True)
    await leagues.look()
    await outer.serve([socket.socket(fileno=each) for each in orders.sockets])
    await _look_on(leagues, stopped)
    await leagues.stop()
    await asyncio.gather(outer.stop(), inner.stop(), router.stop())
    is_failed = journal.state == "failed"
    await asyncio.to_thread(journal.close)
    table.close()
    return FAILED if is_failed else 0


async def _look_on(leagues: ServedLeagues, stopped: "asyncio.Future[None]") -> None:
    is_away = False
    while not stopped.done() and leagues.state != "failed":
        await asyncio.wait([stopped], timeout=LOOK_SECONDS)
        try:
            await leagues.look()
        except StorageError as error:
            if not is_away:
                log.warning("leagues cannot be looked up: %s", error)
        is_away = leagues.state == "away"


async def _open_inner(server: HttpServer, bind: str) -> str:
    """Listen for other workers; the URL of that port, with the machine where it is there alone."""
    port = await server.start([bind], 0)
    host = (default_address(bind) or SELF[bind]) if bind in SELF else bind
    machine = f"#{socket.gethostname()}" if is_loopback(host) else ""
    return f"http://{f'[{host}]' if ':' in host else host}:{port}{machine}"


def _nothing(request: object, respond: object) -> None:
    """No path of a service has the handler of an agent."""


async def _main(orders: Orders) -> int:
    stopped, loop = stop_signal(), asyncio.get_running_loop()

    def parent_is_gone() -> None:
        loop.remove_reader(0)  # Its end can be read again and again.
        settle(stopped, None)

    loop.add_reader(0, parent_is_gone)
    return await serve(orders, stopped)


def main() -> int:
    """Do what the parent says, until it is gone."""
    orders = msgspec.json.decode(sys.stdin.buffer.readline(), type=Orders)
    logging.basicConfig(level=orders.level, format=f"worker {os.getpid()}: %(message)s")
    try:
        return run(_main(orders))
    except LeagueError as error:  # Its parent starts it again.
        log.error("%s", error)
        return FAILED


if __name__ == "__main__":
    sys.exit(main())
