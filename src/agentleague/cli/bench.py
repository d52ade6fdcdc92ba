"""`league bench`: matches per second, beside a naked HTTP pair in the same run."""

import time

import click

from agentleague.bench.measure import Bench, Sample, measure
from agentleague.cli.table import print_json
from agentleague.cli.talk import counted, say
from agentleague.services.demo import raise_descriptor_limit

EXAMPLES = """\b
Examples:
  league bench
  league bench --players 100 --seconds 60 --json
"""


@click.command(help=EXAMPLES + "\nMeasure how many matches a second this machine plays.")
@click.option(
    "--players",
    default=100,
    show_default=True,
    type=click.IntRange(2, 500),
    help="How many players, from 2 to 500.",
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
    help="About how long to measure.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(players: int, referees: int, seconds: float, as_json: bool) -> None:
    """Measure, print."""
    raise_descriptor_limit()
    bench = measure(players, referees, seconds, time.perf_counter, _say)
    if as_json:
        print_json(_summary(bench))
    else:
        _tell(bench)


def _say(sample: Sample) -> None:
    say(
        f"{counted(sample.matches, 'match', 'matches')}: "
        f"{sample.matches_per_second:,.0f} matches/s; "
        f"naked pair: {sample.bare_matches_per_second:,.0f} matches/s"
    )


def _tell(bench: Bench) -> None:
    rate, bare = bench.median("matches_per_second"), bench.median("bare_matches_per_second")
    per_match = bench.median("messages_per_match")
    cpu = ", ".join(f"{role} {value:,.0f}" for role, value in _cpu(bench).items())
    print(
        f"{counted(bench.players, 'player')}, {counted(bench.referees, 'referee')}, "
        f"{counted(len(bench.samples), 'league')}, medians:\n"
        f"  {rate:,.0f} matches/s ({rate * per_match:,.0f} messages/s), durable\n"
        f"  {bare:,.0f} matches/s for a naked HTTP pair doing as many exchanges of those sizes\n"
        f"  ratio {bench.ratio:.2f}; {per_match:.1f} messages a match; CPU us a match: {cpu}"
    )


def _cpu(bench: Bench) -> dict[str, float]:
    return bench.samples[-1].cpu_us_per_match


def _summary(bench: Bench) -> dict[str, object]:
    rate = bench.median("matches_per_second")
    return {
        "players": bench.players,
        "referees": bench.referees,
        "matches": sum(sample.matches for sample in bench.samples),
        "leagues": len(bench.samples),
        "matches_per_second": round(rate, 1),
        "messages_per_second": round(rate * bench.median("messages_per_match"), 1),
        "messages_per_match": round(bench.median("messages_per_match"), 2),
        "bare_matches_per_second": round(bench.median("bare_matches_per_second"), 1),
        "ratio_to_bare_transport": round(bench.ratio, 3),
        "cpu_us_per_match": _cpu(bench),
    }
