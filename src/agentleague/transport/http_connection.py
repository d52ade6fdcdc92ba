"""One request and its answer: the connection it is sent on, and what the answer is held to."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from msgspec import Struct

from agentleague.errors import CLOSED, UNREACHABLE, LeagueError, NoAnswer, NoConnection
from agentleague.protocol.event_stream import EventStream
from agentleague.protocol.messages import Message
from agentleague.protocol.printable import log_text
from agentleague.transport.http_parsers import parsers

if TYPE_CHECKING:
    from agentleague.transport.http_client import Origin

_RETRY_AFTER_MAX = 60.0
_FRAMING = (b"content-length", b"transfer-encoding")
_ONLY = {b"transfer-encoding": b"chunked", b"content-encoding": b"identity"}
_PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: "
_PLAIN_BYTES = len(_PLAIN)
_STREAM_SECONDS = 0.05  # for the end of a stream of events after the answer
SHOWN_BYTES = 60  # of what is not HTTP


class Outgoing(NamedTuple):
    """A request in another dialect than ours."""

    body: bytes
    headers: bytes = b""  # further lines of its head, each after a line break
    message: Message | None = None  # None: it is no message of the league


class HttpAnswer(NamedTuple):
    """What became of one call."""

    status: int  # 0 when there is no HTTP answer.
    body: bytes
    retry_after: float | None  # Seconds, from 0 to 60.
    error: LeagueError | None  # NoAnswer, NoConnection, or None when there is an answer.
    seconds: float
    session: str = ""  # that an MCP server began


@dataclass(frozen=True)
class ClientLimits:
    """The limits of one client."""

    body_bytes: int = 10_240  # An answer with a longer body is no answer.
    header_bytes: int = 8_192  # The same for its headers, interim answers included.
    idle_seconds: float = 1.5  # A connection that nobody used for so long is closed.
    kept_seconds: float = 25.0  # The same for one with ordered calls: our servers wait for 30.
    kept: int = 16_384  # So many of those, or to seats; never more than half the descriptor limit.
    connections_per_origin: int = 8  # Further calls to the same origin wait for one of these.
    interim: int = 5  # So many 1xx answers are skipped before the real one.
    pipelined: int = 64  # So many ordered calls may be outstanding on their connection.
    targets: int = 16_384  # URLs that are remembered.


class Call(Struct, kw_only=True, eq=False):
    """One request on its way; a subclass is told by `answered` what became of it."""

    request: bytes  # without its head, until it is sent
    until: float
    ordered: bool = False  # whether it goes behind other ordered calls to its URL
    line: str = ""  # that URL, once it is known
    fresh: bool = False  # It met a stale connection; a new one is not stale.
    over: bool = False
    started: float = 0.0
    session: str = ""  # of the answer
    origin: "Origin | None" = None
    connection: "Connection | None" = None
    leave: Callable[[], None] | None = None  # where it waits elsewhere

    def answered(
        self, status: int, body: bytes, retry_after: float | None, error: Any, seconds: float
    ) -> None:
        """It is over; the fields are those of an HttpAnswer."""
        raise NotImplementedError

    def fail(self, error: LeagueError | None) -> None:
        """There is no answer, and will be none."""
        self.over, seconds, origin = True, 0.0, self.origin
        if origin is not None:
            origin.deadlines.open.discard(self)
            now = origin.loop.time()
            seconds = now - self.started
            if origin.on_failure is not None:
                origin.on_failure(error, self.started, now)
        self.answered(0, b"", None, error, seconds)

    def cancel(self) -> None:
        """Stop waiting for the answer."""
        if not self.over:
            self.over, origin = True, self.origin
            if origin is not None:
                origin.deadlines.open.discard(self)
            if self.leave is not None:
                self.leave()
            elif self.connection is not None:
                self.connection.retire()
            elif origin is not None and self in origin.waiting:
                origin.waiting.remove(self)

    def expire(self) -> None:
        """Its time is up."""
        unsent = self.origin.unsent if self.origin else NoAnswer
        waited = unsent("it had to wait for a connection")
        late = self.connection.late if self.connection else waited
        self.cancel()  # First, so that a retry cannot meet the same connection.
        self.fail(late)


class Connection(asyncio.Protocol):
    """One connection, the calls outstanding on it, and the parser of their answers."""

    def __init__(self, origin: "Origin", limits: ClientLimits) -> None:
        self.calls: deque[Call] = deque()
        self.usable = True  # Takes new calls; once it is not, it never is again.
        self.idle_until = 0.0
        self.line = ""  # The URL whose ordered calls it has, if any.
        self.opening: asyncio.Task[None] | None = None
        self._origin, self._limits = origin, limits
        self._transport: Any = None
        self._dropped = self._answered = False
        self._unsent: list[bytes] = []  # Requests that go out at the end of this turn.
        self._problem: NoConnection | None = None
        self._finished: list[tuple[Call, int, bytes, float | None]] = []
        self._parser: Any = parsers.HttpResponseParser(self)
        self._expect_answer()

    def _expect_answer(self) -> None:
        self._begun = self._in_body = self._framed = False
        self._body = b""
        self._events: EventStream | None = None
        self._has_event = False  # The body is that of the event; the stream goes on.
        self._retry_after: float | None = None
        self._header_bytes_left = self._wire_bytes_left = self._limits.header_bytes
        self._interim_left = self._limits.interim

    def send(self, calls: Sequence[Call]) -> None:
        """Sends ordered calls behind those that are outstanding, or one other call alone."""
        for call in calls:
            call.connection = self
        self.calls.extend(calls)
        first, lines = calls[0], self._origin.lines
        if first.line != self.line and lines.get(self.line) is self:
            del lines[self.line]
        self.line = first.line
        if self.line:
            lines[self.line] = self
        if self._transport is None:
            return
        if not first.ordered:
            self._transport.write(first.request)
            return
        if not self._unsent:
            self._origin.batching.later(self._write)
        self._unsent += [call.request for call in calls]

    def _write(self) -> None:
        unsent, self._unsent = self._unsent, []
        if not self._dropped:
            self._transport.write(unsent[0] if len(unsent) == 1 else b"".join(unsent))

    @property
    def late(self) -> LeagueError:
        """How far it came, for a call whose time is up."""
        if self._transport is None:
            return self._origin.unsent("nobody took the connection in time", kind=UNREACHABLE)
        begun = "its answer began and did not end in time"
        return NoAnswer(begun if self._begun else "no answer in time")

    def retire(self) -> None:
        """Takes no more calls, and goes when nobody waits for an answer any more."""
        self.usable = False
        if all(call.over for call in self.calls):
            self.end()

    def end(self, problem: LeagueError | None = None, *, final: bool = False) -> None:
        """Drops the connection; a stale one's calls start again on a fresh one, others fail."""
        self.drop()
        calls, self.calls = self.calls, deque()
        unread = list(calls)[self._begun :]
        for call in reversed(unread if self._answered and not final else ()):
            if not call.over:
                call.fresh, call.connection = True, None
                self._origin.waiting.appendleft(call)
        for call in calls:
            if call.connection is self and not call.over:
                call.fail(problem)
        self._origin.pump()

    def drop(self) -> None:
        self.usable = False
        if not self._dropped:
            self._dropped = True
            self._parser = None  # It holds us, and would keep both of us until the next collection.
            self._origin.forget(self)
            if self._transport is not None:
                self._transport.abort()
            elif self.opening is not None:
                self.opening.cancel()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport
        if self._dropped:
            self._transport.abort()
        else:
            self._transport.write(b"".join([call.request for call in self.calls]))

    def data_received(self, data: bytes) -> None:
        if not self.calls:
            self.drop()
            return
        if not self._begun:
            data = self._take_plain(data)
            if not data:
                self._settle()
                return
        self._wire_bytes_left -= len(data)
        try:
            self._parser.feed_data(data)
        except (parsers.HttpParserError, parsers.HttpParserUpgrade) as error:
            came = log_text(data[:SHOWN_BYTES].decode(errors="replace").strip())
            self._problem = NoConnection(str(error.__context__ or f"it is not HTTP: {came}"))
        if self._wire_bytes_left < 0 and self._problem is None:
            self._problem = NoConnection("headers, chunk headers or trailers without end")
        self._settle()

    def _take_plain(self, data: bytes) -> bytes:
        """Take whole answers like our own servers' off the front; the rest is for the parser."""
        calls, start, bytes_max = self.calls, 0, self._limits.body_bytes
        while calls and data.startswith(_PLAIN, start):
            digits_at = start + _PLAIN_BYTES
            end = data.find(b"\r\n\r\n", digits_at, digits_at + 10)
            digits = data[digits_at:end]
            length = int(digits) if end > 0 and digits.isdigit() else bytes_max + 1
            after = end + 4 + length
            if length > bytes_max or after > len(data):
                break
            if len(calls) == 1 and (after < len(data) or self._is_sending()):
                break
            self._finished.append((calls.popleft(), 200, data[end + 4 : after], None))
            start, self._answered = after, True
        return data[start:]

    def _is_sending(self) -> bool:
        return bool(self._unsent or self._transport.get_write_buffer_size())

    def eof_received(self) -> None:
        if self.calls and self._in_body and not self._framed:
            self.on_message_complete()
        self._problem = self._closed()
        self._settle()

    def connection_lost(self, exc: Exception | None) -> None:
        self.end(self._closed())

    def _closed(self) -> NoConnection:
        how = "in the middle of its answer" if self._begun else "without an answer"
        return NoConnection(f"it closed the connection {how}", kind=CLOSED)

    def _settle(self) -> None:
        """Acts on all that was read at once, so that no surplus is taken for a later answer."""
        finished, self._finished = self._finished, []
        origin = self._origin
        now, open_calls = origin.loop.time(), origin.deadlines.open
        self.usable = self.usable and self._problem is None
        if self.usable and not self.calls:
            origin.rest(self, now)
        for call, status, body, retry_after in finished:
            if not call.over:
                call.over = True
                open_calls.discard(call)
                error = None
                if status != 200 and origin.on_status is not None:
                    error = origin.on_status(status, call.started, now)
                call.answered(0 if error else status, body, retry_after, error, now - call.started)
        if self._problem is not None:
            self.end(self._problem)
        elif not self.usable:
            self.retire()
        elif origin.waiting:
            origin.pump()

    def on_message_begin(self) -> None:
        self._begun = True
        if not self.calls:
            raise NoConnection("more answers than requests")

    def on_header(self, name: bytes, value: bytes) -> None:
        self._header_bytes_left -= len(name) + len(value) + 4
        if self._header_bytes_left < 0:
            raise NoConnection(f"headers longer than {self._limits.header_bytes} bytes")
        name = name.lower()
        if name in _FRAMING:  # The body ends before the connection does.
            self._framed = True
        if name in _ONLY and value.strip().lower() != _ONLY[name]:
            sent, read = log_text(value[:40].decode(errors="replace")), _ONLY[name].decode()
            raise NoConnection(f"its {name.decode()} is {sent}, and only {read} is read")
        if name == b"mcp-session-id":
            self.calls[0].session = value.decode("latin-1")
        if name == b"content-type" and value.lower().startswith(b"text/event-stream"):
            self._events = EventStream(self.calls[0].request)
        if name == b"retry-after" and value.isdigit():
            self._retry_after = min(float(value), _RETRY_AFTER_MAX)

    def on_headers_complete(self) -> None:
        self._status = self._parser.get_status_code()
        if self._status < 100:
            raise NoConnection(f"status {self._status}")
        if self._status >= 200:
            self._in_body = True
            self._wire_bytes_left += 8 * self._limits.body_bytes  # Tiny chunks take six for one.

    def on_body(self, piece: bytes) -> None:
        if self._has_event:
            return
        self._body += piece
        found = self._events.feed(piece) if self._events else None
        if found:
            self._body, self._has_event = found, True
            self._origin.loop.call_later(_STREAM_SECONDS, self._end_stream, self.calls[0])
        if len(self._body) > self._limits.body_bytes:
            raise NoConnection(f"its answer is longer than {self._limits.body_bytes} bytes")

    def _end_stream(self, call: Call) -> None:
        """Some servers leave a stream open when it has brought the answer."""
        if self.calls and self.calls[0] is call and not call.over:
            self._finished.append((call, self._status, self._body, self._retry_after))
            self.calls.popleft()
            self._problem = NoConnection("the stream did not end with its answer")
            self._settle()

    def on_message_complete(self) -> None:
        if self._status < 200:
            self._framed = False
            self._interim_left -= 1
            if self._interim_left < 0:
                raise NoConnection(f"more than {self._limits.interim} interim answers")
            return
        self._answered = True
        self._finished.append((self.calls.popleft(), self._status, self._body, self._retry_after))
        early = not self.calls and self._is_sending()
        if early or not self._parser.should_keep_alive():
            self._problem = NoConnection("the connection ended with another answer")
        self._expect_answer()
