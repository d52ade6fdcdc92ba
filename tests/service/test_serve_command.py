"""`league serve` as real processes: workers that are killed, a stand-by, an orderly end."""

import asyncio
import os
import signal
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from agentleague.runtime.processes import Place
from commands import BIN, environment, free_port
from service.service_run import agents_of, ask, ended, organiser, verified

SLOW_ENOUGH = {"players": 4, "cycles": 40, "standings_seconds": 0.2}
PLACE = Place(0, hosts=("127.0.0.1",))


@asynccontextmanager
async def serving(database, *options, port=0):
    """The command, once it answers; its URL."""
    port = port or free_port()
    process = await asyncio.create_subprocess_exec(
        *(BIN / "league", "serve", "--port", str(port), *options),
        env={**environment(), "LEAGUE_JOURNAL": database},
        stderr=asyncio.subprocess.PIPE,
        start_new_session=True,
    )
    said = asyncio.create_task(process.stderr.read())
    url = f"http://127.0.0.1:{port}"
    try:
        while not process.returncode:
            try:
                if (await ask(f"{url}/health"))[0] == 200:
                    break
            except OSError:
                await asyncio.sleep(0.05)
        yield url, process
    finally:
        if process.returncode is None:
            process.send_signal(signal.SIGTERM)
        await asyncio.wait_for(process.wait(), 20)
        print((await said).decode())
    assert process.returncode in (0, -signal.SIGKILL)


def workers_of(process):
    """The ids of its child processes."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(each) for each in children]


async def make(url, key, number, settings=SLOW_ENOUGH):
    made = []
    for _ in range(number):
        status, league = await ask(f"{url}/leagues", "POST", key, settings)
        assert status == 201, league
        made.append(league)
    return made


def check(database, made):
    for league in made:
        found = verified(database, league["league_id"])
        assert (found.complete, found.disputed, found.forfeited) == (True, [], 0)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="it looks for workers in /proc")
def test_leagues_of_a_worker_that_is_killed_go_on_at_another(database):
    async def main():
        key = organiser(database, "ann")
        async with serving(database, "--takeover-seconds", "3") as (url, process):
            made = await make(url, key, 3)
            agents = [each for league in made for each in await agents_of(league, 4, place=PLACE)]
            await asyncio.sleep(1.0)  # Somewhere in the middle.
            os.kill(workers_of(process)[0], signal.SIGKILL)
            await ended(agents)
        return made

    check(database, asyncio.run(main()))
