"""HTTP/1 in Python alone, with the names and callbacks of `httptools`, for where that is missing.

It takes less than `httptools`, never more, and reads what it takes alike: no folded lines, no bare
line feeds, one Content-Length and none beside chunks. `tests/transport/test_pure_parsers.py`
compares the two. Callers count the bytes; only a line whose end is not here yet is kept.
"""

import re
import sys
from collections.abc import Callable
from typing import Any

_TOKEN = rb"[!#$%&'*+\-.^_`|~0-9A-Za-z]+"
_TEXT = rb"[\t\x20-\x7e\x80-\xff]*"
_METHODS = rb"GET|HEAD|POST|PUT|DELETE|OPTIONS|TRACE|PATCH"
_HOST = rb"[0-9A-Za-z.:_\-\[\]]+"
_TARGET = rb"/[\x21-\x7e]*|\*|[A-Za-z]+://%b(?:/[\x21-\x7e]*)?" % _HOST
_REQUEST = re.compile(rb"(?:(%b) (%b)|(CONNECT) (%b)) HTTP/(1\.[01])" % (_METHODS, _TARGET, _HOST))
_ANSWER = re.compile(rb"HTTP/(1\.[01]) ([0-9]{3})(?: %b)?" % _TEXT)
_HEADER = re.compile(rb"(%b):(%b)" % (_TOKEN, _TEXT))
_QUOTED = rb'"(?:[\t \x21\x23-\x5b\x5d-\x7e\x80-\xff]|\\[\t\x20-\x7e\x80-\xff])*"'
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})(?:;%b(?:=(?:%b|%b))?)*" % (_TOKEN, _TOKEN, _QUOTED))
_LENGTH = re.compile(rb"[0-9]{1,18}")
_CALLBACKS = ("message_begin", "url", "header", "headers_complete", "body", "message_complete")


class HttpParserError(Exception):
    """These bytes are not HTTP/1."""


class HttpParserCallbackError(HttpParserError):
    """A callback failed; its error is the context of this one."""


class HttpParserUpgrade(Exception):
    """The peer asks for another protocol; the argument says how much was read until then."""


