"""How well a league goes: the measures of document 004 section 13 that its journal can tell.

They are taken over the last matches that were closed, as their referees told them, so that the
answer costs the same in a league of any length.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from agentleague.league.league import League
from agentleague.league.match_records import MatchRecord
from agentleague.protocol.messages import Exchange

MATCHES_MAX = 500
MOVE_CALLS = ("CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")
GOOD = ("ok", "late", "pushed", "declined", "in it already")
TIMED_OUT = ("E001", "late")
NO_CONTENT = ("E003", "no content")
ILLEGAL = ("E004",)
INVALID = (*NO_CONTENT, *ILLEGAL, "E015")


class Target(NamedTuple):
    """What document 004 asks for."""

    sign: str  # "<" or ">"
    bound: float
    section: str

    def is_kept(self, value: float) -> bool:
        """Whether a measured value is within it."""
        return value < self.bound if self.sign == "<" else value > self.bound


TARGETS = {
    "validation_success_rate": Target(">", 0.99, "13.1"),
    "field_error_rate": Target("<", 0.01, "13.1"),
    "retry_success_rate": Target(">", 0.8, "13.2"),
    "timeout_rate": Target("<", 0.05, "13.2"),
    "invalid_choice_rate": Target("<", 0.05, "13.2"),
    "round_trip_ms": Target("<", 500, "13.3"),
}


class Measure(NamedTuple):
    """One measure; without a value there was nothing to measure."""

    name: str
    words: str
    unit: str  # share, ms or count
    value: float | None

    def row(self) -> dict[str, Any]:
        """As the answer has it."""
        target, value = TARGETS.get(self.name), self.value
        return {
            "metric": self.name,
            "words": self.words,
            "unit": self.unit,
            "value": None if value is None else round(value, 4),
            "threshold": f"{target.sign} {target.bound:g}" if target else None,
            "kept": None if target is None or value is None else target.is_kept(value),
            "source": f"document 004 section {target.section}" if target else "ours",
        }


def metrics(league: League, params: Mapping[str, Any], asker: str | None) -> dict[str, Any]:
    """GET_METRICS: each measure with its threshold and whether it is kept."""
    closed = (record for record in league.matches.newest() if record.closing)
    files = list(islice(closed, MATCHES_MAX))
    return {
        "metrics": [measure.row() for measure in (*_of_messages(files), *_of_matches(files))],
        "matches_measured": len(files),
        "matches_completed": league.decided_total,
    }


def _of_messages(files: Sequence[MatchRecord]) -> Iterator[Measure]:
    rows = [row for record in files if record.closing for row in record.closing.exchanges]
    answers = [row for row in rows if row.verdict in GOOD or row.verdict in INVALID]
    moves = [row for row in answers if row.message in MOVE_CALLS]
    trips = _times(row for row in rows if row.message not in MOVE_CALLS)
    thoughts = _times(row for row in rows if row.message in MOVE_CALLS)
    tried_again = [good for record in files if record.closing for good in _retried(record)]
    valid = [row for row in answers if row.verdict not in INVALID]
    share = _share(len(valid), len(answers))
    yield Measure("validation_success_rate", "answers that were valid", "share", share)
    share = _share(_count(answers, NO_CONTENT), len(answers))
    yield Measure("field_error_rate", "answers without usable content", "share", share)
    share = _share(sum(tried_again), len(tried_again))
    words = "questions asked again that were answered well"
    yield Measure("retry_success_rate", words, "share", share)
    share = _share(_count(rows, TIMED_OUT), len(rows))
    yield Measure("timeout_rate", "messages that timed out", "share", share)
    share = _share(_count(moves, ILLEGAL), len(moves))
    yield Measure("invalid_choice_rate", "moves that were illegal", "share", share)
    mean = sum(trips) / len(trips) if trips else None
    yield Measure("round_trip_ms", "round trip without a move: mean", "ms", mean)
    within = _within(trips, 95)
    yield Measure("round_trip_p95_ms", "round trip without a move: 95 % within", "ms", within)
    yield Measure("move_p50_ms", "time for a move: half within", "ms", _within(thoughts, 50))
    yield Measure("move_p95_ms", "time for a move: 95 % within", "ms", _within(thoughts, 95))
    yield Measure("retries", "attempts after the first", "count", sum(r.attempt > 1 for r in rows))


def _of_matches(files: Sequence[MatchRecord]) -> Iterator[Measure]:
    results = [record.decided.result for record in files if record.decided]
    technical = sum(result.status == "TECHNICAL_LOSS" for result in results)
    none = sum(result.no_contest is True for result in results)
    share = _share(technical, len(results))
    yield Measure("technical_loss_rate", "matches lost by default", "share", share)
    yield Measure("no_contests", "matches without a contest", "count", none)
    again = sum(record.given_out > 1 for record in files)
    yield Measure("reassigned_matches", "matches given to a referee again", "count", again)
    disputed = sum(bool(record.disputes) for record in files)
    yield Measure("disputed_matches", "matches with a refused lock or report", "count", disputed)


def _retried(record: MatchRecord) -> Iterator[bool]:
    """For each question that was asked more than once, whether it was answered well at last."""
    assert record.closing
    questions: dict[tuple[str, str, int], list[Exchange]] = {}
    turns: dict[tuple[str, str], int] = {}
    for row in record.closing.exchanges:
        asked = (row.player_id, row.message)
        turns[asked] = turns.get(asked, 0) + (row.attempt == 1)
        questions.setdefault((*asked, turns[asked]), []).append(row)
    for rows in questions.values():
        if len(rows) > 1:
            yield any(row.verdict in GOOD for row in rows)


def _times(rows: Iterable[Exchange]) -> list[int]:
    return sorted(row.answered_after for row in rows if row.answered_after is not None)


def _within(times: Sequence[int], percent: int) -> float | None:
    """What so many of the sorted times do not exceed."""
    return times[(percent * len(times) + 99) // 100 - 1] if times else None


def _count(rows: Iterable[Exchange], verdicts: Sequence[str]) -> int:
    return sum(row.verdict in verdicts for row in rows)


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
