"""The kit's HTTP client: each request on a connection of its own, byte for byte as it was given.

It never raises for what an agent does: whatever comes of a request is an `Answer`. Every request
has one deadline for everything, also against an agent that sends a byte now and then.
"""

import http.client
import io
import socket
import ssl
from collections.abc import Callable, Iterable
from contextlib import suppress
from typing import Any
from urllib.parse import urlsplit

from agentleague.conformance.exchange import Answer
from agentleague.conformance.limits import Limits
from agentleague.protocol.event_stream import EventStream
from agentleague.runtime.clock import stopwatch

READ_AT_ONCE = 65_536
INTERIM_MAX = 20  # answers like 103 before the real one
HTTP_1_0 = 10  # as http.client has it
TAKES = {"Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
Bytes = bytes | Iterable[bytes]  # a request, or its pieces; a pause is between two of them


class Peer:
    """The agent under test, at its URL."""

    def __init__(self, url: str, limits: Limits) -> None:
        self.url = url
        self.limits = limits
        self.headers = dict(TAKES)  # of each POST; an MCP session adds to them
        self.is_tls = url.startswith("https:")
        self.host, self.port, self.path, self.authority = "", 0, "/mcp", ""
        with suppress(ValueError):  # Nobody listens at what is no URL.
            parts = urlsplit(url)
            self.port = parts.port or (443 if self.is_tls else 80)
            self.host, self.path = parts.hostname or "", parts.path or "/mcp"
            self.authority = parts.netloc.rpartition("@")[2]

    def post(
        self,
        body: bytes,
        *,
        path: str | None = None,
        headers: dict[str, str] | None = None,
        seconds: float | None = None,
    ) -> Answer:
        """POST a body as any client would."""
        return self.request(
            "POST", path or self.path, self.headers | (headers or {}), body, seconds
        )

    def get(
        self, path: str, headers: dict[str, str] | None = None, seconds: float | None = None
    ) -> Answer:
        """GET a path."""
        return self.request("GET", path, headers or {}, seconds=seconds)

    def request(  # What HTTP has.
        self,
        method: str,
        path: str,
        headers: dict[str, str],
        body: bytes = b"",
        seconds: float | None = None,
    ) -> Answer:
        """One request; a header given as "" is left out."""
        usual = {"Host": self.authority, "Connection": "close"}
        if body or method == "POST":
            usual["Content-Length"] = str(len(body))
        lines = [f"{name}: {value}" for name, value in (usual | headers).items() if value]
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *lines, "", ""])
        return self.send(head.encode() + body, seconds=seconds, method=method)

    def send(
        self,
        request: Bytes,
        *,
        seconds: float | None = None,
        method: str = "POST",
        pause: Callable[[], None] | None = None,
    ) -> Answer:
        """Send bytes as they are, and read what comes back by the deadline."""
        began = stopwatch()
        until = began + (self.limits.reply if seconds is None else seconds)
        try:
            with self.connect(until) as connection:
                pieces = [request] if isinstance(request, bytes) else request
                problem = _send_all(connection, pieces, until, pause)
                file = _Unclosed(_Deadline(connection, until), READ_AT_ONCE)
                answer = _read(file, method, self.limits.body_max)
        except TimeoutError:
            answer = Answer(problem="no connection in time", is_late=True)
        except OSError as error:
            answer = Answer(problem=f"no connection: {error.strerror or error}")
        else:
            if problem and answer.status is None:
                answer.problem = problem
        answer.seconds = stopwatch() - began
        return answer

    def post_again(self, bodies: Iterable[bytes]) -> list[Answer]:
        """POST bodies one after the other on one connection, as long as the agent keeps it open."""
        until = stopwatch() + self.limits.reply
        answers: list[Answer] = []
        lines = [f"{name}: {value}" for name, value in self.headers.items()]
        head = "\r\n".join([f"POST {self.path} HTTP/1.1", f"Host: {self.authority}", *lines, ""])
        try:
            with self.connect(until) as connection:
                file = _Unclosed(_Deadline(connection, until), READ_AT_ONCE)
                for body in bodies:
                    length = f"Content-Length: {len(body)}\r\n\r\n"
                    _send_all(connection, [(head + length).encode() + body], until, None)
                    answers.append(_read(file, "POST", self.limits.body_max))
                    if answers[-1].headers.get("connection", "").lower() == "close":
                        break
        except OSError as error:
            answers.append(Answer(problem=f"no connection: {error.strerror or error}"))
        return answers

    def connect(self, until: float) -> socket.socket:
        """A connection that is nobody else's."""
        seconds = min(self.limits.connect, max(0.001, until - stopwatch()))
        try:
            connection = socket.create_connection((self.host, self.port), seconds)
        except UnicodeError:  # The name is too long for one.
            raise OSError(f"{self.host[:64]!r} is no name of a host") from None
        if self.is_tls:
            return ssl.create_default_context().wrap_socket(connection, server_hostname=self.host)
        return connection

    def is_listening(self) -> bool:
        """Whether a connection can be opened at all."""
        try:
            self.connect(stopwatch() + self.limits.connect).close()
        except OSError:
            return False
        return True


