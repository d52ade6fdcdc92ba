"""One question to a player, for a join or a move, until it is answered or given up.

    attempt     the call is out; its deadline is running
    no answer   the attempt failed: the player is told, and called again a little later with a fresh
                deadline, as often as the rules say
    unusable    the answer is no legal move of this match: the player is told, and asked again
                within the same deadline; the third such answer is the last
    away        it never reached the player's seat, for the manager is away: the same attempt is
                made again a little later, with a fresh deadline
    no content  the answer held nothing: what is pushed counts until the deadline

Every call stays open until the phase ends, and the first valid answer counts, returned or pushed. A
player that gave no answer in time may still give one while the other player is waited for; one that
declined or used up its answers may not.
"""

from collections.abc import Callable
from enum import Enum
from functools import cached_property
from operator import attrgetter
from typing import Any, ClassVar

from msgspec import Struct

from agentleague.dialects.complaints import note_of, read_note
from agentleague.dialects.table import NONE
from agentleague.errors import (
    UNREACHABLE,
    InternalError,
    LeagueError,
    MatchMismatch,
    MissingField,
    NoAnswer,
    NoConnection,
    PeerRefused,
    RateLimited,
    WrongType,
)
from agentleague.match import transcript
from agentleague.match.answer_checks import check_documented
from agentleague.match.game_progress import GameProgress
from agentleague.match.transcript import Line, Transcript
from agentleague.protocol import messages

ANSWERS_MAX = 3  # unusable ones; then the question is over
LONG_SECONDS = 2.0  # a shorter wait is not told
FORM_ERRORS = (-32600, -32601, -32602)  # the player did not understand us
# Verdicts on answers without content.
EMPTY = (transcript.NO_CONTENT, transcript.RATE_LIMITED, NoConnection.code, MissingField.code)
# What an answer holds: whether the player joins, or its move.
ANSWERS: dict[type, Callable[[Any], Any]] = {
    messages.GameJoinAck: attrgetter("accept"),
    messages.ChooseParityResponse: attrgetter("parity_choice"),
    messages.GameMoveResponse: attrgetter("move"),
}


class Terms(Struct, frozen=True, dict=True):
    """How a question is asked, by the rules of the league."""

    message: messages.QuestionType
    seconds: float
    retries: int
    delay: float
    backoff: float
    again_seconds: float  # until a player whose answer was unusable is asked again

    def wait(self, retry: int) -> float:
        """How long the n-th retry waits."""
        return float(self.delay * self.backoff ** (retry - 1))

    @cached_property
    def longest(self) -> float:
        """After how many seconds the question is over at the latest."""
        waits = sum(self.wait(retry) for retry in range(1, self.retries + 1))
        return (self.retries + 1) * self.seconds + waits


class Success(Struct, frozen=True, gc=False):
    """The player gave a valid answer."""

    value: Any
    is_final: ClassVar = True


class Failure(Struct, frozen=True):
    """The player gave no valid answer; without an error it declined."""

    error: LeagueError | None
    is_final: bool


class Ask(Struct, frozen=True):
    """Call the player."""


class Complain(Struct, frozen=True):
    """Tell the player what went wrong, and what can still be done about it."""

    number: int  # of complaints about this question
    error: LeagueError
    received: Any
    is_retryable: bool
    retry_count: int
    max_retries: int
    next_retry_at: float | None = None
    time_remaining: float | None = None


ASK = Ask()
Act = Ask | Complain


class Next(Enum):
    """What happens when the question's time comes."""

    TIME_IS_UP = "the attempt failed"
    RETRY = "call again, with a fresh deadline"
    ASK_AGAIN = "call again, with the same deadline"
    REPEAT = "make the same attempt again, with a fresh deadline"


