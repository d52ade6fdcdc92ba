"""Measure leagues and bare HTTP exchanges in turn, so that both meet the same machine.

Also which machine that is, and where the journal lies: to sync a file in memory costs nothing.
"""

import os
import platform
import statistics
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from agentleague.bench.bare_http import exchange
from agentleague.bench.league_run import Plan, measure_league, within
from agentleague.runtime.local_league import cores as cores

MATCHES_A_LEAGUE = 5_000
MATCHES_ALONE_MAX = 500  # between two players who have the machine for themselves
MATCHES_A_SECOND = 250  # planned a second: about four leagues in the time

MOUNTS = Path("/proc/mounts")
IN_MEMORY = ("tmpfs", "ramfs")  # To sync such a file costs nothing.
OTHER_FOLDERS = ("/var/tmp", ".")  # where temporary files may lie if the usual folder is in memory


class Figure(NamedTuple):
    """A median over the samples, with the least and the most."""

    median: float
    least: float
    most: float


@dataclass(frozen=True)
class Sample:
    """One league, and the bare pair that ran right after it."""

    matches: int
    matches_per_second: float
    messages_per_match: float
    bare_matches_per_second: float
    match_ms_p50: float
    match_ms_p99: float
    journal_bytes_per_match: float
    cpu_us_per_match: Mapping[str, float]
    peak_mb: Mapping[str, float]

    @property
    def messages_per_second(self) -> float:
        """Requests, by all agents together."""
        return self.matches_per_second * self.messages_per_match

    @property
    def ratio(self) -> float:
        """League to bare pair."""
        return self.matches_per_second / self.bare_matches_per_second


@dataclass(frozen=True)
class Bench:
    """All samples of a measurement."""

    plan: Plan
    alone: Sequence[float]  # seconds of matches that had the machine for themselves, sorted
    samples: list[Sample]

    def figure(self, name: str) -> Figure:
        """One figure over the samples."""
        return _figure([getattr(sample, name) for sample in self.samples])

    def by_role(self, name: str) -> dict[str, Figure]:
        """One figure of each role over the samples."""
        tables = [getattr(sample, name) for sample in self.samples]
        return {role: _figure([table[role] for table in tables]) for role in tables[0]}


def plan_for(
    players: int,
    referees: int,
    seconds: float,
    player_processes: int,
    directory: Path | None = None,
) -> Plan:
    """Leagues that are short beside the seconds to measure, however many players there are."""
    matches = max(int(min(seconds * MATCHES_A_SECOND, MATCHES_A_LEAGUE)), players // 2)
    return Plan(players, referees, matches, player_processes, directory=directory)


def measure(
    plan: Plan, seconds: float, now: Callable[[], float], on_sample: Callable[[Sample], None]
) -> Bench:
    """Measure for about so many seconds, at least one league."""
    began = now()
    matches = int(max(10, min(seconds * 25, MATCHES_ALONE_MAX)))
    alone = Plan(2, 1, matches, 1, directory=plan.directory)
    bench = Bench(plan, measure_league(alone).match_seconds, [])
    while not bench.samples or now() - began < seconds:
        sample = _sample(plan)
        bench.samples.append(sample)
        on_sample(sample)
    return bench


def _sample(plan: Plan) -> Sample:
    league = measure_league(plan)
    per_match = league.messages / league.matches
    sizes = [
        sum(getattr(tally, name) for tally in league.tallies) // league.messages
        for name in ("bytes_sent", "bytes_answered")
    ]
    return Sample(
        league.matches,
        league.matches / league.seconds,
        per_match,
        exchange(league.messages, *sizes) / per_match,
        within(league.match_seconds, 50) * 1e3,
        within(league.match_seconds, 99) * 1e3,
        league.journal_bytes / league.matches,
        {role: cpu * 1e6 for role, cpu in league.per_match("cpu_seconds").items()},
        {role: peak / 1e6 for role, peak in league.peak_bytes().items()},
    )


def _figure(values: Sequence[float]) -> Figure:
    return Figure(statistics.median(values), min(values), max(values))


class Machine(NamedTuple):
    """The facts of a machine that matter to its speed; none says whose it is."""

    cores: int
    system: str
    python: str
    load: float | None  # of the last minute: processes that wanted to run
    file_system: str  # that holds the journal; empty where the system does not tell


def this_machine(folder: Path) -> Machine:
    """This machine, with the journal in this folder."""
    load = os.getloadavg()[0] if hasattr(os, "getloadavg") else None
    system = f"{platform.system()} {platform.machine()}"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    kind = file_system_of(folder)
    return Machine(cores(), system, python, None if load is None else round(load, 1), kind)


def processes_for(cores: int) -> int:
    """The number of processes for the players; manager and referees have one each."""
    return max(2, cores - 2)


def temporary_folder() -> Path:
    """A folder for temporary files, on a disk if there is one."""
    folders = [Path(name) for name in (tempfile.gettempdir(), *OTHER_FOLDERS)]
    usable = [folder for folder in folders if os.access(folder, os.W_OK)]
    on_disk = (folder for folder in usable if file_system_of(folder) not in IN_MEMORY)
    return next(on_disk, folders[0])


def file_system_of(folder: Path, mounts: Path = MOUNTS) -> str:
    """The file system a folder is on, such as ext4; empty where the system does not tell."""
    try:
        rows = [line.split() for line in mounts.read_text(encoding="utf-8").splitlines()]
    except OSError:
        return ""
    place, found = folder.resolve(), {}
    for _, point, kind, *_ in rows:  # What is mounted later hides what was there.
        found[Path(point.replace("\\040", " "))] = kind
    return next((found[above] for above in (place, *place.parents) if above in found), "")
