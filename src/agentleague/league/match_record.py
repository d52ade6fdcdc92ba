"""All that is known of one scheduled match, as a fold over the decisions about it."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct

from agentleague.league.events import (
    Disputed,
    MatchAssigned,
    MatchBegun,
    MatchClosed,
    MatchDecided,
    MatchLocked,
    MatchRuled,
    ScheduledMatch,
)
from agentleague.league.judge import UNREACHABLE
from agentleague.league.rulings import STAND, counted
from agentleague.protocol.messages import GameResult
from agentleague.roles.effects import Event


class MatchFile(Struct):
    """What the journal says of a match; `take` alone changes it."""

    match_id: str
    round_id: int
    players: tuple[str, str]
    referee_id: str
    commitment: str
    epoch: int = 1
    begun: int = 0  # the epoch whose referee, of another make, said that it runs
    locks: list[MatchLocked] = []
    decided: MatchDecided | None = None
    decided_seq: int = 0  # the row that holds the result
    closed: bool = False
    closing: MatchClosed | None = None
    disputes: list[Disputed] = []
    settled: int = 0  # of the disputes: those before the organiser's last ruling
    ruling: MatchRuled | None = None  # the last one
    referees: list[str] = []  # all who ever had it, the present one last
    unreached: bool = False  # given out again since nobody reached either player

    def take(self, event: Event, seq: int) -> None:
        """Take in a decision about this match, which is row `seq` of the journal."""
        _TAKE[type(event)](self, event, seq)

    @property
    def result(self) -> GameResult | None:
        """What counts in the table; what the players were told is `decided`."""
        return counted(self.decided, self.ruling) if self.decided else None

    @property
    def is_disputed(self) -> bool:
        """Whether somebody disputed it, and the organiser has not ruled since."""
        return len(self.disputes) > self.settled

    @property
    def is_overruled(self) -> bool:
        """Whether the organiser's word counts and not the result."""
        return self.ruling is not None and self.ruling.verdict != STAND


def scheduled(match: ScheduledMatch, round_id: int) -> MatchFile:
    """The file of a match that was just scheduled."""
    players = (match.player_a, match.player_b)
    file = MatchFile(match.match_id, round_id, players, match.referee_id, match.commitment)
    file.referees.append(match.referee_id)
    return file


def _begun(file: MatchFile, event: MatchBegun, seq: int) -> None:
    assert event.epoch == file.epoch, "it runs in another epoch"
    file.begun = event.epoch


def _locked(file: MatchFile, event: MatchLocked, seq: int) -> None:
    file.locks.append(event)


def _decided(file: MatchFile, event: MatchDecided, seq: int) -> None:
    assert file.decided is None, f"{event.match_id} is decided twice"
    file.decided, file.decided_seq = event, seq


def _assigned(file: MatchFile, event: MatchAssigned, seq: int) -> None:
    file.epoch, file.referee_id = event.epoch, event.referee_id
    file.referees.append(event.referee_id)
    file.unreached = file.unreached or event.why == UNREACHABLE


def _closed(file: MatchFile, event: MatchClosed, seq: int) -> None:
    file.closed, file.closing = True, event


def _disputed(file: MatchFile, event: Disputed, seq: int) -> None:
    file.disputes.append(event)


def _ruled(file: MatchFile, event: MatchRuled, seq: int) -> None:
    file.ruling, file.settled = event, len(file.disputes)


_TAKE: dict[type[Event], Callable[[MatchFile, Any, int], None]] = {
    MatchAssigned: _assigned,
    MatchBegun: _begun,
    MatchLocked: _locked,
    MatchDecided: _decided,
    MatchClosed: _closed,
    Disputed: _disputed,
    MatchRuled: _ruled,
}
