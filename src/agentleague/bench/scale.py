"""Leagues of 10 to 10,000 players: what one match costs in each."""

import statistics
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

from agentleague.bench.league_run import Outcome, Plan, measure_league

SIZES = (10, 100, 1_000, 10_000)
PLAYER_PROCESSES = 4
RATIO_MAX = 1.3  # CPU of a match, 1,000 players against 10


@dataclass(frozen=True)
class Step:
    """A league of so many players."""

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
        """Of all processes together, a match."""
        return sum(self.cpu_us_per_match.values())


def climb(
    plans: Iterable[Plan], on_begin: Callable[[int], None], on_step: Callable[[Step], None]
) -> list[Step]:
    """Measure one league after another."""
    steps = []
    for plan in plans:
        on_begin(plan.players)
        steps.append(_step(plan.players, measure_league(plan)))
        on_step(steps[-1])
    return steps


def sizes(largest: int) -> Iterator[int]:
    """The usual sizes below the largest, and it."""
    yield from (size for size in SIZES if size < largest)
    yield largest


def growth(steps: Sequence[Step]) -> float | None:
    """How much more CPU a match costs among 1,000 players than among 10, if both were measured."""
    cpu = {step.players: step.cpu_us for step in steps}
    return cpu[1_000] / cpu[10] if {10, 1_000} <= cpu.keys() else None


def _step(players: int, outcome: Outcome) -> Step:
    manager = outcome.tallies[0]
    rounds = len(outcome.round_seconds)
    return Step(
        players,
        rounds,
        outcome.matches,
        outcome.startup_seconds,
        statistics.median(outcome.round_seconds),
        outcome.matches / outcome.seconds,
        outcome.messages / outcome.matches,
        manager.bytes_sent / manager.calls,
        manager.bytes_sent / rounds / 1e6,
        {role: cpu * 1e6 for role, cpu in outcome.per_match("cpu_seconds").items()},
        {role: peak / 1e6 for role, peak in outcome.peak_bytes().items()},
    )
