"""The answering half of the HTTP server: one answer for each request, whole or as a stream."""

import asyncio
import logging
from collections.abc import Callable, Coroutine
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any

from msgspec import Struct

from agentleague.errors import LeagueError
from agentleague.roles.stimuli import Headers, write_headers

if TYPE_CHECKING:
    from agentleague.transport.http_server import _Connection

log = logging.getLogger(__name__)
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

    A handler calls it exactly once, now or later: with a whole answer, or to `stream` or `drop`.
    """

    to: "_Connection"  # that the answer goes out on
    is_head: bool = False
    is_old: bool = False  # The request is HTTP/1.0.
    answer: tuple[int, bytes, bytes] | None = None  # status, body, written headers
    streaming: "Stream | None" = None
    lost: Callable[[], None] | None = None  # is told if the connection ends before the answer

    def __call__(self, status: int, body: bytes, extra_headers: Headers = (), /) -> None:
        assert self.answer is None, "a request is answered once"
        headers = write_headers(extra_headers) if extra_headers else b""
        self.answer = (status, body, headers)
        if not self.to.is_reading:
            self.to.flush()

    def stream(self, status: int, headers: Headers, produce: "Produce", /) -> None:
        """Answer with the pieces that `produce` sends; `headers` should name the Content-Type."""
        assert self.answer is None, "a request is answered once"
        self.answer = (status, b"", write_headers(headers))
        self.streaming = Stream(self, produce)
        self.to.flush()

    def drop(self) -> None:
        """Close the connection without an answer to this request or any other."""
        self.to.drop()

    def wire(self, is_last: bool) -> bytes:
        """The whole answer as bytes."""
        assert self.answer is not None
        status, body, headers = self.answer
        if status == 200 and body and not (headers or is_last or self.is_old or self.is_head):
            return _PLAIN % (len(body), body)
        head = self.start(is_last, has_body=bool(body))
        if status == 204:
            return head + b"\r\n"
        return b"%bContent-Length: %d\r\n\r\n%b" % (head, len(body), b"" if self.is_head else body)

    def start(self, is_last: bool, *, has_body: bool) -> bytes:
        """Status line and headers, without the length."""
        assert self.answer is not None
        status, _, headers = self.answer
        mode = "close" if is_last else "keep-alive" if self.is_old else ""
        return _start(status, mode, headers, has_body)


class Stream:
    """The body of an answer, piece by piece; in HTTP/1.0 the end of the connection ends it.

    It is complete when `produce` returns. If `produce` raises, the connection is aborted, since
    half an answer must not look whole; if the peer leaves or the server stops, it is cancelled.
    """

    def __init__(self, response: Response, produce: "Produce") -> None:
        self.is_over = response.is_head  # complete, stopped, or the peer has left
        self._response = response
        self._has_begun = False  # The answers before it have gone out.
        self._changed = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        if not self.is_over:
            self._task = response.to.start_task(produce(self))
            self._task.add_done_callback(self._produced)

    async def send(self, piece: bytes) -> None:
        """Send a piece and wait until the peer has room for the next."""
        await self._room()
        if piece:
            is_chunk = not self._response.is_old
            chunk = b"%x\r\n%b\r\n" % (len(piece), piece) if is_chunk else piece
            self._response.to.send_now(chunk)
            await self._room()

    def stop(self) -> None:
        """Send no more pieces and cancel what produces them."""
        self.is_over = True
        self.wake()
        if self._task is not None:
            self._task.cancel()

    def wake(self) -> None:
        """Look again whether a piece can be sent."""
        self._changed.set()

    def due(self, is_last: bool) -> bytes:
        """What must be sent now: the head at its turn, and the end when it is over."""
        response, data = self._response, b""
        if not self._has_begun:
            self._has_begun = True
            coding = b"\r\n" if response.is_old else b"Transfer-Encoding: chunked\r\n\r\n"
            data = response.start(is_last, has_body=False) + coding
            self.wake()
        is_chunked = not response.is_old and not response.is_head
        return data + b"0\r\n\r\n" if self.is_over and is_chunked else data

    def _produced(self, task: "asyncio.Task[None]") -> None:
        error = None if task.cancelled() else task.exception()
        if error is not None:
            log.error("A stream failed.", exc_info=error)
        if self.is_over:
            return
        if error is not None or task.cancelled():
            self._response.to.abort()
        else:
            self.is_over = True
            self._response.to.flush()

    async def _room(self) -> None:
        while not self.is_over and not (self._has_begun and not self._response.to.is_slow):
            self._changed.clear()
            await self._changed.wait()
        if self.is_over:
            raise ConnectionResetError("the stream is over")


Produce = Callable[[Stream], Coroutine[Any, Any, None]]


@lru_cache(maxsize=256)
def _start(status: int, mode: str, headers: bytes, has_body: bool) -> bytes:
    phrase = HTTPStatus(status).phrase if status in _STATUSES else ""
    own = [("Content-Type", "application/json")] if has_body else []
    own += [("Connection", mode)] if mode else []
    return f"HTTP/1.1 {status} {phrase}".encode() + headers + write_headers(own) + b"\r\n"
