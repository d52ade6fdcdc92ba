"""Sees what referees send the manager, and how they are answered.

A referee of ours is believed: what it locked first is what the journal holds, and it is refused
only what the rules refuse. One that lies is not, and that it lied is on disk before it knows.
"""

from collections.abc import Callable, Iterator
from typing import Any

import msgspec

from agentleague.errors import (
    AlreadyComplete,
    DuplicateReport,
    LeagueError,
    MatchMismatch,
    RateLimited,
    StorageError,
)
from agentleague.league.events import MatchDecided
from agentleague.league.judge import UNREACHABLE
from agentleague.league.league import League, Phase
from agentleague.league.match_records import MatchRecord
from agentleague.protocol.messages import LockRequest, MatchResultReport

_LATER = (StorageError.code, RateLimited.code)  # refusals after which the same is sent again
_encode = msgspec.json.Encoder().encode


class LockChecks:
    """Holds locks and reports against the journal; `wrong` is told what does not fit."""

    def __init__(self, league: League, wrong: Callable[[str], None]) -> None:
        self.dishonest: set[str] = set()  # referees, by name, that are not as they should be
        self._league, self._wrong = league, wrong
        self._locked: set[tuple[str, int, bytes]] = set()  # match, epoch, moves and forfeits
        self._stale: list[LockRequest] = []  # came from a referee that had lost the match

    def lock_came(self, source: str, message: LockRequest) -> None:
        """A lock reached the manager."""
        if not source.startswith("referee"):
            return
        if message.epoch < self._league.matches[message.match_id].epoch:
            self._stale.append(message)
        sent = _encode((message.moves, message.forfeits))
        self._locked.add((message.match_id, message.epoch, sent))

    def taken(self, question: LockRequest | MatchResultReport) -> None:
        """A lock or report was accepted, and its sender knows."""
        file = self._league.matches[question.match_id]
        if any(question is each for each in self._stale):
            self._wrong(f"a lock of {file.match_id} by a referee that had lost it was accepted")
        if isinstance(question, MatchResultReport):
            if not file.closed:
                self._wrong(f"the report of {file.match_id} is acknowledged, but not on disk")
            if _is_lie(question, file):
                self._wrong(f"a report of {file.match_id} that contradicts the result was accepted")

    def refused(
        self, asker: str, question: LockRequest | MatchResultReport, error: LeagueError
    ) -> None:
        """A lock or report was refused, and its sender knows."""
        code, file = error.context.get("code"), self._league.matches[question.match_id]
        if code is None or not asker.startswith("referee"):
            return
        if code == DuplicateReport.code and isinstance(question, MatchResultReport):
            self._contradicted(question, file)
        if asker not in self.dishonest and not self._may_refuse(code, question, file):
            kind = "lock" if isinstance(question, LockRequest) else "report"
            self._wrong(f"a {kind} of {file.match_id} by {asker} was refused: {error}")

    def unbelieved(self, events: Any) -> Iterator[str]:
        """Results that no referee locked so."""
        for event in events:
            if not isinstance(event, MatchDecided) or not self._is_of_a_referee(event):
                continue
            held = _encode((event.moves, event.forfeits))
            if (event.match_id, event.epoch, held) not in self._locked:
                yield f"{event.match_id} was decided with moves that no referee locked"

    def _is_of_a_referee(self, event: MatchDecided) -> bool:
        removed = self._league.roster.removed
        is_forfeit = any(player_id in removed for player_id, _ in event.forfeits)
        return event.verified and event.result.no_contest is not True and not is_forfeit

    def _contradicted(self, report: MatchResultReport, file: MatchRecord) -> None:
        referee_id = _id_of(report)
        if referee_id not in [each.referee_id for each in file.disputes]:
            self._wrong(f"{referee_id} contradicted {file.match_id}, and no dispute is on disk")

    def _may_refuse(
        self, code: str, question: LockRequest | MatchResultReport, file: MatchRecord
    ) -> bool:
        """Whether the rules say so; what is on disk by now is at least what was decided then."""
        if code == AlreadyComplete.code:
            return self._league.phase is Phase.COMPLETED
        if code != MatchMismatch.code:
            return code in _LATER
        is_ours = (question.epoch, _id_of(question)) == (file.epoch, file.referee_id)
        return not is_ours or (isinstance(question, LockRequest) and _is_unreached(question))


def _is_lie(report: MatchResultReport, file: MatchRecord) -> bool:
    held = file.decided
    return bool(held and held.verified) and report.result.winner != _winner(held)


def _winner(decided: MatchDecided | None) -> str | None:
    return decided.result.winner_player_id if decided else None


def _is_unreached(request: LockRequest) -> bool:
    """Nobody heard a byte from either player: that is first taken for the referee's fault."""
    return all(cause == UNREACHABLE for _, cause in request.forfeits) and not request.moves


def _id_of(message: LockRequest | MatchResultReport) -> str:
    return message.sender.rpartition(":")[2]
