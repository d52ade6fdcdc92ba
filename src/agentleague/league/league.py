"""One league as a fold over its events: what was decided so far, and nothing else.

Reading a journal into a League rebuilds all that the manager knows; deciding is the manager's.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import ClassVar

from msgspec import Struct

from agentleague.league.events import (
    DialectLearnt,
    Disputed,
    LeagueContinued,
    LeagueEnded,
    LeagueOpened,
    LeaguePaused,
    LeagueStarted,
    MatchAssigned,
    MatchBegun,
    MatchClosed,
    MatchDecided,
    MatchLocked,
    MatchRuled,
    PlayerRegistered,
    PlayerRemoved,
    PlayerReturned,
    RefereeRegistered,
    RoundEnded,
    RoundScheduled,
    TokenConfirmed,
    TokenMisused,
    TokenRenewed,
    TokenShown,
    Told,
)
from agentleague.league.judge import UNREACHABLE
from agentleague.league.roster import Roster
from agentleague.league.rulings import STAND, counted
from agentleague.league.schedule import Schedule
from agentleague.league.standings import Points, Table
from agentleague.protocol.messages import GameResult
from agentleague.roles.effects import Event

SILENCES_MAX = 5  # attempts in a row without an answer that make a player SUSPENDED


class Phase(StrEnum):
    """Where a league stands: the states of document 001 section 9.2."""

    REGISTERING = "WAITING_FOR_REGISTRATIONS"
    SCHEDULING = "CREATING_SCHEDULE"
    RUNNING = "RUNNING_LEAGUE"
    COMPLETED = "LEAGUE_COMPLETED"


class MatchFile(Struct):
    """All that is known of one scheduled match."""

    match_id: str
    round_id: int
    players: tuple[str, str]
    referee_id: str
    commitment: str
    epoch: int = 1
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


class League:
    """The state of a league; `apply` alone changes it, live and on replay."""

    def __init__(self) -> None:
        self.seq = 0  # rows applied so far
        self.phase = Phase.REGISTERING
        self.roster = Roster()
        self.matches: dict[str, MatchFile] = {}
        self.files_of: dict[str, list[MatchFile]] = {}  # player -> its matches, scheduled so far
        self.byes: dict[int, list[str]] = {}
        self.round_id = 0  # the round that runs, or ran last
        self.rounds_ended = 0
        self.round_ended_seq = 0
        self.open_matches: set[str] = set()  # of the running round, not closed yet
        self.begun: dict[str, int] = {}  # open match -> epoch whose referee said that it runs
        self.decided_total = 0
        self.opened: LeagueOpened | None = None
        self.schedule: Schedule | None = None
        self.table = Table({})
        self.champion = ""
        self.paused = self.aborted = False
        self.told: set[tuple[str, int]] = set()  # what everybody was told, by round
        self.disputed: dict[str, None] = {}  # matches that wait for the organiser's word, in order
        self.ruled: dict[str, None] = {}  # matches on which the organiser ruled, in order
        self.misuses: dict[str, list[TokenMisused]] = {}  # agent -> where its token was shown
        self._silences: dict[str, int] = {}  # player -> attempts in a row without an answer

    @property
    def rules(self) -> LeagueOpened:
        """The league's id, game and rules."""
        assert self.opened, "a league begins with league_opened"
        return self.opened

    def apply(self, event: Event) -> None:
        """Take in one decision."""
        self.seq += 1
        self._APPLY[type(event)](self, event)

    def is_suspended(self, player_id: str) -> bool:
        """Whether a player let so many attempts run out that it gets no retries."""
        return self._silences.get(player_id, 0) >= SILENCES_MAX

    def result_of(self, match_id: str) -> GameResult | None:
        """How a match was decided, if it was."""
        file = self.matches.get(match_id)
        return file.decided.result if file and file.decided else None

    def _opened(self, event: LeagueOpened) -> None:
        self.opened = event

    def _started(self, event: LeagueStarted) -> None:
        self.phase = Phase.SCHEDULING
        self.schedule = Schedule(event.players, self.rules.cycles)
        names = {
            player_id: self.roster.players[player_id].display_name for player_id in event.players
        }
        self.table = Table(names, Points(*self.rules.points), self.rules.tie_breaks)

    def _scheduled(self, event: RoundScheduled) -> None:
        self.phase = Phase.RUNNING
        self.round_id = event.round_id
        self.byes[event.round_id] = event.byes
        for match in event.matches:
            players = (match.player_a, match.player_b)
            file = MatchFile(
                match.match_id, event.round_id, players, match.referee_id, match.commitment
            )
            file.referees.append(match.referee_id)
            self.matches[match.match_id] = file
            for player_id in players:
                self.files_of.setdefault(player_id, []).append(file)
            self.open_matches.add(match.match_id)

    def _locked(self, event: MatchLocked) -> None:
        self.matches[event.match_id].locks.append(event)

    def _decided(self, event: MatchDecided) -> None:
        file = self.matches[event.match_id]
        assert file.decided is None, f"{event.match_id} is decided twice"
        file.decided, file.decided_seq = event, self.seq
        self.decided_total += 1
        self._count(file, self.table.count)

    def _count(self, file: MatchFile, count: Callable[..., None]) -> None:
        result = file.result
        assert result
        if result.no_contest is not True:
            technical = result.status == "TECHNICAL_LOSS"
            count(*file.players, winner=result.winner_player_id, technical=technical)

    def _ruled(self, event: MatchRuled) -> None:
        file = self.matches[event.match_id]
        assert file.decided, f"{event.match_id} is ruled on and has no result"
        self._count(file, self.table.take_back)
        file.ruling, file.settled = event, len(file.disputes)
        self._count(file, self.table.count)
        self.disputed.pop(event.match_id, None)
        self.ruled[event.match_id] = None
        if self.champion:
            self.champion = self.table.rows()[0].player_id

    def _assigned(self, event: MatchAssigned) -> None:
        file = self.matches[event.match_id]
        file.epoch, file.referee_id = event.epoch, event.referee_id
        file.referees.append(event.referee_id)
        file.unreached = file.unreached or event.why == UNREACHABLE

    def _begun(self, event: MatchBegun) -> None:
        assert event.epoch == self.matches[event.match_id].epoch, "it runs in another epoch"
        self.begun[event.match_id] = event.epoch

    def _closed(self, event: MatchClosed) -> None:
        file = self.matches[event.match_id]
        file.closed, file.closing = True, event
        self.open_matches.discard(event.match_id)
        self.begun.pop(event.match_id, None)
        for player_id, (unanswered, answered) in event.silences.items():
            before = 0 if answered else self._silences.get(player_id, 0)
            self._silences[player_id] = before + unanswered

    def _disputed(self, event: Disputed) -> None:
        self.matches[event.match_id].disputes.append(event)
        self.disputed[event.match_id] = None

    def _misused(self, event: TokenMisused) -> None:
        self.misuses.setdefault(event.agent_id, []).append(event)

    def _learnt(self, event: DialectLearnt) -> None:
        self.roster.dialects[event.agent_id] = event.dialect

    def _shown(self, event: TokenShown) -> None:
        self.roster.showing.add(event.agent_id)

    def _round_ended(self, event: RoundEnded) -> None:
        self.rounds_ended, self.round_ended_seq = event.round_id, self.seq

    def _ended(self, event: LeagueEnded) -> None:
        self.phase, self.champion = Phase.COMPLETED, event.champion
        self.aborted, self.paused = event.aborted, False

    def _paused(self, event: LeaguePaused) -> None:
        self.paused = True

    def _continued(self, event: LeagueContinued) -> None:
        self.paused = False

    def _told(self, event: Told) -> None:
        self.told.add((event.what, event.round_id))

    def _player(self, event: PlayerRegistered) -> None:
        self.roster.add_player(event)

    def _returned(self, event: PlayerReturned) -> None:
        self.roster.add_token(event)

    def _renewed(self, event: TokenRenewed) -> None:
        self.roster.renew(event)

    def _confirmed(self, event: TokenConfirmed) -> None:
        self.roster.confirm(event)

    def _removed(self, event: PlayerRemoved) -> None:
        self.roster.removed[event.player_id] = event.from_round

    def _referee(self, event: RefereeRegistered) -> None:
        self.roster.add_referee(event)

    _APPLY: ClassVar[dict[type[Event], Callable[..., None]]] = {
        LeagueOpened: _opened,
        PlayerRegistered: _player,
        PlayerReturned: _returned,
        RefereeRegistered: _referee,
        TokenRenewed: _renewed,
        TokenConfirmed: _confirmed,
        PlayerRemoved: _removed,
        LeagueStarted: _started,
        RoundScheduled: _scheduled,
        MatchAssigned: _assigned,
        MatchBegun: _begun,
        MatchLocked: _locked,
        MatchDecided: _decided,
        MatchClosed: _closed,
        Disputed: _disputed,
        MatchRuled: _ruled,
        TokenMisused: _misused,
        DialectLearnt: _learnt,
        TokenShown: _shown,
        RoundEnded: _round_ended,
        Told: _told,
        LeaguePaused: _paused,
        LeagueContinued: _continued,
        LeagueEnded: _ended,
    }
