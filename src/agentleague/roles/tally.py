"""Counts for those who watch an agent: how long things take, and how players answer.

They begin anew with each process, and only grow.
"""

from bisect import bisect_left
from collections.abc import Iterable

from agentleague.protocol.messages import Exchange

SECONDS = (0.001, 0.005, 0.025, 0.1, 0.5, 2.5, 10.0, 30.0)
MOVE_CALLS = ("CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")
# By the verdict on an attempt; a foreign referee may write any other.
OUTCOMES = {
    "ok": "good",
    "pushed": "good",
    "declined": "good",
    "in it already": "good",
    "late": "late",
    "E001": "no_answer",
    "E009": "no_connection",
    "E004": "illegal",
    "E003": "unusable",
    "E015": "unusable",
    "no content": "unusable",
}
OTHER = "other"


class Times:
    """How often something took up to each of SECONDS, or longer."""

    def __init__(self) -> None:
        self.counts = [0] * (len(SECONDS) + 1)
        self.seconds = 0.0

    def add(self, seconds: float) -> None:
        """It took so long."""
        self.counts[bisect_left(SECONDS, seconds)] += 1
        self.seconds += seconds


class Tally:
    """What became of the attempts to get something out of players."""

    def __init__(self) -> None:
        self.attempts = dict.fromkeys([*OUTCOMES.values(), OTHER], 0)
        self.retries = 0
        self.moves = Times()

    def take(self, rows: Iterable[Exchange]) -> None:
        """Count the attempts of a match that is over."""
        attempts, moves = self.attempts, self.moves
        for row in rows:
            attempts[OUTCOMES.get(row.verdict, OTHER)] += 1
            self.retries += row.attempt > 1
            if row.answered_after is not None and row.message in MOVE_CALLS:
                seconds = max(0, row.answered_after) / 1000
                moves.counts[bisect_left(SECONDS, seconds)] += 1  # No call: it is done so often.
                moves.seconds += seconds
