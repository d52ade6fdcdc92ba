"""Finds out, call by call, in which dialect each address is understood.

A call in one form that is not understood goes on in others, at most four within its deadline: at
once where the answer complains of the form, and after a while where it says nothing, since some
agents acknowledge and push what they have to say. What was understood is used first the next time.
A transport brings `post`; nothing here knows what is under it.
"""

from collections.abc import Callable

import msgspec
from msgspec import Struct

from agentleague.dialects import answers, starting
from agentleague.dialects.answers import read_started
from agentleague.dialects.table import (
    BARE_ANSWERS,
    EMPTY,
    NOTICES,
    OURS,
    QUESTIONS,
    REGISTRATIONS,
    TO_A_MANAGER,
    Dialect,
    Tried,
    dialect_of,
    order,
    search_in_words,
    tried,
    trouble,
    what_to_do,
)
from agentleague.dialects.tools import LISTING, Tools, find_tools
from agentleague.errors import LeagueError, RateLimited
from agentleague.protocol import jsonrpc
from agentleague.protocol.jsonrpc import Form
from agentleague.protocol.messages import WIRE_NAME, Message, RoundAnnouncement
from agentleague.roles.effects import Address
from agentleague.roles.ports import Answer, Cancel, Clock
from agentleague.transport.http_connection import HttpAnswer

WITH_CONTENT = (*QUESTIONS, *TO_A_MANAGER)  # what only its content answers
SPOKEN = (*WITH_CONTENT, *NOTICES)  # what may be said in other words
FORMS_MAX = 4  # of one call; a registration or report goes through all there are
EMPTY_SECONDS = 1.0  # for what may be pushed after an answer without content, or less:
EMPTY_PART = 0.2  # of the time that is left
ADDRESSES_MAX = 4096

Post = Callable[[str, Message | None, bytes, float, Callable[[HttpAnswer], None]], Cancel]


class PeerDialect(Struct):
    """What is known of one address."""

    given: str  # the dialect that whoever calls it was told
    url: str
    dialect: str = ""  # understood last
    worked: dict[str, str] = {}  # message type -> dialect that brought its content
    tried: set[tuple[str, str]] = set()  # message type and dialect, in vain
    tools: Tools | None = None
    pushes: bool = False  # it answers later, by itself: there is nothing to find out
    was_searched: bool = False  # for a dialect in which it takes notices

    def first_for(self, message_type: str) -> Dialect:
        """The dialect to begin with."""
        return dialect_of(self.worked.get(message_type) or self.dialect or self.given)


class PeerDialects:
    """All addresses for which our own form is not known to do."""

    def __init__(self, clock: Clock, post: Post) -> None:
        self.known: dict[str, PeerDialect] = {}
        self.clock, self.post = clock, post
        self._requests = 0

    def call(
        self, to: Address, message: Message, until: float, done: Callable[[Answer], None]
    ) -> Cancel:
        """Ask in the dialect that is known."""
        if dialect_of(to.dialect).starts and starting.is_assignment(message):
            return Start(self, to, message, until, done).begin()
        return Conversation(self, self.dialect_used(to), message, until, done).begin()

    def go_on(
        self, to: Address, message: Message, until: float, done: Callable[[Answer], None]
    ) -> "Conversation":
        """A call in our own form was not understood; it goes on with what was `heard`."""
        return Conversation(self, self.dialect_used(to), message, until, done)

    def next_id(self) -> int:
        """The id of the next request."""
        self._requests += 1
        return self._requests

    def dialect_used(self, to: Address) -> PeerDialect:
        """What is known of an address; not what was known when it was spoken to otherwise."""
        dialect_used = self.known.get(to.url)
        if dialect_used is None or to.dialect not in (dialect_used.given, dialect_used.dialect):
            if len(self.known) >= ADDRESSES_MAX:
                self.known.clear()
            tools = dialect_used.tools if dialect_used else None
            dialect_used = self.known[to.url] = PeerDialect(to.dialect, to.url, tools=tools)
        return dialect_used


