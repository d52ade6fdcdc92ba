"""Sees every message of a simulated league, and compares it with what the journal holds then.

What is on disk when a message arrives is on disk for ever. An agent that is told what the disk does
not hold is told what a crash could undo. A foreign referee tells the players first and reports
then, as the documents say, so nothing of that is checked for its matches.

`Observer` checks results and receipts, `LockChecks` what referees send the manager, `TableChecks`
the tables that the manager shows. invariants.py checks the league when it is over.
"""

from collections.abc import Callable, Iterator
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from hashlib import sha256
from typing import Any, ClassVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from agentleague import errors
from agentleague.dialects import answers
from agentleague.dialects.negotiation import REGISTRATIONS
from agentleague.league.events import (
    LeagueEnded,
    LeagueOpened,
    LeagueStarted,
    MatchClosed,
    MatchDecided,
    MatchRuled,
    PlayerJoined,
    RoundEnded,
    StageStarted,
    read_event,
)
from agentleague.league.league import League, Phase
from agentleague.league.match_records import MatchRecord
from agentleague.league.recount import Recount
from agentleague.protocol import seats
from agentleague.protocol.messages import (
    ChooseParityCall,
    GameInvitation,
    GameMessage,
    GameMoveCall,
    GameOver,
    GameResult,
    LeagueCompleted,
    LeagueStandingsUpdate,
    LockRequest,
    LockResponse,
    MatchResultAck,
    MatchResultReport,
    Message,
    RoundAnnouncement,
    RoundCompleted,
    StandingRow,
)
from agentleague.roles.effects import Event
from agentleague.roles.ports import Row
from agentleague.simulation.clock import VirtualClock
from agentleague.simulation.disk import Disk
from agentleague.simulation.network import host_of, url_of
from agentleague.simulation.rules import CapacityChecks, TokenChecks

Counts = tuple[tuple[str, tuple[int, ...]], ...]  # player -> played, wins, draws, losses, points
_COUNTED = ("played", "wins", "draws", "losses", "points")
# rows that change the table
_COUNTING = (
    *(LeagueStarted, StageStarted, PlayerJoined, MatchClosed, MatchRuled, RoundEnded, LeagueEnded),
)
_JUDGED = (LockRequest, MatchResultReport)  # A union would be made anew for each answer.
_LATER = (errors.StorageError.code, errors.RateLimited.code)  # then the same is sent again
_encode = msgspec.json.Encoder().encode
_standing_rows = msgspec.json.Decoder(list[StandingRow])


class Delivery(Struct, frozen=True, gc=False):
    """A request or an answer that arrived."""

    at: float
    source: str
    url: str
    message: Message  # the request, or the question that is answered
    body: bytes
    is_answer: bool


