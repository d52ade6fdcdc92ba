"""How matches are started at foreign referees, and what they answer.

A foreign referee is called for each match, and may take as long as the match lasts: its answer may
be the result. Its answers show which dialect it understands. One that answers the same to
everything gets time to report before another dialect is tried, so that it does not play a match
twice.
"""

import re
from collections.abc import Callable

from msgspec import Struct

from agentleague.dialects.answers import CLEAR
from agentleague.dialects.negotiation import (
    BROKEN,
    EMPTY,
    UNFIT,
    Attempt,
    describe_start_search,
    failed_attempt,
    first_start,
    misunderstanding,
    next_start,
    nonsense_start,
)
from agentleague.dialects.starting import ANNOUNCED, nonsense
from agentleague.dialects.table import dialect_of
from agentleague.errors import LeagueError, NoAnswer, NoConnection, RateLimited
from agentleague.league.events import DialectLearnt, MatchBegun
from agentleague.manager.keys import ControlCall, StartAgain, StartCall
from agentleague.manager.step import Step
from agentleague.protocol.messages import Message, RoundAnnouncement, RoundAnnouncementAck
from agentleague.roles.effects import Address, Call, Drop

_BUSY = re.compile(r"busy|already|in.?progress|capacity|too many|another match", re.IGNORECASE)


class Start(Struct):
    """One match that a referee was told to run."""

    referee_id: str
    message: RoundAnnouncement
    began: float
    until: float
    first: str  # the dialect that was tried first
    way: str  # and the one that is tried now
    tried: list[Attempt] = []
    said: str = ""  # its answer, if that said nothing about the match


