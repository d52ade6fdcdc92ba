"""Sees all that is said in a simulated league, and holds it against what the journal holds then.

What is on disk when something is said is on disk for ever; so whoever is told what the disk does
not hold is told what a crash could undo. A referee of another make tells first and reports then,
as the documents say: for its matches nothing of that can hold.
"""

from collections import Counter
from collections.abc import Callable
from hashlib import sha256
from typing import Any, ClassVar

from msgspec import Struct

from agentleague.dialects import answers
from agentleague.errors import LeagueError
from agentleague.league.events import read_event
from agentleague.league.league import League, Phase
from agentleague.league.match_records import MatchRecord
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
    MatchResultReport,
    Message,
    RoundCompleted,
)
from agentleague.roles.effects import Event
from agentleague.roles.ports import Row
from agentleague.simulation.clock import VirtualClock
from agentleague.simulation.disk import Disk
from agentleague.simulation.lock_checks import LockChecks
from agentleague.simulation.network import Watcher, host_of
from agentleague.simulation.recount import Recount
from agentleague.simulation.table_checks import TableChecks

_JUDGED = (LockRequest, MatchResultReport)  # A union would be made anew for each answer.


class Heard(Struct, frozen=True, gc=False):
    """One thing that reached somebody."""

    at: float
    source: str
    url: str
    message: Message  # the request, or what was asked
    body: bytes
    is_answer: bool


