"""Where a match can stand, and what the documents call it.

One match as a pure state machine: answers and time in, effects out.

    RECOVERING  a match that another referee began: what the league holds of it is fetched
    JOINING     both players are invited at once; each answers or fails
    PLAYING     all who are to move are asked at once; each answers or fails
    LOCKING     the moves go to the manager, which answers with a number or with the result
    TELLING     both players are told the result the league holds
    REPORTING   the report goes to the manager until it is acknowledged
    CLOSED      nothing more to do

A phase ends when each player has answered or failed (asking.py says how); who failed loses. An
answer to something nobody waits for any more changes nothing. One timer, the clock, rings when
something is due; it may ring too early, and is not stopped before the match is closed.
"""

from collections.abc import Callable, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, ClassVar

import msgspec
from msgspec import UNSET

from agentleague.errors import LeagueError, PeerRefused, UnexpectedMessage
from agentleague.games.game import Game
from agentleague.match.game_progress import GameProgress
from agentleague.match.judging import forfeits, is_refused, judged, standing
from agentleague.match.messages import (
    PARITY_GAME,
    Assignment,
    MatchMessages,
    RefereeIdentity,
    addresses,
)
from agentleague.match.push_identity import Pusher, who_pushed
from agentleague.match.question import Act, Ask, Complain, Failure, Question, Success, Terms
from agentleague.match.transcript import Transcript
from agentleague.protocol.messages import (
    GameJoinAck,
    LockResponse,
    MatchResultAck,
    Message,
    Seated,
)
from agentleague.roles.effects import Address, Call, Drop, Effect, WakeAt
from agentleague.roles.stimuli import Caller


class Phase(StrEnum):
    """Where a match stands."""

    RECOVERING = "recovering"
    JOINING = "joining"
    PLAYING = "playing"
    LOCKING = "locking"
    TELLING = "telling"
    REPORTING = "reporting"
    CLOSED = "closed"


# The states of document 001 section 9.2.
STATE = {
    Phase.RECOVERING: "WAITING_FOR_PLAYERS",
    Phase.JOINING: "WAITING_FOR_PLAYERS",
    Phase.PLAYING: "COLLECTING_CHOICES",
    Phase.LOCKING: "DRAWING_NUMBER",
    Phase.TELLING: "FINISHED",
    Phase.REPORTING: "FINISHED",
    Phase.CLOSED: "FINISHED",
}

# What the players are asked for.
STEP = {Phase.JOINING: "join", Phase.PLAYING: "move"}


AGAIN_SECONDS = (1.0, 2.0, 4.0, 5.0)  # between two tries to reach the manager; then the last again
LATE_SECONDS = 0.25  # a timer that rings so much too late says that this machine slept
MANAGER = -1  # in the place of a seat: it is the manager's answer that is awaited

Key = tuple[str, str, int, int, int]  # match, step, seat, turn or index of the lock, attempt


