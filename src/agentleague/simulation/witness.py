"""Sees all that is said in a simulated league, and holds it against what the journal holds then.

What is on disk when something is said is on disk for ever; so whoever is told what the disk does
not hold is told what a crash could undo. A referee of another make tells first and reports then,
as the documents say: for its matches nothing of that can hold.
"""

from collections.abc import Callable
from hashlib import sha256
from typing import Any, ClassVar, NamedTuple

import msgspec

from agentleague.errors import LeagueError
from agentleague.league.events import read_event
from agentleague.league.league import League, MatchFile, Phase
from agentleague.protocol import answers
from agentleague.protocol.messages import (
    GameInvitation,
    GameOver,
    GameResult,
    LeagueCompleted,
    LeagueStandingsUpdate,
    LockRequest,
    LockResponse,
    MatchResultAck,
    MatchResultReport,
    Message,
    RoundCompleted,
    StandingRow,
)
from agentleague.roles.ports import Clock
from agentleague.simulation.disk import Disk
from agentleague.simulation.network import Watcher

_rows = msgspec.json.Decoder(list[StandingRow])


class Heard(NamedTuple):
    """One thing that reached somebody."""

    at: float
    source: str
    url: str
    message: Message  # the request, or what was asked
    body: bytes
    is_answer: bool


class Witness(Watcher):
    """`violations` says what was wrong, in words; `on_send` is called whenever somebody speaks."""

    def __init__(self, clock: Clock, disk: Disk, league_id: str) -> None:
        self.on_send: Callable[[], None] = lambda: None
        self.on_asked: Callable[[str, Message], None] = lambda url, message: None
        self.violations: list[str] = []
        self.heard: list[Heard] = []  # all that arrived, in order
        self.befell: list[tuple[float, str]] = []  # losses and faults, in words
        self.told: set[tuple[str, str]] = set()  # address and match: it knows the result
        self.told_the_end: set[str] = set()  # addresses
        self.invited: dict[str, float] = {}  # match -> when a player was first invited to it
        self.waits: dict[str, float] = {}  # match -> seconds from there to the first GAME_OVER
        self.league = League()  # as it is on disk
        self._clock, self._disk, self._league_id = clock, disk, league_id
        self._hashes: list[bytes] = []
        self._stale: list[LockRequest] = []  # came from a referee that had lost the match

    @property
    def said(self) -> list[tuple[str, Message]]:
        """To whom what was said, in order; without the answers."""
        return [(each.url, each.message) for each in self.heard if not each.is_answer]

    @property
    def trace(self) -> str:
        """All that was said, when and to whom, as one number: the same for the same seed."""
        trace = sha256()
        for at, _, url, _, body, _ in self.heard:
            trace.update(f"{at:.6f} {url} {len(body)} ".encode() + body)
        for at, what in self.befell:
            trace.update(f"{at:.6f} {what}".encode())
        return trace.hexdigest()

    def sent(self) -> None:
        """Somebody spoke."""
        self.on_send()

    def lost(self, source: str, target: str, what: Message) -> None:
        """A message is on nobody's way any more."""
        name = type(what).__name__
        self.note(f"{source} -> {target}: {name} (or its answer) is lost")

    def note(self, what: str) -> None:
        """Something befell the league."""
        self.befell.append((self._clock.now(), what))

    def asked(self, source: str, url: str, message: Message, body: bytes) -> None:
        """A request arrived."""
        self.heard.append(Heard(self._clock.now(), source, url, message, body, False))
        self.on_asked(url, message)
        check = self._CHECKS.get(type(message))
        if check:
            check(self, url, message)

    def answered(self, source: str, url: str, question: Message, body: bytes) -> None:
        """An answer arrived."""
        self.heard.append(Heard(self._clock.now(), source, url, question, body, True))
        if not isinstance(question, LockRequest | MatchResultReport):
            return
        try:
            answer = answers.read_answer(question, 200, body)
        except LeagueError:
            return
        self._check_receipt(answer)
        file = self._file(question.match_id)
        if any(question is each for each in self._stale):
            self._wrong(f"a lock of {file.match_id} by a referee that had lost it was accepted")
        if isinstance(answer, LockResponse) and answer.result:
            self._check_result(file, answer.result.game_result, "a referee")
        elif isinstance(answer, MatchResultAck) and not file.closed:
            self._wrong(f"the report of {file.match_id} is acknowledged, but not on disk")

    def catch_up(self) -> None:
        """Take in what is new on disk; in the right order, since replay is strict."""
        if self._disk.rows_total == self.league.seq:
            return
        for row in self._disk.read(self._league_id, self.league.seq):
            before = self.league.decided_total
            self.league.apply(read_event(row.kind, row.version, row.body))
            self._hashes.append(row.hash)
            if self.league.decided_total < before:
                self._wrong("fewer matches are decided than before")

    def is_foreign(self, file: MatchFile) -> bool:
        """Whether a referee of another make ever had this match."""
        referees = self.league.roster.referees
        return not all(referees[each].locks for each in file.referees)

    def _invited(self, url: str, message: GameInvitation) -> None:
        self.invited.setdefault(message.match_id, self._clock.now())

    def _game_over(self, url: str, message: GameOver) -> None:
        self._check_receipt(message)
        match_id = message.match_id
        if self._check_result(self._file(match_id), message.game_result, url):
            self.told.add((url, match_id))
        began = self.invited.get(match_id)
        if began is not None:
            self.waits.setdefault(match_id, self._clock.now() - began)

    def _lock(self, url: str, message: LockRequest) -> None:
        if message.epoch < self._file(message.match_id).epoch:
            self._stale.append(message)

    def _check_result(self, file: MatchFile, told: GameResult, who: str) -> bool:
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

    def _table(self, url: str, message: LeagueStandingsUpdate) -> None:
        self.catch_up()
        shown = _decoded(message.standings)
        played = sum(row.played for row in shown)
        if played > sum(row.played for row in self.league.table.rows()):
            self._wrong(f"{url} is shown a table of {played} that is ahead of the disk")
        for row in shown:
            if row.played != row.wins + row.draws + row.losses:
                self._wrong(f"{row.player_id} played {row.played}, which is not the sum")

    def _end(self, url: str, message: LeagueCompleted) -> None:
        self.catch_up()
        if self.league.phase is not Phase.COMPLETED:
            self._wrong(f"{url} is told that the league is over, and on disk it is not")
        shown = [(row.player_id, row.points) for row in _decoded(message.final_standings)]
        held = [(row.player_id, row.points) for row in self.league.table.rows()]
        if shown != held:
            self._wrong(f"{url} is told the final table {shown}, and by the disk it is {held}")
        self.told_the_end.add(url)

    def _round_over(self, url: str, message: RoundCompleted) -> None:
        self._check_receipt(message)

    def _check_receipt(self, message: Any) -> None:
        receipt = getattr(message, "receipt", None)
        if not receipt:
            return
        self.catch_up()
        held = self._hashes[receipt.seq - 1] if receipt.seq <= len(self._hashes) else b""
        if held.hex() != receipt.hash:
            self._wrong(f"a receipt names row {receipt.seq}, which the disk does not hold so")

    def _file(self, match_id: str) -> MatchFile:
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


def _facts(result: GameResult) -> tuple[Any, ...]:
    """What every form of GAME_OVER says; the plainest has no nulls."""
    return result.status, result.winner_player_id or None, result.drawn_number or None


def _decoded(rows: Any) -> list[StandingRow]:
    """The manager encodes a table once for all its receivers."""
    return _rows.decode(rows) if isinstance(rows, msgspec.Raw) else rows
