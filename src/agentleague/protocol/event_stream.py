"""The answer in a stream of server-sent events, which other requests and notices may precede."""

import re
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from agentleague.protocol.jsonrpc import UNREADABLE

_LINE_END = re.compile(rb"\r\n|\r|\n")
_REQUEST_ID = re.compile(rb'"id":"?([0-9]+)"?}$')


class _Event(Struct):
    result: Any = UNSET
    error: Any = UNSET
    method: Any = UNSET
    id: Any = None


_event = msgspec.json.Decoder(_Event)


class EventStream:
    """Reads a stream as it comes, until it has the answer to one request."""

    def __init__(self, request: bytes) -> None:
        found = _REQUEST_ID.search(request)
        self._id = found[1].decode() if found else ""  # Empty: the request has none.
        self._pieces: list[bytes] = []  # of a line that has not ended
        self._data: list[bytes] = []  # of an event that has not ended
        self._is_after_cr = False

    def feed(self, piece: bytes) -> bytes | None:
        """The answer, once it is whole."""
        if self._is_after_cr:
            piece = piece.removeprefix(b"\n")
        self._is_after_cr = piece.endswith(b"\r")
        if b"\n" not in piece and b"\r" not in piece:
            self._pieces.append(piece)
            return None
        *lines, rest = _LINE_END.split(b"".join((*self._pieces, piece)))
        self._pieces = [rest]
        return next(filter(None, map(self._take, lines)), None)

    def _take(self, line: bytes) -> bytes | None:
        name, _, value = line.partition(b":")
        if name == b"data":
            self._data.append(value.removeprefix(b" "))
        if line:
            return None
        data, self._data = b"\n".join(self._data), []
        return data if data and self._is_answer(data) else None

    def _is_answer(self, data: bytes) -> bool:
        try:
            event = _event.decode(data)
        except UNREADABLE:
            return False
        is_ours = event.error is not UNSET or str(event.id) == self._id or not self._id
        return is_ours and event.method is UNSET and (event.error, event.result) != (UNSET, UNSET)
