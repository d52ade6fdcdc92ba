"""Calls agents in the dialect that each of them understands, and finds out which one that is.

A call that is not understood goes on in other dialects within its deadline: at once if the answer
complains of the form, and after a while if it holds nothing, since some agents acknowledge first
and push their answer. `dialects/negotiation.py` decides; a transport brings `post`.
"""

from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from msgspec.structs import replace

from agentleague.dialects import answers, sessions, starting
from agentleague.dialects.complaints import in_its_words
from agentleague.dialects.negotiation import NOTICES, Negotiation, Next, PeerDialect
from agentleague.dialects.sessions import Session
from agentleague.dialects.table import Dialect, dialect_of
from agentleague.dialects.tools import Tools, read_tools
from agentleague.errors import LeagueError, NoAnswer, NoConnection
from agentleague.protocol.jsonrpc import Form
from agentleague.protocol.messages import WIRE_NAME, GameInvitation, GameJoinAck, Message
from agentleague.roles.effects import Address
from agentleague.roles.ports import Answer, Cancel, Clock, OnAnswer
from agentleague.transport.http_connection import HttpAnswer, Outgoing

HANDSHAKE_SECONDS = 10.0
EMPTY_SECONDS = 1.0  # for what may be pushed after an answer without content, or less:
EMPTY_PART = 0.2  # of the time that is left,
AGAIN_SECONDS = 0.15  # after further ones; they fit into the time for a join

_AWAY = (502, 503, 504)  # of a server that is not there, whatever stands in its place
MOVES = ("CHOOSE_PARITY_CALL", "GAME_MOVE_CALL")  # A tool for one of them makes a player.

Heard = Callable[[HttpAnswer], None]
Listed = Callable[[HttpAnswer, Tools], None]
Post = Callable[[str, Outgoing, float, Heard], Cancel]


class PeerDialects:
    """All addresses for which our own dialect is not known to do."""

    def __init__(self, clock: Clock, post: Post, addresses_max: int = 4_096) -> None:
        self.known: dict[str, PeerDialect] = {}
        self._addresses_max = addresses_max
        self.clock, self.post = clock, post
        self.handshakes: dict[str, _Handshake] = {}  # by URL
        self.requests = 0

    def call(self, to: Address, message: Message, until: float, done: OnAnswer) -> Cancel:
        """Ask in the dialect that is known."""
        if dialect_of(to.dialect).starts and starting.is_assignment(message):
            return Start(self, to, message, until, done).begin()
        return Conversation(self, to, message, until, done).begin()

    def peer_at(self, to: Address) -> PeerDialect:
        """What is known of an address; forgotten if it is now said to have another dialect."""
        peer = self.known.get(to.url)
        if peer is None or to.dialect not in (peer.given, peer.dialect):
            if len(self.known) >= self._addresses_max:
                self.known.clear()
            tools, session = (peer.tools, peer.session) if peer else (None, None)
            peer = PeerDialect(to.dialect, to.url, tools=tools, session=session)
            self.known[to.url] = peer
        elif to.dialect == peer.dialect:  # So what was said before would be news now.
            peer.given = to.dialect
        return peer

    def next_id(self) -> int:
        """The id of the next request."""
        self.requests += 1
        return self.requests

    def list_tools(self, peer: PeerDialect, heard: Listed) -> None:
        """Say later which tools an agent has; one handshake does for all who ask meanwhile."""
        found = self.handshakes.get(peer.url)
        if found is None:
            found = self.handshakes[peer.url] = _Handshake(self, peer)
            found.begin()
        found.waiting.append(heard)


