"""What the journal says of each match: of the last rounds at hand, of older ones looked up.

A record takes 2 KB, and a league may run for ever. With an archive, which is the journal itself, a
round that ended long ago is forgotten except for where its rows lie; a match of it is rebuilt from
its rows when asked for. Disputed matches and those that the organiser ruled on are never forgotten:
more rows about them may follow. Only rows that are on disk are looked up: a round is forgotten when
a later one has ended.
"""

import re
from array import array
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

from msgspec import UNSET, Struct

from agentleague.errors import UNREACHABLE
from agentleague.league import events
from agentleague.league.match_result import STAND, counted
from agentleague.protocol.messages import GameResult
from agentleague.roles.effects import Event


@dataclass(frozen=True, kw_only=True, slots=True)
class LeagueLimits:
    """Limits of one league's state and of what is decided about its matches."""

    silences_max: int = 5  # attempts in a row without an answer that make a player SUSPENDED
    contradictions_max: int = 3  # players about whom a referee is contradicted before it goes
    disputes_max: int = 10  # of one referee about one match, each after a ruling
    told_rounds: int = 2  # before the running one: a restart tells nothing older again
    rounds_at_hand: int = 2  # rounds that have ended and are not forgotten, whatever their size
    recalled_max: int = 256  # matches that were looked up and may be asked for again
    last_matches: int = 20  # of each player, that can be named without their rounds


class MatchRecord(Struct):
    """What the journal says of a match; `take` alone changes it."""

    match_id: str
    round_id: int
    players: tuple[str, str]
    referee_id: str
    commitment: str
    epoch: int = 1
    generation: int = 0  # of its draws
    drawn_anew: bool = False  # since it was announced
    begun: int = 0  # the epoch whose foreign referee said that it runs
    locks: list[events.MatchLocked] = []
    decided: events.MatchDecided | None = None
    decided_seq: int = 0  # the row that holds the result
    closed: bool = False
    closing: events.MatchClosed | None = None
    disputes: list[events.Disputed] = []
    settled: int = 0  # of the disputes: those before the organiser's last ruling
    ruling: events.MatchRuled | None = None  # the last one
    referees: list[str] = []  # all who ever had it, the present one last
    unreached: bool = False  # given out again since nobody reached either player
    returns: int = 0  # how often it was given out again only since its referee had come back
    claimed_by: str = ""  # the referee that said what another was to confirm,
    claimed: list[tuple[str, str]] = []  # and what it said: who forfeited, and why

    def take(self, event: Event, seq: int) -> None:
        """Take in a decision about this match, which is row `seq` of the journal."""
        _TAKE[type(event)](self, event, seq)

    @property
    def result(self) -> GameResult | None:
        """What counts in the table; what the players were told is `decided`."""
        if self.decided is None:
            return None
        return counted(self.decided, self.ruling) if self.ruling else self.decided.result

    @property
    def contradicted(self) -> list[str]:
        """Players of whom one referee said that they forfeited, and who played with another."""
        was_played = self.decided and self.decided.result.status != "TECHNICAL_LOSS"
        is_other = self.claimed_by != self.referee_id
        return [player_id for player_id, _ in self.claimed] if was_played and is_other else []

    @property
    def is_unconfirmed(self) -> bool:
        """Whether it was lost by one referee's word, and the organiser has not ruled since."""
        is_alone = self.decided is not None and self.decided.unconfirmed is True
        return is_alone and self.ruling is None

    @property
    def given_out(self) -> int:
        """How often it was given to a referee, since it began anew if it did."""
        return self.epoch - self.first_epoch + 1

    @property
    def first_epoch(self) -> int:
        """What is said of it with an earlier epoch is about something that was lost."""
        return self.generation or 1

    @property
    def is_disputed(self) -> bool:
        """Whether somebody disputed it, and the organiser has not ruled since."""
        return len(self.disputes) > self.settled

    @property
    def is_overruled(self) -> bool:
        """Whether the organiser's word counts and not the result."""
        return self.ruling is not None and self.ruling.verdict != STAND


