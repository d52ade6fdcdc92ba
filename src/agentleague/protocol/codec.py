"""Messages to bytes and back. Requests are judged strictly; answers have a module of their own."""

import re
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, Struct

from agentleague.errors import (
    LeagueError,
    MissingField,
    UnknownMethod,
    VersionMismatch,
    WrongType,
)
from agentleague.protocol import (
    fast_path,
    json_text,
    jsonrpc,
    registrations,
    reports,
    starts,
    timestamps,
)
from agentleague.protocol.error_messages import fault, told
from agentleague.protocol.jsonrpc import Envelope
from agentleague.protocol.messages import (
    MESSAGES,
    METHODS,
    PROTOCOL,
    WIRE_NAME,
    Message,
    Participant,
)

encode = msgspec.json.Encoder().encode

_CALLED = {kind.cls: kind.method for kind in MESSAGES.values() if kind.method}
_CANONICAL = {kind.method: name for name, kind in MESSAGES.items() if kind.method}
_PATH = re.compile(r" - at `\$\.?(.*)`$")
_COMPLAINT_MAX = 200
_NAMED = re.compile(r"required field `(\w+)`")

# Documented fields that a peer may leave out; what was missing is named in the answer.
EXPECTED: dict[str, tuple[str, ...]] = {
    "REFEREE_REGISTER_REQUEST": ("referee_meta.version", "referee_meta.game_types"),
    "LEAGUE_REGISTER_REQUEST": ("player_meta.version", "player_meta.game_types"),
    "MATCH_RESULT_REPORT": ("league_id", "round_id", "game_type", "result.score"),
    "LEAGUE_QUERY": ("league_id",),
}
ENVELOPE = ("sender", "timestamp", "conversation_id")
_EXPECTED = {
    MESSAGES[name].cls: [(path, attrgetter(path)) for path in (*ENVELOPE, *paths)]
    for name, paths in EXPECTED.items()
}

RECEIVERS: dict[str, frozenset[Participant]] = {
    "manager": frozenset({"manager"}),
    "referee": frozenset({"referee", "everyone"}),
    "player": frozenset({"player", "players", "both players", "everyone"}),
}


class _Decoders(dict[str, "msgspec.json.Decoder[Message]"]):
    """By message type, each made when it is first needed."""

    def __missing__(self, name: str) -> "msgspec.json.Decoder[Message]":
        decoder = self[name] = msgspec.json.Decoder(MESSAGES[name].cls)
        return decoder


DECODERS = _Decoders()


class Incoming(NamedTuple):
    """A request as read: a message, or why it is none."""

    envelope: Envelope
    message: Message | None
    error: LeagueError | None = None
    missing: tuple[str, ...] = ()


def taken_by(receiver: str) -> frozenset[str]:
    """The message types that an agent of this kind can be asked."""
    return frozenset(
        name
        for name, kind in MESSAGES.items()
        if kind.method and kind.receiver in RECEIVERS[receiver]
    )


def read_request(
    body: bytes, taken: frozenset[str], *, thorough: bool = True, path: str = "/mcp"
) -> Incoming:
    """Read a request in any form; a refusal still knows whom to answer and how."""
    envelope, message = fast_path.read(body, taken, thorough=thorough) or (Envelope(), None)
    try:
        if message is None:
            assumed = registrations.assumed(body) if path == "/register" else None
            jsonrpc.read_request(body, envelope, thorough=thorough, assumed=assumed)
            message = _read_message(envelope, taken, flat=b'"message"' not in body)
        if isinstance(message, starts.GIVING_OUT):
            message = starts.with_players(message, text_of(envelope))
        _check_envelope(message)
    except LeagueError as error:
        return Incoming(envelope, None, error)
    except jsonrpc.UNREADABLE as error:
        return Incoming(envelope, None, json_text.explain(body, error))
    return Incoming(envelope, message, None, _missing(message, body))


def text_of(envelope: Envelope) -> bytes | Raw:
    """The text of the message in a request."""
    return jsonrpc.params_of(envelope.whole) if envelope.whole else envelope.body


def write_request(message: Message, request_id: int) -> bytes:
    """A request in the canonical form."""
    return jsonrpc.write_request(_CALLED[type(message)] or "", encode(message), request_id)


def write_answer(envelope: Envelope, message: Message) -> bytes:
    """An answer in the form of its request."""
    return jsonrpc.write_result(envelope, encode(message))


