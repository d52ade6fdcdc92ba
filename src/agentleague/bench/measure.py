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


# The figures of one league and of the bare pair that ran right after it, by name.
Sample = Mapping[str, float]


class Figure(NamedTuple):
    """A median over the samples, with the least and the most."""

    median: float
    least: float
    most: float


@dataclass(frozen=True)
class Bench:
    """All samples of a measurement."""

    plan: Plan
    alone: Sequence[float]  # seconds of matches that had the machine for themselves, sorted
    samples: Sequence[Sample]
    others_share: float | None  # of the processors' time; None where the system does not tell

    def figure(self, name: str) -> Figure:
        """One figure over the samples."""
        values = [sample[name] for sample in self.samples]
        return Figure(statistics.median(values), min(values), max(values))


def plan_for(
    players: int, referees: int, seconds: float, player_processes: int, directory: Path | None
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
    rate, bare = league.matches / league.seconds, exchange(league.messages, *sizes) / per_match
    cpus = {role: cpu * 1e6 for role, cpu in league.per_match("cpu_seconds").items()}
    return {
        "matches": league.matches,
        "matches_per_second": rate,
        "messages_per_second": rate * per_match,
        "messages_per_match": per_match,
        "bare_matches_per_second": bare,
        "ratio_to_bare_transport": rate / bare,
        "match_ms_p50": within(league.match_seconds, 50) * 1e3,
        "match_ms_p99": within(league.match_seconds, 99) * 1e3,
        "journal_bytes_per_match": league.journal_bytes / league.matches,
        "cpu_us": sum(cpus.values()),
        **{f"cpu_us_{role}": cpu for role, cpu in cpus.items()},
        **{f"peak_mb_{role}": peak / 1e6 for role, peak in league.peak_bytes().items()},
    }


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
    """By the variables of its build; None where they do not tell: Debian takes such flags out."""
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
        others, total = (now - was for now, was in zip(self._seconds(), self._before, strict=True))
        if total:
            return max(0.0, others) / total
        return None if self._load is None else min(1.0, self._load / cores())

    def _seconds(self) -> tuple[float, float]:
        """Of all processors: those of other processes than ours that have ended, and in all."""
        try:
            first = self._stat.read_text(encoding="utf-8").partition("\n")[0]
        except OSError:
            return 0.0, 0.0
        ticks = [int(field) / os.sysconf("SC_CLK_TCK") for field in first.split()[1:9]]
        idle = ticks[3] + ticks[4]  # the second while a disk was awaited
        return sum(ticks) - idle - sum(os.times()[:4]), sum(ticks)


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
