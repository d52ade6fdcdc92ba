"""Floods of every kind from one core: a good agent hardly notices, and no result is lost."""

import asyncio
import json
import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path
from statistics import median, quantiles

import pytest

from agentleague.transport.http import Rate
from agentleague.transport.http_server import ServerLimits
from commands import BIN, SECONDS, first_line, free_port, league, started
from security.test_inbound import QUERY, Line, run

PLAYERS = 6
ROUNDS, ASKED = 3, 1_000  # measurements with and without a flood in turn, and questions in each
TIMES_MAX = 5.0
UNBOUNDED = "pipelined"  # Hundreds of connections at once make turns of the loop long.
SHARE_MAX = 0.5  # of a core, for the good agent and the flood together
FLOOD = Path(__file__).with_name("flood.py")


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["unknown", "player", "garbage", "pipelined"])
def test_a_flood_from_one_core_slows_a_good_agent_little_and_loses_no_result(
    kind, tmp_path, capsys
):
    """The figures are printed: p99 of a good agent with and without the flood.

    How often the flood is answered, and how much of a core that costs, is bounded by the rate on
    every machine; times are judged only on one that has nothing else to do.
    """
    if shutil.which("taskset") is None or len(os.sched_getaffinity(0)) < 2:
        pytest.skip("needs taskset and two cores")
    port, directory, state = free_port(), tmp_path / "cup", tmp_path / "state"
    url = f"http://127.0.0.1:{port}/mcp"
    manager = started(
        *(BIN / "league", "manager", "--port", port, "--dir", directory),
        *("--players", PLAYERS, "--move-seconds", 10, "--join-seconds", 10),
    )
    first_line(manager)
    first_line(started(BIN / "league", "referee", "--manager", url, "--port", 0))
    good, wild = enter("Good", url, state), enter("Wild", url, state)
    quiet, loud, counts, spent = [], [], [], 0.0
    is_busy = os.getloadavg()[0] > len(os.sched_getaffinity(0)) / 2
    for _ in range(ROUNDS):
        quiet.append(p99(port, good))
        before = cpu_seconds(manager.pid)
        with flooded(port, kind, wild, counts):
            loud.append(p99(port, good))
        spent += cpu_seconds(manager.pid) - before
    share = spent / sum(each[-1] for each in counts)
    with flooded(port, kind, wild, counts):
        for number in range(2, PLAYERS):
            enter(f"Player {number}", url, state)
        rows = until_complete(directory)
    times, rate, held = median(loud) / median(quiet), Rate(), ServerLimits().held
    sent, answered, closed, seconds = (sum(each) for each in zip(*counts, strict=True))
    with capsys.disabled():
        print(
            f"\n{kind}: p99 of a good agent {1000 * median(quiet):.1f} ms alone, "
            f"{1000 * median(loud):.1f} ms with the flood ({times:.1f} times); {sent} requests of "
            f"the flood in {seconds:.0f} s, {answered} answered, {closed} connections closed; the "
            f"manager at most {most_memory(manager.pid)}, {100 * share:.0f} % of a core"
        )
    assert [row["played"] for row in rows] == [PLAYERS - 1] * PLAYERS
    assert [row["technical_losses"] for row in rows] == [0] * PLAYERS
    assert answered <= len(counts) * 2 * rate.burst + 2 * rate.per_second * seconds + held
    assert share <= SHARE_MAX
    assert is_busy or times <= TIMES_MAX or kind == UNBOUNDED


@contextmanager
def flooded(port, kind, token, counts):
    """A flood, on a core of its own; what it counted is added at its end."""
    core = str(max(os.sched_getaffinity(0)))
    told = [str(port), kind, *([token] if kind == "player" else [])]
    flood = subprocess.Popen(
        ["taskset", "-c", core, sys.executable, str(FLOOD), *told],
        stdout=subprocess.PIPE,
        stdin=subprocess.PIPE,
        text=True,
    )
    try:
        flood.stdout.readline()
        began = time.perf_counter()
        yield
        said = flood.communicate("\n", timeout=SECONDS)[0]
        counts.append([*(int(each) for each in said.split()), time.perf_counter() - began])
    finally:
        flood.kill()
        flood.communicate()


def enter(name, url, state):
    """Start a player; its token, once it is registered."""
    process = started(
        *(BIN / "league", "player", "--strategy", "random", "--manager", url),
        *("--port", 0, "--name", name, "--state", state / name),
    )
    while "Registered as" not in process.stderr.readline():
        assert process.poll() is None
    (kept,) = (path for path in (state / name).glob("player-*.json"))
    return json.loads(kept.read_text())["token"]


def p99(port, token):
    """Of how long each query of a well-behaved agent took, one every few milliseconds."""

    async def scenario():
        line = Line(*await asyncio.open_connection("127.0.0.1", port))
        found = []
        for _ in range(ASKED):
            began = time.perf_counter()
            status, _, _ = await line.ask({**QUERY, "auth_token": token})
            found.append(time.perf_counter() - began)
            assert status == 200
            await asyncio.sleep(0.005)
        line.writer.close()
        return found

    return quantiles(run(scenario()), n=100)[98]


def until_complete(directory):
    for _ in range(300):
        status = json.loads(league("status", "--dir", directory, "--json").stdout)
        if status["status"] == "LEAGUE_COMPLETED":
            return json.loads(league("standings", "--dir", directory, "--json").stdout)
        time.sleep(0.5)
    raise AssertionError(f"the league never ended: {status}")


def cpu_seconds(pid):
    """How long a process has worked, its waiting not counted."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def most_memory(pid):
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(line.split(maxsplit=1)[1] for line in lines if line.startswith("VmHWM"))
