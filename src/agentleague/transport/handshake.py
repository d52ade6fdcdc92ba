"""What is done once before an MCP agent is called: its tools are listed, in a session if need be.

All calls to the agent wait for the same handshake. It has a deadline of its own, so it goes on when
the time of a call is over, and the next call finds it done.
"""

from collections.abc import Callable
from urllib.parse import urlsplit

from agentleague.dialects.negotiation import PeerDialect
from agentleague.dialects.sessions import (
    INITIALIZE,
    INITIALIZED,
    LISTING,
    Session,
    read_session,
    wants_handshake,
)
from agentleague.dialects.tools import Tools, read_tools
from agentleague.errors import NoConnection
from agentleague.roles.ports import Cancel
from agentleague.transport.http_connection import HttpAnswer, Outgoing

SECONDS = 10.0

Heard = Callable[[HttpAnswer], None]
Listed = Callable[[HttpAnswer, Tools], None]
Post = Callable[[str, Outgoing, float, Heard], Cancel]


class Handshake:
    """At most five requests, one after the other."""

    def __init__(self, post: Post, peer: PeerDialect, until: float, next_id: Callable[[], int]):
        self.waiting: list[Listed] = []  # calls
        self._post, self._peer, self._until, self._next_id = post, peer, until, next_id
        self._has_asked = False  # for a session

    def begin(self) -> None:
        """List the tools, in the session that is known or without any."""
        session = self._peer.session or Session()
        self._send(session, LISTING % self._next_id(), lambda got: self._listed(session, got))

    def _send(self, session: Session | None, body: bytes, done: Heard) -> None:
        body = session.write(body) if session else body
        headers = session.headers(body) if session else b""
        self._post(self._peer.url, Outgoing(body, headers), self._until, done)

    def _listed(self, session: Session, got: HttpAnswer) -> None:
        tools = read_tools(got.body)
        has_none = not tools and not got.error and not self._has_asked
        if has_none and (session.id or wants_handshake(got.status, got.body)):
            self._has_asked, self._peer.session = True, None
            self._send(None, INITIALIZE % self._next_id(), self._begun)
            return
        if tools:
            self._peer.session = session
        # An agent that could not be asked has not said that it has no tools.
        is_elsewhere = got.status == 404 and not urlsplit(self._peer.url).path
        if not got.error and got.status < 500 and not is_elsewhere:
            self._peer.tools = tools
        self._end(got, tools)

    def _begun(self, got: HttpAnswer) -> None:
        """Where nobody knows a handshake, the tools are called without."""
        try:
            session = None if got.error else read_session(got.body, got.session)
        except NoConnection as problem:
            got = got._replace(error=problem)
            session = None
        if session is None:
            if not got.error:
                self._peer.tools = {}
            self._end(got, {})
            return
        self._peer.session = session
        self._send(
            session, INITIALIZED, lambda got: self._end(got, {}) if got.error else self.begin()
        )

    def _end(self, got: HttpAnswer, tools: Tools) -> None:
        for heard in self.waiting:
            heard(got, tools)
