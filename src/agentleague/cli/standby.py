"""A manager that stands by: it waits until nobody has its league, and says so at `/health`."""

import asyncio
import errno

from agentleague.cli.output import say
from agentleague.errors import StorageError
from agentleague.protocol.codec import encode
from agentleague.runtime.processes import Place
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.directory import lease_of
from agentleague.transport.http_server import HttpRequest, HttpServer, Response

LOOK_SECONDS = 0.2  # between two looks whether the league is free


async def stand_by(url: DatabaseUrl, where: Place) -> None:
    """Wait until no manager has the league and the port is free, however long that takes.

    Raises OSError if the port can never be opened.
    """
    said, server = "", None
    try:
        while True:
            server = server or await _listen(url, where)
            busy = "" if server else f" Port {where.port} is busy: it waits until that is free."
            state = await asyncio.to_thread(_look, url)
            if not (state or busy):
                break
            state = f"Standing by: {state or f'no manager runs {url}.'}{busy} Stop with Ctrl-C."
            if state != said:
                say(state)
                said = state
            await asyncio.sleep(LOOK_SECONDS)
    finally:
        if server:
            await server.stop()
    if said:
        say(f"Taking over {url}: no manager runs it any more.")


def _look(url: DatabaseUrl) -> str:
    """Why the league cannot be had; a database that is away is waited for."""
    try:
        lease = lease_of(url)
    except StorageError as error:
        return f"{error}."
    return f"{url} is run by the manager at {lease.address}." if lease else ""


async def _listen(url: DatabaseUrl, where: Place) -> HttpServer | None:
    """Open the port, to be seen there by who monitors it; None while it is busy.

    Nobody else is answered: agents and proxies take that as they take a port that is closed, and
    try their next address.
    """

    def drop(request: HttpRequest, respond: Response) -> None:
        respond.drop()

    server = HttpServer(drop, refusal=lambda error: b"", paths=frozenset(), names=where.names)
    server.route("/*", ("GET", "POST", "DELETE"), drop)
    facts = {"status": "standby", "role": "manager", "league_id": url.league_id, "ready": False}
    server.health = lambda: (503, encode(facts), (("Retry-After", "1"),))
    try:
        await server.start(where.hosts, where.port)
    except OSError as error:
        if error.errno != errno.EADDRINUSE:
            raise
        return None
    return server
