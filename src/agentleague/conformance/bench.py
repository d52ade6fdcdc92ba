"""What the checks of every role talk through: the agent, and what was said while a rule ran."""

import itertools
from contextlib import suppress
from itertools import takewhile
from typing import Any

import msgspec

from agentleague.conformance.exchange import Answer, Exchange
from agentleague.conformance.launch import Launch
from agentleague.conformance.limits import Limits
from agentleague.conformance.peer import TAKES, Bytes, Peer
from agentleague.conformance.rules import Broken
from agentleague.conformance.target import Unreachable
from agentleague.dialects import sessions
from agentleague.dialects.answers import read_answer
from agentleague.dialects.table import OURS, Dialect
from agentleague.dialects.tools import Tools, read_tools
from agentleague.errors import LeagueError, NoConnection
from agentleague.protocol import jsonrpc, timestamps
from agentleague.protocol.codec import encode
from agentleague.protocol.jsonrpc import Form
from agentleague.protocol.messages import MESSAGES, PROTOCOL, Message
from agentleague.runtime.clock import wall

Fields = dict[str, Any]
LATE_MAX = 3  # answers in a row that come too late, before nobody waits for another one


class Bench:
    """The agent under test, and how the kit speaks to it; each role has one of its own."""

    role = ""
    sender = ""  # what the kit calls itself in messages
    launch: Launch | None = None  # the command that the kit started

    def __init__(self, peer: Peer, limits: Limits) -> None:
        self.peer = peer
        self.limits = limits
        self.dialect: Dialect = OURS
        self.tools: Tools = {}  # of an MCP server
        self.speaks: list[str] = []  # names of dialects that it understands
        self.exchanges: list[Exchange] = []  # of the rule that is tried now
        self.late_in_a_row = 0
        self._ids = itertools.count(1)

    @property
    def has_registered(self) -> bool:
        """Whether it registered at the kit's manager, as players and referees do."""
        return False

    def begin_rule(self) -> None:
        """Begin a rule: what was said before is no evidence any more."""
        self.exchanges = []

    def control(self) -> Fields:
        """A new message that every agent of this role takes."""
        raise NotImplementedError

    def controls(self, count: int) -> list[Fields]:
        """So many of them, for one moment."""
        return [self.control() for _ in range(count)]

    def usual(self) -> Fields:
        """The same only to look at: it is not sent."""
        return self.control()

    def is_taken(self, answer: Answer) -> bool:
        """Whether the answer to `control` says, in whatever words, that it was taken."""
        raise NotImplementedError

    def is_served(self, answer: Answer) -> bool:
        """Whether the answer to one of several `controls` says that they are served at once."""
        return self.is_taken(answer)

    def message(self, message_type: str, **fields: Any) -> Fields:
        """A message as the documents show it: the envelope, and these fields."""
        envelope = {
            "protocol": PROTOCOL,
            "message_type": message_type,
            "sender": self.sender,
            "timestamp": now(),
            "conversation_id": f"conv-check-{next(self._ids)}",
        }
        return envelope | fields

    def request(self, message: Fields, **changed: Any) -> Fields:
        """The message in JSON-RPC as document 001 shows it; `changed` replaces keys around it."""
        kind = MESSAGES.get(message.get("message_type", ""))
        method = (kind.method if kind else None) or message.get("message_type", "")
        return {
            "jsonrpc": "2.0",
            "id": self.next_id(),
            "method": method,
            "params": message,
        } | changed

    def next_id(self) -> int:
        """An id that no other request of the kit has."""
        return next(self._ids)

    def post(self, what: str, body: bytes | Fields, **how: Any) -> Answer:
        """POST a body, and keep what came of it as evidence; `how` as in `Peer.post`."""
        sent = body if isinstance(body, bytes) else encode(body)
        return self.keep(what, sent, self.peer.post(sent, **how))

    def send(self, what: str, request: Bytes, **how: Any) -> Answer:
        """Send raw bytes, and keep what came of it; `how` as in `Peer.send`."""
        pieces = [request] if isinstance(request, bytes) else list(request)
        return self.keep(what, b"".join(pieces), self.peer.send(pieces, **how))

    def ask(self, message: Fields, **how: Any) -> Answer:
        """Send a message in the form that the agent understands: document 001's, if it does."""
        name = str(message.get("message_type"))
        if self.dialect is OURS:
            return self.post(name, self.request(message), **how)
        written = msgspec.convert(message, MESSAGES[name].cls)
        return self.post(name, self.dialect.write(written, self.next_id(), self.tools), **how)

    def speak(self, dialect: Dialect) -> None:
        """Use this form from here on; what is said to tools depends on which there are."""
        self.dialect = dialect
        if dialect.form is Form.TOOL:
            self.list_tools()

    def list_tools(self) -> Answer:
        """The answer to `tools/list`, in a session if `initialize` begins one."""
        seconds = self.limits.join
        self.peer.headers = dict(TAKES)
        hello = self.post("initialize", sessions.INITIALIZE % self.next_id(), seconds=seconds)
        with suppress(NoConnection):
            found = sessions.read_session(hello.body, hello.headers.get("mcp-session-id", ""))
            if found:
                self.peer.headers |= found.headers
                self.peer.post(sessions.INITIALIZED, seconds=seconds)
        listed = self.post("tools/list", sessions.LISTING % self.next_id(), seconds=seconds)
        self.tools = read_tools(listed.body)
        return listed

    def read(self, asked: Fields, answer: Answer) -> Message | None:
        """What was answered, as our own league reads it; None if that is nothing, or a no."""
        message = msgspec.convert(asked, MESSAGES[asked["message_type"]].cls)
        if answer.status is None:
            return None
        try:
            return read_answer(message, answer.status, answer.body)
        except LeagueError:
            return None

    def said(self, answer: Answer) -> Fields:
        """The message in an answer, whatever it is wrapped in; empty if there is none."""
        try:
            found = msgspec.json.decode(jsonrpc.read_response(answer.body))
        except (LeagueError, *jsonrpc.UNREADABLE):
            return {}
        return found if isinstance(found, dict) else {}

    def keep(self, what: str, sent: bytes, answer: Answer) -> Answer:
        """Keep an exchange as evidence."""
        self.late_in_a_row = self.late_in_a_row + 1 if answer.is_late else 0
        self.exchanges.append(Exchange(what=what, sent=sent, answer=answer))
        return answer

    def ending(self) -> str:
        """How the command ended, after what, and with which last words; empty while it runs."""
        if self.launch is None:
            return ""
        failed = list(takewhile(lambda each: each.answer.status is None, self.exchanges[::-1]))
        if failed and not failed[0].answer.is_late:  # A crash shows in the connection first.
            self.launch.wait(self.limits.quiet)
        last = failed[-1:] or self.exchanges[-1:]
        return self.launch.ending(after=last[0].what if last else "")

    def revive(self) -> bool:
        """Start the command again after a crash; whether the agent is there again."""
        return False

    def refuse_silence(self) -> None:
        """Raise Unreachable if it takes connections, and POST after POST comes to nothing."""
        if self.late_in_a_row >= LATE_MAX:
            raise Unreachable(f"what listens at {self.peer.url} answers no POST in time")

    def still_takes(self, after: str) -> None:
        """Break the rule unless the agent takes an ordinary message as before."""
        answer = self.ask(self.control())
        if not self.is_taken(answer):
            raise Broken(f"after {after} it takes an ordinary message as before")

    def expect_answer(self, answer: Answer) -> None:
        """Break the rule unless there is any HTTP answer."""
        if answer.status is None:
            raise Broken("an HTTP answer", is_late=answer.is_late)

    def close(self) -> None:
        """End what the bench started."""
        if self.launch:
            self.launch.close()


def now(later: float = 0.0) -> str:
    """The present moment as documents write it, or so many seconds later."""
    return timestamps.write(wall() + later)