class Observer:
    """`violations` has a sentence for each thing that was wrong; `listeners` get every request."""

    def __init__(self, clock: VirtualClock, disk: Disk, league_id: str) -> None:
        self.listeners: list[Callable[[str, Message], None]] = []
        self.attackers: set[str] = set()  # what they tell is not looked at
        self.violations: list[str] = []
        self.deliveries: list[Delivery] = []  # in order
        self.incidents: list[tuple[float, str]] = []  # losses and faults, in words
        self.results_told: set[tuple[str, str]] = set()  # address and match
        self._first_told: dict[str, tuple[Any, ...]] = {}  # match -> what anybody was told first
        self._results_sent: set[tuple[str, str]] = set()  # the same, also if it never arrived
        self.end_told: set[str] = set()  # addresses that know that the league is over
        self.invited: dict[str, float] = {}  # match -> when a player was first invited to it
        self.waits: dict[str, float] = {}  # match -> seconds from there to the first GAME_OVER
        self.attempts: dict[tuple[str, str], list[float]] = {}  # address, match: when it was asked
        self.rows: list[Row] = []  # that are on disk
        self.events: list[Event] = []  # of these rows
        self.league = League()  # as it is on disk
        self._wrong = wrong = self.violations.append
        self.tables = TableChecks(wrong, self._own_results)
        self.locks, self.tokens = LockChecks(self.league, wrong), TokenChecks(wrong)
        self.capacity = CapacityChecks(self.league, wrong)
        self._clock, self._disk, self._league_id = clock, disk, league_id

    @property
    def trace(self) -> str:
        """A hash of all messages, times and addresses: the same for the same seed."""
        trace = sha256()
        for each in self.deliveries:
            trace.update(f"{each.at:.6f} {each.url} {len(each.body)} ".encode() + each.body)
        for at, what in self.incidents:
            trace.update(f"{at:.6f} {what}".encode())
        return trace.hexdigest()

    def called(self, url: str, message: Message) -> None:
        """A request is sent; it may never arrive."""
        check = self._SENT.get(type(message))
        if check:
            self.catch_up()
            check(self, self.place(url), message)

    def place(self, endpoint: str) -> str:
        """Where a process is called, also if it is seated."""
        if seats.PREFIX not in endpoint:
            return endpoint
        member = self.league.roster.players[seats.split(urlsplit(endpoint).path)[0]]
        return url_of("".join(member.display_name.lower().split()[:2]))

    def handed_out(self, seat_url: str, message: Message, *, is_again: bool) -> None:
        """A seated agent has a call; each comes once, and to its own seat."""
        whose = getattr(message, "player_id", "")
        if whose and not seat_url.endswith(f"/{whose}"):
            self._wrong(f"at {seat_url} a call to {whose} is handed out")
        if is_again:
            self._wrong(f"at {seat_url} a {type(message).__name__} is handed out twice")

    def lost(self, source: str, target: str, what: Message) -> None:
        """A message is lost."""
        self.note(f"{source} -> {target}: {type(what).__name__} (or its answer) is lost")

    def note(self, what: str) -> None:
        """Keep an incident for the trace."""
        self.incidents.append((self._clock.time, what))

    def asked(self, source: str, url: str, message: Message, body: bytes) -> None:
        """A request arrived."""
        self.deliveries.append(Delivery(self._clock.time, source, url, message, body, False))
        for listener in self.listeners:
            listener(url, message)
        check = self._CHECKS.get(type(message))
        if check and source not in self.attackers:
            check(self, source, url, message)

    def answered(self, source: str, url: str, question: Message, body: bytes) -> None:
        """An answer arrived."""
        self.deliveries.append(Delivery(self._clock.time, source, url, question, body, True))
        if isinstance(question, REGISTRATIONS):
            self.catch_up()
            with suppress(errors.LeagueError):
                answer = answers.read_answer(question, 200, body)
                self.tokens.registered(host_of(url), question, answer)
        if not isinstance(question, _JUDGED):
            return
        match = self._match(question.match_id)
        try:
            answer = answers.read_answer(question, 200, body)
        except errors.LeagueError as error:
            self.locks.refused(host_of(url), question, error)
            return
        self._check_receipt(answer)
        self.locks.taken(question)
        if isinstance(answer, MatchResultAck) and answer.matches:  # The next one may come with it.
            self.capacity.handed_out(self._clock.time, url, answer.matches)
        if isinstance(answer, LockResponse) and answer.result:
            self._check_result(match, answer.result.game_result, "a referee")

    def catch_up(self) -> None:
        """Apply the new rows on disk."""
        if self._disk.rows_total == self.league.seq:
            return
        for row in self._disk.read(self._league_id, self.league.seq):
            event = read_event(row.kind, row.version, row.body)
            self.league.apply(event)
            self.tables.take(event)
            self.tokens.take(event)
            self.capacity.take(event)
            self.rows.append(row)
            self.events.append(event)

    @property
    def timed(self) -> list[tuple[float, Event]]:
        """The events on disk, with the seconds at which they were written."""
        return [
            (datetime.fromisoformat(row.at).timestamp(), event)
            for row, event in zip(self.rows, self.events, strict=True)
        ]

    def is_foreign(self, match: MatchRecord) -> bool:
        """Whether a foreign referee ever had this match."""
        referees = self.league.roster.referees
        return not all(referees[each].locks for each in match.referees)

    def _invited(self, source: str, url: str, message: GameInvitation) -> None:
        self.invited.setdefault(message.match_id, self._clock.time)

    def _game_over(self, source: str, url: str, message: GameOver) -> None:
        self._check_receipt(message)
        match_id = message.match_id
        if self._check_result(self._match(match_id), message.game_result, url):
            self.results_told.add((url, match_id))
        began = self.invited.get(match_id)
        if began is not None:
            self.waits.setdefault(match_id, self._clock.time - began)

    def _check_result(self, match: MatchRecord, result: GameResult, who: str) -> bool:
        if self.is_foreign(match):
            return True
        told, held = _facts(result), match.decided and _facts(match.decided.result)
        first = self._first_told.setdefault(match.match_id, told)
        if told != first:
            self._wrong(f"{who} is told {told} of {match.match_id}, and somebody was told {first}")
        if held is None:
            self._wrong(f"{who} is told a result of {match.match_id}, and none is on disk")
        elif told != held:
            self._wrong(f"{who} is told {told} of {match.match_id}, and on disk is {held}")
        return told == held

    def _own_results(self, url: str, table: Counts) -> None:
        """What a table counts of its receiver's own matches, the receiver was told before."""
        roster, matches = self.league.roster, self.league.matches.of_player
        for player_id, (played, *_) in table:
            if self.place(roster.players[player_id].endpoint) != url or player_id in roster.removed:
                continue
            told = [
                m for m in matches.get(player_id, ()) if (url, m.match_id) in self._results_sent
            ]
            # A table that waited may count what was ruled to be no contest since.
            may_count = [m.ruling or (m.result and m.result.no_contest is not True) for m in told]
            if played > sum(map(bool, may_count)):
                self._wrong(f"I11: {url} is shown a result of its own before its GAME_OVER")

    def _attempt(self, url: str, message: GameMessage) -> None:
        self.attempts.setdefault((url, message.match_id), []).append(self._clock.time)

    def _handed_out(self, url: str, message: RoundAnnouncement) -> None:
        if isinstance(message.matches, list):  # For players they are encoded once.
            self.capacity.handed_out(self._clock.time, url, message.matches)

    def _end(self, source: str, url: str, message: LeagueCompleted) -> None:
        self.catch_up()
        if self.league.phase is not Phase.COMPLETED:
            self._wrong(f"{url} is told that the league is over, and on disk it is not")
        self.end_told.add(url)

    def _lock(self, source: str, url: str, message: LockRequest) -> None:
        self._match(message.match_id)
        self.locks.lock_came(source, message)

    def _round_over(self, source: str, url: str, message: RoundCompleted) -> None:
        self._check_receipt(message)
        self.tables.round_over(url, message)

    def _check_receipt(self, message: Any) -> None:
        receipt = getattr(message, "receipt", None)
        if not receipt:
            return
        self.catch_up()
        held = self.rows[receipt.seq - 1].hash if receipt.seq <= len(self.rows) else b""
        if held.hex() != receipt.hash:
            self._wrong(f"a receipt names row {receipt.seq}, which the disk does not hold so")

    def _match(self, match_id: str) -> MatchRecord:
        self.catch_up()
        return self.league.matches[match_id]

    _CHECKS: ClassVar[dict[type, Callable[..., None]]] = {
        GameInvitation: _invited,
        GameOver: _game_over,
        LeagueStandingsUpdate: lambda self, source, url, message: self.tables.arrived(url, message),
        LeagueCompleted: _end,
        RoundCompleted: _round_over,
        LockRequest: _lock,
    }
    _SENT: ClassVar[dict[type, Callable[..., None]]] = {
        GameInvitation: _attempt,
        ChooseParityCall: _attempt,
        GameMoveCall: _attempt,
        RoundAnnouncement: _handed_out,
        GameOver: lambda self, url, message: self._results_sent.add((url, message.match_id)),
        LeagueStandingsUpdate: lambda self, url, message: self.tables.sent(url, message),
        LeagueCompleted: lambda self, url, message: self.tables.end_sent(url, message),
    }


