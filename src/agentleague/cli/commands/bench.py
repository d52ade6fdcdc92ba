"""`league bench`: matches per second beside a bare HTTP pair, and where the time goes."""

import time
from dataclasses import replace
from pathlib import Path

import click

from agentleague.bench import measure
from agentleague.bench.league_run import Plan, measure_league
from agentleague.cli import bench_text
from agentleague.cli.options import Number, directory_option, referees_option
from agentleague.cli.output import counted, print_json, print_rows, say
from agentleague.cli.settings_options import settings_options
from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.local_league import raise_descriptor_limit


@click.command()
@click.option(
    "--players",
    default=100,
    show_default=True,
    type=Number(int, 2, 10_000),
    help="How many players, from 2 to 10,000.",
)
@referees_option
@click.option(
    "--seconds",
    default=20,
    show_default=True,
    type=Number(float, 0),
    metavar="SECONDS",
    help="About how long to measure.",
)
@click.option(
    "--profile",
    is_flag=True,
    help="Say in which functions manager and referees spend their time. Not on Windows.",
)
@directory_option(
    "The folder below which the journals lie; a temporary one, on a disk if there is one.",
    exists=True,
)
@settings_options(ManagerSettings, "files")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(
    players: int,
    referees: int,
    seconds: float,
    profile: bool,
    directory: Path | None,
    files: bool | None,
    as_json: bool,
) -> None:
    """Measure how many matches a second this machine plays.

    Whole leagues are played over HTTP, durably, each player on its own port, the manager, the
    referees and the players in processes of their own. After each league two bare processes
    exchange as many requests of the same sizes over HTTP, and do nothing else: the ratio says how
    much of what the machine can do is left for the league. Printed are medians, with the least and
    the most.

    Time, messages, bytes and CPU are counted from the start of the league to its end, without the
    registrations. A match is timed by its referee, from the first invitation to the answer to its
    report: alone, with two players in the league, and under load, with all. Agents have 60 seconds
    for an answer (reply_seconds), not 10, so that a slow machine is measured all the same. The
    journal is synced to its file system, which is named: in memory (tmpfs) that costs nothing.

    To read a profile, to compare leagues by size, or to watch a long one, see docs/performance.md.

    league bench
    league bench --players 100 --seconds 60 --json
    league bench --profile
    """
    raise_descriptor_limit()
    folder = directory or measure.temporary_folder()
    machine = measure.this_machine(folder)
    processes = measure.processes_for(measure.cores())
    plan = measure.plan_for(players, referees, seconds, processes, folder)
    plan = replace(plan, has_files=files is not False)
    if profile:
        _profile(plan, machine, as_json)
    else:
        _measure(plan, seconds, machine, as_json)


def _measure(plan: Plan, seconds: float, machine: measure.Machine, as_json: bool) -> None:
    bench = measure.measure(plan, seconds, time.perf_counter, _say_sample)
    if bench_text.warning(bench):
        say(bench_text.warning(bench))
    if as_json:
        print_json({**bench_text.summary(bench), "machine": machine._asdict()})
    else:
        title = bench_text.bench_title(bench, machine)
        print_rows(bench_text.bench_rows(bench), bench_text.BENCH, title)


def _profile(plan: Plan, machine: measure.Machine, as_json: bool) -> None:
    say(f"One league of {counted(plan.players, 'player')}, profiled while it runs.")
    measured = measure_league(replace(plan, is_profiled=True))
    if as_json:
        print_json({**bench_text.plain_profile(measured), "machine": machine._asdict()})
        return
    for role, rows in bench_text.profile_rows(measured).items():
        print_rows(rows, bench_text.PROFILE, bench_text.profile_title(role, measured, machine))


def _say_sample(sample: measure.Sample) -> None:
    say(
        f"{counted(int(sample['matches']), 'match', 'matches')}: "
        f"{sample['matches_per_second']:,.0f} matches/s; "
        f"bare pair: {sample['bare_matches_per_second']:,.0f} matches/s"
    )