class Conversation:
    """One call, in as many forms as it takes."""

    def __init__(
        self,
        dialects: PeerDialects,
        dialect_used: PeerDialect,
        message: Message,
        until: float,
        done: Callable[[Answer], None],
    ) -> None:
        self._dialects, self._tongue = dialects, dialect_used
        self._message, self._until, self._done = message, until, done
        self._type = WIRE_NAME[type(message)]
        self._dialect = OURS
        self._forms = 1
        self._trouble = ("", "")  # the last one, and in which dialect it came up
        self._first: Answer | None = None  # what the first form brought
        self._tried: list[Tried] = []
        self._acknowledged = ""  # the last dialect that was answered with nothing
        self._is_bare = False  # the last answer: without JSON-RPC
        self._was_refused = False  # in any form: then others are tried without waiting for a push
        self._is_open = True
        self._stop: Cancel = lambda: None

    def begin(self) -> Cancel:
        """Ask."""
        self._ask(self._tongue.first_for(self._type))
        return self.cancel

    def cancel(self) -> None:
        """Nobody waits any more; whoever acknowledged and said nothing must have pushed."""
        dialect_used = self._tongue
        if self._is_open and self._acknowledged and self._type not in dialect_used.worked:
            dialect_used.dialect, dialect_used.pushes = self._acknowledged, True
        self._is_open = False
        self._stop()

    def heard(self, answer: Answer) -> None:
        """One form was answered: that is it, or the next one is tried."""
        why = trouble(self._message, answer.error)
        if why and answer.error:
            self._tried.append(tried(self._dialect, why, answer.error))
        if answer.error is None:
            self._understood(answer)
        elif why is None or not self._may_go_on():
            self._finish(answer)
        else:
            self._was_refused |= why != EMPTY
            self._acknowledged = self._dialect.name if why == EMPTY else self._acknowledged
            if self._was_refused or not isinstance(self._message, QUESTIONS):
                self._first = self._first or answer
                self._go_on(why)
            else:
                self._wait(answer)

    def _ask(self, dialect: Dialect) -> None:
        self._dialect = dialect
        post, dialect_used, request_id = self._dialects.post, self._tongue, self._dialects.next_id()
        if dialect.form is Form.TOOL and dialect_used.tools is None:
            listing = LISTING % request_id
            self._stop = post(dialect_used.url, None, listing, self._until, self._listed)
        else:
            body = dialect.write(self._message, request_id, dialect_used.tools)
            url = dialect.where(dialect_used.url, self._type)
            self._stop = post(url, self._message, body, self._until, self._answered)

    def _answered(self, got: HttpAnswer) -> None:
        self._is_bare = b'"jsonrpc"' not in got.body and b'"result"' not in got.body
        self.heard(read(self._message, got))

    def _listed(self, got: HttpAnswer) -> None:
        """The tools of an agent, if it told them; then the tool is called."""
        self._tongue.tools = _tools(got.body)
        self._ask(self._dialect)

    def _may_go_on(self) -> bool:
        dialect_used = self._tongue
        if isinstance(self._message, TO_A_MANAGER):
            return True  # Nobody asks a second time who was refused.
        if self._forms >= FORMS_MAX or dialect_used.pushes or not isinstance(self._message, SPOKEN):
            return False
        if isinstance(self._message, QUESTIONS):
            return True
        # Many know only some of the notices: that is no reason to doubt a form that is known.
        return not (dialect_used.worked or dialect_used.was_searched)

    def _wait(self, answer: Answer) -> None:
        """It said nothing: perhaps it pushes. Whoever asked may know already, and still waits."""
        is_news, self._first = self._first is None, self._first or answer
        if is_news:
            self._done(answer._replace(is_last=False))
        if self._is_open:
            now = self._dialects.clock.now()
            seconds = min(EMPTY_SECONDS, (self._until - now) * EMPTY_PART)
            self._stop = self._dialects.clock.call_at(now + seconds, lambda: self._go_on(EMPTY))

    def _go_on(self, why: str) -> None:
        in_vain, asked = self._tongue.tried, {each.name for each in self._tried}
        if why != self._trouble[0]:
            self._trouble = (why, self._dialect.name)
        for dialect in order(self._trouble[1], self._type, why):
            if (self._type, dialect.name) not in in_vain and dialect.name not in asked:
                in_vain.add((self._type, dialect.name))
                self._forms += 1
                self._ask(dialect)
                return
        assert self._first
        self._finish(self._first)

    def _understood(self, answer: Answer) -> None:
        name, dialect_used = self._dialect.name, self._tongue
        dialect_used.dialect = name
        if not isinstance(self._message, WITH_CONTENT):
            self._finish(answer)
            return
        dialect_used.worked[self._type], dialect_used.pushes = name, False
        dialect_used.tried = {each for each in dialect_used.tried if each[0] != self._type}
        is_bare = self._is_bare and self._dialect.form is not Form.BARE
        self._end(answer._replace(dialect=name + BARE_ANSWERS if is_bare else name))

    def _finish(self, answer: Answer) -> None:
        """No form brought what was wanted: what counts is what the first one brought."""
        self._tongue.was_searched |= self._forms > 1
        is_told = answer.error is None or isinstance(answer.error, RateLimited)
        is_refused = isinstance(self._message, TO_A_MANAGER) and not self._is_misunderstood(answer)
        last = answer if is_told or is_refused else self._first or answer
        if last.error and len(self._tried) > 1:
            last.error.context["tried"] = search_in_words(self._tried)
            if isinstance(self._message, REGISTRATIONS) and self._is_misunderstood(last):
                last.error.context["what_to_do"] = what_to_do(self._tried)
        self._end(last)

    def _is_misunderstood(self, answer: Answer) -> bool:
        return trouble(self._message, answer.error) is not None

    def _end(self, answer: Answer) -> None:
        self._is_open = False
        self._done(answer)


