"""Two `league serve` on one database: one is killed, stopped or cut off, and the other goes on."""

import asyncio
import os
import signal
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from agentleague.runtime.processes import Place
from forwarders import forwarders
from service.service_run import agents_of, ask, ended, organiser
from service.test_serve_command import check, make, serving, workers_of

HERE = Place(0, hosts=("127.0.0.1",))
SEATED = Place(0, hosts=("127.0.0.1",), listens=False)
OPTIONS = ("--workers", "1", "--takeover-seconds", "3")
# Long enough for something to happen in the middle of it.
CUP = {"players": 4, "cycles": 4, "round_notice_seconds": 0.1, "lease_seconds": 3.0}


async def leagues_at(url):
    """How many leagues a service owns."""
    return (await ask(f"{url}/health"))[1]["leagues_here"]


async def until(condition):
    async with asyncio.timeout(60):
        while not await condition():  # noqa: ASYNC110
            await asyncio.sleep(0.05)


def known(league, *services):
    """A league as agents know it: at several services."""
    path = urlsplit(league["url"]).path
    return {**league, "url": ",".join(f"{each}{path}" for each in services)}


async def playing(league):
    """Its agents, half of the players at seats, when they are in the middle of it."""
    agents = await agents_of(league, 2, referees=0, place=SEATED)
    agents += await agents_of(league, 2, place=HERE)

    async def have_played():
        return sum(len(each.host.role.memory.records()) for each in agents[:4]) > 10

    await until(have_played)
    return agents


def send(process, number):
    """Signal a service, its parent first: it starts no worker anew."""
    for pid in (process.pid, *workers_of(process)):
        os.kill(pid, number)


async def killed(process, way):
    send(process, signal.SIGKILL)
    await process.wait()


async def stopped(process, way):
    send(process, signal.SIGSTOP)


async def woken(process, way):
    send(process, signal.SIGCONT)


async def cut_off(process, way):
    await way.cut()


async def connected(process, way):
    await way.open()


async def nothing(process, way):
    pass


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="it looks for workers in /proc")
@pytest.mark.parametrize(
    ("trouble", "its_end"),
    [
        # The same in fewer processes: test_leagues_of_a_worker_that_is_killed_go_on_at_another.
        pytest.param(killed, nothing, marks=pytest.mark.slow),
        (stopped, woken),
        (cut_off, connected),
    ],
)
def test_a_league_goes_on_at_the_stand_by(database, trouble, its_end):
    async def main():
        key, port = organiser(database, "ann"), urlsplit(database).port
        async with (
            forwarders(port, "") as (way,),
            serving(database.replace(f":{port}/", f":{way.port}/"), *OPTIONS) as (url, process),
        ):
            (league,) = await make(url, key, 1, CUP)
            await until(lambda: leagues_at(url))
            async with serving(database, *OPTIONS) as (standby, _):
                agents = await playing(known(league, url, standby))

                await trouble(process, way)
                await until(lambda: leagues_at(standby))
                await its_end(process, way)

                await ended(agents)
                if its_end is not nothing:
                    assert await leagues_at(url) == 0
        return league

    check(database, [asyncio.run(main())])
