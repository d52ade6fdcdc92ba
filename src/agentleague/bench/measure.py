"""Leagues and naked exchanges in turn, so that both meet the same machine."""

import shutil
import statistics
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from agentleague.bench.bare import Load, exchange
from agentleague.services.demo import Played, play
from agentleague.services.processes import run
from agentleague.services.settings import ManagerSettings


@dataclass(frozen=True)
class Sample:
    """One league, and the naked pair that ran right after it."""

    matches: int
    matches_per_second: float
    messages_per_match: float
    bare_matches_per_second: float
    cpu_us_per_match: dict[str, float]


@dataclass(frozen=True)
class Bench:
    """All samples, and their medians."""

    players: int
    referees: int
    samples: list[Sample]

    def median(self, name: str) -> float:
        """The median of one figure over the samples."""
        return float(statistics.median(getattr(sample, name) for sample in self.samples))

    @property
    def ratio(self) -> float:
        """The median of the ratios: league to naked pair, each within one sample."""
        return statistics.median(
            sample.matches_per_second / sample.bare_matches_per_second for sample in self.samples
        )


def measure(
    players: int,
    referees: int,
    seconds: float,
    now: Callable[[], float],
    on_sample: Callable[[Sample], None],
) -> Bench:
    """Measure for about so many seconds, at least once."""
    bench, began = Bench(players, referees, []), now()
    while not bench.samples or now() - began < seconds:
        sample = _sample(players, referees)
        bench.samples.append(sample)
        on_sample(sample)
    return bench


def _sample(players: int, referees: int) -> Sample:
    folder = Path(tempfile.mkdtemp(prefix="league-bench-"))
    settings = ManagerSettings(league_id="league_bench", players=players, referees=referees)
    try:
        played = run(play(settings, folder, "bench", lambda league: None, processes=True))
    finally:
        shutil.rmtree(folder)
    matches = played.league.decided_total
    per_match = played.messages / matches
    answered = sum(tally.bytes_answered for tally in played.tallies)
    sent = sum(tally.bytes_sent for tally in played.tallies)
    load = Load(played.messages, sent // played.messages, answered // played.messages)
    return Sample(
        matches,
        matches / played.seconds,
        per_match,
        exchange(load) / per_match,
        _cpu(played, matches),
    )


def _cpu(played: Played, matches: int) -> dict[str, float]:
    totals: dict[str, float] = {}
    for tally in played.tallies:
        totals[tally.role] = totals.get(tally.role, 0.0) + tally.cpu_seconds
    return {role: round(seconds / matches * 1e6, 1) for role, seconds in totals.items()}
