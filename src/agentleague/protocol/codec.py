"""Messages to bytes and back: requests are judged strictly, answers by their content."""

import re
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET, Raw, Struct, UnsetType

from agentleague.errors import (
    LeagueError,
    MissingField,
    NoConnection,
    UnknownMethod,
    UnreadableJson,
    VersionMismatch,
    WrongType,
)
from agentleague.protocol import json_text, jsonrpc, timestamps
from agentleague.protocol.faults import fault, told
from agentleague.protocol.jsonrpc import Letter
from agentleague.protocol.messages import (
    MESSAGES,
    METHODS,
    PROTOCOL,
    WIRE_NAME,
    ChooseParityResponse,
    GameJoinAck,
    GameMoveResponse,
    Message,
    Participant,
)

encode = msgspec.json.Encoder().encode

_DECODERS = {name: msgspec.json.Decoder(kind.cls) for name, kind in MESSAGES.items()}
_CALLED = {kind.cls: kind.method for kind in MESSAGES.values() if kind.method}
_CANONICAL = {kind.method: name for name, kind in MESSAGES.items() if kind.method}
_PATH = re.compile(r" - at `\$\.?(.*)`$")
_NAMED = re.compile(r"required field `(\w+)`")

# Documented fields that a peer may leave out; what was missing is named in the answer.
EXPECTED: dict[str, tuple[str, ...]] = {
    "REFEREE_REGISTER_REQUEST": ("referee_meta.version", "referee_meta.game_types"),
    "LEAGUE_REGISTER_REQUEST": ("player_meta.version", "player_meta.game_types"),
    "MATCH_RESULT_REPORT": ("league_id", "round_id", "game_type", "result.score"),
    "LEAGUE_QUERY": ("league_id",),
}
_ENVELOPE = ("sender", "timestamp", "conversation_id")

RECEIVERS: dict[str, frozenset[Participant]] = {
    "manager": frozenset({"manager"}),
    "referee": frozenset({"referee", "everyone"}),
    "player": frozenset({"player", "players", "both players", "everyone"}),
}


class Incoming(NamedTuple):
    """A request as read: a message, or why it is none."""

    letter: Letter
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


def read_request(body: bytes, taken: frozenset[str], *, thorough: bool = True) -> Incoming:
    """Read a request in any form; a refusal still knows whom to answer and how."""
    letter = Letter()
    try:
        jsonrpc.read_request(body, letter, thorough=thorough)
        message = _read_message(letter, taken, flat=b'"message"' not in body)
        _check_envelope(message)
    except LeagueError as error:
        return Incoming(letter, None, error)
    except jsonrpc.UNREADABLE as error:
        return Incoming(letter, None, json_text.explain(body, error))
    return Incoming(letter, message, None, _missing(message, body))


def write_request(message: Message, request_id: int) -> bytes:
    """A request in the canonical form."""
    return jsonrpc.write_request(_CALLED[type(message)] or "", encode(message), request_id)


def write_answer(letter: Letter, message: Message) -> bytes:
    """An answer in the form of its request."""
    return jsonrpc.write_result(letter, encode(message))


def write_refusal(letter: Letter, error: LeagueError, *, sender: str, timestamp: str) -> bytes:
    """A refusal in the form of its request, with the error message of the documents as data."""
    asked = letter.message_type or METHODS.get(letter.method.lower(), "")
    message = fault(error, asked, sender=sender, timestamp=timestamp, request=_about(letter))
    text = f"{message.error_name}: {message.error_message}"
    return jsonrpc.write_error(letter, error.number_for(asked), text, encode(told(message)))


def read_answer(request: Message, status: int, body: bytes) -> Message | None:
    """What a peer answered to our request; None where an acknowledgement is all we want.

    Raises:
        LeagueError: there is no usable answer, whatever the HTTP status.
    """
    expected = MESSAGES[WIRE_NAME[type(request)]].answer or ""
    if expected in _ACKNOWLEDGEMENTS:
        _check_acknowledgement(body)
        return None
    try:
        return _read_content(expected, jsonrpc.read_response(body))
    except (UnreadableJson, *jsonrpc.UNREADABLE) as error:
        raise NoConnection(f"HTTP {status}, and {error}"[:500], status=status) from None


def _check_acknowledgement(body: bytes) -> None:
    """Any answer acknowledges; a refusal is raised, for whoever cares."""
    if b'"error"' in body:
        with suppress(UnreadableJson, *jsonrpc.UNREADABLE):
            jsonrpc.read_response(body)


def _read_message(letter: Letter, taken: frozenset[str], *, flat: bool) -> Message:
    name = letter.message_type or _CANONICAL.get(letter.method)
    if flat and name in taken:
        try:
            return _DECODERS[name].decode(letter.body)
        except msgspec.ValidationError:
            pass  # Perhaps nested, or of another type than its method says: look closer.
    if letter.message_type is None:
        jsonrpc.look_inside(letter)
    name = METHODS.get((letter.message_type or letter.method).lower())
    if name not in taken:
        called = (letter.message_type or letter.method)[:300]
        raise UnknownMethod(f"{called!r} is no message that this agent takes", known=sorted(taken))
    letter.message_type = name
    try:
        return _DECODERS[name].decode(_spelt_out(letter, name))
    except msgspec.ValidationError as error:
        raise _complaint(name, error) from None


def _about(letter: Letter) -> dict[str, Any]:
    """What a refused message was about, so far as it can be read."""
    try:
        return msgspec.structs.asdict(_refused.decode(letter.body))
    except jsonrpc.UNREADABLE:
        return {}


