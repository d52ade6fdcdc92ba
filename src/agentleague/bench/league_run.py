"""One league to be measured: manager, referees and players each in processes of their own.

What is counted of them is counted from one moment on, when all have registered and none has been
told anything: then the league is started, as its organiser would.
"""

import asyncio
import gc
import multiprocessing
import os
import shutil
import tempfile
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
from typing import Any

from agentleague.bench.match_times import open_timed, times_in
from agentleague.bench.sampling import Hits, hits_in, open_sampled, sampling
from agentleague.errors import LeagueError
from agentleague.league.events import read_event
from agentleague.league.league import League
from agentleague.manager.role import Manager
from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.clock import wall
from agentleague.runtime.local_league import (
    HOSTS,
    Cast,
    RemoteCrew,
    Stopwatch,
    Tally,
    deaf_to_interrupts,
    end_with_the_league,
    raise_descriptor_limit,
)
from agentleague.runtime.manager_client import Inquiry
from agentleague.runtime.processes import Home, Place, Running, open_manager, run
from agentleague.runtime.secrets_file import read_secrets
from agentleague.storage.sqlite import FILE_NAME, read_directory

LEAGUE = "league_bench"
CYCLES_MAX = 1_000
REPLY_SECONDS = 60.0  # for all agents of a large league to be told something
Watch = Callable[["Field"], Any]  # looks at a league from the inside, while it runs


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
    is_hosted: bool = False  # whether the players of a process share a port, and connections

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
class Field:
    """A league that runs, as its manager's process sees it."""

    manager: Manager
    pids: Mapping[str, Sequence[int]]  # by role


def processes_for(cores: int) -> int:
    """In how many processes players are hosted; manager and referees have one each."""
    return max(2, cores - 2)


def play_field(plan: Plan) -> Outcome:
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
    crews = [referees, *players]
    try:
        await referees.start()
        await asyncio.gather(*(crew.start() for crew in players))
        startup_seconds = loop.time() - began
        await asyncio.gather(*(crew.count_from_now() for crew in crews))
        with sampling(folder, "manager") if plan.is_sampled else nullcontext():
            stopwatch = Stopwatch("manager", [manager])
            await _start(manager.url, folder)
            watched = await _watch(plan, manager, Field(role, _pids(referees, players)))
            tallies = [stopwatch.tally([manager])]
        for crew in crews:
            tallies.append(await asyncio.wait_for(crew.finish(), 2 * REPLY_SECONDS))
    finally:
        for crew in crews:
            await crew.stop()
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


def _crews(plan: Plan, folder: Path, url: str) -> tuple[RemoteCrew, list[RemoteCrew]]:
    make = partial(Cast, manager_url=url, game="even_odd", seed="bench", is_private=True)
    opener = partial(open_sampled if plan.is_sampled else open_timed, folder)
    groups = min(plan.player_processes, plan.players)
    bounds = [plan.players * number // groups for number in range(groups + 1)]
    players = [
        RemoteCrew(make("player", first, end - first, hosted=plan.is_hosted), opener)
        for first, end in pairwise(bounds)
    ]
    return RemoteCrew(make("referee", 0, plan.referees), opener), players


def _pids(referees: RemoteCrew, players: Sequence[RemoteCrew]) -> Mapping[str, Sequence[int]]:
    return {
        "manager": [os.getpid()],
        "referee": [referees.pid or 0],
        "player": [crew.pid or 0 for crew in players],
    }


async def _start(url: str, folder: Path) -> None:
    inquiry = Inquiry(url, wall)
    try:
        await inquiry.command("start", {}, read_secrets(folder).admin_token)
    finally:
        await inquiry.close()


async def _watch(plan: Plan, manager: Running, seen: Field) -> Any:
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
    for row in read_directory(folder, LEAGUE):
        league.apply(read_event(row.kind, row.version, row.body))
        if row.kind == "round_scheduled":
            scheduled = row.at
        elif row.kind == "round_ended":
            rounds.append(_seconds(scheduled, row.at))
    replay_seconds = perf_counter() - began
    gc.enable()
    size = (folder / FILE_NAME).stat().st_size
    return replace(outcome, round_seconds=rounds, journal_bytes=size, replay_seconds=replay_seconds)


def _seconds(first: str, last: str) -> float:
    return (datetime.fromisoformat(last) - datetime.fromisoformat(first)).total_seconds()
