"""Messages to bytes and back: requests in the documented form, in any wrapping.

A reader that also takes other spellings hands in how they are put into the documented one.
"""

import re
from collections.abc import Callable, Iterable
from functools import cache
from operator import attrgetter
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, Struct, inspect

from agentleague.errors import LeagueError, MissingField, UnknownMethod, VersionMismatch, WrongType
from agentleague.protocol import json_text, jsonrpc, timestamps
from agentleague.protocol.error_messages import error_data, error_message
from agentleague.protocol.jsonrpc import Envelope, Form
from agentleague.protocol.messages import (
    MESSAGES,
    METHODS,
    PROTOCOL,
    WIRE_NAME,
    Message,
    Participant,
)

encode = msgspec.json.Encoder().encode
_JSONRPC = Form.JSONRPC  # At hand: looking it up there takes longer than writing the answer.

_OPENINGS = {  # of a request in the canonical form, up to its message
    kind.cls: b'{"jsonrpc":"2.0","method":"%b","params":' % kind.method.encode()
    for kind in MESSAGES.values()
    if kind.method
}
_CANONICAL = {kind.method: name for name, kind in MESSAGES.items() if kind.method}
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
# What says who may do something, or what is to be done: it fits, or the message is refused. Any
# other optional field gives its sender no more if it is left out here than if it was never sent.
DECIDING = frozenset(
    {
        *("auth_token", "session", "epoch", "join_code", "referee_code", "claim"),
        *("locks", "proofs", "matches", "rules", "moves", "forfeits", "aborted", "params"),
    }
)
MISFITS_MAX = 20  # in one message; each is found by reading it once more
_EXPECTED: dict[type[Message], list[tuple[str, Any]]] = {  # paths, and names or getters
    MESSAGES[name].cls: [
        (path, f'"{path.rpartition(".")[2]}"'.encode() if path in FILLED_IN else attrgetter(path))
        for path in ("protocol", "message_type", *ENVELOPE, *paths)
    ]
    for name, paths in EXPECTED.items()
}

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


class Spelling(NamedTuple):
    """How a request in another spelling is put into the documented one; by default not at all."""

    respell: Callable[[str, bytes | Raw], dict[str, Any]] = (  # type, text -> fields
        lambda name, body: msgspec.json.decode(body, type=dict[str, Raw])
    )
    always: frozenset[str] = frozenset()  # types that are respelled even if they can be read
    unused: Callable[[str, bytes], Iterable[str]] = lambda name, body: ()  # documented places
    bare_type: Callable[[bytes], str | None] = lambda body: None  # of one that names no type
    type_of: Callable[[str, bytes | Raw], str | None] = (  # method or type, text -> type
        lambda called, body: METHODS.get(called.lower())
    )


DOCUMENTED = Spelling()


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


def read_request(
    body: bytes, taken: frozenset[str], *, thorough: bool = True, spelling: Spelling = DOCUMENTED
) -> Incoming:
    """Read a request in any wrapping; a refused one still says whom to answer and how."""
    envelope = Envelope()
    misfits: list[str] = []
    try:
        jsonrpc.read_request(body, envelope, thorough=thorough, assumed=spelling.bare_type(body))
        flat = b'"message"' not in body
        message = _read_message(envelope, taken, spelling, misfits, flat=flat)
        if message.protocol != PROTOCOL:
            _check_protocol(message.protocol)
        if message.timestamp:
            timestamps.parse(message.timestamp)
    except LeagueError as error:
        return Incoming(envelope, None, error)
    except jsonrpc.UNREADABLE as error:
        return Incoming(envelope, None, json_text.explain(body, error))
    if type(message) in _EXPECTED:
        unfit = {each.partition(" ")[0] for each in misfits}
        misfits += spelling.unused(WIRE_NAME[type(message)], body)
        for path, at in _EXPECTED[type(message)]:
            is_there = at in body if isinstance(at, bytes) else at(message)
            if not is_there and path not in unfit:
                misfits.append(path)
    return Incoming(envelope, message, None, tuple(misfits))


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
    text = str(error)
    found = _PATH.search(text)
    path = found.group(1) if found else ""
    text = _PATH.sub("", text)[:_COMPLAINT_MAX]  # The decoder quotes an unknown type in full.
    absent = _NAMED.search(text)
    if absent:
        path = f"{path}.{absent.group(1)}".strip(".")
        return MissingField(f"{name}: missing field '{path}'", field=path, kind="missing")
    return WrongType(f"{name}.{path}: {text[:1].lower()}{text[1:]}", field=path, kind="type")