def scheduled(match: events.ScheduledMatch, of_round: events.RoundScheduled) -> MatchRecord:
    """The record of a match that was just scheduled."""
    players, round_id = (match.player_a, match.player_b), of_round.round_id
    record = MatchRecord(match.match_id, round_id, players, match.referee_id, match.commitment)
    record.referees.append(match.referee_id)
    if of_round.generation is not UNSET:
        record.generation = record.epoch = of_round.generation
    return record


def _begun_anew(record: MatchRecord, event: events.LossAccepted, seq: int) -> None:
    assert record.decided is None, f"{record.match_id} is decided and begins anew"
    record.commitment = event.commitments[record.match_id]
    record.generation = record.epoch = event.generation
    record.drawn_anew = True
    record.locks, record.begun, record.returns = [], 0, 0


def _begun(record: MatchRecord, event: events.MatchBegun, seq: int) -> None:
    assert event.epoch == record.epoch, "it runs in another epoch"
    record.begun = event.epoch


def _decided(record: MatchRecord, event: events.MatchDecided, seq: int) -> None:
    assert record.decided is None, f"{event.match_id} is decided twice"
    record.decided, record.decided_seq = event, seq


def _assigned(record: MatchRecord, event: events.MatchAssigned, seq: int) -> None:
    if event.claimed is not UNSET:
        record.claimed_by, record.claimed = record.referee_id, event.claimed
    record.epoch, record.referee_id = event.epoch, event.referee_id
    record.referees.append(event.referee_id)
    record.unreached = record.unreached or event.why == UNREACHABLE
    record.returns += event.returned is True


def _closed(record: MatchRecord, event: events.MatchClosed, seq: int) -> None:
    record.closed, record.closing = True, event


def _ruled(record: MatchRecord, event: events.MatchRuled, seq: int) -> None:
    record.ruling, record.settled = event, len(record.disputes)


_TAKE: dict[type[Event], Callable[[MatchRecord, Any, int], None]] = {
    events.LossAccepted: _begun_anew,
    events.MatchAssigned: _assigned,
    events.MatchBegun: _begun,
    events.MatchLocked: lambda record, event, seq: record.locks.append(event),
    events.MatchDecided: _decided,
    events.MatchClosed: _closed,
    events.Disputed: lambda record, event, seq: record.disputes.append(event),
    events.MatchRuled: _ruled,
}


MATCHES_AT_HAND = 1_000  # of rounds that have ended, as long as there are fewer
MATCH_ID = re.compile("R([1-9][0-9]{0,9})M([1-9][0-9]{0,9})")


class Archive(Protocol):
    """Where the rows of a match can be found again: a journal, which only grows."""

    @property
    def at_hand(self) -> int:
        """How many matches of rounds that have ended need not be looked up here."""

    def find(self, first: int, last: int, match_id: str) -> Iterable[tuple[int, Event]]:
        """Row numbers and events, from row `first` to `last`: all that name this match."""

    def hash_of(self, seq: int) -> str | None:
        """The hash of a row that is on disk, as hexadecimal digits; None if it is not there."""


