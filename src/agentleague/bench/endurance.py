"""One long league, looked at each second: does it grow, and does it slow down?

The time is cut into ten parts; the second, when all is warm, is compared with the last.
"""

import asyncio
import os
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from agentleague.bench.league_run import CYCLES_MAX, MeasuredLeague, Plan, measure_league
from agentleague.errors import LeagueError
from agentleague.league.league import Phase
from agentleague.runtime.local_league import resident_bytes

PARTS = 10
GROWTH_MB = 5.0  # more than that, and it is said that memory grows
SLOWING = 0.10  # more CPU a match than that, and it is said that it slows down


@dataclass(frozen=True)
class Glance:
    """How things stood at a moment, by role where it matters."""

    seconds: float
    matches: int
    resident_mb: dict[str, float]  # of all processes of a role together
    cpu_seconds: dict[str, float]


@dataclass(frozen=True)
class Endurance:
    """A long league."""

    glances: Sequence[Glance]
    matches: int
    journal_bytes_per_match: float
    replay_seconds: float  # to read its journal, as a restart does

    def part(self, number: int) -> Sequence[Glance]:
        """The glances of one of the ten parts."""
        length = max(2, len(self.glances) // PARTS)
        first = min(number * length, len(self.glances) - length)
        return self.glances[first : first + length]

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
        """Whether no role grew by more than it may."""
        return all(grown <= GROWTH_MB for grown in self.grown_mb().values())

    @property
    def is_steady(self) -> bool:
        """Whether a match costs no more in the end than at first."""
        return self.slowing <= SLOWING


def endure(plan: Plan, seconds: float) -> Endurance:
    """Play one league for so long, in new processes."""
    matches = CYCLES_MAX * plan.players * (plan.players - 1) // 2
    outcome = measure_league(replace(plan, matches=matches, watch=partial(look_on, seconds)))
    return Endurance(
        outcome.watched,
        outcome.matches,
        outcome.journal_bytes / outcome.matches,
        outcome.replay_seconds,
    )


async def look_on(seconds: float, field: MeasuredLeague) -> Sequence[Glance]:
    """Look each second; when the time is up let the league end with the round that runs.

    Raises:
        LeagueError: the league ended before the time was up, or a process did.
    """
    loop = asyncio.get_running_loop()
    began, glances = loop.time(), [_glance(0.0, field)]
    pause = min(1.0, seconds / PARTS / 2)
    while loop.time() - began < seconds:
        await asyncio.sleep(pause)
        if field.manager.league.phase is Phase.COMPLETED:
            raise LeagueError(
                f"the league was over after {loop.time() - began:,.0f} s of {seconds:,.0f}: it has "
                "no more matches; let more play with --players, or measure for fewer --seconds"
            )
        glances.append(_glance(loop.time() - began, field))
    field.manager.stop_after(field.manager.league.round_id)
    return glances


def _glance(seconds: float, field: MeasuredLeague) -> Glance:
    resident = {
        role: sum(_resident_mb(role, pid) for pid in pids) for role, pids in field.pids.items()
    }
    cpu = {role: sum(map(_cpu_seconds, pids)) for role, pids in field.pids.items()}
    return Glance(seconds, field.manager.league.decided_total, resident, cpu)


def _resident_mb(role: str, pid: int) -> float:
    """What a process holds.

    Raises:
        LeagueError: it is gone, or the system does not tell; it does not hold nothing.
    """
    held = resident_bytes(pid)
    if held is None:
        raise LeagueError(
            f"a process of the league has died ({role}, {pid}), or this system does not tell what "
            "processes hold: a long run needs /proc, as Linux has it"
        )
    return held / 1e6


def _cpu_seconds(pid: int) -> float:
    """What a process has used, in user and in system; as /proc tells it, in ticks."""
    text = Path("/proc", str(pid), "stat").read_text(encoding="utf-8")
    user, system = text.rpartition(")")[2].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def _resident(glances: Sequence[Glance], role: str) -> float:
    return statistics.median(glance.resident_mb[role] for glance in glances)
