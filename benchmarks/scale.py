"""Compare leagues of 10 to 10,000 players: `python benchmarks/scale.py --players 1000 --json`."""

import argparse
import statistics
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from agentleague.bench.league_run import Measurement, Plan, measure_league
from agentleague.bench.measure import plan_for, temporary_folder, this_machine
from agentleague.cli.bench_text import machine_text
from agentleague.cli.output import Column, counted, print_json, print_rows, say
from agentleague.runtime.local_league import raise_descriptor_limit
from replay import replay

SIZES = (10, 100, 1_000, 10_000)
REFEREES = 2
PLAYER_PROCESSES = 4
SECONDS = 20.0  # decides how many matches a league plays, see plan_for
RATIO_MAX = 1.3  # CPU of a match, 1,000 players against 10
COLUMNS = (
    Column("players", "Players"),
    Column("startup", "Start s"),
    Column("rounds", "Rounds"),
    Column("round", "Round s"),
    Column("rate", "Matches/s"),
    Column("cpu", "CPU us/match"),
    Column("manager", "manager"),
    Column("referee", "referees"),
    Column("player", "players"),
    Column("memory", "Manager MB"),
    Column("broadcast", "Bytes/message"),
    Column("sent", "Sent MB/round"),
)


@dataclass(frozen=True)
class SizeFigures:
    """The figures of a league of one size."""

    players: int
    rounds: int
    matches: int
    startup_seconds: float
    round_seconds: float  # the median
    matches_per_second: float
    messages_per_match: float
    broadcast_bytes: float  # of one message from the manager, on the average
    round_broadcast_mb: float  # of all messages from the manager, a round
    cpu_us_per_match: dict[str, float]
    peak_mb: dict[str, float]

    @property
    def cpu_us(self) -> float:
        """CPU of a match, all processes together."""
        return sum(self.cpu_us_per_match.values())


def main() -> None:
    """Measure one league after another, then print a table or JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--players", type=int, default=SIZES[-1], help="of the largest league")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="fewer: shorter leagues")
    parser.add_argument("--json", action="store_true", help="print JSON")
    options = parser.parse_args()
    raise_descriptor_limit()
    folder = temporary_folder()
    machine = this_machine(folder)
    plans = [
        plan_for(players, REFEREES, options.seconds, PLAYER_PROCESSES, folder)
        for players in sizes(options.players)
    ]
    figures = measure_sizes(plans, _say_figures)
    if options.json:
        print_json({"steps": plain_figures(figures), "machine": machine._asdict()})
        return
    title = f"Leagues by size, players in {PLAYER_PROCESSES} processes; {machine_text(machine)}"
    print_rows(_rows(figures), COLUMNS, title)
    for sentence in verdicts(figures):
        print(sentence)


def sizes(largest: int) -> Iterator[int]:
    """The usual sizes below the largest, and the largest."""
    yield from (size for size in SIZES if size < largest)
    yield largest


def measure_sizes(
    plans: Iterable[Plan], on_figures: Callable[[SizeFigures], None]
) -> list[SizeFigures]:
    """Measure one league after another."""
    figures = []
    for plan in plans:
        say(f"{counted(plan.players, 'player')} …")
        figures.append(_figures(plan.players, measure_league(plan, replay)))
        on_figures(figures[-1])
    return figures


def growth(figures: Sequence[SizeFigures]) -> float | None:
    """How much more CPU a match costs among 1,000 players than among 10, if both were measured."""
    cpu = {each.players: each.cpu_us for each in figures}
    return cpu[1_000] / cpu[10] if {10, 1_000} <= cpu.keys() else None


def verdicts(figures: Sequence[SizeFigures]) -> Iterator[str]:
    """Whether a match costs as much in a large league."""
    ratio = growth(figures)
    if ratio is not None:
        word = "passed" if ratio <= RATIO_MAX else "failed"
        yield (
            f"CPU of a match, 1,000 players against 10: {ratio:.2f} times, {word} "
            f"(at most {RATIO_MAX})."
        )


def plain_figures(figures: Sequence[SizeFigures]) -> list[dict[str, Any]]:
    """The figures as JSON has them."""
    return [rounded({**asdict(each), "cpu_us": each.cpu_us}) for each in figures]


def _figures(players: int, measured: Measurement) -> SizeFigures:
    manager = measured.tallies[0]
    round_seconds = measured.seen.round_seconds
    rounds = len(round_seconds)
    return SizeFigures(
        players,
        rounds,
        measured.matches,
        measured.startup_seconds,
        statistics.median(round_seconds),
        measured.matches / measured.seconds,
        measured.messages / measured.matches,
        manager.bytes_sent / manager.calls,
        manager.bytes_sent / rounds / 1e6,
        {role: cpu * 1e6 for role, cpu in measured.per_match("cpu_seconds").items()},
        {role: peak / 1e6 for role, peak in measured.peak_bytes().items()},
    )


def _rows(figures: Sequence[SizeFigures]) -> list[dict[str, str]]:
    return [
        {
            "players": f"{each.players:,}",
            "startup": f"{each.startup_seconds:.1f}",
            "rounds": f"{each.rounds:,}",
            "round": f"{each.round_seconds:.3f}",
            "rate": f"{each.matches_per_second:,.0f}",
            "cpu": f"{each.cpu_us:,.0f}",
            **{role: f"{cpu:,.0f}" for role, cpu in each.cpu_us_per_match.items()},
            "memory": f"{each.peak_mb['manager']:.0f}",
            "broadcast": f"{each.broadcast_bytes:,.0f}",
            "sent": f"{each.round_broadcast_mb:,.2f}",
        }
        for each in figures
    ]


def rounded(values: Mapping[str, Any]) -> dict[str, Any]:
    """The same with three digits after the point."""

    def shorter(value: Any) -> Any:
        if isinstance(value, dict):
            return rounded(value)
        return round(value, 3) if isinstance(value, float) else value

    return {name: shorter(value) for name, value in values.items()}


def _say_figures(figures: SizeFigures) -> None:
    say(
        f"{counted(figures.players, 'player')}: {figures.matches_per_second:,.0f} matches/s, "
        f"{figures.cpu_us:,.0f} us CPU a match, a round in {figures.round_seconds:.2f} s"
    )


if __name__ == "__main__":
    main()
