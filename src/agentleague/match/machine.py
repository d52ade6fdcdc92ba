"""One match as a pure state machine: answers and time in, effects out.

    NEW         nothing was done yet
    RECOVERING  another referee began the match: the manager is asked what the league holds of it
    JOINING     both players are invited at once; each answers or fails
    PLAYING     all who are to move are asked at once; each answers or fails
    LOCKING     the moves go to the manager, which answers with a number or with the result
    TELLING     both players are told the result the league holds
    REPORTING   the report goes to the manager until it is acknowledged
    CLOSED      nothing more to do

`Match.TRANSITIONS` lists what can happen in each phase, which method handles it, and the phases it
may lead to; docs/explanation/match.svg is drawn from it.

A call that cannot reach a player's seat, for the manager is away, is made again until it can; no
attempt counts meanwhile, and no time of that player runs.

JOINING and PLAYING end when each player has answered or failed (question.py says how); a player
that failed loses. An answer to a call that is not open any more changes nothing. One timer, the
clock, rings when something is due; it may ring too early, and runs until the match is closed.
"""

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from itertools import product
from math import inf
from typing import Any, ClassVar

from msgspec import UNSET, Struct
from msgspec.structs import replace

from agentleague.dialects.table import LOST, NONE
from agentleague.errors import LeagueError, PeerRefused, UnexpectedMessage
from agentleague.match import answer_checks
from agentleague.match.answer_checks import Pusher
from agentleague.match.game_progress import GameProgress
from agentleague.match.messages import Conditions, MatchMessages, addresses
from agentleague.match.question import Act, Ask, Complain, Failure, Question, Terms
from agentleague.match.transcript import Transcript
from agentleague.protocol import messages
from agentleague.roles.effects import Call, Drop, Effect, WakeAt
from agentleague.roles.stimuli import Answered, Caller


class Phase(StrEnum):
    """Where a match stands."""

    NEW = "new"
    RECOVERING = "recovering"
    JOINING = "joining"
    PLAYING = "playing"
    LOCKING = "locking"
    TELLING = "telling"
    REPORTING = "reporting"
    CLOSED = "closed"


NEW, RECOVERING, JOINING, PLAYING, LOCKING, TELLING, REPORTING, CLOSED = Phase

# The states of document 001 section 9.2.
STATE = {
    **dict.fromkeys((NEW, RECOVERING, JOINING), "WAITING_FOR_PLAYERS"),
    PLAYING: "COLLECTING_CHOICES",
    LOCKING: "DRAWING_NUMBER",
    **dict.fromkeys((TELLING, REPORTING, CLOSED), "FINISHED"),
}


class PlayerCall(Struct, frozen=True, gc=False):
    """The key of a call to a player."""

    match_id: str
    seat: int
    turn: int
    attempt: int


# fmt: off
class InvitationCall(PlayerCall, frozen=True, gc=False): ...  # GAME_INVITATION
class MoveCall(PlayerCall, frozen=True, gc=False): ...  # CHOOSE_PARITY_CALL or GAME_MOVE_CALL
class ErrorCall(PlayerCall, frozen=True, gc=False): ...  # GAME_ERROR; attempt: which complaint
class GameOverCall(PlayerCall, frozen=True, gc=False): ...  # GAME_OVER
# fmt: on


class ManagerCall(Struct, frozen=True, gc=False):
    """The key of a call to the manager; `index` is how many numbers were drawn before."""

    match_id: str
    index: int
    attempt: int


# fmt: off
class LockCall(ManagerCall, frozen=True, gc=False): ...  # LOCK_REQUEST
class ReportCall(ManagerCall, frozen=True, gc=False): ...  # MATCH_RESULT_REPORT
# fmt: on


class Clock(Struct, frozen=True, gc=False):
    """The key of the one timer of a match."""

    match_id: str


class Start:
    """In the table: the referee starts the match."""


class Away:
    """In the table: a seat could not be called, for the manager is away."""


class Abandon:
    """In the table: the referee gives the match up."""


# What the players are asked for in a phase.
ASKED = {JOINING: InvitationCall, PLAYING: MoveCall}
AT_MANAGER = (RECOVERING, LOCKING, REPORTING)
NEVER = inf


