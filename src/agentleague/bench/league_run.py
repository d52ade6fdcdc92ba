"""Where the time of a process goes: while it works, the function that runs is noted.

The system interrupts a process each time it has used so much processor time. Python hears of it
between two steps of a function, so what C code took counts for the function that called it, and
what the event loop and the kernel took for the loop's own `run`. What another thread took, as the
one that writes the journal, counts for whatever the main thread is doing.

How long matches take, as their referee sees it: from the invitation to the answered report.

One league to be measured: manager, referees and players each in processes of their own.

What is counted of them is counted from one moment on, when all have registered and none has been
told anything: then the league is started, as its organiser would.
"""

import asyncio
import gc
import json
import multiprocessing
import os
import shutil
import signal
import tempfile
from array import array
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from itertools import pairwise
from multiprocessing.connection import Connection
from pathlib import Path
from threading import Thread
from time import perf_counter
from types import FrameType
from typing import Any

from agentleague.errors import LeagueError
from agentleague.league.events import read_event
from agentleague.league.league import League
from agentleague.manager.role import Manager
from agentleague.protocol.messages import GameInvitation, MatchResultReport, Message
from agentleague.roles.effects import Address
from agentleague.roles.ports import Answer, Cancel
from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.clock import wall
from agentleague.runtime.local_league import (
    HOSTS,
    Cast,
    RemoteWorkers,
    Stopwatch,
    Tally,
    deaf_to_interrupts,
    end_with_the_league,
    open_built_in,
    raise_descriptor_limit,
)
from agentleague.runtime.manager_client import ManagerClient
from agentleague.runtime.processes import Home, Place, Running, open_manager, run
from agentleague.runtime.state_files import read_secrets
from agentleague.storage.directory import open_reader

SECONDS = 0.001  # of processor time between two looks; most systems look more seldom
SAMPLES_SUFFIX = ".hits"
Hits = Mapping[str, int]  # how often each function was the one that ran


class Sampler:
    """Counts, by its name, which function runs when the system interrupts."""

    def __init__(self) -> None:
        self.hits: Counter[str] = Counter()

    def start(self) -> None:
        """From now on; in the main thread.

        Raises:
            LeagueError: the system has no such timer.
        """
        if not hasattr(signal, "setitimer"):
            raise LeagueError("this system has no timer of processor time, so nothing is sampled")
        signal.signal(signal.SIGPROF, self._look)
        signal.siginterrupt(signal.SIGPROF, False)  # Nothing that waits is woken.
        signal.setitimer(signal.ITIMER_PROF, SECONDS, SECONDS)

    def stop(self) -> None:
        """No more."""
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _look(self, number: int, frame: FrameType | None) -> None:
        if frame is not None:
            self.hits[name_of(_worker(frame))] += 1


def _worker(frame: FrameType) -> FrameType:
    """Who used the time: where a function only just begins, it was its caller."""
    has_begun = frame.f_lineno != frame.f_code.co_firstlineno
    return frame if has_begun or frame.f_back is None else frame.f_back


def name_of(frame: FrameType) -> str:
    """The function with its module."""
    return f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_qualname}"


@contextmanager
def sampling(folder: Path, role: str) -> Iterator[None]:
    """Note where the time of this process goes, and leave it in the folder."""
    sampler = Sampler()
    sampler.start()
    try:
        yield
    finally:
        _leave(sampler, folder, role)


async def open_sampled(folder: Path, cast: Cast, number: int) -> Running:
    """An agent of a crew; the first referee also notes where its process's time goes."""
    agent = await open_timed(folder, cast, number)
    if cast.role == "referee" and number == cast.first:
        sampler = Sampler()

        def registered(_: Any) -> None:
            sampler.start()
            agent.ended.add_done_callback(lambda _: _leave(sampler, folder, cast.role))

        agent.registered.add_done_callback(registered)
    return agent


def hits_in(folder: Path) -> dict[str, Hits]:
    """What was left there, by role."""
    paths = sorted(folder.glob(f"*{SAMPLES_SUFFIX}"))
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def _leave(sampler: Sampler, folder: Path, role: str) -> None:
    sampler.stop()
    (folder / f"{role}{SAMPLES_SUFFIX}").write_text(json.dumps(sampler.hits), encoding="utf-8")


SUFFIX = ".times"


