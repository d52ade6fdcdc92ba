"""What one match costs, counted and not timed: in memory, and over real HTTP."""

import asyncio
import sys
from contextlib import contextmanager
from functools import partial
from typing import NamedTuple

import uvloop

from agentleague.manager.role import Manager
from agentleague.roles.settings import ManagerSettings
from agentleague.runtime import local_league
from agentleague.runtime.managers import Home, open_manager
from agentleague.runtime.processes import Place
from memory_league import MemoryLeague
from memory_network import NetworkTransport

# What only tests and simulations run is not counted.
OTHERS = ("agentleague.simulation.", "agentleague.transport.memory", "agentleague.storage.memory")


class Cost(NamedTuple):
    """What one match costs, all agents together."""

    exchanges: float
    bytes_sent: float
    rows: float  # of the journal
    commits: float
    calls: float  # of Python functions of this package


class Calls:
    """Counts calls of functions of this package."""

    def __init__(self):
        self.total = 0
        self._is_ours = {}  # by code object

    @contextmanager
    def counting(self):
        sys.setprofile(self._profile)
        try:
            yield self
        finally:
            sys.setprofile(None)

    def _profile(self, frame, event, argument):
        if event == "call":
            code = frame.f_code
            is_ours = self._is_ours.get(code)
            if is_ours is None:
                name = frame.f_globals.get("__name__", "")
                is_ours = name.startswith("agentleague.") and not name.startswith(OTHERS)
                self._is_ours[code] = is_ours
            self.total += is_ours


class Scales:
    """Counts what a league in memory does."""

    def __init__(self, league, monkeypatch):
        self.league, self.calls = league, Calls()
        self.exchanges = self.bytes_sent = self.commits = 0
        send, append = NetworkTransport._send, league.journal.append

        def sent(transport, request, url, body, until):
            self.exchanges += 1
            self.bytes_sent += len(body)
            return send(transport, request, url, body, until)

        def appended(*arguments):
            self.commits += 1
            append(*arguments)

        monkeypatch.setattr(NetworkTransport, "_send", sent)
        league.journal.append = appended

    def read(self):
        """So far, and after how many matches."""
        rows = self.league.league.seq
        counts = (self.exchanges, self.bytes_sent, rows, self.commits, self.calls.total)
        return self.league.league.decided_total, counts


def cost_in_memory(players, rounds, monkeypatch):
    """The cost of a match in so many whole rounds, the first one left out."""
    league = MemoryLeague(players=players, referees=2)
    for _ in range(2):  # So that also in a small league a match follows on another.
        league.add_referee(max_concurrent_matches=2)
    for _ in range(players):
        league.add_player()
    scales = Scales(league, monkeypatch)
    state = league.league
    league.run_until(lambda: state.round_id == 2)
    before, first = scales.read()
    with scales.calls.counting():
        league.clock.run(until=lambda: state.round_id == 2 + rounds)
    after, last = scales.read()
    matches = after - before
    return Cost(*((end - start) / matches for start, end in zip(first, last, strict=True)))


class HttpCost(NamedTuple):
    """What one match costs over HTTP; `tasks` in all matches together, by what they run."""

    calls: float
    commits: float
    exchanges: float
    matches: int
    tasks: dict[str, int]


async def _cost_over_http(players, cycles, folder):
    settings = ManagerSettings(league_id="cost", players=players, referees=1, cycles=cycles)
    manager = await open_manager(settings, Home(folder, "7"), Place(0, hosts=local_league.HOSTS))
    role = manager.host.role
    assert isinstance(role, Manager)
    make = partial(local_league.AgentGroup, manager_url=manager.url, game="even_odd", seed="7")
    worker_groups = [
        local_league.LocalWorkers(make("referee", 0, 1)),
        local_league.LocalWorkers(make("player", 0, players)),
    ]
    tasks, calls = {}, Calls()

    def made(loop, work, **options):
        name = getattr(work, "__qualname__", str(work))
        tasks[name] = tasks.get(name, 0) + 1
        return asyncio.Task(work, loop=loop, **options)

    try:
        for workers in worker_groups:
            await workers.start()
        asyncio.get_running_loop().set_task_factory(made)
        with calls.counting():
            await manager.ended
        matches = role.league.decided_total
        tallies = [local_league.Stopwatch("manager").tally([manager])]
        tallies += [await workers.finish() for workers in worker_groups]
        commits = manager.host._ledger.journal.commits
    finally:
        asyncio.get_running_loop().set_task_factory(None)
        for workers in worker_groups:
            await workers.stop()
        await manager.stop()
    exchanges = sum(tally.calls for tally in tallies)
    return HttpCost(calls.total / matches, commits / matches, exchanges / matches, matches, tasks)


def cost_over_http(players, cycles, folder):
    """The cost of a match in a whole league over HTTP, all agents in this process."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(_cost_over_http(players, cycles, folder))
