"""`league simulate`: whole leagues in virtual time, in which everything goes wrong by a seed."""

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from agentleague.cli.options import Whole
from agentleague.cli.output import counted, is_plain, is_quiet, print_json
from agentleague.simulation.modes import MODES, Outcome, attempt, outcomes, processes_for
from agentleague.simulation.trace import sentence, told

SEEDS = 200
EXAMPLES = """\b
Examples:
  league simulate
  league simulate --mode exhaustive --seeds 5000
  league simulate --mode chaos --seed 291 --trace

"""
HELP = """Try to break the league: the real manager, referees and players in virtual time,
with messages lost, processes killed and disks full, by a seed. A seed that finds something
is printed with the command that shows it again.

\b
Modes:
  chaos       a few of all the things that can go wrong
  exhaustive  a crash after every single event, one by one; then pairs of them
  calm        nothing goes wrong but one player, and nobody else may suffer
  liveness    everything goes wrong for a while; then the league has to end
"""


@click.command(help=EXAMPLES + HELP)
@click.option(
    "--mode",
    default="chaos",
    show_default=True,
    type=click.Choice(list(MODES)),
    help="What goes wrong.",
)
@click.option(
    "--seeds", type=Whole(1), metavar="N", help=f"How many leagues; {SEEDS} unless given."
)
@click.option("--seed", type=Whole(0), metavar="N", help="This league, or the first of --seeds.")
@click.option(
    "--jobs", type=Whole(1), metavar="N", help="At most so many processes; one a core unless given."
)
@click.option("--trace", is_flag=True, help="Tell one league message by message.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    mode: str, seeds: int | None, seed: int | None, jobs: int | None, trace: bool, as_json: bool
) -> None:
    """Run, print, and fail if anything did not hold."""
    if trace:
        _trace(mode, seed or 0, as_json)
        return
    number = seeds or (SEEDS if seed is None else 1)
    first, began = seed or 0, time.perf_counter()
    came = []
    processes = processes_for(number, jobs)
    workers = outcomes(mode, range(first, first + number), processes)
    with workers as leagues, _bar(number, mode) as step:
        for each in leagues:
            came.append(each)
            step()
    summary = _summary(mode, came, time.perf_counter() - began)
    if as_json:
        print_json(summary)
    else:
        _tell(summary)
    if summary["violations"]:
        raise click.exceptions.Exit(1)


def _trace(mode: str, seed: int, as_json: bool) -> None:
    league, violation = attempt(MODES[mode](seed))
    lines = list(told(league))
    if as_json:
        rows = [line._asdict() for line in lines]
        trace = {"mode": mode, "seed": seed, "violation": violation, "lines": rows}
        print_json({**trace, "trace": league.observer.trace})
    else:
        print(*map(sentence, lines), sep="\n")
        ended = violation or "everything held"
        print(f"{mode}, seed {seed}: {league.seconds:.1f} virtual seconds, {ended}")
    if violation:
        raise click.exceptions.Exit(1)


def _summary(mode: str, outcomes: list[Outcome], seconds: float) -> dict[str, Any]:
    failures = [
        {"seed": each.seed, "violation": each.violation, "command": _again(mode, each.seed)}
        for each in outcomes
        if each.violation
    ]
    return {
        "mode": mode,
        "leagues": len(outcomes),
        "virtual_hours": round(sum(each.seconds for each in outcomes) / 3600, 2),
        "violations": len(failures),
        "leagues_per_second": round(len(outcomes) / max(seconds, 1e-9), 1),
        "messages": sum(each.messages for each in outcomes),
        "failures": failures,
    }


def _again(mode: str, seed: int) -> str:
    return f"league simulate --mode {mode} --seed {seed} --trace"


def _tell(summary: dict[str, Any]) -> None:
    for failure in summary["failures"]:
        print(f"Seed {failure['seed']}: {failure['violation']}\n  see it: {failure['command']}")
    print(
        f"{counted(summary['leagues'], 'league')}, {summary['virtual_hours']:,} virtual hours, "
        f"{counted(summary['violations'], 'violation')}, "
        f"{summary['leagues_per_second']:,} leagues per second"
    )


@contextmanager
def _bar(total: int, mode: str) -> Iterator[Any]:
    """A bar on a terminal; elsewhere nothing."""
    if is_plain(sys.stderr) or is_quiet():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TextColumn("leagues"), console=Console(stderr=True)) as bar:
        task = bar.add_task(mode.capitalize(), total=total)
        yield lambda: bar.advance(task)
