"""One league to be measured: manager, referees and players each in processes of their own.

Counting starts when all have registered and nobody has been told anything: then the league is
started, as its organiser would.

A profile counts which function runs each time a process has used a little CPU. Python handles the
signal between two steps of a function, so C code counts for the function that called it, and the
event loop and the kernel for the loop's own `run`. Other threads, such as the one that writes the
journal, count for whatever the main thread is doing.
"""

import asyncio
import json
import multiprocessing
import os
import signal
import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from time import perf_counter
from types import FrameType
from typing import Any

from agentleague.errors import LeagueError
from agentleague.manager.role import Manager
from agentleague.protocol.messages import GameInvitation, MatchResultReport, Message
from agentleague.records.shared_files import keep_files
from agentleague.roles.effects import Address
from agentleague.roles.ports import Answer, Cancel, OnAnswer
from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.local_league import (
    HOSTS,
    AgentGroup,
    RemoteWorkers,
    Stopwatch,
    Tally,
    end_with_the_league,
    ignoring_interrupts,
    open_built_in,
    raise_descriptor_limit,
)
from agentleague.runtime.manager_client import with_manager
from agentleague.runtime.managers import Home, open_manager
from agentleague.runtime.processes import Place, Running, run
from agentleague.runtime.state_files import read_secrets
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.directory import open_reader

LEAGUE = "league_bench"
CYCLES_MAX = 1_000
AT_ONCE = 8  # players of a process that register at a time
REPLY_SECONDS = 60.0  # for all agents of a large league to be told something
SAMPLE_SECONDS = 0.001  # of CPU between two samples; most systems sample less often
TIMES_SUFFIX = ".times"
HITS_SUFFIX = ".hits"
Hits = Mapping[str, int]  # how often each function was the one that ran
# Watches a league from its manager's process; also told the ids of all processes, by role.
Watch = Callable[[Manager, Mapping[str, Sequence[int]]], Coroutine[Any, Any, Any]]


