"""Reads requests of foreign managers and referees leniently, and answers under several names.

What does not fit in a message is corrected or left out. A player of ours always reads so, a referee
at a foreign manager: no result of a league of ours depends on what was corrected here.
"""

import re
from typing import Any

import msgspec

from agentleague.dialects import answers, requests, starting
from agentleague.dialects.fields import EXTENDED, PUSHED, extended
from agentleague.dialects.results import find_result
from agentleague.dialects.tools import message_like
from agentleague.errors import InvalidTimestamp, MissingField, UnknownMethod, VersionMismatch
from agentleague.protocol import codec, jsonrpc, timestamps
from agentleague.protocol.codec import Incoming, encode
from agentleague.protocol.fast_path import lacks_of
from agentleague.protocol.jsonrpc import Envelope, Form
from agentleague.protocol.messages import MESSAGES, METHODS, PROTOCOL, GameMessage, Message, tag_of
from agentleague.protocol.tokens import GUEST_TOKEN

CORRECTED = (MissingField, InvalidTimestamp, VersionMismatch, UnknownMethod)
MISFITS_MAX = 100  # in one message
_RPC = frozenset({"jsonrpc", "method", "id", "params"})
_NOBODY = ("", "draw", "tie", "none", "null")
# Message type -> fields that only it has, where nothing names its type.
_CONTENT = {
    "GAME_OVER": {"game_result", "winner_player_id", "winner", "winner_id"},
    "GAME_ERROR": {"error_code"},
    "CHOOSE_PARITY_CALL": {"deadline", "context", "parity_context"},
    "GAME_INVITATION": {"game_invitation", "role_in_match", "opponent_id"},
}
_SIGNED = tuple(MESSAGES[name].cls for name in PUSHED)
_IN_CONTEXT = ("opponent_id", "round_id", "your_standings")
_DIGITS = re.compile(r"-?\d{1,9}")
_object = msgspec.json.Decoder(dict[str, Any])
_Fields = dict[str, Any]


def read_request(
    body: bytes, taken: frozenset[str], *, thorough: bool = True, path: str = "/mcp"
) -> Incoming:
    """Read a request; a field that does not fit is corrected or left out."""
    incoming = requests.read_request(body, taken, thorough=thorough, path=path)
    envelope = incoming.envelope
    is_empty = envelope.method and bytes(envelope.body) == b"{}"
    if is_empty and _is_beside_method(body):
        envelope.form, envelope.body = Form.HYBRID, body
    elif not (
        isinstance(incoming.error, CORRECTED) or incoming.missing or _lacks(incoming.message)
    ):
        return incoming
    called = envelope.message_type or envelope.method
    name = METHODS.get(called.lower()) or message_like(called, taken) or _name_by_content(envelope)
    message = _corrected(name, envelope) if name in taken else None
    return Incoming(envelope, message) if message else incoming


def write_reply(envelope: Envelope, message: Message) -> bytes:
    """An answer in the form of its request; to a referee without a token under all names."""
    if isinstance(message, _SIGNED) and str(message.auth_token).startswith(GUEST_TOKEN):
        return write_answer(envelope, message)
    return codec.write_answer(envelope, message)


def write_answer(envelope: Envelope, message: Message) -> bytes:
    """An answer under several names; a join or a move beside `result` as well as in it."""
    body = extended(tag_of(type(message)), encode(message))
    has_both = isinstance(message, _SIGNED) and envelope.form not in (Form.BARE, Form.TOOL)
    if envelope.form is not Form.HYBRID and not has_both:
        return jsonrpc.write_result(envelope, body)
    wrapped = jsonrpc.write_result(Envelope(id=envelope.id), body)
    return encode({**_object.decode(body), **_object.decode(wrapped)}) if wrapped else b""


def _lacks(message: Message | None) -> bool:
    """Whether a message of a match lacks what may stand elsewhere in it."""
    lacks = lacks_of(type(message)) if isinstance(message, GameMessage) else None
    return bool(lacks and lacks(message, b""))


def _name_by_content(envelope: Envelope) -> str:
    """The type of a message that nothing around it names."""
    try:
        fields = _object.decode(envelope.body)
    except jsonrpc.UNREADABLE:
        return ""
    named = METHODS.get(str(fields.get("type")).lower())
    found = (name for name, own in _CONTENT.items() if own & fields.keys())
    return named or next(found, "")


def _is_beside_method(body: bytes) -> bool:
    try:
        return bool(_object.decode(body).keys() - _RPC)
    except jsonrpc.UNREADABLE:  # In a field that was not read.
        return False


def _corrected(name: str, envelope: Envelope) -> Message | None:
    """The message without what does not fit; None if a required field is missing."""
    text = envelope.body
    try:
        fields = _object.decode(text)
    except jsonrpc.UNREADABLE:
        return None
    try:
        if name == starting.START:
            fields = starting.respell_start(fields)
        elif name in PUSHED:
            fields |= answers.read_pushed(name, text)
        elif issubclass(MESSAGES[name].cls, GameMessage):
            fields = _gathered(name, fields)
    except MissingField:
        return None
    fields |= {"message_type": name, "protocol": PROTOCOL}
    fields["timestamp"] = _time(fields.get("timestamp"))
    if name == "GAME_OVER":
        fields["game_result"] = _result(fields)
    return _fitted(name, fields)


def _gathered(name: str, given: _Fields) -> _Fields:
    """A message of a match, with the fields that stand only in an object in it."""
    inner = [value for value in given.values() if isinstance(value, dict)]
    known = (*MESSAGES[name].cls.__struct_fields__, "game_id")
    fields = {key: each[key] for each in inner for key in known if each.get(key) is not None}
    fields |= {key: value for key, value in given.items() if value is not None}
    fields["match_id"] = fields.get("match_id") or fields.get("game_id") or ""
    if name in EXTENDED:
        places = (fields, *inner)
        fields["context"] = {key: at[key] for at in places for key in _IN_CONTEXT if key in at}
    return fields


def _fitted(name: str, fields: _Fields) -> Message | None:
    try:
        message, _ = codec.fitted(name, fields, _correct, MISFITS_MAX)
    except msgspec.ValidationError:
        return None
    has_matches = isinstance(message, starting.WITH_MATCHES)
    return starting.with_players(message, encode(fields)) if has_matches else message


def _time(value: Any) -> str:
    try:
        timestamps.parse(str(value))
    except InvalidTimestamp:
        return ""
    return str(value)


def _result(fields: _Fields) -> _Fields:
    """How a match ended, wherever that is and whatever the winner's field is called."""
    held = next((fields[name] for name in ("game_result", "result") if name in fields), fields)
    result = dict(held) if isinstance(held, dict) else {}
    found = find_result(fields) or {"winner": None, "details": {}}
    winner = found["winner"] if str(found["winner"]).lower() not in _NOBODY else None
    status = found["details"].get("status") or ("WIN" if winner else "DRAW")
    return {**result, "winner_player_id": winner, "status": status}


def _correct(fields: _Fields, found: MissingField) -> bool:
    """Correct what does not fit, or leave it out; False if it is the whole message."""
    steps = codec.steps_to(found)
    if found.context["kind"] == "missing":
        steps.pop()
    if not steps:
        return False
    place: Any = fields
    for step in steps[:-1]:
        place = place[step]
    last, value = steps[-1], place[steps[-1]]
    digits = _DIGITS.search(value) if isinstance(value, str) else None
    if ": expected `int" in str(found) and digits:
        place[last] = int(digits[0])
    elif ": expected `str" in str(found) and isinstance(value, int):
        place[last] = str(value)
    else:
        del place[last]
    return True
