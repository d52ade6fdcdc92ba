"""Sees all that is said in a simulated league, and holds it against what the journal holds then.

What is on disk when something is said is on disk for ever; so whoever is told what the disk does
not hold is told what a crash could undo.
"""

from collections.abc import Callable
from hashlib import sha256
from typing import Any

import msgspec

from agentleague.errors import LeagueError
from agentleague.league.events import read_event
from agentleague.league.league import League, MatchFile, Phase
from agentleague.protocol import answers
from agentleague.protocol.messages import (
    GameOver,
    GameResult,
    LeagueCompleted,
    LeagueStandingsUpdate,
    LockRequest,
    LockResponse,
    MatchResultAck,
    MatchResultReport,
    Message,
    StandingRow,
)
from agentleague.roles.ports import Clock
from agentleague.simulation.disk import Disk
from agentleague.simulation.network import Watcher

_rows = msgspec.json.Decoder(list[StandingRow])


class Witness(Watcher):
    """`violations` says what was wrong, in words; `on_send` is called whenever somebody speaks."""

    def __init__(self, clock: Clock, disk: Disk, league_id: str) -> None:
        self.on_send: Callable[[], None] = lambda: None
        self.violations: list[str] = []
        self.said: list[tuple[str, Message]] = []  # to whom, what, in order
        self.told: set[tuple[str, str]] = set()  # address and match: it knows the result
        self.told_the_end: set[str] = set()  # addresses
        self.league = League()  # as it is on disk
        self._clock, self._disk, self._league_id = clock, disk, league_id
        self._trace = sha256()
        self._hashes: list[bytes] = []
        self._stale: list[LockRequest] = []  # came from a referee that had lost the match

    @property
    def trace(self) -> str:
        """All that was said, when and to whom, as one number: the same for the same seed."""
        return self._trace.hexdigest()

    def sent(self) -> None:
        """Somebody spoke."""
        self.on_send()

    def asked(self, url: str, message: Message, body: bytes) -> None:
        """A request arrived."""
        self._note(url, body)
        self.said.append((url, message))
        self._check_receipt(message)
        if isinstance(message, GameOver):
            self._game_over(url, message)
        elif isinstance(message, LeagueStandingsUpdate):
            self._table(url, message)
        elif isinstance(message, LeagueCompleted):
            self._end(url, message)
        elif (
            isinstance(message, LockRequest) and message.epoch < self._file(message.match_id).epoch
        ):
            self._stale.append(message)

    def answered(self, url: str, question: Message, body: bytes) -> None:
        """An answer arrived."""
        self._note(url, body)
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
        for row in self._disk.read(self._league_id, self.league.seq):
            before = self.league.decided_total
            self.league.apply(read_event(row.kind, row.version, row.body))
            self._hashes.append(row.hash)
            if self.league.decided_total < before:
                self._wrong("fewer matches are decided than before")

    def _game_over(self, url: str, message: GameOver) -> None:
        if self._check_result(self._file(message.match_id), message.game_result, url):
            self.told.add((url, message.match_id))

    def _check_result(self, file: MatchFile, told: GameResult, who: str) -> bool:
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

    def _note(self, url: str, body: bytes) -> None:
        self._trace.update(f"{self._clock.now():.6f} {url} {len(body)} ".encode() + body)

    def _wrong(self, what: str) -> None:
        self.violations.append(what)


def _facts(result: GameResult) -> tuple[Any, ...]:
    """What every form of GAME_OVER says; the plainest has no nulls."""
    return result.status, result.winner_player_id or None, result.drawn_number or None


def _decoded(rows: Any) -> list[StandingRow]:
    """The manager encodes a table once for all its receivers."""
    return _rows.decode(rows) if isinstance(rows, msgspec.Raw) else rows