class ForeignStarts:
    """All matches of foreign referees; `failed` is called with one that is not taken, and why."""

    def __init__(self, step: Step, *, failed: Callable[[str, str], None]) -> None:
        self._step, self._failed = step, failed
        self._limits = step.limits
        self._starts: dict[str, Start] = {}  # by match
        self._to_nonsense: dict[tuple[str, str], str] = {}  # referee, dialect -> its answer
        self._patience: dict[str, float] = {}  # referee -> how long a match of it may have taken

    def begin(
        self, referee_id: str, match_id: str, message: RoundAnnouncement, until: float
    ) -> None:
        """Tell a referee to run a match; it has until then."""
        way = first_start(self._step.address(referee_id).dialect)
        self._starts[match_id] = start = Start(referee_id, message, self._step.now, until, way, way)
        self._call(match_id, start)

    def end(self, match_id: str) -> None:
        """The match was reported, or goes to another referee."""
        if self._starts.pop(match_id, None):
            self._step.effects += [Drop(StartCall(match_id)), Drop(ControlCall(match_id))]

    def learn(self, match_id: str) -> None:
        """The match was reported, so the dialect that was tried last is taken to be understood."""
        # If an earlier one was, the next match shows that: the last is tried first, and gets time.
        start = self._starts[match_id]
        if start.said:
            taken = self._step.now - start.began
            self._patience[start.referee_id] = taken + self._limits.report_seconds
        self._learn(start)

    def is_under_way(self, match_id: str) -> bool:
        """Whether an answer about the match still counts."""
        return match_id in self._starts

    def refusals(self, match_id: str) -> str:
        """What its referee answered before it seemed to take the match; empty if nothing."""
        start = self._starts.get(match_id)
        return describe_start_search(start.tried) if start and start.tried else ""

    def acknowledged(self, match_id: str, message: Message | None) -> None:
        """A referee answered: the same answer to nonsense would show that it says nothing."""
        start, said = self._starts[match_id], _answer_text(message, None)
        if said == CLEAR:
            self._understood(match_id, start)
            return
        start.said = said
        known = self._to_nonsense.get((start.referee_id, nonsense_start(start.way)))
        if known is not None:
            self._compare(match_id, start, known)
            return
        to = self._address(start, nonsense_start(start.way))
        until = self._step.now + self._step.settings.reply_seconds
        self._step.effects.append(Call(ControlCall(match_id), to, nonsense(start.message), until))

    def control_answered(
        self, match_id: str, message: Message | None, error: LeagueError | None
    ) -> None:
        """A referee answered nonsense, or did not."""
        start, said = self._starts[match_id], _answer_text(message, error)
        self._to_nonsense[start.referee_id, nonsense_start(start.way)] = said
        self._compare(match_id, start, said)

    def refused(self, match_id: str, error: LeagueError) -> None:
        """A referee refused, or was not reached."""
        if isinstance(error, NoAnswer):
            return  # It had as long as the match may take: its lease is over, too.
        start = self._starts[match_id]
        why = misunderstanding(start.message, error)
        is_later = isinstance(error, RateLimited) or _BUSY.search(str(error))
        if is_later or (isinstance(error, NoConnection) and why is None):
            asked, least = error.context.get("retry_after") or 0.0, self._limits.start_again_seconds
            self._step.wake(StartAgain(match_id), self._step.now + max(asked, least))
        elif self._is_known(start) and why in (None, BROKEN):  # It understood, and could not.
            self._failed(match_id, f"answered: {error}"[:500])
        else:
            self._try_next(match_id, start, failed_attempt(start.way, why or UNFIT, error))

    def woken(self, match_id: str) -> None:
        """It is time to try again, or in another dialect."""
        start = self._starts.get(match_id)
        if start is None:
            return
        if self._step.league.paused:  # Nothing is handed out.
            self._step.wake(StartAgain(match_id), self._step.now + self._limits.start_again_seconds)
        elif start.said:
            self._try_next(match_id, start, Attempt(start.way, EMPTY, "nothing in it"))
        else:
            self._call(match_id, start)

    def _call(self, match_id: str, start: Start) -> None:
        to = self._address(start, start.way)
        self._step.effects.append(Call(StartCall(match_id), to, start.message, start.until))

    def _address(self, start: Start, dialect: str) -> Address:
        return Address(start.referee_id, self._step.address(start.referee_id).url, dialect)

    def _compare(self, match_id: str, start: Start, to_nonsense: str) -> None:
        if start.said == to_nonsense:
            self._step.wake(StartAgain(match_id), self._step.now + self._seconds_for_report(start))
        else:
            self._understood(match_id, start)

    def _seconds_for_report(self, start: Start) -> float:
        """As long as its players may take, since it may be playing; half of that in each try."""
        rules = self._step.league.rules.rules
        granted: float = (rules.join_seconds + rules.move_seconds) / 2 ** len(start.tried)
        seconds = self._patience.get(start.referee_id, max(granted, self._limits.report_seconds))
        if self._is_known(start):
            seconds = max(seconds, (start.until - self._step.now) * self._limits.known_part)
        return seconds

    def _is_known(self, start: Start) -> bool:
        return self._step.league.roster.dialects.get(start.referee_id) == start.way

    def _try_next(self, match_id: str, start: Start, failure: Attempt) -> None:
        start.tried.append(failure)
        start.said = ""
        may_try = len(start.tried) < self._limits.dialects_max
        way = next_start(start.first, start.tried) if may_try else None
        if way:
            start.way = way
            self._call(match_id, start)
            return
        search = describe_start_search(start.tried)
        if any(each.problem == EMPTY for each in start.tried):  # Its lease will show.
            unclear = f"{match_id}: {start.referee_id} does not say whether it plays: {search}."
            self._step.notify(unclear[:500])
        else:
            self._failed(match_id, f"knows no way of ours to start a match: {search}"[:500])

    def _understood(self, match_id: str, start: Start) -> None:
        """It runs the match, and is not told again after a restart of the manager."""
        # Many acknowledge an announcement and ignore it: only a report shows that it understood.
        if dialect_of(start.way).starts != ANNOUNCED:
            self._learn(start)
        self._step.record(MatchBegun(match_id, self._step.league.matches[match_id].epoch))

    def _learn(self, start: Start) -> None:
        if not self._is_known(start):
            self._step.record(DialectLearnt(start.referee_id, start.way))


def _answer_text(message: Message | None, error: LeagueError | None) -> str:
    if isinstance(message, RoundAnnouncementAck):
        return message.status
    return str(error) if error else CLEAR