class _Parser:
    """What requests and answers have in common: each step reads one line, or some of a body."""

    def __init__(self, protocol: Any) -> None:
        self._callbacks = {name: getattr(protocol, f"on_{name}", None) for name in _CALLBACKS}
        self._unread, self._searched, self._fed = bytearray(), 0, 0
        self._left, self._version = 0, ""  # Bytes of the body, or of its chunk.
        # Who reads the next line; bound, it would hold us until the next collection.
        self._reads: Callable[[Any, bytes], None] = _Parser._first_line
        self._is_between = True  # Nothing of the next message is here.
        self._is_last = False  # There will be no next message.

    def feed_data(self, data: bytes) -> None:
        """Read as far as these bytes go."""
        self._unread += data
        self._fed = len(data)
        while self._unread and (self._read_body() if self._left else self._read_line()):
            pass

    def should_keep_alive(self) -> bool:
        """Whether another message may follow this one."""
        is_wanted = self._version == "1.1" or b"keep-alive" in self._wishes
        return is_wanted and self._is_framed and b"close" not in self._wishes

    def _first_line(self, line: bytes) -> None:
        raise NotImplementedError

    def _end_head(self) -> None:
        raise NotImplementedError

    def _tell(self, name: str, *values: bytes) -> None:
        callback = self._callbacks[name]
        if callback is not None:
            try:
                callback(*values)
            except Exception:
                raise HttpParserCallbackError(f"on_{name} failed") from None

    def _read_line(self) -> bool:
        if self._is_between and not self._begin():
            return False
        end = self._unread.find(b"\n", self._searched)
        self._searched = 0 if end >= 0 else len(self._unread)
        if end < 0:
            return False
        if self._unread[end - 1 : end] != b"\r":
            raise HttpParserError("a line ends without a carriage return")
        line = bytes(self._unread[: end - 1])
        del self._unread[: end + 1]
        self._reads(self, line)
        return True

    def _begin(self) -> bool:
        if self._unread[0] in b"\r\n":
            self._unread = self._unread.lstrip(b"\r\n")
        if not self._unread:
            return False
        if self._is_last or not self._unread[:1].isupper():
            raise HttpParserError("no message begins like this, or here")
        self._wishes: set[bytes] = set()  # Of its header Connection.
        self._length, self._is_chunked = b"", False
        self._is_framed = True  # It ends before the connection does.
        self._is_between = self._asks_upgrade = self._has_ended = False
        self._reads = type(self)._first_line
        self._tell("message_begin")
        return True

    def _head_line(self, line: bytes) -> None:
        """A line of the head, or of the trailers after the last chunk."""
        if line:
            self._read_header(line)
        elif self._has_ended:
            self._complete()
        else:
            self._end_head()

    def _read_header(self, line: bytes) -> None:
        found = _HEADER.fullmatch(line)
        if found is None:
            raise HttpParserError("a header line is malformed")
        name, value = found[1].lower(), found[2].lstrip(b" \t").rstrip(b" ")
        self._tell("header", found[1], value)
        if name in (b"content-length", b"transfer-encoding"):
            self._read_framing(name, value)
        elif name in (b"connection", b"proxy-connection"):  # as httptools reads them
            self._wishes |= {wish.strip(b" \t") for wish in value.lower().split(b",")}
        elif name == b"upgrade":
            self._asks_upgrade = True

    def _read_framing(self, name: bytes, value: bytes) -> None:
        if self._length or self._is_chunked:
            raise HttpParserError("it says twice how it ends")
        if name == b"transfer-encoding":
            self._is_chunked = value.lower() == b"chunked"
        elif _LENGTH.fullmatch(value):
            self._length = value
        if not (self._length or self._is_chunked):
            raise HttpParserError(f"its {name.decode()} is malformed")

    def _expect_body(self) -> None:
        self._left = int(self._length or b"0")
        if self._is_chunked:
            self._reads = _Parser._chunk_line
        elif not self._left:
            self._complete()

    def _read_body(self) -> bool:
        piece = bytes(self._unread[: self._left])
        del self._unread[: self._left]
        self._left -= len(piece)
        self._tell("body", piece)
        if not self._left and not self._is_chunked:
            self._complete()
        return True

    def _chunk_line(self, line: bytes) -> None:
        found = _CHUNK.fullmatch(line)
        if found is None:
            raise HttpParserError("a chunk has no size")
        self._left = int(found[1], 16)
        self._has_ended = not self._left
        self._reads = _Parser._head_line if self._has_ended else _Parser._chunk_end

    def _chunk_end(self, line: bytes) -> None:
        if line:
            raise HttpParserError("a chunk is longer than its size")
        self._reads = _Parser._chunk_line

    def _complete(self) -> None:
        self._is_between, self._is_last = True, not self.should_keep_alive()
        self._tell("message_complete")


class HttpRequestParser(_Parser):
    """Reads requests, one after the other."""

    def get_method(self) -> bytes:
        return self._method

    def get_http_version(self) -> str:
        return self._version

    def should_upgrade(self) -> bool:
        """Whether what follows the head would be in another protocol."""
        is_asked = self._asks_upgrade and b"upgrade" in self._wishes
        return is_asked or self._method == b"CONNECT"

    def _first_line(self, line: bytes) -> None:
        found = _REQUEST.fullmatch(line)
        if found is None:
            raise HttpParserError("the request line is malformed")
        self._method, self._version = found[1] or found[3], found[5].decode()
        self._reads = _Parser._head_line
        self._tell("url", found[2] or found[4])

    def _end_head(self) -> None:
        self._tell("headers_complete")
        if self.should_upgrade():
            self._tell("message_complete")
            raise HttpParserUpgrade(self._fed - len(self._unread))
        self._expect_body()


class HttpResponseParser(_Parser):
    """Reads answers, one after the other."""

    def get_status_code(self) -> int:
        return self._status

    def _first_line(self, line: bytes) -> None:
        found = _ANSWER.fullmatch(line)
        if found is None:
            raise HttpParserError("the status line is malformed")
        self._version, self._status = found[1].decode(), int(found[2])
        self._reads = _Parser._head_line

    def _end_head(self) -> None:
        is_bodiless = 100 <= self._status < 200 or self._status in (204, 304)
        self._is_framed = is_bodiless or self._is_chunked or bool(self._length)
        self._tell("headers_complete")
        if self._status == 101 or (103 < self._status < 200 and (self._length or self._is_chunked)):
            raise HttpParserError(f"an answer {self._status} has no body that could be read")
        if is_bodiless:
            self._complete()
        elif self._is_framed:
            self._expect_body()
        else:
            self._left = sys.maxsize