class MatchTimes:
    """Stands before a referee's transport and looks at two messages of each match."""

    def __init__(self, referee: Running, now: Callable[[], float]) -> None:
        self.seconds = array("d")
        self._call, self._now = referee.transport.call, now
        self._began: dict[str, float] = {}

    def call(
        self, to: Address, message: Message, until: float, done: Callable[[Answer], None]
    ) -> Cancel:
        """Ask another agent, as the transport does."""
        if isinstance(message, GameInvitation):
            self._began.setdefault(message.match_id, self._now())
        elif isinstance(message, MatchResultReport) and message.match_id in self._began:
            return self._call(to, message, until, self._ending(message.match_id, done))
        return self._call(to, message, until, done)

    def _ending(self, match_id: str, done: Callable[[Answer], None]) -> Callable[[Answer], None]:
        def answered(answer: Answer) -> None:
            if answer.error is None and match_id in self._began:  # Else it is reported again.
                self.seconds.append(self._now() - self._began.pop(match_id))
            done(answer)

        return answered


async def open_timed(folder: Path, cast: Cast, number: int) -> Running:
    """An agent of a crew; a referee leaves the times of its matches in this folder."""
    agent = await open_built_in(cast, number)
    if cast.role == "referee":
        times = MatchTimes(agent, perf_counter)  # A loop's own clock may only tell milliseconds.
        agent.transport.call = times.call  # type: ignore[method-assign]
        path = folder / f"{number}{SUFFIX}"
        agent.ended.add_done_callback(lambda _: path.write_bytes(times.seconds.tobytes()))
    return agent


def times_in(folder: Path) -> Sequence[float]:
    """The times of all matches of a league, the shortest first."""
    seconds = array("d")
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        seconds.frombytes(path.read_bytes())
    return sorted(seconds)


