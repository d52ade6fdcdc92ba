"""Reads a request in one pass if it is written as our own agents write it.

Its method stands at the front, so the decoder of that message reads the whole request. Any other
request, and one that does not fit, lacks something or may mean something else, is left to the
codec and the dialects, which also explain what is wrong.

A player reads two messages only in part, since they grow with the league and are sent to every
player in every round.
"""

from collections.abc import Callable
from functools import cache
from operator import attrgetter
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from agentleague.errors import LeagueError, UnreadableJson
from agentleague.protocol import codec, json_text, messages, timestamps
from agentleague.protocol.jsonrpc import UNREADABLE, Envelope, Form, RequestId
from agentleague.protocol.messages import MESSAGES, PROTOCOL, Id, Int, Message, Part, Text, tag_of

_rows = msgspec.json.Decoder(list[messages.StandingRow])


class Pairing(Part):
    """Who meets whom in one match, and the commitment to its draw."""

    match_id: Id
    player_A_id: Id = ""
    player_B_id: Id = ""
    draw_commitment: Id | UnsetType = UNSET
    draw_generation: Int | UnsetType = UNSET
    player_A_name: Text | UnsetType = UNSET
    player_B_name: Text | UnsetType = UNSET


class PartialAnnouncement(messages.RoundAnnouncement, tag="ROUND_ANNOUNCEMENT"):
    """The announcement of a round, as far as a player needs it."""

    matches: list[Pairing] = msgspec.field(default_factory=list)  # type: ignore[assignment]


class PartialTable(messages.LeagueStandingsUpdate, tag="LEAGUE_STANDINGS_UPDATE"):
    """The table with its rows unread."""

    standings: Raw = Raw(b"[]")  # type: ignore[assignment]


PARTIAL_MESSAGES: dict[str, type[Message]] = {
    "ROUND_ANNOUNCEMENT": PartialAnnouncement,
    "LEAGUE_STANDINGS_UPDATE": PartialTable,
}


def read_rows(rows: Raw | list[messages.StandingRow]) -> list[messages.StandingRow]:
    """The rows of a table; none if they cannot be read."""
    if not isinstance(rows, Raw):
        return rows
    try:
        return _rows.decode(rows)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return []


_OPENING, _OPENING_MAX = '{"jsonrpc":"2.0","method":"%s"', 128
_THEN = b',"params":{"message_type"'  # Nested one level down is another form.
_JSONRPC, _UNREAD, _NOTHING = Form.JSONRPC, b"{}", ()
_WITH_MATCHES = (messages.RoundAnnouncement, messages.StartMatch)


class _Request(Struct, gc=False):
    params: Message
    id: RequestId | UnsetType = UNSET


Lacks = Callable[[Any, bytes], Any]  # message, body -> whether something may stand elsewhere in it
_Method = tuple[str, "msgspec.json.Decoder[_Request]", Lacks | None]


class OwnForm(dict[bytes, _Method | None]):
    """Reads our own form in one pass, by how it begins; if not thorough, a long message in part."""

    def __init__(self, taken: frozenset[str], *, thorough: bool) -> None:
        self._thorough, self._partial = thorough, {} if thorough else PARTIAL_MESSAGES
        # Only in a text that we would write, whatever is not filled in here was written there.
        read = taken if thorough else taken - codec.EXPECTED.keys()
        self._names = {(_OPENING % MESSAGES[name].method).encode(): name for name in read}

    def __missing__(self, opening: bytes) -> _Method | None:
        name = self._names.get(opening)
        if name is None:
            return None
        cls = self._partial.get(name, MESSAGES[name].cls)
        fields = [("params", cls), ("id", RequestId | UnsetType, UNSET)]
        request = msgspec.defstruct("Request", fields, gc=False)  # type: ignore[arg-type]
        method = str(MESSAGES[name].method)
        found = self[opening] = (method, msgspec.json.Decoder(request), lacks_of(cls))
        return found

    def read(self, body: bytes) -> tuple[Envelope, Message, None, tuple[str, ...]] | None:
        """The parts of `codec.Incoming`, as the codec would read them; None: it has to."""
        end = body.find(_THEN, 0, _OPENING_MAX)
        method = self[body[:end]] if end > 0 else None
        if method is None:
            return None
        name, decoder, lacks = method
        try:
            if not body.isascii():
                body.decode()  # The decoder does not look at what it skips.
            request = decoder.decode(body)
            message = request.params
            if self._thorough:
                _check_text(request, body)
            if message.timestamp:
                timestamps.parse(message.timestamp)
        except (LeagueError, *UNREADABLE):
            return None
        if message.protocol != PROTOCOL or (lacks and lacks(message, body)):
            return None
        envelope = Envelope(_JSONRPC, request.id, name, None, _UNREAD, body)
        return envelope, message, None, _NOTHING


own_form = cache(OwnForm)  # Its decoders are the same for all agents of a kind.


def _check_text(request: _Request, body: bytes) -> None:
    """Raise UnreadableJson unless it is what we would write; then it has no key twice."""
    request_id = request.id
    is_own = type(request_id) is int and codec.write_request(request.params, request_id) == body
    if not is_own:
        raise UnreadableJson("it may have a key twice", kind="duplicate_key")
    json_text.check_depth(body)


def lacks_of(cls: type[Message]) -> Lacks | None:
    """How to see whether a message of this class has everything in its documented place."""
    if issubclass(cls, (messages.ChooseParityCall, messages.GameMoveCall)):
        return lambda message, body: not (message.match_id and message.context.opponent_id)
    if issubclass(cls, messages.GameMessage):
        return lambda message, body: not message.match_id
    if issubclass(cls, _WITH_MATCHES):  # All rows have one author.
        return lambda message, body: message.matches and not message.matches[0].player_A_id
    if (name := tag_of(cls)) not in codec.EXPECTED:
        return None
    paths = {*codec.ENVELOPE, *codec.EXPECTED[name]} - {*codec.FILLED_IN}
    told = attrgetter(*sorted(paths))
    if cls is not messages.MatchResultReport:
        return lambda message, body: not all(told(message))
    return lambda message, body: (  # Or a referee of ours did not send it.
        message.epoch is UNSET or is_unclear(message, body) or not all(told(message))
    )


def is_unclear(report: messages.MatchResultReport, body: bytes) -> bool:
    """Whether a report may say elsewhere how the match ended."""
    status = report.result.details.status
    return status is None or (status == "DRAW" and b"TECHNICAL" in body.upper())