Misfits = dict[str, msgspec.ValidationError]  # path -> what is wrong there


def fitted(
    name: str,
    fields: dict[str, Any],
    mend: Callable[[dict[str, Any], MissingField], bool],
    at_most: int = MISFITS_MAX,
) -> tuple[Message, Misfits]:
    """The message after `mend` changed what does not fit, in place; or raises ValidationError."""
    misfits: Misfits = {}
    for _ in range(at_most):
        try:
            return DECODERS[name].decode(encode(fields)), misfits
        except msgspec.ValidationError as error:
            found = complaint(name, error)
            # A field that was left out and is needed is missing now; it did not fit before.
            first = misfits.setdefault(found.context["field"], error)
            if not mend(fields, found):
                break
    raise first from None


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


def _leave_out(fields: dict[str, Any], found: MissingField) -> bool:
    """Leave out the field that does not fit; False if it is needed, or decides something."""
    steps = steps_to(found)
    while steps and isinstance(steps[-1], int):
        steps.pop()
    if found.context["kind"] == "missing" or not DECIDING.isdisjoint(steps):
        return False
    place: Any = fields
    for step in steps[:-1]:
        place = place[step]
    del place[steps[-1]]
    return True


def _read_message(
    envelope: Envelope, taken: frozenset[str], spelling: Spelling, misfits: list[str], *, flat: bool
) -> Message:
    name = envelope.message_type or _CANONICAL.get(envelope.method)
    # If this fails, the message may be nested, or of another type than its method says.
    if flat and name in taken and (message := _decode_as_it_is(envelope, name, spelling)):
        return message
    if envelope.message_type is None:
        jsonrpc.look_inside(envelope)
    called = envelope.message_type or envelope.method
    name = spelling.type_of(called, envelope.body)
    if name not in taken:
        methods = (m for m, kind in _CANONICAL.items() if kind in taken and "register" in m)
        known = [*sorted(taken), *sorted(methods)]
        raise UnknownMethod(f"{called[:300]!r} is no message that this agent takes", known=known)
    envelope.message_type = name
    envelope.body = _cleaned(name, envelope.body)
    if message := _decode_as_it_is(envelope, name, spelling):
        return message
    try:
        fields = spelling.respell(name, envelope.body)
        if name == "LEAGUE_QUERY" and envelope.method.lower() == "get_standings":
            fields.setdefault("query_type", "GET_STANDINGS")
        text = encode({**fields, "message_type": name})
        return _decode(name, text) or _read_what_fits(name, text, misfits)
    except msgspec.ValidationError as error:
        raise complaint(name, error) from None


def _cleaned(name: str, text: bytes | Raw) -> bytes | Raw:
    if b"null" not in bytes(text):
        return text
    try:
        return encode(without_nulls(name, msgspec.json.decode(text)))
    except msgspec.DecodeError:  # A number in it that no parser can hold.
        return text


def _read_what_fits(name: str, text: bytes, misfits: list[str]) -> Message:
    try:
        fields = msgspec.json.decode(_cleaned(name, text))
    except msgspec.DecodeError:
        return DECODERS[name].decode(text)
    message, found = fitted(name, fields, _leave_out)
    reasons = {path: _PATH.sub("", str(error))[:_COMPLAINT_MAX] for path, error in found.items()}
    misfits += (f"{path} ({reason})" for path, reason in reasons.items())
    return message


def _decode_as_it_is(envelope: Envelope, name: str, spelling: Spelling) -> Message | None:
    return None if name in spelling.always else _decode(name, envelope.body)


def _decode(name: str, text: bytes | Raw) -> Message | None:
    try:
        return DECODERS[name].decode(text)
    except msgspec.ValidationError:
        return None


def _about(envelope: Envelope) -> dict[str, Any]:
    """The ids and the token of a refused message, as far as they can be read."""
    try:
        text = jsonrpc.params_of(envelope.whole) if envelope.whole else envelope.body
        return msgspec.structs.asdict(_refused.decode(text))
    except jsonrpc.UNREADABLE:
        return {}


def _check_protocol(given: str) -> None:
    if not given.startswith(PROTOCOL + "."):
        raise VersionMismatch(
            f"protocol is {given!r}; this league speaks {PROTOCOL}", field="protocol"
        )


class _Refused(Struct):
    """The fields of a refused request that its answer is about, whatever their types."""

    conversation_id: Any = None
    match_id: Any = None
    player_id: Any = None
    sender: Any = None
    auth_token: Any = None


_refused = msgspec.json.Decoder(_Refused)