def _facts(result: GameResult) -> tuple[Any, ...]:
    """What every form of GAME_OVER says; the plainest has no nulls."""
    return result.status, result.winner_player_id or None, result.drawn_number or None


class LockChecks:
    """Compares locks and reports with the journal: honest referees are believed, false ones not."""

    # What an honest one locked first is what the journal holds, and only what the rules refuse is
    # refused. The contradiction of a false one is on disk before it knows.

    def __init__(self, league: League, wrong: Callable[[str], None]) -> None:
        self.dishonest: set[str] = set()  # names of false and foreign referees
        self._league, self._wrong = league, wrong
        self._locked: set[tuple[str, int, bytes]] = set()  # match, epoch, moves and forfeits
        self._stale: list[LockRequest] = []  # came from a referee that had lost the match

    def lock_came(self, source: str, message: LockRequest) -> None:
        """A lock reached the manager."""
        if not source.startswith("referee"):
            return
        match = self._league.matches[message.match_id]
        is_taken = message.epoch == match.epoch and _id_of(message) != match.referee_id
        if message.epoch < match.epoch or is_taken:
            self._stale.append(message)
        sent = _encode((message.moves, message.forfeits))
        self._locked.add((message.match_id, message.epoch, sent))

    def taken(self, question: LockRequest | MatchResultReport) -> None:
        """A lock or report was accepted, and its sender knows."""
        match = self._league.matches[question.match_id]
        if any(question is each for each in self._stale):
            self._wrong(f"a lock of {match.match_id} by a referee that had lost it was accepted")
        if isinstance(question, MatchResultReport):
            if not match.closed:
                self._wrong(f"the report of {match.match_id} is acknowledged, but not on disk")
            if _is_lie(question, match):
                self._wrong(f"a report of {match.match_id} against its result was accepted")

    def refused(
        self, asker: str, question: LockRequest | MatchResultReport, error: errors.LeagueError
    ) -> None:
        """A lock or report was refused, and its sender knows."""
        code, match = error.context.get("code"), self._league.matches[question.match_id]
        if code is None or not asker.startswith("referee"):
            return
        if code == errors.DuplicateReport.code and isinstance(question, MatchResultReport):
            self._contradicted(question, match)
        if asker not in self.dishonest and not self._may_refuse(code, question, match):
            kind = "lock" if isinstance(question, LockRequest) else "report"
            self._wrong(f"a {kind} of {match.match_id} by {asker} was refused: {error}")

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

    def _contradicted(self, report: MatchResultReport, match: MatchRecord) -> None:
        referee_id = _id_of(report)
        if referee_id not in [each.referee_id for each in match.disputes]:
            self._wrong(f"{referee_id} contradicted {match.match_id}, and no dispute is on disk")

    def _may_refuse(
        self, code: str, question: LockRequest | MatchResultReport, match: MatchRecord
    ) -> bool:
        """Whether the rules say so; what is on disk by now is at least what was decided then."""
        if code == errors.AlreadyComplete.code:
            return self._league.phase is Phase.COMPLETED
        if code != errors.MatchMismatch.code:
            return code in _LATER
        is_ours = (question.epoch, _id_of(question)) == (match.epoch, match.referee_id)
        return not is_ours or (isinstance(question, LockRequest) and _is_unreached(question))