def within(times: Sequence[float], percent: int) -> float:
    """What so many of the sorted times do not exceed; nothing where there are none."""
    return times[(percent * len(times) + 99) // 100 - 1] if times else 0.0


LEAGUE = "league_bench"
CYCLES_MAX = 1_000
REPLY_SECONDS = 60.0  # for all agents of a large league to be told something
Watch = Callable[["MeasuredLeague"], Any]  # looks at a league from the inside, while it runs


@dataclass(frozen=True)
class Plan:
    """How many take part, in how many processes, and when the league is over."""

    players: int
    referees: int
    matches: int  # about so many are played
    player_processes: int
    watch: Watch | None = None
    directory: Path | None = None  # where its journal lies; among temporary files unless given
    is_sampled: bool = False  # whether manager and referees say where their time goes

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
class Outcome:
    """What was measured of one league."""

    matches: int
    seconds: float  # from the first announcement to the last LEAGUE_COMPLETED, as the tallies
    startup_seconds: float  # until all are registered
    round_seconds: Sequence[float]
    match_seconds: Sequence[float]  # the shortest first
    journal_bytes: int
    journal_rows: int
    tallies: Sequence[Tally]
    watched: Any = None
    hits: Mapping[str, Hits] = field(default_factory=dict)  # by role, if it was sampled
    replay_seconds: float = 0.0  # to read the journal, as a restart does

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


@dataclass(frozen=True)
class MeasuredLeague:
    """A league that runs, as its manager's process sees it."""

    manager: Manager
    pids: Mapping[str, Sequence[int]]  # by role


def processes_for(cores: int) -> int:
    """In how many processes players are hosted; manager and referees have one each."""
    return max(2, cores - 2)


def measure_league(plan: Plan) -> Outcome:
    """Play a league in new processes, so that nothing of an earlier one is measured."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    with _folder(plan.directory) as folder:
        process = context.Process(target=_field_process, args=(plan, folder, theirs))
        with deaf_to_interrupts():
            process.start()
        theirs.close()
        try:
            told = ours.recv()
        except EOFError:
            raise LeagueError(
                "the manager's process died; what it said last stands above"
            ) from None
        finally:
            process.terminate()
            process.join()
        if isinstance(told, Exception):
            raise told
        assert isinstance(told, Outcome)
        return _with_journal(told, folder)


@contextmanager
def _folder(parent: Path | None) -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="league-bench-", dir=parent))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _field_process(plan: Plan, folder: Path, pipe: Connection) -> None:
    raise_descriptor_limit()
    Thread(target=end_with_the_league, args=(pipe,), daemon=True).start()
    try:
        pipe.send(run(_play(plan, folder)))
    except LeagueError as error:
        pipe.send(LeagueError(str(error)))
    except Exception as error:
        pipe.send(LeagueError(f"{type(error).__name__}: {error}"))


async def _play(plan: Plan, folder: Path) -> Outcome:
    loop = asyncio.get_running_loop()
    began = loop.time()
    settings = ManagerSettings(
        league_id=LEAGUE,
        referees=plan.referees,
        cycles=plan.cycles,
        reply_seconds=REPLY_SECONDS,  # On a slow machine it takes long, and is measured.
    )
    home = Home(folder, "bench", resumes=False)
    manager = await open_manager(settings, home, Place(0, hosts=HOSTS))
    role = manager.host.role
    assert isinstance(role, Manager)
    role.stop_after(plan.rounds)
    referees, players = _crews(plan, folder, manager.url)
    worker_groups = [referees, *players]
    try:
        await referees.start()
        await asyncio.gather(*(workers.start() for workers in players))
        startup_seconds = loop.time() - began
        await asyncio.gather(*(workers.count_from_now() for workers in worker_groups))
        with sampling(folder, "manager") if plan.is_sampled else nullcontext():
            stopwatch = Stopwatch("manager", [manager])
            await _start(manager.url, folder)
            watched = await _watch(plan, manager, MeasuredLeague(role, _pids(referees, players)))
            tallies = [stopwatch.tally([manager])]
        for workers in worker_groups:
            tallies.append(await asyncio.wait_for(workers.finish(), 2 * REPLY_SECONDS))
    finally:
        for workers in worker_groups:
            await workers.stop()
        await manager.stop()
    return Outcome(
        role.league.decided_total,
        role.seconds,
        startup_seconds,
        (),
        times_in(folder),
        0,
        role.league.seq,
        tallies,
        watched,
        hits_in(folder),
    )


def _crews(plan: Plan, folder: Path, url: str) -> tuple[RemoteWorkers, list[RemoteWorkers]]:
    make = partial(Cast, manager_url=url, game="even_odd", seed="bench", is_private=True)
    opener = partial(open_sampled if plan.is_sampled else open_timed, folder)
    groups = min(plan.player_processes, plan.players)
    bounds = [plan.players * number // groups for number in range(groups + 1)]
    players = [
        RemoteWorkers(make("player", first, end - first), opener) for first, end in pairwise(bounds)
    ]
    return RemoteWorkers(make("referee", 0, plan.referees), opener), players


def _pids(referees: RemoteWorkers, players: Sequence[RemoteWorkers]) -> Mapping[str, Sequence[int]]:
    return {
        "manager": [os.getpid()],
        "referee": [referees.pid or 0],
        "player": [workers.pid or 0 for workers in players],
    }


async def _start(url: str, folder: Path) -> None:
    client = ManagerClient(url, wall)
    try:
        await client.command("start", {}, read_secrets(folder).admin_token)
    finally:
        await client.close()


async def _watch(plan: Plan, manager: Running, seen: MeasuredLeague) -> Any:
    """Wait for the end; `watch` may look on, say when it comes, or that all was in vain."""
    looking = asyncio.ensure_future(plan.watch(seen) if plan.watch else asyncio.sleep(0))
    waits: set[asyncio.Future[Any]] = {manager.ended, manager.failed, looking}
    while not manager.ended.done():
        _, waits = await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if manager.failed.done():
            looking.cancel()
            raise manager.failed.result()
        if looking.done():
            looking.result()
    return await looking


def _with_journal(outcome: Outcome, folder: Path) -> Outcome:
    """Read the journal as a manager does that starts again, and take the time."""
    rounds, scheduled, league = [], "", League()
    gc.disable()
    began = perf_counter()
    journal = open_reader(folder)
    for row in journal.read(LEAGUE):
        league.apply(read_event(row.kind, row.version, row.body))
        if row.kind == "round_scheduled":
            scheduled = row.at
        elif row.kind == "round_ended":
            rounds.append(_seconds(scheduled, row.at))
    replay_seconds = perf_counter() - began
    gc.enable()
    size = journal.size_bytes()
    return replace(outcome, round_seconds=rounds, journal_bytes=size, replay_seconds=replay_seconds)


def _seconds(first: str, last: str) -> float:
    return (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds()
