"""Compare seated players with ordinary ones: `python benchmarks/seats.py --players 500`."""

import argparse
import statistics
from collections.abc import Sequence
from dataclasses import replace

from agentleague.bench.league_run import Measurement, Plan, measure_league
from agentleague.bench.measure import plan_for, temporary_folder, this_machine
from agentleague.cli.bench_text import machine_text
from agentleague.cli.output import Column, print_json, print_rows, say
from agentleague.runtime.local_league import raise_descriptor_limit

REFEREES, PLAYER_PROCESSES = 2, 4
ROLES = ("manager", "referee", "player")
COLUMNS = (
    Column("players", "Players"),
    Column("rate", "Matches/s"),
    *(Column(role, f"{role} CPU us/match") for role in ROLES),
    Column("memory", "Manager MB"),
)
KINDS = {"ordinary": False, "seated": True}


def main() -> None:
    """Measure leagues of both kinds in turn, then print the medians."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--players", type=int, default=500)
    parser.add_argument("--seconds", type=float, default=20.0, help="fewer: shorter leagues")
    parser.add_argument("--pairs", type=int, default=3, help="leagues of each kind")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    raise_descriptor_limit()
    folder = temporary_folder()
    plan = plan_for(options.players, REFEREES, options.seconds, PLAYER_PROCESSES, folder)
    rows = compare(plan, options.pairs)
    if options.json:
        print_json({"kinds": rows, "machine": this_machine(folder)._asdict()})
        return
    title = f"{options.players} players of each kind; {machine_text(this_machine(folder))}"
    print_rows(rows, COLUMNS, title)


def compare(plan: Plan, pairs: int) -> list[dict[str, str]]:
    """A row of medians for each kind."""
    found: dict[str, list[Measurement]] = {kind: [] for kind in KINDS}
    for _ in range(pairs):
        for kind, is_seated in KINDS.items():
            found[kind].append(measure_league(replace(plan, is_seated=is_seated)))
            say(f"{kind}: {_row(kind, found[kind][-1:])}")
    return [_row(kind, measured) for kind, measured in found.items()]


def _row(kind: str, measured: Sequence[Measurement]) -> dict[str, str]:
    rate = statistics.median(each.matches / each.seconds for each in measured)
    cpu = [each.per_match("cpu_seconds") for each in measured]
    memory = statistics.median(each.peak_bytes()["manager"] for each in measured)
    costs = {role: statistics.median(each[role] for each in cpu) * 1e6 for role in ROLES}
    shown = {role: f"{cost:,.0f}" for role, cost in costs.items()}
    return {"players": kind, "rate": f"{rate:,.0f}", **shown, "memory": f"{memory / 1e6:,.0f}"}


if __name__ == "__main__":
    main()