class Observer(Watcher):
    """`violations` says what was wrong, in words; `on_asked` is shown every request."""

    def __init__(self, clock: VirtualClock, disk: Disk, league_id: str) -> None:
        self.on_asked: Callable[[str, Message], None] | None = None
        self.violations: list[str] = []
        self.heard: list[Heard] = []  # all that arrived, in order
        self.befell: list[tuple[float, str]] = []  # losses and faults, in words
        self.told: set[tuple[str, str]] = set()  # address and match: it knows the result
        self.told_the_end: set[str] = set()  # addresses
        self.invited: dict[str, float] = {}  # match -> when a player was first invited to it
        self.waits: dict[str, float] = {}  # match -> seconds from there to the first GAME_OVER
        self.attempts: Counter[tuple[str, str]] = Counter()  # address and match: questions asked
        self.rows: list[Row] = []  # all that is on disk
        self.events: list[Event] = []  # the same
        self.league = League()  # as it is on disk
        self.recount = Recount()
        self.tables = TableChecks(self.recount, self.violations.append)
        self.adjudicator = LockChecks(self.league, self.violations.append)
        self._clock, self._disk, self._league_id = clock, disk, league_id

    @property
    def said(self) -> list[tuple[str, Message]]:
        """To whom what was said, in order; without the answers."""
        return [(each.url, each.message) for each in self.heard if not each.is_answer]

    @property
    def trace(self) -> str:
        """All that was said, when and to whom, as one number: the same for the same seed."""
        trace = sha256()
        for each in self.heard:
            trace.update(f"{each.at:.6f} {each.url} {len(each.body)} ".encode() + each.body)
        for at, what in self.befell:
            trace.update(f"{at:.6f} {what}".encode())
        return trace.hexdigest()

    def called(self, url: str, message: Message) -> None:
        """Somebody asks somebody, who may never hear of it."""
        check = self._SENT.get(type(message))
        if check:
            check(self, url, message)

    def lost(self, source: str, target: str, what: Message) -> None:
        """A message is on nobody's way any more."""
        name = type(what).__name__
        self.note(f"{source} -> {target}: {name} (or its answer) is lost")

    def note(self, what: str) -> None:
        """Something befell the league."""
        self.befell.append((self._clock.time, what))

    def asked(self, source: str, url: str, message: Message, body: bytes) -> None:
        """A request arrived."""
        self.heard.append(Heard(self._clock.time, source, url, message, body, False))
        if self.on_asked:
            self.on_asked(url, message)
        check = self._CHECKS.get(type(message))
        if check:
            check(self, source, url, message)

    def answered(self, source: str, url: str, question: Message, body: bytes) -> None:
        """An answer arrived."""
        self.heard.append(Heard(self._clock.time, source, url, question, body, True))
        if not isinstance(question, _JUDGED):
            return
        file = self._file(question.match_id)
        try:
            answer = answers.read_answer(question, 200, body)
        except LeagueError as error:
            self.adjudicator.refused(host_of(url), question, error)
            return
        self._check_receipt(answer)
        self.adjudicator.taken(question)
        if isinstance(answer, LockResponse) and answer.result:
            self._check_result(file, answer.result.game_result, "a referee")

    def catch_up(self) -> None:
        """Take in what is new on disk; in the right order, since replay is strict."""
        if self._disk.rows_total == self.league.seq:
            return
        for row in self._disk.read(self._league_id, self.league.seq):
            event = read_event(row.kind, row.version, row.body)
            self.league.apply(event)
            self.recount.take(event)
            self.rows.append(row)
            self.events.append(event)

    def is_foreign(self, file: MatchRecord) -> bool:
        """Whether a referee of another make ever had this match."""
        referees = self.league.roster.referees
        return not all(referees[each].locks for each in file.referees)

    def _invited(self, source: str, url: str, message: GameInvitation) -> None:
        self.invited.setdefault(message.match_id, self._clock.time)

    def _game_over(self, source: str, url: str, message: GameOver) -> None:
        self._check_receipt(message)
        match_id = message.match_id
        if self._check_result(self._file(match_id), message.game_result, url):
            self.told.add((url, match_id))
        began = self.invited.get(match_id)
        if began is not None:
            self.waits.setdefault(match_id, self._clock.time - began)

    def _check_result(self, file: MatchRecord, told: GameResult, who: str) -> bool:
        if self.is_foreign(file):
            return True
        if file.decided is None:
            self._wrong(f"{who} is told a result of {file.match_id}, and none is on disk")
            return False
        if _facts(told) != _facts(file.decided.result):
            held = _facts(file.decided.result)
            self._wrong(f"{who} is told {_facts(told)} of {file.match_id}, and on disk is {held}")
            return False
        return True

    def _attempt(self, url: str, message: GameMessage) -> None:
        self.attempts[url, message.match_id] += 1

    def _table_sent(self, url: str, message: LeagueStandingsUpdate) -> None:
        self.catch_up()
        self.tables.sent(url, message)

    def _end_sent(self, url: str, message: LeagueCompleted) -> None:
        self.catch_up()
        self.tables.end_sent(url, message)

    def _table(self, source: str, url: str, message: LeagueStandingsUpdate) -> None:
        self.tables.arrived(url, message)

    def _end(self, source: str, url: str, message: LeagueCompleted) -> None:
        self.catch_up()
        if self.league.phase is not Phase.COMPLETED:
            self._wrong(f"{url} is told that the league is over, and on disk it is not")
        self.told_the_end.add(url)

    def _lock(self, source: str, url: str, message: LockRequest) -> None:
        self._file(message.match_id)
        self.adjudicator.lock_came(source, message)

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

    def _file(self, match_id: str) -> MatchRecord:
        self.catch_up()
        return self.league.matches[match_id]

    def _wrong(self, what: str) -> None:
        self.violations.append(what)

    _CHECKS: ClassVar[dict[type, Callable[..., None]]] = {
        GameInvitation: _invited,
        GameOver: _game_over,
        LeagueStandingsUpdate: _table,
        LeagueCompleted: _end,
        RoundCompleted: _round_over,
        LockRequest: _lock,
    }
    _SENT: ClassVar[dict[type, Callable[..., None]]] = {
        GameInvitation: _attempt,
        ChooseParityCall: _attempt,
        GameMoveCall: _attempt,
        LeagueStandingsUpdate: _table_sent,
        LeagueCompleted: _end_sent,
    }


def _facts(result: GameResult) -> tuple[Any, ...]:
    """What every form of GAME_OVER says; the plainest has no nulls."""
    return result.status, result.winner_player_id or None, result.drawn_number or None
