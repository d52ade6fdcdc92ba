"""Messages to bytes and back; `dialects/requests.py` reads requests, in any spelling."""

import re
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import msgspec
from msgspec import Struct, inspect

from agentleague.errors import LeagueError, MissingField, WrongType
from agentleague.protocol import jsonrpc
from agentleague.protocol.error_messages import error_data, error_message
from agentleague.protocol.jsonrpc import Envelope, Form
from agentleague.protocol.messages import MESSAGES, METHODS, Message, Participant

encode = msgspec.json.Encoder().encode
_JSONRPC = Form.JSONRPC  # At hand: looking it up there takes longer than writing the answer.

_OPENINGS = {  # of a request in the canonical form, up to its message
    kind.cls: b'{"jsonrpc":"2.0","method":"%b","params":' % kind.method.encode()
    for kind in MESSAGES.values()
    if kind.method
}
_PATH = re.compile(r" - at (?:`key` in )?`\$\.?(.*)`$")
_STEP = re.compile(r"(\w+)|\[(\d+)\]")
_COMPLAINT_MAX = 200
_NAMED = re.compile(r"required field `(\w+)`")

# Documented fields that a peer may leave out; the answer names those that were missing.
EXPECTED: dict[str, tuple[str, ...]] = {
    "REFEREE_REGISTER_REQUEST": (
        *("referee_meta.version", "referee_meta.game_types"),
        "referee_meta.max_concurrent_matches",
    ),
    "LEAGUE_REGISTER_REQUEST": ("player_meta.version", "player_meta.game_types"),
    "MATCH_RESULT_REPORT": (
        *("league_id", "round_id", "game_type", "result.score"),
        *("result.details", "result.details.choices"),
    ),
    "LEAGUE_QUERY": ("league_id", "query_params"),
}
# Decoding fills these in, or they may be empty; if the name is in the text, they count as sent.
FILLED_IN = (
    *("protocol", "message_type", "referee_meta.max_concurrent_matches", "query_params"),
    *("result.details", "result.details.choices"),
)
ENVELOPE = ("sender", "timestamp", "conversation_id")
RECEIVERS: dict[str, frozenset[Participant]] = {
    "manager": frozenset({"manager"}),
    "referee": frozenset({"referee", "agent", "everyone"}),
    "player": frozenset({"player", "agent", "players", "both players", "everyone"}),
}


class _Decoders(dict[str, "msgspec.json.Decoder[Message]"]):
    """By message type, each made when it is first used."""

    def __missing__(self, name: str) -> "msgspec.json.Decoder[Message]":
        decoder = self[name] = msgspec.json.Decoder(MESSAGES[name].cls)
        return decoder


DECODERS = _Decoders()


class Incoming(NamedTuple):
    """A request as read: a message, or the error that refuses it."""

    envelope: Envelope
    message: Message | None
    error: LeagueError | None = None
    missing: tuple[str, ...] = ()  # paths of fields that should be there, or do not fit and why


def taken_by(receiver: str) -> frozenset[str]:
    """The message types that an agent of this kind receives."""
    return frozenset(
        name
        for name, kind in MESSAGES.items()
        if kind.method and kind.receiver in RECEIVERS[receiver]
    )


def write_request(message: Message, request_id: int) -> bytes:
    """A request in the canonical form."""
    return b'%b%b,"id":%d}' % (_OPENINGS[type(message)], encode(message), request_id)


def write_answer(envelope: Envelope, message: Message) -> bytes:
    """An answer in the form of its request."""
    if envelope.form is _JSONRPC and type(envelope.id) is int:  # As nearly always.
        return b'{"jsonrpc":"2.0","result":%b,"id":%d}' % (encode(message), envelope.id)
    return jsonrpc.write_result(envelope, encode(message))


