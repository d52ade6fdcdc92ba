"""One match as a pure state machine: answers and time in, effects out.

    JOINING     both players are invited at once; each answers or fails
    PLAYING     all who are to move are asked at once; each answers or fails
    LOCKING     the moves go to the manager, which answers with a number or with the result
    TELLING     both players are told the result the league holds
    REPORTING   the report goes to the manager until it is acknowledged
    CLOSED      nothing more to do

A phase ends when each player has answered or failed; who failed loses. An answer to something
nobody waits for any more changes nothing.
"""

from collections.abc import Callable
from enum import StrEnum
from typing import Any, ClassVar

import msgspec
from msgspec import UNSET

from agentleague.errors import (
    IllegalMove,
    LeagueError,
    MatchMismatch,
    MissingField,
    NoAnswer,
    PeerRefused,
    PeerUnavailable,
)
from agentleague.games.game import Game
from agentleague.match.letters import Assignment, Desk, Letters
from agentleague.protocol.messages import (
    ChooseParityResponse,
    GameJoinAck,
    GameMoveResponse,
    LockResponse,
    MatchResultAck,
    Message,
)
from agentleague.roles.effects import Address, Call, Effect, WakeAt

MOVE_BYTES_MAX = 1024
AGAIN_SECONDS = 1.0  # between two tries to reach the manager
MANAGER = -1  # in the place of a seat: it is the manager's answer that is awaited


class Phase(StrEnum):
    """Where a match stands."""

    JOINING = "joining"
    PLAYING = "playing"
    LOCKING = "locking"
    TELLING = "telling"
    REPORTING = "reporting"
    CLOSED = "closed"


# The states of document 001 section 9.2.
STATE = {
    Phase.JOINING: "WAITING_FOR_PLAYERS",
    Phase.PLAYING: "COLLECTING_CHOICES",
    Phase.LOCKING: "DRAWING_NUMBER",
    Phase.TELLING: "FINISHED",
    Phase.REPORTING: "FINISHED",
    Phase.CLOSED: "FINISHED",
}