class Start:
    """A match is started at a referee of another make: in one form, and in no other by itself.

    Which form comes next is for the manager to say, who sees whether the match is reported.
    """

    def __init__(
        self,
        dialects: PeerDialects,
        to: Address,
        message: Message,
        until: float,
        done: Callable[[Answer], None],
    ) -> None:
        assert isinstance(message, RoundAnnouncement)
        self._dialects, self._tongue, self._message = dialects, dialects.dialect_used(to), message
        self._until, self._done, self._dialect = until, done, dialect_of(to.dialect)
        self._is_open = True

    def begin(self) -> Cancel:
        """Ask, for its tools first where it has some."""
        dialect_used, request_id = self._tongue, self._dialects.next_id()
        if self._dialect.form is Form.TOOL and dialect_used.tools is None:
            listing = LISTING % request_id
            self._dialects.post(dialect_used.url, None, listing, self._until, self._listed)
        else:
            body = self._dialect.write(self._message, request_id, dialect_used.tools)
            self._dialects.post(dialect_used.url, self._message, body, self._until, self._answered)
        return self.cancel

    def cancel(self) -> None:
        """Nobody waits; but whoever is at a match is not cut off in the middle of it."""
        self._is_open = False

    def _listed(self, got: HttpAnswer) -> None:
        self._tongue.tools = _tools(got.body)
        if self._is_open:
            self.begin()

    def _answered(self, got: HttpAnswer) -> None:
        if self._is_open:
            answer = _read_start(self._message, got)
            self._done(answer._replace(dialect=self._dialect.name))


def is_misunderstood(message: Message, error: LeagueError) -> bool:
    """Whether the same thing in other words may do better."""
    return isinstance(message, SPOKEN) and trouble(message, error) is not None


def read(request: Message, got: HttpAnswer) -> Answer:
    """An HTTP answer as what it says."""
    if got.error:
        return Answer(None, got.error, got.seconds)
    try:
        message = answers.read_answer(request, got.status, got.body, got.retry_after)
    except LeagueError as error:
        return _failed(error, got)
    return Answer(message, None, got.seconds)


def _read_start(request: RoundAnnouncement, got: HttpAnswer) -> Answer:
    if got.error:
        return Answer(None, got.error, got.seconds)
    try:
        message = read_started(request, got.status, got.body, got.retry_after)
    except LeagueError as error:
        return _failed(error, got)
    return Answer(message, None, got.seconds)


def _failed(error: LeagueError, got: HttpAnswer) -> Answer:
    # It will be kept as a value: without the frames that it was raised in, and all they hold.
    error.__traceback__ = error.__context__ = None
    return Answer(None, error, got.seconds)


def _tools(body: bytes) -> Tools:
    try:
        answer = msgspec.json.decode(body)
    except jsonrpc.UNREADABLE:
        return {}
    return find_tools(answer.get("result") if isinstance(answer, dict) else None) or {}