def _send_all(
    connection: socket.socket,
    pieces: Iterable[bytes],
    until: float,
    pause: Callable[[], None] | None,
) -> str:
    """Send the pieces; what went wrong, for an agent may answer before it has read everything."""
    try:
        for number, piece in enumerate(pieces):
            if number and pause:
                pause()
            connection.settimeout(max(0.001, until - stopwatch()))
            connection.sendall(piece)
    except TimeoutError:
        return "the agent did not read the request in time"
    except OSError as error:
        return f"the agent closed the connection while it was sent to ({error.strerror or error})"
    return ""


class _Deadline(io.RawIOBase):
    """Reads of a connection, all before one moment."""

    def __init__(self, connection: socket.socket, until: float) -> None:
        self._connection = connection
        self._until = until

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: "memoryview") -> int:  # type: ignore[override]
        left = self._until - stopwatch()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class _Unclosed(io.BufferedReader):
    """Stays open behind an answer, for the next one on the same connection."""

    def close(self) -> None:
        pass


class _Readable:
    """What http.client wants of a socket."""

    def __init__(self, file: io.BufferedReader) -> None:
        self._file = file

    def makefile(self, mode: str) -> io.BufferedReader:
        return self._file


def _begun(file: io.BufferedReader, method: str) -> http.client.HTTPResponse:
    """The answer behind those like 103 that come before it."""
    for _ in range(INTERIM_MAX):
        source: Any = _Readable(file)
        response = http.client.HTTPResponse(source, method=method)
        response.begin()
        if response.status >= 200 or response.status == 101:
            break
    return response


def _read(file: io.BufferedReader, method: str, at_most: int) -> Answer:
    answer = Answer()
    try:
        response = _begun(file, method)
        answer.headers = {name.lower(): value for name, value in response.getheaders()}
        if response.version == HTTP_1_0:  # It closes unless it says otherwise.
            answer.headers.setdefault("connection", "close")
        answer.body = response.read(at_most)
        if response.length and len(answer.body) < at_most:
            raise http.client.IncompleteRead(answer.body)
        answer.is_cut = len(answer.body) >= at_most and response.read(1) != b""
        answer.body = _without_events(answer)
        answer.status = response.status
    except TimeoutError:
        answer.problem, answer.is_late = "no complete answer in time", True
    except http.client.IncompleteRead as error:
        answer.problem = f"the connection ended within the answer, after {len(error.partial)} bytes"
    except http.client.RemoteDisconnected:
        answer.problem = "the connection was closed without an answer"
    except (http.client.HTTPException, ValueError) as error:
        answer.problem = f"what came is no HTTP: {type(error).__name__} {str(error)[:80]}"
    except OSError as error:
        answer.problem = f"the connection broke: {error.strerror or error}"
    return answer


def _without_events(answer: Answer) -> bytes:
    """The body, or what the events in it say: an MCP server may answer by a stream of them."""
    kind = answer.headers.get("content-type", "").lower()
    found = EventStream(b"").feed(answer.body + b"\n\n") if "event-stream" in kind else None
    return found or answer.body
