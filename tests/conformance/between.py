"""A relay in front of a real agent, which changes one thing of what the agent says or hears.

So a wrong agent is a correct one and a few lines. All that passes in both directions goes through
`before` (a request, which may be answered here) and `after` (its answer). URLs in messages are
rewritten, so that the agent calls the kit through the relay too, and neither notices.
"""

import http.client
import json
import re
import socket
import socketserver
import threading
from collections.abc import Callable, Collection
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

SECONDS = 60.0  # for an answer that passes; long calls of managers are among them
HEAD_MAX = 65_536
PORT = re.compile(rb"http://(?:127\.0\.0\.1|localhost):(\d+)")
IN, OUT = "in", "out"  # to the agent, and from it


class Cut(Exception):
    """The connection is closed here, without an answer."""


@dataclass
class Said:
    """A body, and what it says where it is JSON; assign `fields` to change it."""

    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def fields(self) -> Any:
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError):
            return None

    @fields.setter
    def fields(self, value: Any) -> None:
        self.body = json.dumps(value).encode()

    @property
    def message(self) -> dict[str, Any]:
        """The message: `params` of a request, `result` of an answer, or the bare body."""
        found = self.fields
        if not isinstance(found, dict):
            return {}
        inner = found.get("params", found.get("result", found))
        return inner if isinstance(inner, dict) else {}

    def say(self, **changed: Any) -> None:
        """Change fields of the message; one that is set to ... is left out."""
        found = self.fields
        if not isinstance(found, dict):
            return
        inner = found.get("params", found.get("result", found))
        if isinstance(inner, dict):
            inner |= changed
            for name in [name for name, value in inner.items() if value is ...]:
                del inner[name]
        self.fields = found

    @property
    def name(self) -> str:
        """The message type, or else the method."""
        found = self.fields
        method = found.get("method", "") if isinstance(found, dict) else ""
        return str(self.message.get("message_type") or method)


@dataclass
class Passing:
    """One request on its way, and later its answer."""

    direction: str
    head: bytes  # request line and headers, with the empty line; all bytes of a raw one
    request: Said
    is_raw: bool = False  # no POST with a length: garbage, GET, chunks; it passes unchanged
    answer: Said | None = None

    def reply(self, fields: Any = None, *, status: int = 200, body: bytes | None = None) -> None:
        """Answer here; the request does not pass."""
        said = Said(body or b"", status)
        if body is None and fields is not None:
            said.fields = fields
        self.answer = said

    def result(self, **message: Any) -> None:
        """Answer here with a JSON-RPC result."""
        asked = self.request.fields
        id_ = asked.get("id") if isinstance(asked, dict) else None
        self.reply({"jsonrpc": "2.0", "id": id_, "result": message})


Hook = Callable[[Passing], None]


def nothing(passing: Passing) -> None:
    """Let it pass as it is."""


class Relay:
    """In front of the agent that listens at this port; `before` and `after` may be changed."""

    def __init__(self, agent_port: int, before: Hook = nothing, after: Hook = nothing) -> None:
        self.before, self.after = before, after
        self.agent_port = agent_port
        self._fronts: dict[int, _Front] = {}  # by the port behind
        self._lock = threading.Lock()
        self.port = self.front(agent_port, IN)
        self.url = f"http://127.0.0.1:{self.port}/mcp"

    def front(self, port: int, direction: str = OUT) -> int:
        """The port of the relay that leads to this one."""
        with self._lock:
            if port not in self._fronts:
                self._fronts[port] = _Front(self, port, direction)
            return self._fronts[port].port

    def translated(self, body: bytes, *, to_agent: bool) -> bytes:
        """A body with the URLs that its reader has to call."""
        behind = {front.port: port for port, front in list(self._fronts.items())}

        def other(found: "re.Match[bytes]") -> bytes:
            port = int(found[1])
            if port in behind:
                port = behind[port] if (behind[port] == self.agent_port) == to_agent else port
            elif to_agent or port == self.agent_port:
                port = self.front(port)
            return b"http://127.0.0.1:%d" % port

        return PORT.sub(other, body)

    def close(self, kept: Collection[int] = ()) -> None:
        """Close all that leads to other ports than these, at once: each has to wait for its end."""
        fronts = [self._fronts.pop(port) for port in list(self._fronts) if port not in kept]
        with ThreadPoolExecutor(64) as pool:
            list(pool.map(_Front.shutdown, fronts))
        for front in fronts:
            front.server_close()