def write_refusal(envelope: Envelope, error: LeagueError, *, sender: str, timestamp: str) -> bytes:
    """A refusal in the form of its request, with the error message of the documents as data."""
    asked = envelope.message_type or METHODS.get(envelope.method.lower(), "")
    message = fault(error, asked, sender=sender, timestamp=timestamp, request=_about(envelope))
    text = f"{message.error_name}: {message.error_message}"
    return jsonrpc.write_error(envelope, error.number_for(asked), text, encode(told(message)))


def complaint(name: str, error: msgspec.ValidationError) -> MissingField:
    """What the decoder had against a message of that type, in our words."""
    text = str(error)
    found = _PATH.search(text)
    path = found.group(1) if found else ""
    text = _PATH.sub("", text)[:_COMPLAINT_MAX]  # The decoder quotes an unknown type in full.
    absent = _NAMED.search(text)
    if absent:
        path = f"{path}.{absent.group(1)}".strip(".")
        return MissingField(f"{name}: missing field '{path}'", field=path, kind="missing")
    return WrongType(f"{name}.{path}: {text[:1].lower()}{text[1:]}", field=path, kind="type")


def _read_message(envelope: Envelope, taken: frozenset[str], *, flat: bool) -> Message:
    name = envelope.message_type or _CANONICAL.get(envelope.method)
    # If not, it is perhaps nested, or of another type than its method says: look closer.
    if flat and name in taken and (message := _as_it_stands(envelope, name)):
        return message
    if envelope.message_type is None:
        jsonrpc.look_inside(envelope)
    name = METHODS.get((envelope.message_type or envelope.method).lower())
    if name not in taken:
        called = (envelope.message_type or envelope.method)[:300]
        raise UnknownMethod(f"{called!r} is no message that this agent takes", known=sorted(taken))
    envelope.message_type = name
    if message := _as_it_stands(envelope, name):
        return message
    try:
        return DECODERS[name].decode(_spelt_out(envelope, name))
    except msgspec.ValidationError as error:
        raise complaint(name, error) from None


def _as_it_stands(envelope: Envelope, name: str) -> Message | None:
    """The message, if nothing has to be put right; what a registration says may be anywhere."""
    if name in registrations.METAS:
        return None
    try:
        return DECODERS[name].decode(envelope.body)
    except msgspec.ValidationError:
        return None


def _about(envelope: Envelope) -> dict[str, Any]:
    """What a refused message was about, so far as it can be read."""
    try:
        return msgspec.structs.asdict(_refused.decode(text_of(envelope)))
    except jsonrpc.UNREADABLE:
        return {}


def _spelt_out(envelope: Envelope, name: str) -> bytes:
    """The message with its type in the one spelling that the decoder knows."""
    fields = msgspec.json.decode(envelope.body, type=dict[str, Raw])
    if name == "LEAGUE_QUERY" and envelope.method.lower() == "get_standings":
        fields.setdefault("query_type", Raw(b'"GET_STANDINGS"'))
    if name == starts.START:
        told = msgspec.json.decode(envelope.body)
        return encode({**starts.spelt_out(told), "message_type": name})
    if name in registrations.METAS:
        fields = registrations.spelt_out(fields, name)
    if name == "MATCH_RESULT_REPORT":
        return encode(
            {**reports.spelt_out(msgspec.json.decode(envelope.body)), "message_type": name}
        )
    return encode({**fields, "message_type": name})


def _check_envelope(message: Message) -> None:
    if message.protocol != PROTOCOL and not message.protocol.startswith(PROTOCOL + "."):
        raise VersionMismatch(
            f"protocol is {message.protocol!r}; this league speaks {PROTOCOL}", field="protocol"
        )
    if message.timestamp:
        timestamps.parse(message.timestamp)


def _missing(message: Message, body: bytes) -> tuple[str, ...]:
    expected = _EXPECTED.get(type(message))
    if expected is None:
        return ()
    # These two are always there once decoded; seen anywhere in the text is near enough to sent.
    unsent = (each for each in ("protocol", "message_type") if b'"%b"' % each.encode() not in body)
    loose = registrations.unsent(WIRE_NAME[type(message)], body)
    return (*unsent, *loose, *(path for path, get in expected if not get(message)))


class _Refused(Struct):
    """The fields of a refused request that its answer is about, whatever their types."""

    conversation_id: Any = None
    match_id: Any = None
    player_id: Any = None
    auth_token: Any = None


_refused = msgspec.json.Decoder(_Refused)
