"""A dashboard that really listens, and a small client that sees every byte of an answer."""

import asyncio
import json
from contextlib import asynccontextmanager
from typing import NamedTuple

from agentleague.dashboard.app import Dashboard
from agentleague.dashboard.following import Following
from agentleague.dashboard.league_view import LeagueView
from agentleague.dashboard.serving import serve
from agentleague.storage.directory import open_reader
from agentleague.transport.http_server import listen

SECONDS = 30.0  # for anything that must happen: the machine may be busy


class Answer(NamedTuple):
    status: int
    headers: dict[str, str]
    text: str

    @property
    def json(self):
        return json.loads(self.text)


class Served:
    """A dashboard at a port, asked as a browser or a stranger would."""

    def __init__(self, port, following, dashboard):
        self.port, self.following, self.dashboard = port, following, dashboard

    async def get(self, path, method="GET", **headers):
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        await self._send(writer, path, method, headers)
        answer = await _head(reader)
        body = b"" if method == "HEAD" else (await reader.read())
        writer.close()
        return answer._replace(text=body.decode())

    async def until(self, path, words):
        """The first answer with these words."""
        async with asyncio.timeout(SECONDS):
            while words not in (answer := await self.get(path)).text:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        return answer

    @asynccontextmanager
    async def events(self, page):
        """Each event of a page as (kind, data), as they come."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        await self._send(writer, f"/events?page={page}", "GET", {})
        answer = await _head(reader)
        assert answer.headers["content-type"].startswith("text/event-stream"), answer
        assert "default-src 'none'" in answer.headers["content-security-policy"]
        try:
            yield _events(reader)
        finally:
            writer.close()

    async def _send(self, writer, path, method, headers):
        own = {"Host": f"127.0.0.1:{self.port}", "Connection": "close", **headers}
        lines = [f"{method} {path} HTTP/1.1", *(f"{name}: {text}" for name, text in own.items())]
        writer.write("\r\n".join([*lines, "", ""]).encode())


async def _head(reader):
    head = (await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), SECONDS)).decode()
    first, *lines = head.strip().split("\r\n")
    pairs = (line.split(": ", 1) for line in lines)
    return Answer(int(first.split()[1]), {name.lower(): text for name, text in pairs}, "")


async def _events(reader):
    kind, data = "", []
    while line := (await asyncio.wait_for(reader.readline(), SECONDS)).decode():
        line = line.strip("\r\n")
        if line.startswith("event: "):
            kind = line[7:]
        elif line.startswith("data: "):
            data.append(line[6:])
        elif not line and data:
            yield kind, "\n".join(data)
            kind, data = "", []


@asynccontextmanager
async def served(directory, manager_url="", **options):
    """Serve the league of a directory for as long as the block lasts."""
    stopped = asyncio.get_running_loop().create_future()
    following = Following(directory, LeagueView(open_reader(directory)), manager_url)
    dashboard = Dashboard(following, **options)
    sockets = await listen(["127.0.0.1"], 0)
    port = sockets[0].getsockname()[1]
    serving = asyncio.create_task(serve(dashboard, following, sockets, stopped))
    try:
        yield Served(port, following, dashboard)
    finally:
        stopped.set_result(None)
        await serving