class _Front(socketserver.ThreadingTCPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 128
    allow_reuse_address = True

    def __init__(self, relay: Relay, behind: int, direction: str) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.relay, self.behind, self.direction = relay, behind, direction
        self.port: int = self.server_address[1]
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Whoever breaks a connection is told nothing."""


class _Handler(socketserver.BaseRequestHandler):
    server: _Front

    def handle(self) -> None:
        self.request.settimeout(SECONDS)
        try:
            while self._pass_one():
                pass
        except (Cut, OSError):
            pass

    def _pass_one(self) -> bool:
        """Pass one request; whether another may follow on this connection."""
        head = self._head()
        if not head:
            return False
        first, _, rest = head.partition(b"\r\n\r\n")
        length = re.search(rb"(?i)\r\ncontent-length: *(\d+)", first)
        odd = re.search(rb"(?i)\r\n(expect|transfer-encoding|upgrade):|HTTP/1\.0", first)
        passing = Passing(self.server.direction, first + b"\r\n\r\n", Said())
        if not head.startswith(b"POST ") or not length or odd or b"\r\n\r\n" not in head:
            passing.head, passing.is_raw = head, True
            self.server.relay.before(passing)
            if passing.answer is None:
                self._pass_raw(head)
                return False
            self._write(passing.answer)
            return False
        size = int(length[1])
        while len(rest) < size:
            more = self.request.recv(65_536)
            if not more:
                raise Cut
            rest += more
        is_in = passing.direction == IN
        passing.request.body = self.server.relay.translated(rest[:size], to_agent=is_in)
        self.server.relay.before(passing)
        if passing.answer is None:
            passing.answer = self._ask(passing)
            body = self.server.relay.translated(passing.answer.body, to_agent=not is_in)
            passing.answer.body = body
        self.server.relay.after(passing)
        self._write(passing.answer)
        return not re.search(rb"(?i)\r\nconnection: *close", first)

    def _head(self) -> bytes:
        head = b""
        while b"\r\n\r\n" not in head and len(head) < HEAD_MAX:
            more = self.request.recv(65_536)
            if not more:
                break
            head += more
            if not re.match(rb"[A-Z]{1,10}( |$)", head):  # No HTTP: pass it on at once.
                break
        return head

    def _ask(self, passing: Passing) -> Said:
        body = passing.request.body
        length = b"\r\nContent-Length: %d" % len(body)
        head = re.sub(rb"(?i)\r\ncontent-length: *\d+", length, passing.head)
        host = b"\r\nHost: 127.0.0.1:%d" % self.server.behind
        own = rb"(?i)\r\nhost: *(127\.0\.0\.1|localhost):%d(?=\r)" % self.server.port
        head = re.sub(own, host, head)
        head = re.sub(rb"(?i)\r\nconnection: *[\w-]+", b"", head)
        head = head[:-2] + b"Connection: close\r\n\r\n"
        with socket.create_connection(("127.0.0.1", self.server.behind), SECONDS) as there:
            there.sendall(head + body)
            response = http.client.HTTPResponse(there, method="POST")
            try:
                response.begin()
                said = Said(response.read(), response.status)
            except http.client.HTTPException:
                raise Cut from None
            kept = ("content-type", "retry-after", "mcp-session-id", "www-authenticate", "allow")
            headers = {name: value for name, value in response.getheaders() if name.lower() in kept}
            said.headers = headers
            return said

    def _pass_raw(self, begun: bytes) -> None:
        begun = begun.replace(b":%d\r" % self.server.port, b":%d\r" % self.server.behind)
        with socket.create_connection(("127.0.0.1", self.server.behind), SECONDS) as there:
            there.sendall(begun)
            back = threading.Thread(target=_pipe, args=(there, self.request), daemon=True)
            back.start()
            _pipe(self.request, there)
            back.join(SECONDS)

    def _write(self, said: Said) -> None:
        reason = http.client.responses.get(said.status, "")
        lines = [f"HTTP/1.1 {said.status} {reason}", f"Content-Length: {len(said.body)}"]
        lines += [f"{name}: {value}" for name, value in said.headers.items()]
        if not any(name.lower() == "content-type" for name in said.headers):
            lines.append("Content-Type: application/json")
        self.request.sendall("\r\n".join([*lines, "", ""]).encode() + said.body)


def _pipe(here: socket.socket, there: socket.socket) -> None:
    try:
        while data := here.recv(65_536):
            there.sendall(data)
        there.shutdown(socket.SHUT_WR)
    except OSError:
        pass
