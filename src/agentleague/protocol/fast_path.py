"""Reads a request in one pass if it is written as our own agents write it.

Its method stands at the front, so the decoder of that message reads the whole request. Any other
request, and one that does not fit, is left to the codec, which also explains what is wrong.

A player reads two messages only in part, since they grow with the league and are sent to every
player in every round.
"""

from collections.abc import Mapping

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from agentleague.errors import UnreadableJson
from agentleague.protocol import json_text
from agentleague.protocol.jsonrpc import UNREADABLE, Envelope, RequestId
from agentleague.protocol.messages import (
    MESSAGES,
    Id,
    Int,
    LeagueStandingsUpdate,
    Message,
    Part,
    RoundAnnouncement,
    StandingRow,
)

_rows = msgspec.json.Decoder(list[StandingRow])


class Pairing(Part):
    """Who meets whom in one match, and the commitment to its draw."""

    match_id: Id
    player_A_id: Id = ""
    player_B_id: Id = ""
    draw_commitment: Id | UnsetType = UNSET
    draw_generation: Int | UnsetType = UNSET


class PartialAnnouncement(RoundAnnouncement, tag="ROUND_ANNOUNCEMENT"):
    """The announcement of a round, as far as a player needs it."""

    matches: list[Pairing] = msgspec.field(default_factory=list)  # type: ignore[assignment]


class PartialTable(LeagueStandingsUpdate, tag="LEAGUE_STANDINGS_UPDATE"):
    """The table with its rows unread."""

    standings: Raw = Raw(b"[]")  # type: ignore[assignment]


PARTIAL_MESSAGES: dict[str, type[Message]] = {
    "ROUND_ANNOUNCEMENT": PartialAnnouncement,
    "LEAGUE_STANDINGS_UPDATE": PartialTable,
}


def read_rows(rows: Raw | list[StandingRow]) -> list[StandingRow]:
    """The rows of a table; none if they cannot be read."""
    if not isinstance(rows, Raw):
        return rows
    try:
        return _rows.decode(rows)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


_OPENING = b'{"jsonrpc":"2.0","method":"'
_THEN = b',"params":{"message_type"'  # Nested one level down is another form.
_METHOD_MAX = 64


class _Request(Struct):
    params: Message
    id: RequestId | UnsetType = UNSET


class _Reader(Struct):
    """Reads the requests of one method."""

    name: str
    method: str
    decoder: "msgspec.json.Decoder[_Request]"


def _reader(name: str, method: str, cls: type[Message]) -> _Reader:
    fields = [("params", cls), ("id", RequestId | UnsetType, UNSET)]
    request = msgspec.defstruct("Request", fields, gc=False)  # type: ignore[arg-type]
    return _Reader(name, method, msgspec.json.Decoder(request))


class _Readers(dict[bytes, _Reader | None]):
    """By method, each made when it is first needed; None for an unknown method."""

    def __init__(self, partial: Mapping[str, type[Message]]) -> None:
        self._classes = {**{name: kind.cls for name, kind in MESSAGES.items()}, **partial}

    def __missing__(self, method: bytes) -> _Reader | None:
        name = _NAMES.get(method)
        if name is None:
            return None
        reader = self[method] = _reader(name, method.decode(), self._classes[name])
        return reader


_NAMES = {kind.method.encode(): name for name, kind in MESSAGES.items() if kind.method}
_READERS, _PARTIAL_READERS = _Readers({}), _Readers(PARTIAL_MESSAGES)


def read(
    body: bytes, taken: frozenset[str], *, thorough: bool, skip: frozenset[str] = frozenset()
) -> tuple[Envelope, Message] | None:
    """The request, if it is in our own form, valid, of a type that is taken and not to be skipped.

    If not thorough, only part of a long message is read.
    """
    if not body.startswith(_OPENING):
        return None
    end = body.find(b'"', len(_OPENING), len(_OPENING) + _METHOD_MAX)
    reader = (_READERS if thorough else _PARTIAL_READERS)[body[len(_OPENING) : end]]
    if reader is None or reader.name not in taken or reader.name in skip:
        return None
    if not body.startswith(_THEN, end + 1):
        return None
    try:
        json_text.check(body, thorough=thorough)
        request = reader.decoder.decode(body)
    except (UnreadableJson, *UNREADABLE):
        return None
    return Envelope(id=request.id, method=reader.method, whole=body), request.params
