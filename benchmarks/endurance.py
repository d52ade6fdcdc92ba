"""Watch one long league: `python benchmarks/endurance.py --seconds 600 --json`. Linux only.

Memory and CPU are read each second. The time is cut into ten parts; the second, when all is warm,
is compared with the last. Exits with 1 if memory grows or matches slow down.
"""

import argparse
import asyncio
import os
import re
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

from agentleague.bench.league_run import CYCLES_MAX, Plan, measure_league
from agentleague.bench.measure import (
    cores,
    plan_for,
    processes_for,
    temporary_folder,
    this_machine,
)
from agentleague.cli.bench_text import ROLES
from agentleague.cli.output import counted, print_json, say
from agentleague.errors import LeagueError
from agentleague.league.league import Phase
from agentleague.manager.role import Manager
from agentleague.runtime.local_league import raise_descriptor_limit
from replay import replay
from scale import rounded

REFEREES = 2
PARTS = 10
GROWTH_MB_MAX = 5.0
SLOWING_MAX = 0.10  # how much more CPU a match may cost in the end
SAMPLES_MAX = 100  # printed as JSON

Pids = Mapping[str, Sequence[int]]  # of all processes, by role


@dataclass(frozen=True)
class Sample:
    """What the processes used at a moment, by role where it matters."""

    seconds: float
    matches: int
    resident_mb: dict[str, float]  # of all processes of a role together
    cpu_seconds: dict[str, float]


