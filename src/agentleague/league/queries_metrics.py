"""How well a league goes: the measures of document 004 section 13 that its journal can tell.

They are taken over the last matches that were closed, as their referees told them, so that the
answer costs the same in a league of any length.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, islice
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


class Measure(NamedTuple):
    """One measure, and what document 004 asks for, if it does."""

    words: str
    unit: str  # share, ms or count
    sign: str = ""  # "<" or ">"
    bound: float = 0.0
    section: str = ""

    def row(self, name: str, value: float | None) -> dict[str, Any]:
        """As the answer has it; without a value there was nothing to measure."""
        is_kept = None
        if self.sign and value is not None:
            is_kept = value < self.bound if self.sign == "<" else value > self.bound
        return {
            "metric": name,
            "words": self.words,
            "unit": self.unit,
            "value": None if value is None else round(value, 4),
            "threshold": f"{self.sign} {self.bound:g}" if self.sign else None,
            "kept": is_kept,
            "source": f"document 004 section {self.section}" if self.sign else "ours",
        }


MEASURES = {
    "validation_success_rate": Measure("answers that were valid", "share", ">", 0.99, "13.1"),
    "field_error_rate": Measure("answers without usable content", "share", "<", 0.01, "13.1"),
    "retry_success_rate": Measure(
        "questions asked again that were answered well", "share", ">", 0.8, "13.2"
    ),
    "timeout_rate": Measure("messages that timed out", "share", "<", 0.05, "13.2"),
    "invalid_choice_rate": Measure("moves that were illegal", "share", "<", 0.05, "13.2"),
    "round_trip_ms": Measure("round trip without a move: mean", "ms", "<", 500, "13.3"),
    "round_trip_p95_ms": Measure("round trip without a move: 95 % within", "ms"),
    "move_p50_ms": Measure("time for a move: half within", "ms"),
    "move_p95_ms": Measure("time for a move: 95 % within", "ms"),
    "retries": Measure("attempts after the first", "count"),
    "technical_loss_rate": Measure("matches lost by default", "share"),
    "no_contests": Measure("matches without a contest", "count"),
    "reassigned_matches": Measure("matches given to a referee again", "count"),
    "disputed_matches": Measure("matches with a refused lock or report", "count"),
}


def metrics(league: League, params: Mapping[str, Any], asker: str | None) -> dict[str, Any]:
    """GET_METRICS: each measure with its threshold and whether it is kept."""
    closed = (record for record in reversed(league.matches.values()) if record.closing)
    files = list(islice(closed, MATCHES_MAX))
    values = {**_of_messages(files), **_of_matches(files)}
    return {
        "metrics": [measure.row(name, values[name]) for name, measure in MEASURES.items()],
        "matches_measured": len(files),
        "matches_completed": league.decided_total,
    }


def _of_messages(files: Sequence[MatchRecord]) -> dict[str, float | None]:
    rows = [row for record in files if record.closing for row in record.closing.exchanges]
    answers = [row for row in rows if row.verdict in GOOD or row.verdict in INVALID]
    moves = [row for row in answers if row.message in MOVE_CALLS]
    trips = _times(row for row in rows if row.message not in MOVE_CALLS)
    thoughts = _times(row for row in rows if row.message in MOVE_CALLS)
    tried_again = [good for record in files if record.closing for good in _retried(record)]
    return {
        "validation_success_rate": _share(len(answers) - _count(answers, INVALID), len(answers)),
        "field_error_rate": _share(_count(answers, NO_CONTENT), len(answers)),
        "retry_success_rate": _share(sum(tried_again), len(tried_again)),
        "timeout_rate": _share(_count(rows, TIMED_OUT), len(rows)),
        "invalid_choice_rate": _share(_count(moves, ILLEGAL), len(moves)),
        "round_trip_ms": _share(sum(trips), len(trips)),
        "round_trip_p95_ms": _within(trips, 95),
        "move_p50_ms": _within(thoughts, 50),
        "move_p95_ms": _within(thoughts, 95),
        "retries": sum(row.attempt > 1 for row in rows),
    }


def _of_matches(files: Sequence[MatchRecord]) -> dict[str, float | None]:
    results = [record.decided.result for record in files if record.decided]
    technical = sum(result.status == "TECHNICAL_LOSS" for result in results)
    return {
        "technical_loss_rate": _share(technical, len(results)),
        "no_contests": sum(result.no_contest is True for result in results),
        "reassigned_matches": sum(record.given_out > 1 for record in files),
        "disputed_matches": sum(bool(record.disputes) for record in files),
    }


def _retried(record: MatchRecord) -> Iterator[bool]:
    """For each question that was asked more than once, whether it was answered well at last."""
    assert record.closing
    questions: dict[tuple[str, str], list[list[Exchange]]] = {}
    for row in record.closing.exchanges:
        asked = questions.setdefault((row.player_id, row.message), [[]])
        if row.attempt == 1:
            asked.append([])
        asked[-1].append(row)
    for rows in chain.from_iterable(questions.values()):
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
