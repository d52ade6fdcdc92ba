"""Leagues and naked exchanges in turn, so that both meet the same machine."""

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from agentleague.bench.bare_http import Load, exchange
from agentleague.bench.league_run import Outcome, Plan, measure_league, within

MATCHES_A_LEAGUE = 5_000
ALONE = 500  # matches between two players who have the machine for themselves
MATCHES_A_SECOND = 250  # so many are planned a second: about four leagues in the time


class Figure(NamedTuple):
    """A median over the samples, with the least and the most."""

    median: float
    least: float
    most: float


@dataclass(frozen=True)
class Sample:
    """One league, and the naked pair that ran right after it."""

    matches: int
    matches_per_second: float
    messages_per_match: float
    bare_matches_per_second: float
    match_ms_p50: float
    match_ms_p99: float
    journal_bytes_per_match: float
    cpu_us_per_match: Mapping[str, float]
    peak_mb: Mapping[str, float]

    @property
    def messages_per_second(self) -> float:
        """Requests, by all agents together."""
        return self.matches_per_second * self.messages_per_match

    @property
    def ratio(self) -> float:
        """League to naked pair."""
        return self.matches_per_second / self.bare_matches_per_second


@dataclass(frozen=True)
class Bench:
    """All samples, and what is said of them."""

    plan: Plan
    alone: Sequence[float]  # seconds of matches that had the machine for themselves, sorted
    samples: list[Sample]

    def figure(self, name: str) -> Figure:
        """One figure over the samples."""
        return _figure([getattr(sample, name) for sample in self.samples])

    def by_role(self, name: str) -> dict[str, Figure]:
        """One figure of each role over the samples."""
        tables = [getattr(sample, name) for sample in self.samples]
        return {role: _figure([table[role] for table in tables]) for role in tables[0]}


def plan_for(
    players: int,
    referees: int,
    seconds: float,
    player_processes: int,
    directory: Path | None = None,
) -> Plan:
    """Leagues that are short beside the time there is, however many take part."""
    matches = max(int(min(seconds * MATCHES_A_SECOND, MATCHES_A_LEAGUE)), players // 2)
    return Plan(players, referees, matches, player_processes, directory=directory)


def measure(
    plan: Plan,
    seconds: float,
    now: Callable[[], float],
    on_sample: Callable[[Sample], None],
) -> Bench:
    """Measure for about so many seconds, at least once."""
    began = now()
    matches = int(max(10, min(seconds * 25, ALONE)))
    alone = Plan(2, 1, matches, 1, directory=plan.directory)
    bench = Bench(plan, measure_league(alone).match_seconds, [])
    while not bench.samples or now() - began < seconds:
        sample = _sample(plan)
        bench.samples.append(sample)
        on_sample(sample)
    return bench


def _sample(plan: Plan) -> Sample:
    played = measure_league(plan)
    per_match = played.messages / played.matches
    return Sample(
        played.matches,
        played.matches / played.seconds,
        per_match,
        exchange(_same_load(played)) / per_match,
        within(played.match_seconds, 50) * 1e3,
        within(played.match_seconds, 99) * 1e3,
        played.journal_bytes / played.matches,
        {role: cpu * 1e6 for role, cpu in played.per_match("cpu_seconds").items()},
        {role: peak / 1e6 for role, peak in played.peak_bytes().items()},
    )


def _same_load(played: Outcome) -> Load:
    sent = sum(tally.bytes_sent for tally in played.tallies)
    answered = sum(tally.bytes_answered for tally in played.tallies)
    return Load(played.messages, sent // played.messages, answered // played.messages)


def _figure(values: Sequence[float]) -> Figure:
    return Figure(statistics.median(values), min(values), max(values))