def _is_lie(report: MatchResultReport, match: MatchRecord) -> bool:
    held = match.decided
    return bool(held and held.verified and report.result.winner != held.result.winner_player_id)


def _is_unreached(request: LockRequest) -> bool:
    """Nobody heard a byte from either player: that is first taken for the referee's fault."""
    return all(cause == errors.UNREACHABLE for _, cause in request.forfeits) and not request.moves


def _id_of(message: LockRequest | MatchResultReport) -> str:
    return message.sender.rpartition(":")[2]


class TableChecks:
    """Compares tables with those that follow from the rows; `look` gets every one that is sent."""

    def __init__(self, wrong: Callable[[str], None], look: Callable[[str, Counts], None]) -> None:
        self.recount = Recount()
        self.rounds_told: set[tuple[str, int]] = set()  # address and round: it knows of its end
        self.unshown: list[tuple[str, int]] = []  # it knew so before it saw the round's table
        self._wrong, self._look = wrong, look
        self._rows = 0
        # Every table that there ever was -> the row that last led to it: one may be shown late.
        self._tables: dict[Counts, int] = {(): 0}
        self._counted = 0  # the row that led to the present table
        self._is_by_points = True
        self._rounds: dict[int, int] = {}  # round that is over -> the row of its last result
        self._end: int | None = None  # the row of the last result when the league ended
        self._sent: dict[str, int] = {}  # address -> the row that led to the last table sent there
        self._seen: dict[str, int] = {}  # address -> the same of the newest table that arrived

    def take(self, event: Event) -> None:
        """The next row on disk."""
        self._rows += 1
        self.recount.take(event)
        if isinstance(event, _COUNTING):
            counts = self.recount.counts().items()
            table = tuple((each, tuple(row[name] for name in _COUNTED)) for each, row in counts)
            if self._tables.get(table) != self._counted:
                self._tables[table] = self._counted = self._rows
        if isinstance(event, LeagueOpened):
            self._is_by_points = not event.stages  # Else something may rank before them.
        elif isinstance(event, RoundEnded):
            self._rounds[event.round_id] = self._counted
        elif isinstance(event, LeagueEnded):
            self._end = self._counted

    def sent(self, url: str, message: LeagueStandingsUpdate) -> None:
        """A table leaves the manager: it is on disk, and no older than the one before it."""
        row = self._row(url, message.standings)
        if row < self._sent.get(url, 0):
            self._wrong(f"I6: {url} is shown fewer results than before")
        self._sent[url] = row

    def end_sent(self, url: str, message: LeagueCompleted) -> None:
        """The last table: it counts all that was decided before the end."""
        row = self._row(url, message.final_standings)
        _, is_ranked = _shown(message.final_standings)
        if self._is_by_points and not is_ranked:
            self._wrong(f"{url} is told a final table in which more points stand below fewer")
        if self._end is None or row < self._end:
            self._wrong(f"{url} is told a final table that lacks results on disk")

    def arrived(self, url: str, message: LeagueStandingsUpdate) -> None:
        """A table reached a player."""
        table, _ = _shown(message.standings)
        self._seen[url] = max(self._tables.get(table, 0), self._seen.get(url, 0))

    def round_over(self, url: str, message: RoundCompleted) -> None:
        """An agent hears that a round is over; before that it saw the round's table."""
        self.rounds_told.add((url, message.round_id))
        last = self._rounds.get(message.round_id)
        if last is None:
            self._wrong(f"{url} is told that round {message.round_id} is over; on disk it is not")
        elif self._seen.get(url, 0) < last:
            self.unshown.append((url, message.round_id))

    def _row(self, url: str, rows: Any) -> int:
        table, _ = _shown(rows)
        self._look(url, table)
        row = self._tables.get(table)
        if row is None:
            self._wrong(f"I3: {url} is shown {dict(table)}, which no rows on disk lead to")
            return self._counted
        return row


def _shown(rows: Any) -> tuple[Counts, bool]:
    """A table in a message, and whether it is ranked by points."""
    return _decoded(bytes(rows) if isinstance(rows, msgspec.Raw) else _encode(rows))


@lru_cache(maxsize=64)  # The manager encodes a table once for all its receivers.
def _decoded(text: bytes) -> tuple[Counts, bool]:
    rows = _standing_rows.decode(text)
    points = [row.points for row in rows]
    table = sorted((row.player_id, tuple(getattr(row, name) for name in _COUNTED)) for row in rows)
    return tuple(table), points == sorted(points, reverse=True)