@dataclass(frozen=True)
class Plan:
    """How many take part, in how many processes, and when the league is over."""

    players: int
    referees: int
    matches: int  # about so many are played
    player_processes: int
    watch: Watch | None = None
    directory: Path | None = None  # where its journal lies; among temporary files unless given
    is_profiled: bool = False  # whether manager and referees count which functions run
    is_seated: bool = False  # whether players fetch their calls from the manager
    journal: DatabaseUrl | None = None  # a database instead of that directory
    stages: Sequence[Mapping[str, Any]] = ()  # other formats, played to their end
    has_files: bool = True  # whether the manager keeps the files of document 001 current

    @property
    def cycles(self) -> int:
        """How often everybody meets everybody, where that makes too few matches."""
        once = self.players * (self.players - 1) // 2
        return max(1, min(round(self.matches / once), CYCLES_MAX))

    @property
    def rounds(self) -> int:
        """After how many rounds the league is ended, where all would be too many."""
        return max(1, self.matches // (self.players // 2))


@dataclass(frozen=True)
class Measurement:
    """What was measured of one league."""

    matches: int
    seconds: float  # from the first announcement to the last LEAGUE_COMPLETED, as the tallies
    startup_seconds: float  # until all are registered
    match_seconds: Sequence[float]  # the shortest first
    tallies: Sequence[Tally]
    watched: Any = None
    hits: Mapping[str, Hits] = field(default_factory=dict)  # by role, if it was profiled
    journal_bytes: int = 0
    seen: Any = None  # in its folder

    @property
    def messages(self) -> int:
        """Requests that were sent, by all agents together."""
        return sum(tally.calls for tally in self.tallies)

    def per_match(self, name: str) -> dict[str, float]:
        """A figure of the tallies, by role, divided by the matches."""
        totals: dict[str, float] = {}
        for tally in self.tallies:
            totals[tally.role] = totals.get(tally.role, 0.0) + getattr(tally, name)
        return {role: total / self.matches for role, total in totals.items()}

    def peak_bytes(self) -> dict[str, int]:
        """The most that one process held, by role."""
        peaks: dict[str, int] = {}
        for tally in self.tallies:
            peaks[tally.role] = max(peaks.get(tally.role, 0), tally.peak_bytes)
        return peaks


def measure_league(plan: Plan, look: Callable[[Path], Any] = lambda folder: None) -> Measurement:
    """Play a league in new processes, so that nothing of an earlier one is measured.

    `look` is shown the folder with its journal, before that is removed.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    temporary = tempfile.TemporaryDirectory(
        prefix="league-bench-", dir=plan.directory, ignore_cleanup_errors=True
    )
    with temporary as name:
        folder = Path(name)
        process = context.Process(target=_league_process, args=(plan, folder, theirs))
        with ignoring_interrupts():
            process.start()
        theirs.close()
        try:
            answer = ours.recv()
        except EOFError:
            raise LeagueError("the manager's process died; its last output stands above") from None
        finally:
            process.terminate()
            process.join()
        if isinstance(answer, Exception):
            raise answer
        assert isinstance(answer, Measurement)
        size = open_reader(plan.journal or folder).size_bytes()
        return replace(answer, journal_bytes=size, seen=look(folder))


def _league_process(plan: Plan, folder: Path, pipe: Connection) -> None:
    raise_descriptor_limit()
    Thread(target=end_with_the_league, args=(pipe,), daemon=True).start()
    try:
        pipe.send(run(_play(plan, folder)))
    except LeagueError as error:
        pipe.send(LeagueError(str(error)))
    except Exception as error:
        pipe.send(LeagueError(f"{type(error).__name__}: {error}"))


async def _play(plan: Plan, folder: Path) -> Measurement:
    loop = asyncio.get_running_loop()
    began = loop.time()
    settings = ManagerSettings(
        league_id=LEAGUE,
        referees=plan.referees,
        cycles=plan.cycles,
        stages=plan.stages,
        reply_seconds=REPLY_SECONDS,  # So that a slow machine is measured all the same.
    )
    files = partial(keep_files, "") if plan.has_files else None
    at = plan.journal or folder
    home = Home(at, "bench", resumes=False, files=files)
    manager = await open_manager(settings, home, Place(0, hosts=HOSTS))
    role = manager.host.role
    assert isinstance(role, Manager)
    role.rounds.rounds_max = None if plan.stages else plan.rounds
    referees, players = _workers(plan, folder, manager.url)
    worker_groups = [referees, *players]
    try:
        await referees.start()
        await asyncio.gather(*(workers.start() for workers in players))
        startup_seconds = loop.time() - began
        await asyncio.gather(*(workers.count_from_now() for workers in worker_groups))
        sampler = Sampler(folder, "manager")
        if plan.is_profiled:
            sampler.start()
        stopwatch, key = Stopwatch("manager", [manager]), read_secrets(at).admin_token
        await with_manager(manager.url, lambda client: client.command("start", {}, key))
        pids = {"manager": [os.getpid()], "referee": [referees.pid or 0]}
        pids["player"] = [workers.pid or 0 for workers in players]
        watch = plan.watch(role, pids) if plan.watch else asyncio.sleep(0)
        watched = await wait_for_end(manager, watch)
        tallies = [stopwatch.tally([manager])]
        if plan.is_profiled:
            sampler.stop()
        for workers in worker_groups:
            tallies.append(await asyncio.wait_for(workers.finish(), 2 * REPLY_SECONDS))
    finally:
        for workers in worker_groups:
            await workers.stop()
        await manager.stop()
    matches, seconds, times = role.league.decided_total, role.rounds.seconds, times_in(folder)
    return Measurement(matches, seconds, startup_seconds, times, tallies, watched, hits_in(folder))


def _workers(plan: Plan, folder: Path, url: str) -> tuple[RemoteWorkers, list[RemoteWorkers]]:
    make = partial(AgentGroup, manager_url=url, game="even_odd", seed="bench")
    opener = partial(open_sampled if plan.is_profiled else open_timed, folder)
    groups = min(plan.player_processes, plan.players)
    bounds = [plan.players * number // groups for number in range(groups + 1)]
    players = [
        RemoteWorkers(
            make("player", first, end - first, at_once=AT_ONCE, is_seated=plan.is_seated), opener
        )
        for first, end in pairwise(bounds)
    ]
    return RemoteWorkers(make("referee", 0, plan.referees), opener), players


async def wait_for_end(manager: Running, watch: Coroutine[Any, Any, Any]) -> Any:
    """Wait for the end. `watch` may end the league, or fail and so end the measurement."""
    watching = asyncio.ensure_future(watch)
    waits: set[asyncio.Future[Any]] = {manager.ended, manager.failed, watching}
    while not manager.ended.done():
        _, waits = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if manager.failed.done():
            watching.cancel()
            raise manager.failed.result()
        if watching.done():
            watching.result()
    return await watching


class MatchTimes:
    """Times the matches of a referee, each from its first invitation to its answered report."""

    def __init__(self, referee: Running, now: Callable[[], float]) -> None:
        self.seconds = array("d")
        self._call, self._now = referee.transport.call, now
        self._began: dict[str, float] = {}

    def call(self, to: Address, message: Message, until: float, done: OnAnswer) -> Cancel:
        """Call the transport."""
        if isinstance(message, GameInvitation):
            self._began.setdefault(message.match_id, self._now())
        elif isinstance(message, MatchResultReport) and message.match_id in self._began:
            done = self._ending(message.match_id, done)
        return self._call(to, message, until, done)

    def _ending(self, match_id: str, done: OnAnswer) -> OnAnswer:
        def answered(answer: Answer) -> None:
            if answer.error is None and match_id in self._began:  # Else the referee reports again.
                self.seconds.append(self._now() - self._began.pop(match_id))
            done(answer)

        return answered


async def open_timed(folder: Path, group: AgentGroup, number: int) -> Running:
    """An agent; a referee writes the times of its matches to this folder."""
    agent = await open_built_in(group, number)
    if group.role == "referee":
        times = MatchTimes(agent, perf_counter)  # A loop's clock may only have milliseconds.
        agent.transport.call = times.call  # type: ignore[method-assign]
        path = folder / f"{number}{TIMES_SUFFIX}"
        agent.ended.add_done_callback(lambda _: path.write_bytes(times.seconds.tobytes()))
    return agent


def times_in(folder: Path) -> Sequence[float]:
    """The times of all matches of a league, the shortest first."""
    seconds = array("d")
    for path in sorted(folder.glob(f"*{TIMES_SUFFIX}")):
        seconds.frombytes(path.read_bytes())
    return sorted(seconds)


def within(times: Sequence[float], percent: int) -> float:
    """The percentile of sorted times; 0 where there are none."""
    return times[(percent * len(times) + 99) // 100 - 1] if times else 0.0


class Sampler:
    """Counts which function runs each time the process has used a little CPU."""

    def __init__(self, folder: Path, role: str) -> None:
        self.hits: Counter[str] = Counter()
        self._path = folder / f"{role}{HITS_SUFFIX}"

    def start(self) -> None:
        """Start counting; call it in the main thread."""
        if not hasattr(signal, "setitimer"):
            raise LeagueError("this system has no timer of CPU time, so there is no profile")
        signal.signal(signal.SIGPROF, self.count)
        signal.siginterrupt(signal.SIGPROF, False)  # Waiting system calls go on.
        signal.setitimer(signal.ITIMER_PROF, SAMPLE_SECONDS, SAMPLE_SECONDS)

    def stop(self) -> None:
        """Stop counting, and write the counts to the folder."""
        signal.setitimer(signal.ITIMER_PROF, 0)
        self._path.write_text(json.dumps(self.hits), encoding="utf-8")

    def count(self, number: int, frame: FrameType | None) -> None:
        """Count the function that runs; the handler of the signal."""
        if frame is None:
            return
        if frame.f_lineno == frame.f_code.co_firstlineno and frame.f_back is not None:
            frame = frame.f_back  # It has only just begun: its caller used the time.
        module = frame.f_globals.get("__name__", "?")
        self.hits[f"{module}.{frame.f_code.co_qualname}"] += 1


async def open_sampled(folder: Path, group: AgentGroup, number: int) -> Running:
    """An agent; the first referee of a process also counts which functions run there."""
    agent = await open_timed(folder, group, number)
    if group.role == "referee" and number == group.first:
        sampler = Sampler(folder, group.role)
        agent.registered.add_done_callback(lambda _: sampler.start())
        agent.ended.add_done_callback(lambda _: sampler.stop())
    return agent


def hits_in(folder: Path) -> dict[str, Hits]:
    """The counts in this folder, by role."""
    paths = sorted(folder.glob(f"*{HITS_SUFFIX}"))
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}
