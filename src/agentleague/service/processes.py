"""The parent of a service's workers: it opens the public sockets, and starts who is gone anew."""

import asyncio
import socket
import sys
from collections.abc import Callable
from urllib.parse import urlsplit

import msgspec

from agentleague.errors import LeagueError
from agentleague.roles.settings import ServiceSettings
from agentleague.runtime.processes import CannotListen
from agentleague.service.worker import Orders, place_of
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.kept import service_key
from agentleague.storage.postgres_leagues import PostgresLeagues
from agentleague.transport.http_server import listen

BACK_OFF_SECONDS = (0.1, 0.5, 2.0, 5.0)  # before a worker that ended is started again
STEADY_SECONDS = 30.0  # A worker that lived so long begins with the first of these again.
STOP_SECONDS = 15.0  # in which a worker ends by itself

Say = Callable[[str], None]


class Service:
    """The workers of one `league serve`."""

    def __init__(
        self, settings: ServiceSettings, url: DatabaseUrl, say: Say, level: int = 30
    ) -> None:
        self._settings, self._database, self._say, self._level = settings, url, say, level
        self._sockets: list[socket.socket] = []
        self._workers: dict[int, asyncio.subprocess.Process] = {}
        self.url = ""

    async def open(self) -> None:
        """Check the database and open the port. Raises LeagueError or CannotListen."""
        await asyncio.to_thread(self._check)
        settings, place = self._settings, place_of(self._settings, self._say)
        try:
            self._sockets = await listen(place.hosts, settings.port)
        except OSError as error:
            raise CannotListen(error.errno, error.strerror or str(error)) from error
        host, port = place.called_at or place.hosts[0], self._sockets[0].getsockname()[1]
        here = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        self.url = settings.endpoint.rstrip("/").removesuffix("/mcp") or here
        if urlsplit(self.url).path:
            raise LeagueError("endpoint: write it without a path, such as https://HOST")

    def _check(self) -> None:
        table = PostgresLeagues(self._database)
        table.check()
        table.close()
        service_key(self._database)

    async def run(self, stopped: "asyncio.Future[None]") -> None:
        """Keep the workers running until stopped, then end them."""
        numbers = range(1, self._settings.workers + 1)
        keepers = [asyncio.create_task(self._keep(number, stopped)) for number in numbers]
        await asyncio.wait([stopped, *keepers], return_when=asyncio.FIRST_COMPLETED)
        for process in self._workers.values():
            if process.returncode is None:
                process.terminate()
        for keeper in keepers:
            keeper.cancel()
        await asyncio.gather(*keepers, return_exceptions=True)
        await asyncio.gather(*(_ended(each) for each in self._workers.values()))
        for sock in self._sockets:
            sock.close()

    async def _keep(self, number: int, stopped: "asyncio.Future[None]") -> None:
        loop, failures = asyncio.get_running_loop(), 0
        while not stopped.done():
            began = loop.time()
            process = await self._start(number)
            code = await process.wait()
            if stopped.done():
                return
            failures = 0 if loop.time() - began > STEADY_SECONDS else failures + 1
            seconds = BACK_OFF_SECONDS[min(failures, len(BACK_OFF_SECONDS) - 1)]
            self._say(f"Worker {number} ended (code {code}); it is started again in {seconds:g} s.")
            await asyncio.sleep(seconds)

    async def _start(self, number: int) -> asyncio.subprocess.Process:
        descriptors = tuple(sock.fileno() for sock in self._sockets)
        orders = Orders(self._settings, self._database.conninfo, descriptors, self.url, self._level)
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "agentleague.service.worker"),
            stdin=asyncio.subprocess.PIPE,
            pass_fds=descriptors,
        )
        assert process.stdin
        process.stdin.write(msgspec.json.encode(orders) + b"\n")
        self._workers[number] = process
        return process


async def _ended(process: asyncio.subprocess.Process) -> None:
    try:
        await asyncio.wait_for(process.wait(), STOP_SECONDS)
    except TimeoutError:
        process.kill()
        await process.wait()
