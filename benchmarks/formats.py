"""A large Swiss and a large knockout over HTTP: `python benchmarks/formats.py --json`.

Measured are the pairing of each round, the longest step of the manager, its memory, and whether
`verify` agrees with every row.
"""

import argparse
import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

from agentleague.bench.league_run import Measurement, Plan, measure_league
from agentleague.bench.measure import temporary_folder, this_machine
from agentleague.cli.bench_text import machine_text
from agentleague.cli.output import Column, counted, print_json, print_rows, say
from agentleague.games import even_odd
from agentleague.manager.role import Manager
from agentleague.records.reading import read_rows
from agentleague.records.verify import Findings, verify
from agentleague.runtime.local_league import raise_descriptor_limit

REFEREES = 2
PLAYER_PROCESSES = 4
PAIRING_SECONDS_MAX = 1.0
LOOK_SECONDS = 0.01
LEAGUES: Mapping[str, tuple[int, Mapping[str, Any]]] = {
    "swiss": (1_000, {"format": "swiss", "rounds": 10}),
    "knockout": (256, {"format": "knockout"}),
}
COLUMNS = (
    Column("name", "Format"),
    Column("players", "Players"),
    Column("rounds", "Rounds"),
    Column("matches", "Matches"),
    Column("seconds", "Seconds"),
    Column("rate", "Matches/s"),
    Column("pairing", "Pairing s, at most"),
    Column("step", "Step s, at most"),
    Column("lag", "Loop late s, at most"),
    Column("memory", "Manager MB"),
    Column("verified", "Verified"),
)


@dataclass(frozen=True)
class FormatFigures:
    """The figures of one league."""

    name: str
    players: int
    rounds: int
    matches: int
    forfeited: int
    seconds: float
    startup_seconds: float
    pairing_seconds: Sequence[float]  # of each round but the first, with the table before it
    longest_step_seconds: float  # of the manager, for one message or timer
    loop_late_seconds: float  # by which the manager's loop was late, at most
    manager_mb: float
    cpu_us_per_match: Mapping[str, float]
    verified: str  # or what is wrong


class Watched:
    """Times what the manager does; `seconds` has the longest, and each pairing."""

    def __init__(self, manager: Manager) -> None:
        self.step = self.late = 0.0
        self._pairing: dict[int, float] = {}
        handle, next_round, league = manager.handle, manager.league.next_round, manager.league

        def timed_handle(*given: Any) -> Any:
            seconds, outcome = _timed(handle, *given)
            self.step = max(self.step, seconds)
            return outcome

        def timed_next_round() -> Any:
            seconds, outcome = _timed(next_round)
            ended = league.rounds_ended
            self._pairing[ended] = self._pairing.get(ended, 0.0) + seconds
            return outcome

        manager.handle = timed_handle  # type: ignore[method-assign]
        league.next_round = timed_next_round  # type: ignore[method-assign]

    async def look(self, is_over: Callable[[], bool]) -> dict[str, Any]:
        """Look how late the loop is, until the end."""
        while not is_over():
            before = perf_counter()
            await asyncio.sleep(LOOK_SECONDS)
            self.late = max(self.late, perf_counter() - before - LOOK_SECONDS)
        pairings = [seconds for _, seconds in sorted(self._pairing.items())]
        return {"step": self.step, "late": self.late, "pairings": pairings}


async def watch(manager: Manager, pids: Mapping[str, Sequence[int]]) -> dict[str, Any]:
    """Time it from its first round on."""
    return await Watched(manager).look(lambda: bool(manager.league.champion))


def _timed(work: Callable[..., Any], *given: Any) -> tuple[float, Any]:
    began = perf_counter()
    outcome = work(*given)
    return perf_counter() - began, outcome


def look(folder: Path) -> Findings:
    """What `verify` says of its journal."""
    return verify(read_rows(folder), lambda name: even_odd)


def figures(name: str, players: int, measured: Measurement) -> FormatFigures:
    """What was measured of one league."""
    found, seen = measured.seen, measured.watched
    is_true = found.difference is None and found.complete and not found.aborted
    return FormatFigures(
        name,
        players,
        found.rounds_ended,
        measured.matches,
        found.forfeited,
        measured.seconds,
        measured.startup_seconds,
        seen["pairings"],
        seen["step"],
        seen["late"],
        measured.peak_bytes()["manager"] / 1e6,
        {role: cpu * 1e6 for role, cpu in measured.per_match("cpu_seconds").items()},
        "yes" if is_true else str(found.difference or "it is not complete"),
    )


def main() -> None:
    """Play one league after the other, then print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", choices=list(LEAGUES), help="one of them")
    parser.add_argument("--players", type=int, help="another number of players")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    raise_descriptor_limit()
    folder, rows = temporary_folder(), []
    for name in [options.only] if options.only else LEAGUES:
        players, stage = LEAGUES[name]
        players = options.players or players
        say(f"{name}, {counted(players, 'player')} …")
        plan = Plan(players, REFEREES, 1, PLAYER_PROCESSES, watch, folder, stages=[stage])
        rows.append(figures(name, players, measure_league(plan, look)))
    machine = this_machine(folder)
    if options.json:
        print_json({"leagues": [asdict(each) for each in rows], "machine": machine._asdict()})
        return
    print_rows([_row(each) for each in rows], COLUMNS, f"Formats; {machine_text(machine)}")
    slowest = max(seconds for each in rows for seconds in each.pairing_seconds)
    word = "passed" if slowest < PAIRING_SECONDS_MAX else "failed"
    print(f"The longest pairing took {slowest:.3f} s, {word} (less than {PAIRING_SECONDS_MAX:g}).")


def _row(each: FormatFigures) -> dict[str, str]:
    return {
        "name": each.name,
        "players": f"{each.players:,}",
        "rounds": f"{each.rounds}",
        "matches": f"{each.matches:,}",
        "seconds": f"{each.seconds:.1f}",
        "rate": f"{each.matches / each.seconds:,.0f}",
        "pairing": f"{max(each.pairing_seconds):.3f}",
        "step": f"{each.longest_step_seconds:.3f}",
        "lag": f"{each.loop_late_seconds:.3f}",
        "memory": f"{each.manager_mb:.0f}",
        "verified": each.verified,
    }


if __name__ == "__main__":
    main()