class Match:
    """A match; its calls carry keys (match id, step, seat, turn, attempt)."""

    def __init__(
        self, assignment: Assignment, game: Game, identity: RefereeIdentity, manager: Address
    ) -> None:
        self.match_id = assignment.match.match_id
        self.epoch = assignment.epoch
        self.phase = Phase.JOINING
        self.closing: MatchResultAck | None = None  # what the manager said to the report
        self._assignment, self._manager = assignment, manager
        self._rules = assignment.rules
        self._messages = MatchMessages(assignment, identity)
        self.players = addresses(assignment.seats)  # Where and how they are called.
        players = [seat.player_id for seat in assignment.seats]
        self._progress = GameProgress(game, assignment.rules.game_options, players)
        self._notes = Transcript(players)
        self._began = self._phase_ends = 0.0
        self._open: dict[Key, None] = {}  # calls whose answers matter, in order
        self._questions: dict[int, Question] = {}
        self._failures: dict[int, LeagueError | None] = {}
        self._locked: LockResponse | None = None
        self._tries = 0  # to get one answer out of the manager
        self._again_at: float | None = None  # when the manager is tried again
        self._rings_at: float | None = None
        self._is_ours = True  # until the manager gives it to another referee

    @property
    def turn(self) -> int:
        """How many turns were played."""
        return self._progress.turn

    def waiting_for(self) -> list[str]:
        """The agents that are to answer."""
        if self.phase in STEP:
            seats = [seat for seat, question in self._questions.items() if not question.result]
            return [self.players[seat].agent_id for seat in seats]
        if self.phase is Phase.TELLING:
            return [self.players[seat].agent_id for seat in self._untold()]
        return [] if self.phase is Phase.CLOSED else [self._manager.agent_id]

    def start(self, now: float) -> list[Effect]:
        """Invite both players at once; or first learn how far the match is."""
        self._began, match = now, self._assignment.match
        if match.decided is True or (match.locks is not UNSET and match.locks > 0):
            self.phase = Phase.RECOVERING
            return self._set_clock(self._ask_manager("lock", now))
        return self._set_clock(self._invite(now))

    def reseat(self, seats: Sequence[Seated]) -> None:
        """A player is somewhere else: the next attempt goes there."""
        self._assignment = msgspec.structs.replace(self._assignment, seats=seats)
        self._messages.reseat(seats)
        self.players = addresses(seats)

    def answered(
        self,
        key: Key,
        message: Message | None,
        error: LeagueError | None,
        now: float,
        *,
        is_last: bool = True,
    ) -> list[Effect]:
        """A call came back; one that nobody waits for (late, repeated) changes nothing."""
        if key not in self._open:
            return []
        self._notice_sleep(now)
        if is_last:
            del self._open[key]
        return self._set_clock(self._HANDLERS[key[1]](self, key, message, error, now))

    def woken(self, now: float) -> list[Effect]:
        """The clock rang: do what is due."""
        if self.phase is Phase.CLOSED:
            return []
        if self._notice_sleep(now):
            return self._set_clock([])  # What has arrived comes before what is due.
        self._rings_at = None
        effects: list[Effect] = []
        if self._again_at is not None and now >= self._again_at:
            effects += self._ask_manager("report" if self.phase is Phase.REPORTING else "lock", now)
        if self.phase in STEP:
            for seat, question in self._questions.items():
                effects += self._carry_out(seat, question.woken(now), now)
            effects += self._when_all_answered(now)
        return self._set_clock(effects)

    def admit(self, message: Message, caller: Caller) -> Pusher:
        """Whose answer was pushed.

        Raises:
            NotAuthorised: nobody can tell, or the token is wrong.
            UnexpectedMessage: nobody waits for it any more.
        """
        pusher = who_pushed(
            self._assignment.seats,
            message,
            caller,
            is_unsigned_allowed=self._rules.unsigned_pushes,
        )
        question = self._questions.get(pusher.seat) if self.phase in STEP else None
        is_join = isinstance(message, GameJoinAck)
        if question is None or is_join != (self.phase is Phase.JOINING):
            raise UnexpectedMessage(f"{self.match_id} does not wait for this ({STATE[self.phase]})")
        if question.is_closed_to(message):
            raise UnexpectedMessage(f"{self.match_id} holds another answer of yours already")
        return pusher

    def pushed(self, pusher: Pusher, message: Message, now: float) -> list[Effect]:
        """An answer came by itself; `admit` said whose it is."""
        self._notice_sleep(now)
        question = self._questions[pusher.seat]
        acts = question.pushed(message, is_signed=pusher.is_signed, now=now)
        effects = self._carry_out(pusher.seat, acts, now)
        return self._set_clock(effects + self._when_all_answered(now))

    def abandon(self) -> list[Effect]:
        """Wait for nothing any more; what players are being told of the end still goes out."""
        self.phase = Phase.CLOSED
        return self._set_clock(self._drop_calls())

    def _invite(self, now: float) -> list[Effect]:
        self.phase = Phase.JOINING
        rules = self._rules
        terms = self._terms("GAME_INVITATION", rules.join_seconds, rules.join_retries)
        return self._ask_players([0, 1], terms, now)

    def _ask_for_moves(self, now: float) -> list[Effect]:
        self.phase = Phase.PLAYING
        is_parity = self._progress.game.name == PARITY_GAME
        message = "CHOOSE_PARITY_CALL" if is_parity else "GAME_MOVE_CALL"
        terms = self._terms(message, self._rules.move_seconds, self._rules.retries)
        return self._ask_players(self._progress.to_move(), terms, now)

    def _terms(self, message: str, seconds: float, retries: int) -> Terms:
        rules = self._rules
        again = min(1.0, rules.move_seconds / 5)
        joins = self.epoch > 1 and self.phase is Phase.JOINING
        return Terms(
            message, seconds, retries, rules.retry_delay_seconds, rules.retry_backoff, again, joins
        )

    def _ask_players(self, seats: Sequence[int], terms: Terms, now: float) -> list[Effect]:
        self._phase_ends = now + terms.longest()
        self._questions = {}
        effects: list[Effect] = []
        for seat in seats:
            is_patient = not self._assignment.seats[seat].suspended or self._notes.is_heard(seat)
            own = terms if is_patient else msgspec.structs.replace(terms, retries=0)
            check = partial(self._progress.check, seat) if self.phase is Phase.PLAYING else None
            question = Question(own, seat, partial(judged, self.match_id, check), self._notes)
            self._questions[seat] = question
            effects += self._carry_out(seat, question.ask(now), now)
        return effects

    def _carry_out(self, seat: int, acts: Sequence[Act], now: float) -> list[Effect]:
        return [
            self._call_player(seat, act.attempt, now)
            if isinstance(act, Ask)
            else self._complain(seat, act, now)
            for act in acts
        ]

    def _call_player(self, seat: int, attempt: int, now: float) -> Call:
        deadline = self._questions[seat].deadline
        if self.phase is Phase.JOINING:
            message = self._messages.invitation(seat, now)
        else:
            turn = (self._progress.game, self._progress.state, self._progress.turn)
            message = self._messages.move_call(seat, turn, now=now, until=deadline)
        until = max(deadline, self._phase_ends)
        return self._call(STEP[self.phase], seat, attempt, message, until)

    def _complain(self, seat: int, act: Complain, now: float) -> Call:
        turn = (self._progress.game, self._progress.state, STATE[self.phase])
        letter = self._messages.error(seat, STEP[self.phase], act, turn=turn, now=now)
        key = (self.match_id, "error", seat, self._progress.turn, act.number)
        if act.is_retryable:  # Otherwise nothing that is said to it matters any more.
            self._open[key] = None
        return Call(key, self.players[seat], letter, now + self._rules.game_over_seconds)

    def _on_answer(
        self, key: Key, message: Message | None, error: LeagueError | None, now: float
    ) -> list[Effect]:
        _, step, seat, _, attempt = key
        question = self._questions[seat]
        if step == "error":
            acts = question.complaint_answered(message, error, now)
        else:
            acts = question.answered(attempt, message, error, now)
        return self._carry_out(seat, acts, now) + self._when_all_answered(now)

    def _when_all_answered(self, now: float) -> list[Effect]:
        made: dict[int, Any] = {}
        for seat, question in self._questions.items():
            if question.result is None:
                return []
            if isinstance(question.result, Success):
                made[seat] = question.result.value
        for seat, question in self._questions.items():
            if isinstance(question.result, Failure):
                self._failures[seat] = question.result.error
        drops = self._drop_calls()
        return drops + (
            self._joined(now) if self.phase is Phase.JOINING else self._moved(made, now)
        )

    def _joined(self, now: float) -> list[Effect]:
        return self._ask_manager("lock", now) if self._failures else self._ask_for_moves(now)

    def _moved(self, made: dict[int, Any], now: float) -> list[Effect]:
        if self._failures or self._progress.wants_number:
            self._progress.note(made)
            return self._ask_manager("lock", now)
        self._progress.play(made)
        return (
            self._ask_manager("lock", now) if self._progress.is_over else self._ask_for_moves(now)
        )

    def _ask_manager(self, step: str, now: float) -> list[Effect]:
        self._tries, self._again_at = self._tries + 1, None
        index = len(self._progress.numbers)
        if step == "report":
            assert self._locked
            self.phase = Phase.REPORTING
            message = self._messages.report(self._locked, self._notes, began=self._began, now=now)
        else:
            if self.phase is not Phase.RECOVERING:
                self.phase = Phase.LOCKING
            message = self._messages.lock(*self._what_to_lock(), now)
        key = (self.match_id, step, MANAGER, index, self._tries)
        self._open[key] = None
        return [Call(key, self._manager, message, now + self._rules.reply_seconds)]

    def _what_to_lock(self) -> tuple[int, list[tuple[int, str, Any]], list[tuple[str, str]]]:
        index = len(self._progress.numbers)
        if self.phase is not Phase.RECOVERING:
            lost = forfeits(self._assignment.seats, self._failures, self._notes)
            return index, self._progress.moves, lost
        match = self._assignment.match  # The first lock of an index stands, whatever we send.
        return (match.locks or 0) if match.decided is True else index, [], []

    def _on_lock(
        self, key: Key, message: Message | None, error: LeagueError | None, now: float
    ) -> list[Effect]:
        if not isinstance(message, LockResponse):
            return self._again(error, now)
        if message.result is not UNSET:
            self._locked = message
            return self._tell(now)
        if message.value is None or not self._progress.adopt(message.moves, message.value):
            return self._again(error, now)  # Neither the result nor a number that was wanted.
        self._tries, self._failures = 0, {}
        if self.phase is not Phase.RECOVERING:
            return self._ask_for_moves(now)
        match = self._assignment.match
        if match.decided is True or len(self._progress.numbers) != match.locks:
            return self._ask_manager("lock", now)
        return self._invite(now)

    def _tell(self, now: float) -> list[Effect]:
        assert self._locked
        self.phase, self._tries = Phase.TELLING, 0
        until = now + self._rules.game_over_seconds
        calls: list[Effect] = [
            self._call("over", seat, 1, self._messages.game_over(seat, self._locked, now), until)
            for seat in (0, 1)
        ]
        return calls + self._when_all_told(now)

    def _on_told(
        self, key: Key, message: Message | None, error: LeagueError | None, now: float
    ) -> list[Effect]:
        assert self._locked
        _, _, seat, _, attempt = key
        effects: list[Effect] = []
        if isinstance(error, PeerRefused) and attempt == 1:
            letter = self._messages.game_over_plain(seat, self._locked, now)
            effects.append(self._call("over", seat, 2, letter, now + self._rules.game_over_seconds))
        return effects + (self._when_all_told(now) if self.phase is Phase.TELLING else [])

    def _when_all_told(self, now: float) -> list[Effect]:
        if self._untold():
            return []
        return self._ask_manager("report", now) if self._is_ours else self.abandon()

    def _untold(self) -> list[int]:
        """Who has not answered GAME_OVER; nobody waits for one that lost by silence."""
        seats = [seat for _, step, seat, _, _ in self._open if step == "over"]
        return [s for s in seats if s not in self._failures or not self._notes.unheard(s)]

    def _on_report(
        self, key: Key, message: Message | None, error: LeagueError | None, now: float
    ) -> list[Effect]:
        if not isinstance(message, MatchResultAck):
            return self._again(error, now)
        self.closing = message
        return self.abandon()

    def _again(self, error: LeagueError | None, now: float) -> list[Effect]:
        """The manager did not answer: wait for it. It refused: the match is not ours any more."""
        if not is_refused(error):
            self._again_at = now + AGAIN_SECONDS[min(self._tries, len(AGAIN_SECONDS)) - 1]
            return []
        is_told, self._is_ours = self._locked is not None, False
        self._locked = self._locked or standing(self.match_id, error)
        if self._locked and self._questions and not is_told:  # Who was invited waits for the end.
            return self._tell(now)
        return self.abandon()

    def _notice_sleep(self, now: float) -> bool:
        """A timer that rings late says that the machine slept: no player's time ran meanwhile."""
        if self._rings_at is None or now - self._rings_at <= LATE_SECONDS:
            return False
        slept, self._rings_at = now - self._rings_at, None
        for question in self._questions.values():
            question.extend(slept)
        if self._again_at is not None:
            self._again_at += slept
        return True

    def _set_clock(self, effects: list[Effect]) -> list[Effect]:
        """Ring when the next thing is due, if the clock does not ring before; stop at the end."""
        key = (self.match_id, "clock")
        if self.phase is Phase.CLOSED:
            if self._rings_at is not None:
                self._rings_at = None
                effects.append(Drop(key))
            return effects
        times = [] if self._again_at is None else [self._again_at]
        if self.phase in STEP:
            times += [q.due for q in self._questions.values() if not q.result]
        if times and (self._rings_at is None or min(times) < self._rings_at):
            self._rings_at = min(times)
            effects.append(WakeAt(key, self._rings_at))
        return effects

    def _drop_calls(self) -> list[Effect]:
        drops: list[Effect] = [Drop(key) for key in self._open if key[1] != "over"]
        self._open = {}
        return drops

    def _call(self, step: str, seat: int, attempt: int, message: Message, until: float) -> Call:
        key = (self.match_id, step, seat, self._progress.turn, attempt)
        self._open[key] = None
        return Call(key, self.players[seat], message, until)

    _HANDLERS: ClassVar[dict[str, Callable[..., list[Effect]]]] = {
        "join": _on_answer,
        "move": _on_answer,
        "error": _on_answer,
        "lock": _on_lock,
        "over": _on_told,
        "report": _on_report,
    }