class Match:
    """A match; its calls carry keys (match id, step, seat, turn), by which answers come back."""

    def __init__(self, assignment: Assignment, game: Game, desk: Desk, manager: Address) -> None:
        self.match_id = assignment.match.match_id
        self.phase = Phase.JOINING
        self.closing: MatchResultAck | None = None  # what the manager said to the report
        self._assignment, self._game, self._manager = assignment, game, manager
        self._rules = assignment.rules
        self._letters = Letters(assignment, desk)
        self._players = [Address(seat.player_id, seat.endpoint) for seat in assignment.seats]
        self._state: Any = game.start(assignment.rules.game_options)
        self._awaited: set[int] = set()
        self._answers: dict[int, Any] = {}
        self._failures: dict[int, str] = {}
        self._silent: set[int] = set()
        self._moves: list[tuple[int, str, Any]] = []
        self._turn = 0
        self._locks = 0
        self._locked: LockResponse | None = None

    def start(self, now: float) -> list[Effect]:
        """Invite both players at once."""
        until = now + self._rules.join_seconds
        self._awaited = {0, 1}
        return [
            self._call("join", seat, self._letters.invitation(seat, now), until) for seat in (0, 1)
        ]

    def answered(
        self,
        key: tuple[str, str, int, int],
        message: Message | None,
        error: LeagueError | None,
        now: float,
    ) -> list[Effect]:
        """A call came back; one that nobody waits for (late, repeated) changes nothing."""
        _, step, seat, turn = key
        handler = self._HANDLERS.get((self.phase, step))
        if handler is None or turn != self._turn or seat not in self._awaited:
            return []
        self._awaited.discard(seat)
        return handler(self, seat, message, error, now)

    def woken(self, now: float) -> list[Effect]:
        """Try the manager again."""
        if self._awaited:
            return []
        if self.phase is Phase.LOCKING:
            return self._lock(now)
        return self._report(now) if self.phase is Phase.REPORTING else []

    def _on_join(
        self, seat: int, message: Message | None, error: LeagueError | None, now: float
    ) -> list[Effect]:
        try:
            answer = self._readable(message, error)
        except LeagueError as failure:
            return self._fail(seat, "join", failure, now) + self._when_all_joined(now)
        if not (isinstance(answer, GameJoinAck) and answer.accept):
            self._failures[seat] = "declined the invitation"
        return self._when_all_joined(now)

    def _when_all_joined(self, now: float) -> list[Effect]:
        if self._awaited:
            return []
        return self._lock(now) if self._failures else self._ask_for_moves(now)

    def _ask_for_moves(self, now: float) -> list[Effect]:
        self.phase = Phase.PLAYING
        until = now + self._rules.move_seconds
        turn = (self._game, self._state, self._turn)
        seats = [self._game.seats.index(name) for name in self._game.to_move(self._state)]
        self._awaited, self._answers = set(seats), {}
        return [
            self._call(
                "move", seat, self._letters.move_call(seat, turn, now=now, until=until), until
            )
            for seat in seats
        ]

    def _on_move(
        self, seat: int, message: Message | None, error: LeagueError | None, now: float
    ) -> list[Effect]:
        try:
            move = _move(self._readable(message, error))
            self._check(seat, move)
        except LeagueError as failure:
            return self._fail(seat, "move", failure, now) + self._when_all_moved(now)
        self._answers[seat] = move
        return self._when_all_moved(now)

    def _check(self, seat: int, move: Any) -> None:
        if len(msgspec.json.encode(move)) > MOVE_BYTES_MAX:
            raise IllegalMove(f"a move is at most {MOVE_BYTES_MAX} bytes long")
        try:
            self._game.check(self._state, self._game.seats[seat], move)
        except LeagueError:
            raise
        except Exception as error:  # The game is a plug-in, and the move is a stranger's.
            name = type(error).__name__
            raise IllegalMove(f"the game stumbled over the move ({name})") from None

    def _when_all_moved(self, now: float) -> list[Effect]:
        if self._awaited:
            return []
        for seat in sorted(self._answers):
            self._moves.append((self._turn, self._players[seat].agent_id, self._answers[seat]))
        if self._failures or self._game.chance(self._state):
            return self._lock(now)
        self._play(None)
        return self._lock(now) if self._game.outcome(self._state) else self._ask_for_moves(now)

    def _play(self, number: int | None) -> None:
        moves = {self._game.seats[seat]: move for seat, move in self._answers.items()}
        self._state = self._game.play(self._state, moves, number)
        self._turn += 1

    def _lock(self, now: float) -> list[Effect]:
        self.phase = Phase.LOCKING
        forfeits = [(self._players[s].agent_id, self._failures[s]) for s in sorted(self._failures)]
        message = self._letters.lock(self._locks, self._moves, forfeits, now)
        return [self._ask_manager("lock", message, now)]

    def _on_lock(
        self, seat: int, message: Message | None, error: LeagueError | None, now: float
    ) -> list[Effect]:
        if not isinstance(message, LockResponse):
            return self._again(error, now)
        if message.result is not UNSET:
            self._locked = message
            return self._tell(now)
        if message.value is None or self._failures or not self._game.chance(self._state):
            return self._again(error, now)  # Neither the result nor a number that was wanted.
        before = self._state, self._turn
        self._play(message.value)
        if self._game.outcome(self._state):  # The manager owes the result, not a number.
            self._state, self._turn = before
            return self._again(error, now)
        self._locks += 1
        return self._ask_for_moves(now)

    def _tell(self, now: float) -> list[Effect]:
        assert self._locked
        self.phase = Phase.TELLING
        until = now + self._rules.game_over_seconds
        self._awaited = {0, 1} - self._silent
        calls: list[Effect] = [
            self._call("over", seat, self._letters.game_over(seat, self._locked, now), until)
            for seat in (0, 1)
        ]
        return calls if self._awaited else calls + self._report(now)

    def _on_told(
        self, seat: int, message: Message | None, error: LeagueError | None, now: float
    ) -> list[Effect]:
        return [] if self._awaited else self._report(now)

    def _report(self, now: float) -> list[Effect]:
        assert self._locked
        self.phase = Phase.REPORTING
        return [self._ask_manager("report", self._letters.report(self._locked, now), now)]

    def _on_report(
        self, seat: int, message: Message | None, error: LeagueError | None, now: float
    ) -> list[Effect]:
        if not isinstance(message, MatchResultAck):
            return self._again(error, now)
        self.phase, self.closing = Phase.CLOSED, message
        return []

    def _again(self, error: LeagueError | None, now: float) -> list[Effect]:
        """The manager did not answer: wait for it. It refused: the match is not ours any more."""
        refused = isinstance(error, PeerRefused) and not error.context["data"].get("retryable")
        if refused:
            self.phase = Phase.CLOSED
            return []
        return [WakeAt((self.match_id, "again"), now + AGAIN_SECONDS)]

    def _fail(self, seat: int, step: str, error: LeagueError, now: float) -> list[Effect]:
        self._failures[seat] = _cause(error)
        if isinstance(error, PeerUnavailable):
            self._silent.add(seat)
        letter = self._letters.error(seat, step, error, state=STATE[self.phase], now=now)
        return [self._call("error", seat, letter, now + self._rules.game_over_seconds)]

    def _readable(self, message: Message | None, error: LeagueError | None) -> Message:
        """The answer itself. Raises what was wrong with it."""
        if isinstance(error, PeerRefused):  # It is there and answers: that is not silence.
            raise MissingField(str(error))
        if message is None:
            raise error or NoAnswer("there was no answer")
        told = getattr(message, "match_id", "")
        if told and told != self.match_id:
            raise MatchMismatch(f"the answer is about match {told!r}, not {self.match_id!r}")
        return message

    def _call(self, step: str, seat: int, message: Message, until: float) -> Call:
        return Call((self.match_id, step, seat, self._turn), self._players[seat], message, until)

    def _ask_manager(self, step: str, message: Message, now: float) -> Call:
        until = now + self._rules.reply_seconds
        self._awaited = {MANAGER}
        return Call((self.match_id, step, MANAGER, self._turn), self._manager, message, until)

    _HANDLERS: ClassVar[dict[tuple[Phase, str], Callable[..., list[Effect]]]] = {
        (Phase.JOINING, "join"): _on_join,
        (Phase.PLAYING, "move"): _on_move,
        (Phase.LOCKING, "lock"): _on_lock,
        (Phase.TELLING, "over"): _on_told,
        (Phase.REPORTING, "report"): _on_report,
    }


def _move(answer: Message) -> Any:
    if isinstance(answer, ChooseParityResponse):
        return answer.parity_choice
    return answer.move if isinstance(answer, GameMoveResponse) else None


def _cause(error: LeagueError) -> str:
    """Why a player failed, as the predicate of a sentence."""
    if isinstance(error, NoAnswer):
        return "failed to respond within timeout"
    if isinstance(error, IllegalMove):
        return "made an illegal move"
    if isinstance(error, PeerUnavailable):
        return "could not be reached, or gave no usable HTTP answer"
    return "gave no usable answer"
