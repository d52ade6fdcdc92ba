"""Measure leagues and bare HTTP exchanges in turn, so that both meet the same machine.

Also which machine that is, where the journal lies (to sync a file in memory costs nothing), and
how much of the processors other processes took meanwhile.
"""

import os
import platform
import statistics
import sysconfig
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from agentleague.bench.bare_http import exchange
from agentleague.bench.league_run import Plan, measure_league, within
from agentleague.runtime.local_league import cores as cores

MATCHES_A_LEAGUE = 5_000
MATCHES_ALONE_MAX = 500  # between two players who have the machine for themselves
MATCHES_A_SECOND = 250  # planned a second: about four leagues in the time

MOUNTS, STAT = Path("/proc/mounts"), Path("/proc/stat")
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
    def cpu_us(self) -> float:
        """CPU of a match, all processes together."""
        return sum(self.cpu_us_per_match.values())

    @property
    def ratio(self) -> float:
        """League to bare pair."""
        return self.matches_per_second / self.bare_matches_per_second


@dataclass(frozen=True)
class Bench:
    """All samples of a measurement."""

    plan: Plan
    alone: Sequence[float]  # seconds of matches that had the machine for themselves, sorted
    samples: Sequence[Sample]
    others_share: float | None  # of the processors' time; None where the system does not tell

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
    began, others = now(), OtherProcesses()
    samples: list[Sample] = []
    matches = int(max(10, min(seconds * 25, MATCHES_ALONE_MAX)))
    alone = measure_league(replace(plan, players=2, referees=1, matches=matches))
    while not samples or now() - began < seconds:
        samples.append(_sample(plan))
        on_sample(samples[-1])
    return Bench(plan, alone.match_seconds, samples, others.share())


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
    is_pgo: bool | None  # built with profile-guided optimisation; None where it does not tell
    load: float | None  # of the last minute: processes that wanted to run
    file_system: str  # that holds the journal; empty where the system does not tell


def this_machine(folder: Path) -> Machine:
    """This machine, with the journal in this folder."""
    system = f"{platform.system()} {platform.machine()}"
    python = f"{platform.python_implementation()} {platform.python_version()}"
    is_pgo = built_with_pgo(sysconfig.get_config_vars())
    return Machine(cores(), system, python, is_pgo, _load(), file_system_of(folder))


def built_with_pgo(variables: Mapping[str, Any]) -> bool | None:
    """Whether an interpreter was, by the variables of its build; None where they do not tell.

    Debian's do not: it builds with profiles and takes their flags out of what is installed.
    """
    names = ("CONFIG_ARGS", "PY_CFLAGS_NODIST", "PY_CORE_CFLAGS")
    flags = " ".join(str(variables.get(name, "")) for name in names)
    if any(f in flags for f in ("--enable-optimizations", "-fprofile-use", "-fprofile-instr-use")):
        return True
    return False if variables.get("PGO_PROF_USE_FLAG") else None


def _load() -> float | None:
    return round(os.getloadavg()[0], 1) if hasattr(os, "getloadavg") else None


class OtherProcesses:
    """How much of the processors other processes take from now on."""

    def __init__(self, stat: Path = STAT) -> None:
        self._stat, self._load = stat, _load()
        self._before = self._seconds()

    def share(self) -> float | None:
        """The share so far, by the load before where no times are told; None if nothing is."""
        busy, total, own = (
            now - before for now, before in zip(self._seconds(), self._before, strict=True)
        )
        if total:
            return max(0.0, busy - own) / total
        return None if self._load is None else min(1.0, self._load / cores())

    def _seconds(self) -> tuple[float, float, float]:
        """Of all processors while busy, and in all; of this process and those that it awaited."""
        own = sum(os.times()[:4])
        try:
            first = self._stat.read_text(encoding="utf-8").partition("\n")[0]
        except OSError:
            return 0.0, 0.0, own
        ticks = [int(field) / os.sysconf("SC_CLK_TCK") for field in first.split()[1:9]]
        return sum(ticks) - ticks[3] - ticks[4], sum(ticks), own  # But for idle and iowait.


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
