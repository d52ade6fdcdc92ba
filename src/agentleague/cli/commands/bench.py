"""`league bench`: matches per second beside a naked HTTP pair, large leagues, long ones."""

import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import click

from agentleague.bench.endurance import Endurance, endure
from agentleague.bench.league_run import Plan, measure_league, processes_for
from agentleague.bench.machine import Machine, cores, temporary_folder, this_machine
from agentleague.bench.measure import Sample, measure, plan_for
from agentleague.bench.scale import PLAYER_PROCESSES, Step, climb, sizes
from agentleague.cli import bench_text as words
from agentleague.cli.output import counted, print_json, print_rows, say
from agentleague.runtime.local_league import raise_descriptor_limit

EXAMPLES = """\b
Examples:
  league bench
  league bench --players 100 --seconds 60 --json
  league bench --scale
  league bench --endurance --seconds 600
  league bench --profile
"""
HELP = """
Measure how many matches a second this machine plays.

Whole leagues are played over HTTP, durably, each player on its own port, the manager, the referees
and the players in processes of their own. After each league two naked processes exchange as many
requests of the same sizes over HTTP, and do nothing else: the ratio says how much of what the
machine can do is left for the league. Printed are medians, with the least and the most.

Time, messages, bytes and CPU are counted from the start of the league to its end, without what
came before: the registrations. A match is timed by its referee, from the first invitation to the
answer to its report: alone, with two players in the league, and under load, with all. Agents have
60 seconds for an answer (reply_seconds), not 10, so that a slow machine is measured all the same.
The journal is synced to where it lies, which is said: in memory (tmpfs) that costs nothing.

A profile looks at a process whenever it has used a few milliseconds of CPU. What C code took counts
for the function that called it, what the event loop and the kernel took for asyncio's Runner.run.
"""


@click.command(help=EXAMPLES + HELP)
@click.option(
    "--players",
    type=click.IntRange(2, 10_000),
    help="How many players, from 2 to 10,000; 100 unless given, with --scale up to 10,000.",
)
@click.option(
    "--referees",
    default=2,
    show_default=True,
    type=click.IntRange(1, 10),
    help="How many referees, from 1 to 10.",
)
@click.option(
    "--seconds",
    default=20,
    show_default=True,
    type=click.FloatRange(min=0),
    metavar="SECONDS",
    help="About how long to measure; --scale takes longer.",
)
@click.option(
    "--scale", "kind", flag_value="scale", help="Compare leagues of 10, 100, 1,000, 10,000 players."
)
@click.option(
    "--endurance",
    "kind",
    flag_value="endurance",
    help="Play one long league: exit with 1 if memory grows or matches slow down. Linux only.",
)
@click.option(
    "--profile",
    "kind",
    flag_value="profile",
    help="Say in which functions manager and referees spend their time. Not on Windows.",
)
@click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="The folder below which the journals lie; a temporary one, on a disk if there is one.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    players: int | None,
    referees: int,
    seconds: float,
    kind: str | None,
    directory: Path | None,
    as_json: bool,
) -> None:
    """Measure, print."""
    raise_descriptor_limit()
    folder = directory or temporary_folder()
    machine = this_machine(folder)
    if kind == "scale":
        plans = [
            plan_for(size, referees, seconds, PLAYER_PROCESSES, folder)
            for size in sizes(players or 10_000)
        ]
        _scale(plans, machine, as_json)
        return
    plan = plan_for(players or 100, referees, seconds, processes_for(cores()), folder)
    if kind == "endurance":
        _endure(plan, seconds, machine, as_json)
    elif kind == "profile":
        _profile(plan, machine, as_json)
    else:
        _measure(plan, seconds, machine, as_json)


def _measure(plan: Plan, seconds: float, machine: Machine, as_json: bool) -> None:
    bench = measure(plan, seconds, time.perf_counter, _say_sample)
    if as_json:
        print_json({**words.summary(bench), "machine": machine._asdict()})
    else:
        print_rows(words.bench_rows(bench), words.BENCH, words.bench_title(bench, machine))


def _profile(plan: Plan, machine: Machine, as_json: bool) -> None:
    say(f"One league of {counted(plan.players, 'player')}, looked at while it runs.")
    outcome = measure_league(replace(plan, is_sampled=True))
    if as_json:
        print_json({**words.plain_profile(outcome), "machine": machine._asdict()})
        return
    for role, rows in words.profile_rows(outcome).items():
        print_rows(rows, words.PROFILE, words.profile_title(role, outcome, machine))


def _scale(plans: Sequence[Plan], machine: Machine, as_json: bool) -> None:
    steps = climb(plans, _say_size, _say_step)
    if as_json:
        print_json({"steps": words.plain_steps(steps), "machine": machine._asdict()})
        return
    print_rows(words.step_rows(steps), words.SCALE, words.scale_title(machine))
    for sentence in words.scale_verdicts(steps):
        print(sentence)


def _endure(plan: Plan, seconds: float, machine: Machine, as_json: bool) -> None:
    say(f"One league of {counted(plan.players, 'player')} for {seconds:,.0f} seconds.")
    run = endure(plan, seconds)
    if as_json:
        print_json({**words.plain_endurance(run, plan.players), "machine": machine._asdict()})
    else:
        for sentence in words.endurance_verdicts(run):
            print(sentence)
    _fail_unless_steady(run)


def _fail_unless_steady(run: Endurance) -> None:
    faults = []
    if not run.is_flat:
        faults.append("memory grows")
    if not run.is_steady:
        faults.append("matches slow down")
    if faults:
        raise click.ClickException(f"the long run failed: {' and '.join(faults)}")


def _say_sample(sample: Sample) -> None:
    say(
        f"{counted(sample.matches, 'match', 'matches')}: "
        f"{sample.matches_per_second:,.0f} matches/s; "
        f"naked pair: {sample.bare_matches_per_second:,.0f} matches/s"
    )


def _say_size(players: int) -> None:
    say(f"{counted(players, 'player')} …")


def _say_step(step: Step) -> None:
    say(
        f"{counted(step.players, 'player')}: {step.matches_per_second:,.0f} matches/s, "
        f"{step.cpu_us:,.0f} us CPU a match, a round in {step.round_seconds:.2f} s"
    )