class Transition:
    """What is done about something that happened; it changes nothing or leads to these phases."""

    def __init__(self, handle: Callable[..., None], *to: Phase) -> None:
        self.handle, self.to = handle, to


class Match:
    """A match; its calls and its timer carry the keys above."""

    def __init__(self, match: messages.RoundMatch, at: Conditions) -> None:
        assert match.seats is not UNSET
        assert match.epoch is not UNSET
        self.match_id, self.epoch = match.match_id, match.epoch
        self.phase = NEW
        self.report: messages.MatchResultReport | None = None
        self.closing: messages.MatchResultAck | None = None  # the manager's answer to the report
        self.fault: LeagueError | None = None  # of the answer that was pushed last
        self._match, self._at, self._rules = match, at, at.rules
        self._messages = MatchMessages(match, at)
        self.players = addresses(match.seats, at.manager.url)  # Where and how they are called.
        players = [self.players[0].agent_id, self.players[1].agent_id]
        self._progress = GameProgress(at.game, at.rules.game_options, players, at.limits)
        self._notes = Transcript(players, at.limits)
        self._began = self._phase_ends = 0.0
        self._effects: list[Effect] = []  # of this step
        # Calls whose answers matter, in order.
        self._open: dict[PlayerCall | ManagerCall, Call] = {}
        self._questions: dict[int, Question] = {}
        self._failures: dict[int, LeagueError | None] = {}
        self._result: messages.LockResponse | None = None
        self._tries = 0  # to get one answer out of the manager
        self._retry_at = NEVER  # when the manager is tried again
        self._rings_at = NEVER
        self._aways = 0  # calls to seats in a row that found the manager away
        self._stood: dict[Any, float] = {}  # calls to seats -> seconds until they broke there
        self._unsaid: dict[PlayerCall, float] = {}  # those that ask nothing -> when to repeat them
        self._is_ours = True  # until the manager gives it to another referee

    @property
    def turn(self) -> int:
        """How many turns were played."""
        return self._progress.turn

    @property
    def waits_for_manager(self) -> bool:
        """Whether nothing happens before the manager answers."""
        return self._aways > 0 or self.phase in AT_MANAGER

    def waiting_for(self) -> list[str]:
        """The agents that are to answer."""
        if self.phase in ASKED:
            seats = [seat for seat, question in self._questions.items() if not question.result]
            return [self.players[seat].agent_id for seat in seats]
        if self.phase is TELLING:
            return [self.players[seat].agent_id for seat in self._untold()]
        return [] if self.phase is CLOSED else [self._at.manager.agent_id]

    def awaited(self, now: float) -> Iterator[messages.AwaitedAnswer]:
        """The answers that it has been waiting for, for a few seconds or longer."""
        for seat, question in self._questions.items():
            wait, player_id = question.wait(now), self.players[seat].agent_id
            if wait:
                yield messages.AwaitedAnswer(
                    self.match_id, player_id, question.terms.message, *wait
                )

    def start(self, now: float) -> list[Effect]:
        """Invite both players at once; or first learn how far the match is."""
        return self._step(Start, None, now)

    def reseat(self, seats: Sequence[messages.Seated]) -> None:
        """A player has another address: the next attempt goes there."""
        self._messages.seats = seats
        self.players = addresses(seats, self._at.manager.url)

    def answered(self, answer: Answered, now: float) -> list[Effect]:
        """A call came back; a late or repeated answer changes nothing."""
        key: Any = answer.key
        if key not in self._open:
            return []
        if now > self._rings_at:
            self._notice_sleep(now)
        if isinstance(key, PlayerCall) and self._messages.seats[key.seat].seat:
            if answer_checks.is_manager_away(answer, self._stood, self._seconds_of(key)):
                return self._step(Away, key, now)
            self._aways = 0
        if answer.is_last:
            del self._open[key]
        return self._step(type(key), answer, now)

    def woken(self, now: float) -> list[Effect]:
        """The clock rang: do what is due."""
        if self._notice_sleep(now):  # What has arrived comes before what is due.
            self._effects = []
            self._set_clock()
            return self._effects
        self._rings_at = NEVER
        return self._step(Clock, None, now)

    def admit(self, message: messages.Message, caller: Caller) -> Pusher:
        """Whose answer was pushed. Raises TokenInvalid, TokenMissing or UnexpectedMessage."""
        is_allowed = self._rules.unsigned_pushes
        pusher = answer_checks.who_pushed(
            self._messages.seats, message, caller, is_unsigned_allowed=is_allowed
        )
        is_awaited = (self.phase, type(message)) in self.TRANSITIONS
        if not is_awaited or pusher.seat not in self._questions:
            raise UnexpectedMessage(f"{self.match_id} does not wait for this ({STATE[self.phase]})")
        if self._questions[pusher.seat].is_closed_to(message):
            raise UnexpectedMessage(f"{self.match_id} holds another answer of yours already")
        return pusher

    def pushed(self, pusher: Pusher, message: messages.Message, now: float) -> list[Effect]:
        """A player sent its answer by itself; `admit` said whose it is."""
        self.fault = None
        self._notice_sleep(now)
        return self._step(type(message), (pusher, message), now)

    def abandon(self) -> list[Effect]:
        """Wait for nothing any more; GAME_OVERs that are under way still go out."""
        return self._step(Abandon, None, 0.0)

    def _step(self, happened: type, what: Any, now: float) -> list[Effect]:
        before, self._effects = self.phase, []
        transition = self.TRANSITIONS[before, happened]
        transition.handle(self, what, now)
        assert self.phase is before or self.phase in transition.to, (before, happened, self.phase)
        if self._rings_at == NEVER:  # It rang, or was stopped by a sleep.
            self._set_clock()
        return self._effects

    def _start(self, _: None, now: float) -> None:
        self._began, match = now, self._match
        if match.decided is True or (match.locks is not UNSET and match.locks > 0):
            self._recover(now)
        else:
            self._invite(now)

    def _invite(self, now: float) -> None:
        self.phase = JOINING
        self._ask_players((0, 1), self._at.join_terms, now)

    def _ask_for_moves(self, now: float) -> None:
        self.phase = PLAYING
        self._ask_players(self._progress.to_move(), self._at.move_terms, now)

    def _ask_players(self, seats: Sequence[int], terms: Terms, now: float) -> None:
        self._phase_ends = now + terms.longest
        self._questions = {}
        is_join, is_strict = self.phase is JOINING, self._rules.missing_fields == "refuse"
        timestamp = self._messages.write(now)
        for seat in seats:
            own = terms if self._is_patient(seat) else replace(terms, retries=0)
            self._questions[seat] = question = Question(
                own,
                seat,
                self._notes,
                self.match_id,
                None if is_join else self._progress,
                self._messages.seats[seat] if is_strict else None,
                is_join and self.epoch > 1,
            )
            question.ask(now)
            self._call_player(seat, question, timestamp)
        self._set_clock()

    def _is_patient(self, seat: int) -> bool:
        """Whether a player that gives no answer is asked again."""
        at = self._messages.seats[seat]
        if at.suspended and not self._notes.silences()[at.player_id][1]:
            return False
        if self._notes.timed_out.get(at.player_id, at.timed_out):
            return False
        return self.phase is PLAYING or not self.players[seat].dialect.endswith(LOST)

    def _carry_out(self, seat: int, acts: Sequence[Act], now: float) -> None:
        for act in acts:
            if isinstance(act, Ask):
                self._call_player(seat, self._questions[seat], self._messages.write(now))
            else:
                self._complain(seat, act, now)

    def _call_player(self, seat: int, question: Question, timestamp: str) -> None:
        until = question.deadline
        if self.phase is JOINING:
            message = self._messages.invitation(seat, timestamp)
        else:
            message = self._messages.move_call(seat, self._progress, timestamp, until)
        key = ASKED[self.phase](self.match_id, seat, self._progress.turn, len(question.lines))
        until = max(until, self._phase_ends)
        self._call(Call(key, self.players[seat], message, until))

    def _complain(self, seat: int, act: Complain, now: float) -> None:
        turn = (self._progress.game, self._progress.state, STATE[self.phase])
        is_join = self.phase is JOINING
        message = self._messages.error(seat, act, is_join=is_join, turn=turn, now=now)
        key = ErrorCall(self.match_id, seat, self._progress.turn, act.number)
        self._call(Call(key, self.players[seat], message, now + self._rules.game_over_seconds))
        if not act.is_retryable:  # Its answer does not matter any more.
            del self._open[key]

    def _call(self, call: Call) -> None:
        key: Any = call.key
        self._open[key] = call
        self._effects.append(call)

    def _seconds_of(self, key: PlayerCall) -> float:
        asks = isinstance(key, InvitationCall | MoveCall)
        return self._questions[key.seat].terms.seconds if asks else self._rules.game_over_seconds

    def _manager_away(self, key: PlayerCall, now: float) -> None:
        """A seat cannot be called: say the same again a little later."""
        waits = self._at.limits.seat_seconds
        again = now + waits[min(self._aways, len(waits) - 1)]
        self._aways += 1
        if isinstance(key, InvitationCall | MoveCall):
            del self._open[key]
            self._questions[key.seat].away(key.attempt, again)
        else:
            self._unsaid[key] = again
        self._set_clock()

    def _repeat_unsaid(self, _: None, now: float) -> None:
        for key in [key for key, again in self._unsaid.items() if again <= now]:
            del self._unsaid[key]
            if call := self._open.get(key):
                until = now + self._rules.game_over_seconds
                self._call(replace(call, to=self.players[key.seat], until=until))

    def is_lost(self, seat: int) -> bool:
        """Whether the player understood the last question in no dialect."""
        return seat in self._questions and bool(self._questions[seat].lost)

    def _call_answered(self, answer: Answered, now: float) -> None:
        key: Any = answer.key
        question = self._questions[key.seat]
        if answer.dialect.endswith(LOST) and not question.was_understood:
            question.lost = answer.dialect[-len(NONE) :]
        acts = question.answered(key.attempt, answer.message, answer.error, now)
        if question.result and not acts:
            self._when_all_answered(now)
        else:
            self._go_on(key.seat, acts, now)

    def _complaint_answered(self, answer: Answered, now: float) -> None:
        key: Any = answer.key
        acts = self._questions[key.seat].complaint_answered(answer.message, answer.error, now)
        self._go_on(key.seat, acts, now)

    def _answer_pushed(self, push: tuple[Pusher, messages.Message], now: float) -> None:
        pusher, message = push
        question = self._questions[pusher.seat]
        if pusher.has_wrong_token:
            self._notes.wrong_tokens[self.players[pusher.seat].agent_id] = messages.tag_of(
                type(message)
            )
        self.fault = question.fault_of(message)
        if self.fault and not pusher.is_signed:  # Any process at that address may have sent it.
            return
        acts = question.pushed(message, is_signed=pusher.is_signed, now=now)
        self._go_on(pusher.seat, acts, now)

    def _go_on(self, seat: int, acts: Sequence[Act], now: float) -> None:
        self._carry_out(seat, acts, now)
        self._set_clock()
        self._when_all_answered(now)

    def _questions_due(self, _: None, now: float) -> None:
        self._repeat_unsaid(None, now)
        for seat, question in self._questions.items():
            self._carry_out(seat, question.woken(now), now)
        self._when_all_answered(now)

    def _when_all_answered(self, now: float) -> None:
        for question in self._questions.values():
            if question.result is None:
                return
        moves: dict[int, Any] = {}
        for seat, question in self._questions.items():
            assert question.result
            if isinstance(question.result, Failure):
                self._failures[seat] = question.result.error
            else:
                moves[seat] = question.result.value
            if question.is_timed_out or self._messages.seats[seat].timed_out:
                self._learn(self._messages.seats[seat], question)
        self._drop_calls()
        if self.phase is PLAYING:
            self._moved(moves, now)
        elif self._failures:
            self._lock(now)
        else:
            self._ask_for_moves(now)

    def _learn(self, at: messages.Seated, question: Question) -> None:
        """Note whether a player let every attempt run out, or answers such a question again."""
        asked, is_failed = question.terms.message, isinstance(question.result, Failure)
        if is_failed and question.is_timed_out and self._rules.patience == "learning":
            self._notes.timed_out[at.player_id] = asked
        elif not is_failed and at.timed_out == asked:
            self._notes.timed_out[at.player_id] = None

    def _moved(self, moves: dict[int, Any], now: float) -> None:
        if self._failures or self._progress.wants_number:
            self._progress.note(moves)
            return self._lock(now)
        self._progress.play(moves)
        return self._lock(now) if self._progress.is_over else self._ask_for_moves(now)

    def _lock(self, now: float) -> None:
        self.phase = LOCKING
        lost = answer_checks.forfeits(self._messages.seats, self._failures, self._notes)
        index = len(self._progress.numbers)
        message = self._messages.lock(index, self._progress.moves, lost, now)
        self._call_manager(LockCall, message, now)

    def _recover(self, now: float) -> None:
        """Ask for a lock that the league holds already: the first of an index stands."""
        self.phase = RECOVERING
        match = self._match
        index = (match.locks or 0) if match.decided is True else len(self._progress.numbers)
        self._call_manager(LockCall, self._messages.lock(index, [], [], now), now)

    def _report(self, now: float) -> None:
        assert self._result
        self.phase = REPORTING
        self.report = self._messages.report(self._result, self._notes, began=self._began, now=now)
        self._call_manager(ReportCall, self.report, now)

    def _call_manager(self, kind: type[ManagerCall], message: messages.Message, now: float) -> None:
        self._tries, self._retry_at = self._tries + 1, NEVER
        key = kind(self.match_id, len(self._progress.numbers), self._tries)
        self._call(Call(key, self._at.manager, message, now + self._rules.reply_seconds))

    def _retry_due(self, _: None, now: float) -> None:
        self._repeat_unsaid(None, now)
        if now >= self._retry_at:
            again = {RECOVERING: self._recover, LOCKING: self._lock, REPORTING: self._report}
            again[self.phase](now)

    def _lock_answered(self, answer: Answered, now: float) -> None:
        """The result ends the game; after a number it goes on."""
        message = answer.message
        if not isinstance(message, messages.LockResponse):
            return self._retry(answer.error, now)
        if message.result is not UNSET:
            self._result = message
            return self._tell(now)
        if message.value is None or not self._progress.adopt(message.moves, message.value):
            return self._retry(answer.error, now)  # Neither the result nor a number it wanted.
        self._tries, self._retry_at, self._open, self._failures = 0, NEVER, {}, {}
        if self.phase is LOCKING:
            return self._ask_for_moves(now)
        match = self._match
        is_complete = match.decided is not True and len(self._progress.numbers) == match.locks
        return self._invite(now) if is_complete else self._recover(now)

    def _tell(self, now: float) -> None:
        assert self._result
        self.phase, self._tries, self._retry_at, self._open = TELLING, 0, NEVER, {}
        timestamp = self._messages.write(now)
        for seat in (0, 1):
            self._call_over(seat, 1, self._messages.game_over(seat, self._result, timestamp), now)
        if self._failures:
            self._when_all_told(now)

    def _over_answered(self, answer: Answered, now: float) -> None:
        """A player that refuses our GAME_OVER gets one with the documents' fields alone."""
        key: Any = answer.key
        if key.attempt == 1 and isinstance(answer.error, PeerRefused):
            assert self._result
            timestamp = self._messages.write(now)
            plain = self._messages.game_over_plain(key.seat, self._result, timestamp)
            self._call_over(key.seat, 2, plain, now)
        if self.phase is TELLING:
            self._when_all_told(now)

    def _call_over(self, seat: int, attempt: int, message: messages.Message, now: float) -> None:
        key = GameOverCall(self.match_id, seat, self._progress.turn, attempt)
        self._call(Call(key, self.players[seat], message, now + self._rules.game_over_seconds))

    def _when_all_told(self, now: float) -> None:
        if self._open and (not self._failures or self._untold()):
            return
        if self._is_ours:
            self._report(now)
        else:
            self._close()

    def _untold(self) -> list[int]:
        """Who has not answered GAME_OVER; one that lost by silence is not waited for."""
        silent = [count > 0 for count, _ in self._notes.silences().values()]  # by seat
        seats = [key.seat for key in self._open if isinstance(key, GameOverCall)]
        return [seat for seat in seats if seat not in self._failures or not silent[seat]]

    def _report_answered(self, answer: Answered, now: float) -> None:
        if not isinstance(answer.message, messages.MatchResultAck):
            return self._retry(answer.error, now)
        self.closing = answer.message
        return self._close()

    def _retry(self, error: LeagueError | None, now: float) -> None:
        """The manager did not answer: wait for it. It refused: the match is not ours any more."""
        if not answer_checks.is_refused(error):
            waits = self._at.limits.retry_seconds
            self._retry_at = now + waits[min(self._tries, len(waits)) - 1]
            return self._set_clock()
        is_told, self._is_ours = self._result is not None, False
        self._result = self._result or answer_checks.result_in_refusal(self.match_id, error)
        if self._result and self._questions and not is_told:  # Invited players wait for the end.
            return self._tell(now)
        return self._close()

    def _close(self, *_: Any) -> None:
        self.phase = CLOSED
        self._drop_calls()
        if self._rings_at != NEVER:
            self._rings_at = NEVER
            self._effects.append(Drop(Clock(self.match_id)))

    def _notice_sleep(self, now: float) -> bool:
        """A timer that rings late says that the machine slept: no player's time ran meanwhile."""
        slept = now - self._rings_at
        if slept <= self._at.limits.late_seconds:
            return False
        self._rings_at = NEVER
        self._retry_at += slept
        for question in self._questions.values():
            question.extend(slept)
        return True

    def _set_clock(self) -> None:
        due = self._retry_at
        if self._unsaid:
            due = min(due, *self._unsaid.values())
        for question in self._questions.values():
            if question.due < due and not question.result:
                due = question.due
        if due < self._rings_at and self.phase is not CLOSED:
            self._rings_at = due
            self._effects.append(WakeAt(Clock(self.match_id), due))

    def _drop_calls(self) -> None:
        for key in self._open:
            if type(key) is not GameOverCall:
                self._effects.append(Drop(key))
        self._open = {}

    # What can happen in a phase, who handles it, and where it may lead.
    TRANSITIONS: ClassVar[dict[tuple[Phase, type], Transition]] = {
        (NEW, Start): Transition(_start, JOINING, RECOVERING),
        (RECOVERING, LockCall): Transition(_lock_answered, JOINING, TELLING, CLOSED),
        (RECOVERING, Clock): Transition(_retry_due),
        (JOINING, InvitationCall): Transition(_call_answered, PLAYING, LOCKING),
        (JOINING, ErrorCall): Transition(_complaint_answered, PLAYING, LOCKING),
        (JOINING, messages.GameJoinAck): Transition(_answer_pushed, PLAYING, LOCKING),
        (JOINING, Clock): Transition(_questions_due, PLAYING, LOCKING),
        (PLAYING, MoveCall): Transition(_call_answered, LOCKING),
        (PLAYING, ErrorCall): Transition(_complaint_answered, LOCKING),
        (PLAYING, messages.ChooseParityResponse): Transition(_answer_pushed, LOCKING),
        (PLAYING, messages.GameMoveResponse): Transition(_answer_pushed, LOCKING),
        (PLAYING, Clock): Transition(_questions_due, LOCKING),
        (LOCKING, LockCall): Transition(_lock_answered, PLAYING, TELLING, REPORTING, CLOSED),
        (LOCKING, Clock): Transition(_retry_due),
        (TELLING, GameOverCall): Transition(_over_answered, REPORTING, CLOSED),
        (TELLING, Clock): Transition(_repeat_unsaid),
        (REPORTING, ReportCall): Transition(_report_answered, CLOSED),
        (REPORTING, GameOverCall): Transition(_over_answered),
        (REPORTING, Clock): Transition(_retry_due),
        (CLOSED, Clock): Transition(_repeat_unsaid),
        **dict.fromkeys(
            product((JOINING, PLAYING, TELLING, REPORTING), [Away]), Transition(_manager_away)
        ),
        **dict.fromkeys(product(Phase, [Abandon]), Transition(_close, CLOSED)),
    }