class _Handshake:
    """Lists an agent's tools for all calls that wait, in a session if need be.

    It has a deadline of its own, so it goes on when the time of a call is over, and the next call
    finds it done.
    """

    def __init__(self, dialects: PeerDialects, peer: PeerDialect) -> None:
        self.waiting: list[Listed] = []
        self._dialects, self._peer, self._url = dialects, peer, peer.url
        self._until = dialects.clock.now() + HANDSHAKE_SECONDS
        self._has_asked = False  # for a session

    def begin(self) -> None:
        """List the tools, in the session that is known or without any."""
        session = self._peer.session or Session()
        listing = sessions.LISTING % self._dialects.next_id()
        self._send(*session.write(listing), lambda got: self._listed(session, got))

    def _send(self, body: bytes, headers: bytes, done: Heard) -> None:
        self._dialects.post(self._peer.url, Outgoing(body, headers), self._until, done)

    def _listed(self, session: Session, got: HttpAnswer) -> None:
        tools = read_tools(got.body)
        has_none = not tools and not got.error and not self._has_asked
        if has_none and (session.id or sessions.wants_handshake(got.status, got.body)):
            self._has_asked, self._peer.session = True, None
            self._send(sessions.INITIALIZE % self._dialects.next_id(), b"", self._begun)
            return
        if tools:
            self._peer.session = session
        # An agent that could not be asked has not said that it has no tools.
        is_elsewhere = got.status == 404 and not urlsplit(self._peer.url).path
        if not got.error and got.status < 500 and not is_elsewhere:
            self._peer.tools = tools
        self._end(got, tools)

    def _begun(self, got: HttpAnswer) -> None:
        try:
            session = None if got.error else sessions.read_session(got.body, got.session)
        except NoConnection as problem:
            got, session = got._replace(error=problem), None
        if session:
            self._peer.session = session
            self._send(*session.write(sessions.INITIALIZED), self._told)
            return
        if not got.error:  # Where nobody knows a handshake, the tools are called without.
            self._peer.tools = {}
        self._end(got, {})

    def _told(self, got: HttpAnswer) -> None:
        self._end(got, {}) if got.error else self.begin()

    def _end(self, got: HttpAnswer, tools: Tools) -> None:
        del self._dialects.handshakes[self._url]
        for heard in self.waiting:
            heard(got, tools)


class _Asking:
    """One call; an MCP agent is asked for its tools first."""

    def __init__(
        self, dialects: PeerDialects, to: Address, message: Message, until: float, done: OnAnswer
    ) -> None:
        self._dialects, self._peer, self._message = dialects, dialects.peer_at(to), message
        self._until, self._done, self._dialect = until, done, dialect_of(to.dialect)
        self._negotiation, self._is_open = Negotiation(self._peer, message), True
        self._is_listed = self._is_renewed = False  # the tools, and the session, during this call
        self._stop: Cancel = lambda: None

    def _ask(self, dialect: Dialect, tools: Tools | None = None) -> None:
        self._dialect = dialect
        peer, is_tool = self._peer, dialect.form is Form.TOOL
        tools = peer.tools if tools is None else tools
        needs_none = is_tool and tools is not None and self._needs_no_call(tools)
        is_there = self._is_listed or not isinstance(self._message, GameInvitation)
        if is_tool and (tools is None or (needs_none and not is_there)):
            self._list()  # Who accepts an invitation by its tools shows at least that it is there.
        elif needs_none:
            now = self._dialects.clock.now()
            self._stop = self._dialects.clock.call_at(now, self._answer_itself)
        else:
            body = dialect.write(self._message, self._dialects.next_id(), tools)
            self._send(body, peer.session if is_tool else None)

    def _send(self, body: bytes, session: Session | None) -> None:
        url = self._dialect.where(self._peer.url, WIRE_NAME[type(self._message)])
        body, headers = session.write(body) if session else (body, b"")

        def heard(got: HttpAnswer) -> None:
            if self._is_renewed or not sessions.is_gone(session, got.status, got.body):
                self._answered(got)
                return
            self._is_renewed, peer = True, self._peer
            if peer.session is session:  # Otherwise another call has a new one.
                peer.session = peer.tools = None
            self._ask(self._dialect)

        what = Outgoing(body, headers, self._message)
        self._stop = self._dialects.post(url, what, self._until, heard)

    def _list(self) -> None:
        """Wait for the tools, for as long as this call may take."""
        clock = self._dialects.clock
        began, is_over, self._is_listed = clock.now(), False, True

        def heard(got: HttpAnswer, tools: Tools) -> None:
            nonlocal is_over
            if is_over or not self._is_open:
                return
            is_over = True
            stop_clock()
            self._answered(got) if got.error else self._ask(self._dialect, tools)

        def late() -> None:
            error = NoAnswer("no answer in time to tools/list, which comes before the first call")
            heard(HttpAnswer(0, b"", None, error, clock.now() - began), {})

        self._stop = stop_clock = clock.call_at(self._until, late)
        self._dialects.list_tools(self._peer, heard)

    def _needs_no_call(self, tools: Tools) -> bool:
        """Whether a player has no tool for this message, which asks for nothing but a yes."""
        has_one = self._dialect.starts or WIRE_NAME[type(self._message)] in tools
        is_player = any(each in tools for each in MOVES)
        return is_player and not has_one and isinstance(self._message, (GameInvitation, *NOTICES))

    def _answer_itself(self) -> None:
        """Who lists a tool for moves plays; of what it has no tool for, it need not hear."""
        raise NotImplementedError

    def _asks_at_root(self, status: int) -> bool:
        """An end point without a path is called at /mcp; if nothing is there, it is the root."""
        is_other = status == 404 and not urlsplit(self._peer.url).path and self._is_open
        if is_other:
            self._peer.url += "/"
            self._ask(self._dialect)
        return is_other

    def _answered(self, got: HttpAnswer) -> None:
        raise NotImplementedError