def _spelt_out(letter: Letter, name: str) -> bytes:
    """The message with its type in the one spelling that the decoder knows."""
    fields = msgspec.json.decode(letter.body, type=dict[str, Raw])
    if name == "LEAGUE_QUERY" and letter.method.lower() == "get_standings":
        fields.setdefault("query_type", Raw(b'"GET_STANDINGS"'))
    return encode({**fields, "message_type": name})


def _check_envelope(message: Message) -> None:
    if message.protocol != PROTOCOL and not message.protocol.startswith(PROTOCOL + "."):
        raise VersionMismatch(
            f"protocol is {message.protocol!r}; this league speaks {PROTOCOL}", field="protocol"
        )
    if message.timestamp:
        timestamps.parse(message.timestamp)


def _missing(message: Message, body: bytes) -> tuple[str, ...]:
    expected = EXPECTED.get(WIRE_NAME[type(message)])
    if expected is None:
        return ()
    # These two are always there once decoded; seen anywhere in the text is near enough to sent.
    unsent = (name for name in ("protocol", "message_type") if b'"%b"' % name.encode() not in body)
    return (*unsent, *(path for path in (*_ENVELOPE, *expected) if not _at(message, path)))


def _at(value: Any, path: str) -> Any:
    for name in path.split("."):
        value = getattr(value, name)
    return value


def _complaint(name: str, error: msgspec.ValidationError) -> LeagueError:
    text = str(error)
    found = _PATH.search(text)
    path = found.group(1) if found else ""
    text = _PATH.sub("", text)
    absent = _NAMED.search(text)
    if absent:
        path = f"{path}.{absent.group(1)}".strip(".")
        return MissingField(f"{name}: missing field '{path}'", field=path, kind="missing")
    return WrongType(f"{name}.{path}: {text[:1].lower()}{text[1:]}", field=path, kind="type")


class _Refused(Struct):
    """The fields of a refused request that its answer is about, whatever their types."""

    conversation_id: Any = None
    match_id: Any = None
    player_id: Any = None
    auth_token: Any = None


_refused = msgspec.json.Decoder(_Refused)


class _Content(Struct):
    """The fields of an answer to our own call that can be its content; the rest is noted."""

    message_type: Any = UNSET
    match_id: Any = UNSET
    accept: Any = UNSET
    accepted: Any = UNSET
    status: Any = UNSET
    parity_choice: Any = UNSET
    choice: Any = UNSET
    move: Any = UNSET


_content = msgspec.json.Decoder(_Content)


def _read_content(expected: str, body: bytes | Raw) -> Message:
    read = _BY_CONTENT.get(expected)
    try:
        return read(_content.decode(body)) if read else _read_answer(expected, body)
    except msgspec.ValidationError as error:
        raise _complaint(expected, error) from None
    except MissingField as error:
        raise _error_inside(body) or error from None


def _read_join(content: _Content) -> GameJoinAck:
    accept = content.accept if content.accept is not UNSET else content.accepted
    if accept is UNSET and (content.message_type == "GAME_JOIN_ACK" or content.status == "ACK"):
        accept = True
    if accept is UNSET:
        raise _nothing("GAME_JOIN_ACK", "accept")
    if type(accept) is not bool:
        raise WrongType("GAME_JOIN_ACK.accept: expected `bool`", field="accept", kind="type")
    return GameJoinAck(match_id=_text(content.match_id), accept=accept)


def _read_parity(content: _Content) -> ChooseParityResponse:
    choice = content.parity_choice if content.parity_choice is not UNSET else content.choice
    if choice is UNSET:
        raise _nothing("CHOOSE_PARITY_RESPONSE", "parity_choice")
    return ChooseParityResponse(choice, match_id=_text(content.match_id))


def _read_move(content: _Content) -> GameMoveResponse:
    move = content.move if content.move is not UNSET else content.choice
    if move is UNSET:
        raise _nothing("GAME_MOVE_RESPONSE", "move")
    return GameMoveResponse(move, match_id=_text(content.match_id))


def _read_answer(expected: str, body: bytes | Raw) -> Message:
    """Any other answer; a part of its envelope that does not fit is left out and tried again."""
    decode = _DECODERS[expected].decode
    try:
        return decode(body)
    except msgspec.ValidationError:
        fields = msgspec.json.decode(body, type=dict[str, Raw])
    for name in ("protocol", *_ENVELOPE):
        fields.pop(name, None)
    try:
        return decode(encode(fields))
    except msgspec.ValidationError as error:
        raise _complaint(expected, error) from None


def _error_inside(body: bytes | Raw) -> LeagueError | None:
    """The peer's refusal, where it sent its error message in place of an answer."""
    try:
        fields = msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.ValidationError:
        return None
    if fields.get("message_type") not in ("LEAGUE_ERROR", "GAME_ERROR"):
        return None
    return jsonrpc.refusal({"message": fields.get("error_description", ""), "data": fields})


def _nothing(name: str, field: str) -> MissingField:
    return MissingField(f"{name}: missing field '{field}'", field=field, kind="missing")


def _text(value: Any | UnsetType) -> str:
    return value if isinstance(value, str) else ""


_BY_CONTENT: dict[str, Callable[[_Content], Message]] = {
    "GAME_JOIN_ACK": _read_join,
    "CHOOSE_PARITY_RESPONSE": _read_parity,
    "GAME_MOVE_RESPONSE": _read_move,
}
_ACKNOWLEDGEMENTS = frozenset(
    {
        "ROUND_ANNOUNCEMENT_ACK",
        "STANDINGS_UPDATE_ACK",
        "ROUND_COMPLETED_ACK",
        "LEAGUE_COMPLETED_ACK",
        "GAME_OVER_ACK",
        "GAME_ERROR_ACK",
    }
)