def write_refusal(envelope: Envelope, error: LeagueError, *, sender: str, timestamp: str) -> bytes:
    """A refusal in the form of its request, with the error message of the documents as data."""
    asked = envelope.message_type or METHODS.get(envelope.method.lower(), "")
    message = error_message(
        error, asked, sender=sender, timestamp=timestamp, request=_about(envelope)
    )
    text = f"{error.title or message.error_name}: {message.error_message}"
    return jsonrpc.write_error(envelope, error.number_for(asked), text, encode(error_data(message)))


def complaint(name: str, error: msgspec.ValidationError) -> MissingField:
    """The decoder's complaint about a message of that type, as our error."""
    found, text = _PATH.search(str(error)), _reason(error)
    path = found.group(1) if found else ""
    absent = _NAMED.search(text)
    if absent:
        path = f"{path}.{absent.group(1)}".strip(".")
        return MissingField(f"{name}: missing field '{path}'", field=path, kind="missing")
    return WrongType(f"{name}.{path}: {text[:1].lower()}{text[1:]}", field=path, kind="type")


def fitted(
    name: str,
    fields: dict[str, Any],
    mend: Callable[[dict[str, Any], MissingField], bool],
    at_most: int,
) -> tuple[Message, list[str]]:
    """The message after `mend` changed what does not fit, in place; or raises ValidationError."""
    misfits: dict[str, msgspec.ValidationError] = {}  # by path
    for _ in range(at_most):
        try:
            message = DECODERS[name].decode(encode(fields))
            return message, [f"{path} ({_reason(each)})" for path, each in misfits.items()]
        except msgspec.ValidationError as error:
            found = complaint(name, error)
            # A field that was left out and is needed is missing now; it did not fit before.
            first = misfits.setdefault(found.context["field"], error)
            if not mend(fields, found):
                break
    raise first from None


def _reason(error: msgspec.ValidationError) -> str:
    return _PATH.sub("", str(error))[:_COMPLAINT_MAX]  # The decoder quotes an unknown type in full.


def steps_to(found: MissingField) -> list[str | int]:
    """The names and the indices on the way to the field that is complained of."""
    return [name or int(index) for name, index in _STEP.findall(found.context["field"])]


def without_nulls(name: str, fields: dict[str, Any]) -> dict[str, Any]:
    """The fields of a message of this type; an optional one that is null is not there."""
    kept: dict[str, Any] = _without_nulls(_type_info(MESSAGES[name].cls), fields)
    return kept


_type_info = cache(inspect.type_info)


def _without_nulls(kind: inspect.Type, value: Any) -> Any:
    if isinstance(kind, inspect.UnionType):
        return _without_nulls(kind.types[0], value)  # Others are null or UNSET.
    if isinstance(kind, inspect.ListType) and isinstance(value, list):
        return [_without_nulls(kind.item_type, each) for each in value]
    if not isinstance(kind, inspect.StructType) or not isinstance(value, dict):
        return value
    fields = {field.encode_name: field for field in kind.fields}
    return {
        name: _without_nulls(fields[name].type, held) if name in fields else held
        for name, held in value.items()
        if held is not None or name not in fields or _may_be_null(fields[name])
    }


def _may_be_null(field: inspect.Field) -> bool:
    kinds = field.type.types if isinstance(field.type, inspect.UnionType) else (field.type,)
    takes_null = any(isinstance(each, inspect.NoneType | inspect.AnyType) for each in kinds)
    return field.required or takes_null


def _about(envelope: Envelope) -> dict[str, Any]:
    """The ids and the token of a refused message, as far as they can be read."""
    try:
        text = jsonrpc.params_of(envelope.whole) if envelope.whole else envelope.body
        return msgspec.structs.asdict(_refused.decode(text))
    except jsonrpc.UNREADABLE:
        return {}


class _Refused(Struct):
    """The fields of a refused request that its answer is about, whatever their types."""

    conversation_id: Any = None
    match_id: Any = None
    player_id: Any = None
    sender: Any = None
    auth_token: Any = None


_refused = msgspec.json.Decoder(_Refused)