@dataclass(frozen=True)
class Endurance:
    """What was seen of a long league."""

    samples: Sequence[Sample]
    matches: int
    journal_bytes_per_match: float
    replay_seconds: float  # to read its journal, as a restart does

    def part(self, number: int) -> Sequence[Sample]:
        """The samples of one of the ten parts."""
        length = max(2, len(self.samples) // PARTS)
        first = min(number * length, len(self.samples) - length)
        return self.samples[first : first + length]

    def grown_mb(self) -> dict[str, float]:
        """By how much each role's memory grew from the second part to the last."""
        early, late = self.part(1), self.part(PARTS - 1)
        return {
            role: _resident(late, role) - _resident(early, role) for role in early[0].resident_mb
        }

    def cpu_us_per_match(self, number: int) -> float:
        """What a match cost all processes together in one of the parts."""
        first, *_, last = self.part(number)
        spent = sum(last.cpu_seconds.values()) - sum(first.cpu_seconds.values())
        return spent / max(1, last.matches - first.matches) * 1e6

    @property
    def slowing(self) -> float:
        """How much more a match cost in the end, as a part of what it cost at first."""
        return self.cpu_us_per_match(PARTS - 1) / self.cpu_us_per_match(1) - 1

    @property
    def is_flat(self) -> bool:
        """Whether no role's memory grew by more than it may."""
        return all(grown <= GROWTH_MB_MAX for grown in self.grown_mb().values())

    @property
    def is_steady(self) -> bool:
        """Whether a match costs no more in the end than at first."""
        return self.slowing <= SLOWING_MAX


def main() -> None:
    """Play one long league, print what was seen, exit accordingly."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--players", type=int, default=100)
    parser.add_argument("--seconds", type=float, default=600.0)
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    raise_descriptor_limit()
    folder = temporary_folder()
    machine = this_machine(folder)
    plan = plan_for(options.players, REFEREES, options.seconds, processes_for(cores()), folder)
    say(f"One league of {counted(plan.players, 'player')} for {options.seconds:,.0f} seconds.")
    try:
        run = endure(plan, options.seconds)
    except LeagueError as error:
        sys.exit(f"Error: {error}")
    if options.json:
        print_json({**plain(run, plan.players), "machine": machine._asdict()})
    else:
        for sentence in verdicts(run):
            print(sentence)
    sys.exit(not (run.is_flat and run.is_steady))


def endure(plan: Plan, seconds: float) -> Endurance:
    """Play one league for so long, in new processes."""
    matches = CYCLES_MAX * plan.players * (plan.players - 1) // 2
    long = replace(plan, matches=matches, watch=partial(watch, seconds))
    measured = measure_league(long, replay)
    return Endurance(
        measured.watched,
        measured.matches,
        measured.journal_bytes / measured.matches,
        measured.seen.seconds,
    )


async def watch(seconds: float, manager: Manager, pids: Pids) -> Sequence[Sample]:
    """Look each second; when the time is up, let the league end with the current round.

    Raises:
        LeagueError: the league ended before the time was up, or a process did.
    """
    loop = asyncio.get_running_loop()
    began, samples = loop.time(), [_sample(0.0, manager, pids)]
    pause = min(1.0, seconds / PARTS / 2)
    while loop.time() - began < seconds:
        await asyncio.sleep(pause)
        if manager.league.phase is Phase.COMPLETED:
            raise LeagueError(
                f"the league was over after {loop.time() - began:,.0f} s of {seconds:,.0f}: it has "
                "no more matches; let more play with --players, or measure for fewer --seconds"
            )
        samples.append(_sample(loop.time() - began, manager, pids))
    manager.rounds.rounds_max = manager.league.round_id
    return samples


def verdicts(run: Endurance) -> Iterator[str]:
    """How memory and speed changed, and whether that is within the limits."""
    yield f"{counted(run.matches, 'match', 'matches')} in {run.samples[-1].seconds:,.0f} s."
    for role, grown in run.grown_mb().items():
        word = "passed" if grown <= GROWTH_MB_MAX else "failed"
        early, late = run.part(1)[0], run.part(PARTS - 1)[-1]
        each = grown * 1e6 / max(1, late.matches - early.matches)
        yield (
            f"memory, {ROLES[role]}: {grown:+.1f} MB from the second tenth to the last "
            f"({each:,.0f} bytes a match), {word} (at most {GROWTH_MB_MAX:g} MB)."
        )
    word = "passed" if run.is_steady else "failed"
    first, last = run.cpu_us_per_match(1), run.cpu_us_per_match(PARTS - 1)
    yield (
        f"CPU of a match: {first:,.0f} us in the second tenth, {last:,.0f} us in the last "
        f"({run.slowing:+.1%}), {word} (at most {SLOWING_MAX:.0%} more)."
    )
    yield (
        f"journal: {run.journal_bytes_per_match:,.0f} bytes a match; "
        f"a restart reads it in {run.replay_seconds:.1f} s."
    )


def plain(run: Endurance, players: int) -> dict[str, Any]:
    """What was seen as JSON has it."""
    step = max(1, len(run.samples) // SAMPLES_MAX)
    return {
        "players": players,
        "matches": run.matches,
        "seconds": round(run.samples[-1].seconds, 1),
        "grown_mb": rounded(run.grown_mb()),
        "is_flat": run.is_flat,
        "cpu_us_per_match": [round(run.cpu_us_per_match(number), 1) for number in range(PARTS)],
        "is_steady": run.is_steady,
        "journal_bytes_per_match": round(run.journal_bytes_per_match, 1),
        "replay_seconds": round(run.replay_seconds, 3),
        "samples": [rounded(asdict(sample)) for sample in run.samples[::step]],
    }


def _sample(seconds: float, manager: Manager, by_role: Pids) -> Sample:
    resident = {
        role: sum(_resident_mb(role, pid) for pid in pids) for role, pids in by_role.items()
    }
    cpu = {role: sum(map(_cpu_seconds, pids)) for role, pids in by_role.items()}
    return Sample(seconds, manager.league.decided_total, resident, cpu)


def _resident_mb(role: str, pid: int) -> float:
    """The memory of a process. A dead one is an error; it must not count as 0 MB."""
    held = None
    with suppress(OSError):
        status = Path(f"/proc/{pid}/status").read_text(encoding="utf-8")
        held = re.search(r"VmRSS:\s*(\d+) kB", status)
    if held is None:
        raise LeagueError(
            f"a process of the league has died ({role}, {pid}), or this system does not tell what "
            "processes hold: a long run needs /proc, as Linux has it"
        )
    return int(held[1]) * 1024 / 1e6


def _cpu_seconds(pid: int) -> float:
    """The CPU time of a process, user and system; /proc has it in ticks."""
    text = Path("/proc", str(pid), "stat").read_text(encoding="utf-8")
    user, system = text.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _resident(samples: Sequence[Sample], role: str) -> float:
    return statistics.median(sample.resident_mb[role] for sample in samples)


if __name__ == "__main__":
    main()
