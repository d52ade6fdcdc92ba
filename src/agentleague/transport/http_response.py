"""The answering half of the HTTP server: one answer for each request."""

from collections.abc import Callable
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING

from msgspec import Struct

from agentleague.errors import LeagueError
from agentleague.roles.stimuli import Headers, write_headers

if TYPE_CHECKING:
    from agentleague.transport.http_server import _Connection

_STATUSES = frozenset(int(status) for status in HTTPStatus)
_PLAIN = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%b"


class HttpRequest(Struct, frozen=True, gc=False):
    """A request that passed every check of the server."""

    path: str
    body: bytes
    source: str  # the peer's IP address
    method: str = "POST"
    head: bytes = b""  # request line and headers as they were sent, without the length
    query: str = ""  # the text behind "?", as it was sent
    is_forwarded: bool = False  # A header says for whom.


Handler = Callable[[HttpRequest, "Response"], None]


class Refused(Exception):
    """A request that no handler sees."""

    def __init__(self, status: int, error: LeagueError, headers: Headers = ()) -> None:
        self.status, self.error, self.headers = status, error, headers


class Response(Struct, eq=False):
    """The place of an answer among others and, as soon as there is one, the answer.

    A handler calls it exactly once, now or later: with an answer, or to `drop`.
    """

    to: "_Connection"  # that the answer goes out on
    is_head: bool = False
    is_old: bool = False  # The request is HTTP/1.0.
    answer: tuple[int, bytes, bytes] | None = None  # status, body, written headers
    lost: Callable[[], None] | None = None  # is told if the connection ends before the answer
    counts: dict[int, int] | None = None  # by status, of the server whose routes it went through

    def __call__(self, status: int, body: bytes, extra_headers: Headers = (), /) -> None:
        assert self.answer is None, "a request is answered once"
        if self.counts is not None:
            self.counts[status] = self.counts.get(status, 0) + 1
        headers = write_headers(extra_headers) if extra_headers else b""
        self.answer = (status, body, headers)
        if not self.to.is_reading:
            self.to.flush()

    def hold(self) -> None:
        """A known peer waits: its connection counts no more at its address until the answer."""
        if self.answer is None:
            self.to.exempt()

    def drop(self) -> None:
        """Close the connection without an answer to this request or any other."""
        self.to.drop()

    def wire(self, is_last: bool) -> bytes:
        """The whole answer as bytes."""
        assert self.answer is not None
        status, body, headers = self.answer
        if status == 200 and body and not (headers or is_last or self.is_old or self.is_head):
            return _PLAIN % (len(body), body)
        mode = "close" if is_last else "keep-alive" if self.is_old else ""
        head = _start(status, mode, headers, bool(body))
        if status == 204:
            return head + b"\r\n"
        return b"%bContent-Length: %d\r\n\r\n%b" % (head, len(body), b"" if self.is_head else body)


@lru_cache(maxsize=256)
def _start(status: int, mode: str, headers: bytes, has_body: bool) -> bytes:
    phrase = HTTPStatus(status).phrase if status in _STATUSES else ""
    is_json = has_body and b"Content-Type" not in headers
    own = [("Content-Type", "application/json")] if is_json else []
    own += [("Connection", mode)] if mode else []
    return f"HTTP/1.1 {status} {phrase}".encode() + headers + write_headers(own) + b"\r\n"
