"""How the matches of referees of other makes are started, and what comes of it.

Such a referee is called for each match, and may take as long as the match lasts: its answer may be
the result. In which way it wants to be told is found out by what it answers. One that says the same
to everything is given time to report before another way is tried, so that it does not play a match
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
from agentleague.dialects.starting import nonsense
from agentleague.errors import LeagueError, NoAnswer, NoConnection, RateLimited
from agentleague.league.events import DialectLearnt, MatchBegun
from agentleague.manager.step import Step
from agentleague.protocol.messages import (
    MatchResultReport,
    Message,
    RoundAnnouncement,
    RoundAnnouncementAck,
)
from agentleague.roles.effects import Address, Call, Drop
from agentleague.roles.stimuli import Answered

AGAIN_SECONDS = 1.0  # before a referee that is busy, or not there, is told again
REPORT_SECONDS = 1.0  # for a report, after an answer that says nothing, at least
KNOWN_PART = 0.2  # of the time for the match, where the way was understood before
WAYS_MAX = 40  # of one match
_BUSY = re.compile(r"busy|already|in.?progress|capacity|too many|another match", re.IGNORECASE)


class Start(Struct):
    """One match that a referee was told to run."""

    referee_id: str
    message: RoundAnnouncement
    began: float
    until: float
    first: str  # the way that was tried first
    way: str  # and the one that is tried now
    tried: list[Attempt] = []
    said: str = ""  # what it answered, where that said nothing of the match


class ForeignStarts:
    """All matches that were handed to referees of other makes.

    `failed` is told a match that its referee does not take, and why; `reported` a match's result
    that came as an answer.
    """

    def __init__(self, step: Step) -> None:
        self.failed: Callable[[str, str], None] = lambda match_id, why: None
        self.reported: Callable[[str, MatchResultReport], None] = lambda referee_id, report: None
        self.heard: Callable[[str], None] = lambda referee_id: None
        self._step = step
        self._starts: dict[str, Start] = {}  # by match
        self._worthless: dict[tuple[str, str], str] = {}  # referee, way of nonsense -> its answer
        self._patience: dict[str, float] = {}  # referee -> how long a match of it may have taken

    def begin(
        self, referee_id: str, match_id: str, message: RoundAnnouncement, until: float
    ) -> None:
        """Tell a referee to run a match; it has until then."""
        way = first_start(self._step.address(referee_id).dialect)
        self._starts[match_id] = start = Start(referee_id, message, self._step.now, until, way, way)
        self._call(match_id, start)

    def end(self, match_id: str) -> None:
        """The match is reported, or given to another: what was found out so far is kept."""
        if self._starts.pop(match_id, None):
            self._step.out += [Drop(("start", match_id)), Drop(("control", match_id))]

    def learn(self, match_id: str) -> None:
        """The match was reported: the way that was tried last is taken to be the one.

        If it was one before, the next match shows: the last is then tried first, and given time.
        """
        start = self._starts.get(match_id)
        if start:
            if start.said:
                taken = self._step.now - start.began
                self._patience[start.referee_id] = taken + REPORT_SECONDS
            self._learn(start)

    def answered(self, stimulus: Answered) -> None:
        """A referee answered, or did not."""
        assert isinstance(stimulus.key, tuple)
        what, match_id = stimulus.key
        start = self._starts.get(match_id)
        if start is None:
            return
        if what == "control":
            self._compare(match_id, start, _said(stimulus.message, stimulus.error))
        elif stimulus.error:
            self._refused(match_id, start, stimulus.error)
        elif isinstance(stimulus.message, MatchResultReport):
            self._learn(start)
            self.reported(start.referee_id, stimulus.message)
        else:
            self.heard(start.referee_id)
            self._acknowledged(match_id, start, _said(stimulus.message, None))

    def woken(self, match_id: str) -> None:
        """Time to try again, or otherwise."""
        start = self._starts.get(match_id)
        if start is None:
            return
        if self._step.league.paused:  # Nothing is handed out.
            self._step.wake(("start", match_id), self._step.now + AGAIN_SECONDS)
        elif start.said:
            self._go_on(match_id, start, Attempt(start.way, EMPTY, "nothing in it"))
        else:
            self._call(match_id, start)

    def _call(self, match_id: str, start: Start) -> None:
        known = self._step.address(start.referee_id)
        to = Address(known.agent_id, known.url, start.way)
        self._step.out.append(Call(("start", match_id), to, start.message, start.until))

    def _acknowledged(self, match_id: str, start: Start, said: str) -> None:
        """It answered: what that is worth shows where it is told nonsense."""
        if said == CLEAR:
            self._understood(match_id, start)
            return
        start.said = said
        control = nonsense_start(start.way)
        known = self._worthless.get((start.referee_id, control))
        if known is None:
            address = self._step.address(start.referee_id)
            to = Address(address.agent_id, address.url, control)
            until = self._step.now + self._step.reply_seconds
            call = Call(("control", match_id), to, nonsense(start.message), until)
            self._step.out.append(call)
        else:
            self._judge(match_id, start, known)

    def _compare(self, match_id: str, start: Start, said: str) -> None:
        self._worthless[start.referee_id, nonsense_start(start.way)] = said
        self._judge(match_id, start, said)

    def _judge(self, match_id: str, start: Start, worthless: str) -> None:
        if start.said == worthless:
            self._step.wake(("start", match_id), self._step.now + self._seconds_for_report(start))
        else:
            self._understood(match_id, start)

    def _seconds_for_report(self, start: Start) -> float:
        """As long as its players may take, since perhaps it plays; then half of it, and so on."""
        rules = self._step.league.rules.rules
        granted: float = (rules.join_seconds + rules.move_seconds) / 2 ** len(start.tried)
        seconds = self._patience.get(start.referee_id, max(granted, REPORT_SECONDS))
        if self._is_known(start):
            seconds = max(seconds, (start.until - self._step.now) * KNOWN_PART)
        return seconds

    def _is_known(self, start: Start) -> bool:
        return self._step.league.roster.dialects.get(start.referee_id) == start.way

    def _refused(self, match_id: str, start: Start, error: LeagueError) -> None:
        if isinstance(error, NoAnswer):
            return  # It had as long as the match may take: its lease is over, too.
        why = misunderstanding(start.message, error)
        is_later = isinstance(error, RateLimited) or _BUSY.search(str(error))
        if is_later or (isinstance(error, NoConnection) and why is None):
            after = error.context.get("retry_after") or AGAIN_SECONDS
            self._step.wake(("start", match_id), self._step.now + after)
            return
        if self._is_known(start) and why in (None, BROKEN):  # It understood, and could not.
            self.failed(match_id, f"answered: {error}"[:500])
        else:
            self._go_on(match_id, start, failed_attempt(start.way, why or UNFIT, error))

    def _go_on(self, match_id: str, start: Start, came: Attempt) -> None:
        start.tried.append(came)
        start.said = ""
        way = next_start(start.first, start.tried) if len(start.tried) < WAYS_MAX else None
        if way:
            start.way = way
            self._call(match_id, start)
            return
        told = describe_start_search(start.tried)
        if any(each.problem == EMPTY for each in start.tried):  # Its lease will show.
            said = f"{match_id}: {start.referee_id} does not say whether it plays: {told}."
            self._step.news.append(said[:500])
        else:
            self.failed(match_id, f"knows no way of ours to start a match: {told}"[:500])

    def _understood(self, match_id: str, start: Start) -> None:
        """It runs the match: a manager that starts again does not tell it a second time."""
        self._learn(start)
        epoch = self._step.league.matches[match_id].epoch
        if self._step.league.matches[match_id].begun != epoch:
            self._step.record(MatchBegun(match_id, epoch))

    def _learn(self, start: Start) -> None:
        if not self._is_known(start):
            self._step.record(DialectLearnt(start.referee_id, start.way))


def _said(message: Message | None, error: LeagueError | None) -> str:
    if isinstance(message, RoundAnnouncementAck):
        return message.status
    return str(error) if error else CLEAR