class Question(Struct, gc=False):
    """One question to one player; `due` is when to wake it, `result` how it ended."""

    terms: Terms
    _seat: int
    _notes: Transcript
    _match_id: str
    _progress: GameProgress | None  # None: it is asked to join
    _strict: messages.Seated | None  # None: fields of its answer may be missing
    _refusal_joins: bool  # an error in answer to an invitation means: joined already
    result: Success | Failure | None = None
    lost: str = ""  # the mark of a player that understood the question in no dialect
    was_understood: bool = False
    is_timed_out: bool = False  # on every attempt
    deadline: float = 0.0
    due: float = 0.0
    _next: Next = Next.TIME_IS_UP
    lines: list[Line] = []  # of the attempts
    _retries: int = 0
    _timeouts: int = 0
    _unusable: int = 0
    _complaints: int = 0
    _held: messages.Message | None = None  # what was pushed unsigned

    def ask(self, now: float, *, is_fresh: bool = True) -> list[Act]:
        """Call, with a fresh deadline or within the last one."""
        if is_fresh:
            self.deadline = now + self.terms.seconds
        if self._next is Next.REPEAT:
            self.lines[-1].began = now
        else:
            attempt = len(self.lines) + 1
            self.lines.append(self._notes.begin(self._seat, self.terms.message, attempt, now))
        self.due, self._next = self.deadline, Next.TIME_IS_UP
        return [ASK]

    def answered(
        self, attempt: int, message: messages.Message | None, error: LeagueError | None, now: float
    ) -> list[Act]:
        """A call came back."""
        line = self.lines[attempt - 1]
        line.is_open = False
        if message is not None:
            verdict = transcript.LATE if line.verdict == NoAnswer.code else transcript.OK
            return self._judged(line, message, verdict, now)
        if not isinstance(error, NoAnswer | NoConnection):
            self._notes.hear(line, now)
        else:
            line.is_touched |= "status" in error.context  # HTTP, if not ours.
            line.is_unreached = error.context.get("kind") == UNREACHABLE and not line.is_touched
        if error and (error.context.get("said") or not line.note):
            line.note = note_of(error)
        return self._without_content(line, error, now) if self._is_awaited(attempt) else []

    def away(self, attempt: int, again: float) -> None:
        """The manager of its seat is away: no time runs until the attempt is repeated."""
        if self._is_awaited(attempt):
            self.due, self._next = again, Next.REPEAT
        else:
            self.lines[attempt - 1].is_open = False

    def _is_awaited(self, attempt: int) -> bool:
        is_last = attempt == len(self.lines) and self._next is Next.TIME_IS_UP
        return is_last and not self.result

    def complaint_answered(
        self, message: messages.Message | None, error: LeagueError | None, now: float
    ) -> list[Act]:
        """A player may answer a complaint with the join or the move that was wanted."""
        if type(message) in ANSWERS:
            assert message
            line = self._notes.begin(self._seat, self.terms.message, self._complaints + 1, now)
            return self._judged(line, message, transcript.OK, now)
        is_heard = not isinstance(error, NoAnswer | NoConnection)
        if is_heard and self._next is Next.ASK_AGAIN and not self.result:
            return self.ask(now, is_fresh=False)
        return []

    def is_closed_to(self, message: messages.Message) -> bool:
        """Whether a push comes too late: another answer counted, or the player failed for good."""
        if isinstance(self.result, Success):
            return bool(self.result.value != content(message))
        return bool(self.result and self.result.is_final)

    def pushed(self, message: messages.Message, *, is_signed: bool, now: float) -> list[Act]:
        """An answer was pushed; an unsigned one waits for the answer to the call."""
        if self.result and self.result.is_final:
            return []
        if not is_signed and not self._is_without_content(now):
            self._held = self._held or message
            return []
        return self._judge_push(message, now)

    def fault_of(self, message: messages.Message) -> LeagueError | None:
        """What is wrong with a pushed answer, if anything."""
        try:
            self._check(message, content(message))
        except LeagueError as error:
            return error
        return None

    def woken(self, now: float) -> list[Act]:
        """Do what is due."""
        if self.result or now < self.due:
            return []
        if self._next in (Next.RETRY, Next.REPEAT):
            return self.ask(now)
        if self._next is Next.ASK_AGAIN:
            return self.ask(now, is_fresh=False)
        return self._time_is_up(now)

    def wait(self, now: float) -> tuple[float, int, int] | None:
        """What is left of the attempt or the next one, its number, and of how many, if it waits."""
        if self.result or now < self.lines[0].began + LONG_SECONDS:
            return None
        is_later = self._next in (Next.RETRY, Next.REPEAT)
        ends = self.due + self.terms.seconds if is_later else self.deadline
        return ends - now, self._retries + 1, self.terms.retries + 1

    def extend(self, seconds: float) -> None:
        """This machine slept: that time does not count against the player."""
        self.deadline += seconds
        self.due += seconds
        for line in self.lines:
            line.is_interrupted = line.is_open

    def _without_content(self, line: Line, error: LeagueError | None, now: float) -> list[Act]:
        if isinstance(error, WrongType):
            self._judge_held(now)
            return self._complain_of(line, error, now)
        if self._refusal_joins and _is_refusal(error):
            line.verdict = transcript.IN_IT_ALREADY
            self.result = Success(True)
            return []
        is_ours = isinstance(error, PeerRefused) and error.context.get("code") == InternalError.code
        if isinstance(error, PeerRefused) and (is_ours or self.lost):
            return self._failed(error, now)  # Its strategy failed, or it refuses: no push follows.
        if error is None or isinstance(error, PeerRefused | MissingField):
            line.verdict = transcript.NO_CONTENT
            return self._judge_held(now)
        if isinstance(error, NoAnswer):
            if line.is_interrupted:
                return self.ask(now, is_fresh=False)
            return self._time_is_up(now)
        return self._failed(error, now)

    def _time_is_up(self, now: float) -> list[Act]:
        sentence = f"nothing usable came within {self.terms.seconds:g} seconds"
        line = self.lines[-1]
        is_empty = line.verdict == transcript.NO_CONTENT
        said, _ = read_note(line.note)
        more = {"said": said} if said else {}
        timeout = {"timeout_seconds": self.terms.seconds}
        return self._failed(NoAnswer(sentence, is_empty=is_empty, **timeout, **more), now)

    def _failed(self, error: LeagueError, now: float) -> list[Act]:
        is_limited = isinstance(error, RateLimited)
        line = self.lines[-1]
        line.verdict = line.verdict or (transcript.RATE_LIMITED if is_limited else error.code)
        acts = self._judge_held(now) if self._is_without_content(now) else []
        if self.result:
            return acts
        self._timeouts += isinstance(error, NoAnswer)
        most = self.terms.retries
        if self.lost == NONE:  # One that answers with nothing had its time; a refusal may pass.
            most = min(most, 0 if isinstance(error, NoAnswer) else 1)
        if self._retries >= most:
            self.result = Failure(error, is_final=False)
            self.is_timed_out = self._timeouts > self._retries
            if self._notes.is_unreached(self._seat):  # The match may be given out again.
                return acts
            return [*acts, self._complaint(error, None, (self._retries, most))]
        self._retries += 1
        self.due, self._next = now + self._wait(error, now), Next.RETRY
        if is_limited:  # It wants fewer messages, not one more.
            return acts
        counts = (self._retries, most)
        return [*acts, self._complaint(error, None, counts, retry_at=self.due)]

    def _wait(self, error: LeagueError, now: float) -> float:
        """Until the next attempt; at most what is left of this attempt is added on request."""
        own = self.terms.wait(self._retries)
        asked = error.context.get("retry_after") or 0.0
        return max(own, min(asked, self.deadline - now + own))

    def _is_without_content(self, now: float) -> bool:
        """Whether the player answered, but not what it was asked for, or let its time pass."""
        line = self.lines[-1]
        return (line.is_touched and line.verdict in EMPTY) or now >= self.deadline

    def _judge_held(self, now: float) -> list[Act]:
        held, self._held = self._held, None
        return [] if held is None else self._judge_push(held, now)

    def _judge_push(self, message: messages.Message, now: float) -> list[Act]:
        line = self.lines[-1]
        if line.verdict not in (transcript.OPEN, transcript.NO_CONTENT):
            line = self._notes.begin(self._seat, self.terms.message, len(self.lines), now)
        return self._judged(line, message, transcript.PUSHED, now)

    def _judged(self, line: Line, message: messages.Message, verdict: str, now: float) -> list[Act]:
        self.was_understood = True
        self._notes.hear(line, now, message)
        if self.result and self.result.is_final:
            return []
        value, is_join = content(message), type(message) is messages.GameJoinAck
        if not is_join:
            line.move = value
        try:
            self._check(message, value)
        except LeagueError as error:
            return self._complain_of(line, error, now)
        if is_join and not value:
            line.verdict, self.result = transcript.DECLINED, Failure(None, is_final=True)
        else:
            line.verdict, self.result = verdict, Success(value)
        return []

    def _check(self, message: messages.Message, value: Any) -> None:
        if self._strict:
            check_documented(self._strict, message)
        named, own = getattr(message, "match_id", ""), self._match_id
        if named and named != own:
            raise MatchMismatch(f"the answer is about match {named!r}, not {own!r}")
        is_join = type(message) is messages.GameJoinAck
        if self._progress:
            self._progress.check(self._seat, None if is_join else value)
        elif not is_join:
            raise MissingField("the answer to an invitation says whether the player joins")
        elif type(value) is not bool:
            raise WrongType("GAME_JOIN_ACK.accept: expected `bool`", field="accept", kind="type")

    def _complain_of(self, line: Line, error: LeagueError, now: float) -> list[Act]:
        """The answer is unusable; only so many are allowed."""
        line.verdict, line.note = error.code, note_of(error)
        if self.result:
            return []
        self._unusable += 1
        if self._unusable == ANSWERS_MAX:
            self.result = Failure(error, is_final=True)
            return [self._complaint(error, line.move, (ANSWERS_MAX, ANSWERS_MAX))]
        again = now + self.terms.again_seconds
        is_asked = self._next is not Next.TIME_IS_UP or self.lines[-1].is_open
        if not is_asked and again < self.deadline:
            self.due, self._next = again, Next.ASK_AGAIN
        left = max(0.0, self.deadline - now)
        return [self._complaint(error, line.move, (self._unusable, ANSWERS_MAX), left=left)]

    def _complaint(
        self,
        error: LeagueError,
        received: Any,
        counts: tuple[int, int],
        *,
        retry_at: float | None = None,
        left: float | None = None,
    ) -> Complain:
        self._complaints += 1
        is_retryable = retry_at is not None or left is not None
        return Complain(self._complaints, error, received, is_retryable, *counts, retry_at, left)


def content(message: messages.Message) -> Any:
    """What an answer holds: whether the player joins, or its move."""
    read = ANSWERS.get(type(message))
    return read(message) if read else None


def _is_refusal(error: LeagueError | None) -> bool:
    return isinstance(error, PeerRefused) and error.context.get("number") not in FORM_ERRORS