class Conversation(_Asking):
    """One call, in as many dialects as it takes."""

    _first: Answer | None = None  # what the first dialect brought

    def begin(self) -> Cancel:
        self._ask(self._negotiation.begin())
        return self.cancel

    def cancel(self) -> None:
        """The answer is no longer wanted."""
        if self._is_open:
            self._negotiation.cancelled()
        self._is_open = False
        self._stop()

    def heard(self, answer: Answer, *, is_bare: bool = False) -> None:
        """One dialect was answered: the call is over, or the next one is tried."""
        if answer.error is None:
            dialect = self._negotiation.understood(is_bare=is_bare)
            self._end(replace(answer, dialect=dialect) if dialect else answer)
        elif not self._asks_at_root(answer.error.context.get("status") or 0):
            self._carry_out(self._negotiation.failed(answer.error), answer)

    def _answer_itself(self) -> None:
        asked, join = self._message, None
        if isinstance(asked, GameInvitation):
            join = GameJoinAck(asked.match_id, asked.player_id, accept=True)
        self.heard(Answer(join, None, 0.0))

    def _answered(self, got: HttpAnswer) -> None:
        if got.status != 200 and self._peer.tools:  # They may be other ones by now.
            self._peer.tools = None
        is_bare = b'"jsonrpc"' not in got.body and b'"result"' not in got.body
        self.heard(read(self._message, got), is_bare=is_bare)

    def _carry_out(self, step: Next, answer: Answer) -> None:
        if step is Next.LAST:
            self._end(answer)
            return
        is_news, self._first = self._first is None, self._first or answer
        if step is Next.ASK:
            self._ask(self._negotiation.dialect)
        elif step is Next.FIRST:
            self._end(self._first)
        else:
            self._wait(self._first, is_news=is_news)

    def _wait(self, first: Answer, *, is_news: bool) -> None:
        """The agent may push its answer; the caller learns that it acknowledged."""
        if is_news:
            self._done(replace(first, is_last=False))
        if self._is_open:
            now = self._dialects.clock.now()
            longest = EMPTY_SECONDS if is_news else AGAIN_SECONDS
            seconds = min(longest, (self._until - now) * EMPTY_PART)
            self._stop = self._dialects.clock.call_at(
                now + seconds, lambda: self._carry_out(self._negotiation.go_on(), first)
            )

    def _end(self, answer: Answer) -> None:
        self._is_open = False
        dialect = answer.dialect or self._negotiation.in_vain
        self._done(replace(answer, dialect=dialect))


class Start(_Asking):
    """Starts a match at a foreign referee; the manager, who sees reports, chooses the dialect."""

    def begin(self) -> Cancel:
        self._ask(self._dialect)
        return self.cancel

    def cancel(self) -> None:
        """The answer is no longer wanted; but a referee is not cut off during a match."""
        self._is_open = False

    def _answered(self, got: HttpAnswer) -> None:
        if self._is_open and not self._asks_at_root(got.status):
            answer = read(self._message, got, answers.read_started)
            self._done(replace(answer, dialect=self._dialect.name))


def read(request: Any, got: HttpAnswer, reader: Any = answers.read_answer) -> Answer:
    """What an HTTP answer says."""
    if got.error:
        return Answer(None, got.error, got.seconds)
    try:
        message = reader(request, got.status, got.body, got.retry_after)
    except LeagueError as error:
        return Answer(None, as_value(error, got.status, got.body), got.seconds)
    return Answer(message, None, got.seconds)


def as_value(error: LeagueError, status: int, body: bytes) -> LeagueError:
    """The error that an answer is, with what it says; without the frames in which it was raised."""
    error.__traceback__ = error.__context__ = None
    error.context["said"] = in_its_words(status, body)
    if status in _AWAY:
        error.context["status"] = status
    return error
