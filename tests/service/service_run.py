"""A service in the process of the test: workers on one loop, with one database and one port."""

import asyncio
import json
import os
from contextlib import asynccontextmanager, closing
from http.client import HTTPConnection
from types import SimpleNamespace
from urllib.parse import urlsplit

import psycopg

from agentleague.player import strategies
from agentleague.records.verify import verify
from agentleague.roles.settings import PlayerSettings, RefereeSettings, ServiceSettings
from agentleague.runtime.plugins import load_game
from agentleague.runtime.processes import Place, open_player, open_referee
from agentleague.service import worker
from agentleague.service.leagues import digest_of
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.directory import open_reader
from agentleague.storage.kept import service_key
from agentleague.storage.postgres_leagues import PostgresLeagues
from agentleague.transport.http_server import listen

SEATED = Place(0, hosts=("127.0.0.1",), listens=False)


class Workers:
    """Workers that share a port, each with a way to stop it."""

    def __init__(self, database, sockets, settings):
        self.database, self.settings, self.sockets = database, settings, sockets
        self.url = f"http://127.0.0.1:{sockets[0].getsockname()[1]}"
        self.running = []

    def start(self):
        stopped = asyncio.get_running_loop().create_future()
        descriptors = tuple(os.dup(each.fileno()) for each in self.sockets)
        orders = worker.Orders(self.settings, self.database, descriptors, self.url)
        task = asyncio.create_task(worker.serve(orders, stopped))
        self.running.append(SimpleNamespace(stopped=stopped, task=task))

    async def stop(self, number=0):
        one = self.running.pop(number)
        one.stopped.set_result(None)
        await one.task


@asynccontextmanager
async def a_service(database, workers=2, **settings):
    with closing(PostgresLeagues(DatabaseUrl.parse(database))) as table:
        table.check()
    await asyncio.to_thread(service_key, DatabaseUrl.parse(database))  # As the parent does.
    sockets = await listen(["127.0.0.1"], 0)
    service = Workers(database, sockets, ServiceSettings(workers=workers, **settings))
    for _ in range(workers):
        service.start()
    try:
        yield service
    finally:
        while service.running:
            await service.stop()
        for sock in sockets:
            sock.close()


def organiser(database, name):
    """The key of a new organiser."""
    with closing(PostgresLeagues(DatabaseUrl.parse(database))) as table:
        table.add_organiser(name, digest_of(f"org_{name}"))
    return f"org_{name}"


def ask_now(url, method, key, body, source):
    """Status and JSON of one request."""
    where = urlsplit(url)
    origin = (source, 0) if source else None
    connection = HTTPConnection(where.hostname, where.port, timeout=30, source_address=origin)
    headers = {"Content-Type": "application/json"}
    headers |= {"Authorization": f"Bearer {key}"} if key else {}
    connection.request(
        method, where.path, None if body is None else json.dumps(body).encode(), headers
    )
    response = connection.getresponse()
    said = response.read()
    connection.close()
    is_json = "json" in (response.getheader("Content-Type") or "")
    return response.status, json.loads(said) if is_json else said.decode()


async def ask(url, method="GET", key="", body=None, source=""):
    return await asyncio.to_thread(ask_now, url, method, key, body, source)


async def make(service, key, **settings):
    """A league as it was made."""
    status, league = await ask(f"{service.url}/leagues", "POST", key, settings)
    assert status == 201, league
    return league


async def agents_of(league, players, referees=1, place=SEATED):
    """Agents of a league as it was made, who play it to its end."""
    codes = {"manager_url": league["url"], "join_code": league["join_code"]}
    agents = []
    for number in range(players):
        make = lambda url, name=f"Player {number}": PlayerSettings(  # noqa: E731
            endpoint=url, display_name=name, **codes
        )
        agents.append(await open_player(make, strategies.random, place))
    for _ in range(referees):
        make = lambda url: RefereeSettings(  # noqa: E731
            endpoint=url, referee_code=league["referee_code"], **codes
        )
        agents.append(await open_referee(make, Place(0, hosts=("127.0.0.1",))))
    return agents


async def ended(agents, seconds=60):
    await asyncio.wait_for(asyncio.gather(*(each.ended for each in agents)), seconds)
    await asyncio.gather(*(each.stop() for each in agents))


def verified(database, league_id):
    """What `league verify` finds of a league; it has no difference."""
    journal = open_reader(DatabaseUrl.parse(database).of(league_id))
    findings = verify(journal.read(league_id), load_game)
    assert findings.difference is None
    return findings


async def until(condition, seconds=60):
    """Wait for what the database shows."""
    async with asyncio.timeout(seconds):
        while not await asyncio.to_thread(condition):  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def sql(database, statement, *values):
    """What a statement gives."""
    with closing(psycopg.connect(database, autocommit=True)) as connection:
        cursor = connection.execute(statement, values)
        return cursor.fetchall() if cursor.description else []
