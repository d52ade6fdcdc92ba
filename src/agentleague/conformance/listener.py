"""The kit's HTTP server: the manager, referee or player that the agent under test talks to.

It reads whatever form an agent writes and answers in that form, keeps all that came, and lets the
checks wait for it. What it answers is the caller's: a function from what was received to a reply.
"""

import socket
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from msgspec import Struct

from agentleague.conformance.exchange import Answer, Exchange
from agentleague.dialects import requests
from agentleague.protocol import jsonrpc, messages
from agentleague.protocol.codec import Incoming, encode, taken_by
from agentleague.protocol.messages import Message
from agentleague.runtime.clock import stopwatch

BODY_MAX = 1 << 20
KEPT_MAX, KEPT_BYTES_MAX = 5_000, 1 << 25  # requests, and their bytes, at one end point
IDLE_SECONDS = 30.0


class Reply(Struct, frozen=True):
    """An HTTP answer as it is written; `after` seconds, or never."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = {}
    after: float = 0.0
    is_never: bool = False


class Received(Struct):
    """A request that the agent under test made."""

    at: float
    path: str
    headers: dict[str, str]  # names in lower case
    body: bytes
    incoming: Incoming
    reply: Reply = Reply()

    @property
    def message(self) -> Message | None:
        """What it said, leniently read; None if that cannot be understood."""
        return self.incoming.message

    @property
    def name(self) -> str:
        """Its message type, or its method where nobody knows it."""
        envelope = self.incoming.envelope
        known = messages.WIRE_NAME.get(type(self.message)) if self.message else None
        named = messages.METHODS.get(envelope.method.lower(), envelope.method)
        return known or envelope.message_type or named

    def fields(self) -> dict[str, Any] | None:
        """The body, where it is a JSON object."""
        return Answer(body=self.body).fields()

    def params(self) -> dict[str, Any]:
        """The message as it was sent: the params of a request, or the bare body."""
        body = self.fields() or {}
        found = body.get("params", body)
        return found if isinstance(found, dict) else {}

    def exchange(self) -> Exchange:
        """As evidence."""
        came = Answer(status=self.reply.status, body=self.reply.body)
        return Exchange(what=self.name, sent=self.body, answer=came, is_from_agent=True)

    def result(self, message: Message | dict[str, Any]) -> Reply:
        """A reply that says this, in the form of the request."""
        return Reply(jsonrpc.write_result(self.incoming.envelope, encode(message)))

    def error(self, number: int, text: str, data: dict[str, Any] | None = None) -> Reply:
        """A reply that refuses."""
        envelope = self.incoming.envelope
        return Reply(jsonrpc.write_error(envelope, number, text, encode(data or {})))


Handler = Callable[[Received], Reply]


class Listener:
    """One end point of the kit. `handler` may be changed while it runs."""

    def __init__(self, role: str, handler: Handler, *, bind: str = "127.0.0.1", port: int = 0):
        self.handler = handler
        self.received: list[Received] = []
        self._kept_bytes = 0
        self._changed = threading.Condition()
        self._closing = threading.Event()
        self._taken = taken_by(role)
        self._server = _Server((bind, port), self)
        self.port = self._server.server_address[1]
        host = f"[{bind}]" if ":" in bind else bind
        self.url = f"http://{host}:{self.port}/mcp"
        self._thread = threading.Thread(
            target=self._server.serve_forever, args=(0.05,), name=f"kit-{role}", daemon=True
        )
        self._thread.start()

    def take(self, path: str, headers: dict[str, str], body: bytes) -> Reply:
        """Keep a request, and decide on its reply."""
        with self._changed:
            self._kept_bytes += len(body)
            is_much = len(self.received) >= KEPT_MAX or self._kept_bytes > KEPT_BYTES_MAX
        if is_much:
            return Reply(status=503)
        incoming = requests.read_request(body, self._taken, path=path)
        received = Received(stopwatch(), path, headers, body, incoming)
        try:
            received.reply = self.handler(received)
        finally:
            with self._changed:
                self.received.append(received)
                self._changed.notify_all()
        return received.reply

    def forget(self) -> None:
        """Forget all that came."""
        with self._changed:
            self.received.clear()
            self._kept_bytes = 0

    def wait_for(
        self, found: Callable[[Received], bool], seconds: float, *, after: int = 0
    ) -> Received | None:
        """The first such request behind the first `after` ones, as soon as it came; or None."""
        until = stopwatch() + seconds
        with self._changed:
            while True:
                for each in self.received[after:]:
                    if found(each):
                        return each
                left = until - stopwatch()
                if left <= 0 or self._closing.is_set():
                    return None
                self._changed.wait(left)

    def rest(self, seconds: float) -> None:
        """Wait as a slow or silent peer does; shorter if the kit ends."""
        self._closing.wait(seconds)

    def close(self) -> None:
        """End, with everybody who still waits."""
        self._closing.set()
        with self._changed:
            self._changed.notify_all()
        self._server.shutdown()
        self._server.server_close()


class _Server(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True
    block_on_close = False

    def __init__(self, address: tuple[str, int], listener: Listener) -> None:
        self.listener = listener
        self.address_family = family_of(address[0])
        super().__init__(address, _Handling)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """An agent that breaks its connection is no fault of the kit's."""


class _Handling(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    timeout = IDLE_SECONDS
    server: _Server

    def do_POST(self) -> None:
        try:
            body = self._body()
        except ValueError:  # The library prints what the connection ends with otherwise.
            self.close_connection = True
            return
        headers = {name.lower(): value for name, value in self.headers.items()}
        self._write(self.server.listener.take(self.path, headers, body))

    def do_GET(self) -> None:
        is_health = self.path == "/health"
        self._write(Reply(b'{"status":"ok"}' if is_health else b"", 200 if is_health else 405))

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return self._chunked()
        size = int(self.headers.get("Content-Length", "0"))
        return self.rfile.read(_allowed(size))

    def _chunked(self) -> bytes:
        body = b""
        while size := int(self.rfile.readline(64).split(b";")[0] or b"0", 16):
            body += self.rfile.read(_allowed(size))
            _allowed(len(body))
            self.rfile.readline(8)
        self.rfile.readline(8)
        return body

    def _write(self, reply: Reply) -> None:
        if reply.is_never or reply.after:
            self.server.listener.rest(3600.0 if reply.is_never else reply.after)
        if reply.is_never:
            self.close_connection = True
            return
        self.send_response(reply.status)
        given = {"Content-Type": "application/json", "Content-Length": str(len(reply.body))}
        for name, value in (given | reply.headers).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(reply.body)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # The library's name.
        """The kit says itself what there is to say."""


def _allowed(size: int) -> int:
    """A size that is read. Raises ValueError for any other."""
    if not 0 <= size <= BODY_MAX:
        raise ValueError(f"{size} bytes")
    return size


def family_of(bind: str) -> socket.AddressFamily:
    """Whether an address is of IPv4 or IPv6."""
    return socket.AF_INET6 if ":" in bind else socket.AF_INET


def refuse_unknown(received: Received) -> Reply:
    """What a server says to a message that it does not take."""
    error = received.incoming.error
    number = error.number if error else -32601
    text = str(error) if error else f"{received.name} is not taken here"
    return received.error(number, text)


def acknowledge(received: Received) -> Reply:
    """What a server says that has nothing to say."""
    kind = messages.MESSAGES.get(received.name)
    if received.message is None or kind is None or not kind.method:
        return refuse_unknown(received)
    return received.result({"message_type": kind.answer or "PUSH_ACK", "status": "ACKNOWLEDGED"})