class MatchRecords(dict[str, MatchRecord]):
    """Every match that was scheduled; what a dict iterates over are those at hand, in order."""

    def __init__(self, archive: Archive | None = None, limits: LeagueLimits | None = None) -> None:
        super().__init__()
        self._limits = limits or LeagueLimits()
        self.of_player: dict[str, list[MatchRecord]] = {}  # those at hand
        self._archive = archive
        self._held: dict[str, MatchRecord] = {}  # of forgotten rounds: disputed or ruled on
        self._recalled: dict[str, MatchRecord] = {}  # the last one asked for at the end
        self._totals: dict[str, int] = {}  # player -> its matches so far
        self._last: dict[str, list[str]] = {}  # player -> its last ones
        self._ended_matches = 0  # of rounds that have ended and are at hand
        self._forgotten = 0  # the last round whose records are not
        self._sizes = array("Q")  # of each round, in matches
        self._first_rows, self._last_rows = array("Q"), array("Q")  # of each round

    def schedule(self, event: events.RoundScheduled, seq: int) -> None:
        """A round begins with row `seq`."""
        for match in event.matches:
            record = scheduled(match, event)
            self[record.match_id] = record
            for player_id in record.players:
                self.of_player.setdefault(player_id, []).append(record)
                self._totals[player_id] = self._totals.get(player_id, 0) + 1
                last = self._last.setdefault(player_id, [])
                last.append(record.match_id)
                del last[: -self._limits.last_matches]
        self._sizes.append(len(event.matches))
        assert len(self._sizes) == event.round_id, "rounds are scheduled in order"
        self._first_rows.append(seq)

    def end_round(self, round_id: int, seq: int) -> Iterator[int]:
        """A round ended with row `seq`; yields the rounds that are forgotten for it."""
        if self._archive is None:
            return
        self._last_rows.append(seq)
        assert len(self._last_rows) == round_id, "rounds end in order"
        self._ended_matches += self.size(round_id)
        while round_id - self._forgotten > self._limits.rounds_at_hand:
            oldest = self._forgotten + 1
            if self._ended_matches - self.size(oldest) < self._archive.at_hand:
                break
            self._forget(oldest)
            yield oldest

    def get(self, match_id: str) -> MatchRecord | None:  # type: ignore[override]
        """The record of a match, if it was scheduled."""
        try:
            return self[match_id]
        except KeyError:
            return None

    def __missing__(self, match_id: str) -> MatchRecord:
        record = self._held.get(match_id) or (self._recall(match_id) if self._forgotten else None)
        if record is None:
            raise KeyError(match_id)
        return record

    def hold(self, match_id: str) -> MatchRecord:
        """The record of a match, which is never forgotten from here on."""
        record = self[match_id]
        if match_id not in self:
            self._held[match_id] = record
            self._recalled.pop(match_id, None)
        return record

    def size(self, round_id: int) -> int:
        """How many matches a round has that was scheduled."""
        return self._sizes[round_id - 1]

    def of_round(self, round_id: int) -> list[MatchRecord]:
        """The matches of a round that was scheduled, in order."""
        return [self[f"R{round_id}M{n}"] for n in range(1, self.size(round_id) + 1)]

    def total_of(self, player_id: str) -> int:
        """How many matches of a player were scheduled so far."""
        return self._totals.get(player_id, 0)

    def last_of(self, player_id: str) -> list[MatchRecord]:
        """The last matches of a player, the newest one last."""
        return [self[match_id] for match_id in self._last.get(player_id, ())]

    def _forget(self, round_id: int) -> None:
        for record in self.of_round(round_id):
            del self[record.match_id]
            for player_id in record.players:
                self.of_player[player_id].remove(record)
            if record.disputes or record.ruling:
                self._held[record.match_id] = record
        self._ended_matches -= self.size(round_id)
        self._forgotten = round_id

    def _recall(self, match_id: str) -> MatchRecord | None:
        record = self._recalled.pop(match_id, None) or self._look_up(match_id)
        if record:
            self._recalled[match_id] = record
            if len(self._recalled) > self._limits.recalled_max:
                del self._recalled[next(iter(self._recalled))]
        return record

    def _look_up(self, match_id: str) -> MatchRecord | None:
        """Rebuild a forgotten match from its rows; only what looks like a match id is searched."""
        assert self._archive
        named = MATCH_ID.fullmatch(match_id)
        round_id, number = (int(named[1]), int(named[2])) if named else (0, 0)
        if not (1 <= round_id <= self._forgotten and number <= self.size(round_id)):
            return None
        first, last = self._first_rows[round_id - 1], self._last_rows[round_id - 1]
        (_, opening), *later = self._archive.find(first, last, match_id)
        assert isinstance(opening, events.RoundScheduled)
        record = scheduled(opening.matches[number - 1], opening)
        for seq, event in later:  # Some only have a move that is called like the match.
            is_anew = isinstance(event, events.LossAccepted) and match_id in event.commitments
            if is_anew or getattr(event, "match_id", "") == match_id:
                record.take(event, seq)
        return record
