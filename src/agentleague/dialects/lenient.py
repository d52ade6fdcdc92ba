"""Reads requests of foreign managers and referees leniently, and answers under several names.

What does not fit in a message is corrected or left out. No result of a league of ours depends on
what was corrected here, since the manager is a foreign one.
"""

import re
from typing import Any

import msgspec

from agentleague.dialects import answers, requests, starting
from agentleague.dialects.tools import message_like
from agentleague.errors import (
    InvalidTimestamp,
    LeagueError,
    MissingField,
    UnknownMethod,
    VersionMismatch,
)
from agentleague.protocol import codec, jsonrpc, timestamps
from agentleague.protocol.codec import Incoming, encode
from agentleague.protocol.jsonrpc import Envelope, Form
from agentleague.protocol.messages import METHODS, PROTOCOL, GameJoinAck, Message

CORRECTED = (MissingField, InvalidTimestamp, VersionMismatch, UnknownMethod)
MISFITS_MAX = 100  # in one message
_RPC = frozenset({"jsonrpc", "method", "id", "params"})
_STATUSES = ("WIN", "DRAW", "TECHNICAL_LOSS")
_NOBODY = ("", "draw", "tie", "none", "null")
_DIGITS = re.compile(r"-?\d{1,9}")
_object = msgspec.json.Decoder(dict[str, Any])
_Fields = dict[str, Any]


def read_request(
    body: bytes, taken: frozenset[str], *, thorough: bool = True, path: str = "/mcp"
) -> Incoming:
    """Read a request; a field that does not fit is corrected or left out."""
    incoming = requests.read_request(body, taken, thorough=thorough, path=path)
    envelope = incoming.envelope
    is_fast = bool(envelope.whole)  # Then its params hold the message.
    is_empty = not is_fast and envelope.method and bytes(codec.text_of(envelope)) == b"{}"
    if is_empty and _is_beside_method(body):
        envelope.form, envelope.body = Form.HYBRID, body
    elif not isinstance(incoming.error, CORRECTED) and not incoming.missing:
        return incoming
    called = envelope.message_type or envelope.method
    name = METHODS.get(called.lower()) or message_like(called, taken)
    message = _corrected(name, envelope) if name in taken else None
    return Incoming(envelope, message) if message else incoming


def write_answer(envelope: Envelope, message: Message) -> bytes:
    """An answer in the form of its request, with its content under several names."""
    body = encode({**_synonyms(message), **_object.decode(encode(message))})
    if envelope.form is not Form.HYBRID:
        return jsonrpc.write_result(envelope, body)
    wrapped = jsonrpc.write_result(Envelope(id=envelope.id), body)
    return encode({**_object.decode(body), **_object.decode(wrapped)}) if wrapped else b""


def _is_beside_method(body: bytes) -> bool:
    """Whether the message is beside `method` instead of in `params`."""
    try:
        return bool(_object.decode(body).keys() - _RPC)
    except jsonrpc.UNREADABLE:  # In a field that was not read.
        return False


def _synonyms(message: Message) -> _Fields:
    if isinstance(message, GameJoinAck):
        return {"accepted": message.accept, "status": "ACK" if message.accept else "DECLINED"}
    move = getattr(message, "parity_choice", getattr(message, "move", None))
    return {} if move is None else {"choice": move}


def _corrected(name: str, envelope: Envelope) -> Message | None:
    """The message without what does not fit; None if a required field is missing."""
    text = codec.text_of(envelope)
    try:
        fields = _object.decode(text)
    except jsonrpc.UNREADABLE:
        return None
    try:
        if name == starting.START:
            fields = starting.respell_start(fields)
        elif name in answers.PUSHED:
            fields |= answers.read_pushed(name, text)
    except MissingField:
        return None
    fields |= {"message_type": name, "protocol": PROTOCOL}
    fields["timestamp"] = _time(fields.get("timestamp"))
    if name == "GAME_OVER":
        fields["game_result"] = _result(fields)
    return _fitted(name, fields)


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
    except LeagueError:
        return ""
    return str(value)


def _result(fields: _Fields) -> _Fields:
    """How a match ended, wherever that is and whatever the winner's field is called."""
    held = next((fields[name] for name in ("game_result", "result") if name in fields), fields)
    result = dict(held) if isinstance(held, dict) else {}
    names = ("winner_player_id", "winner", "winner_id")
    winner = next((result[name] for name in names if isinstance(result.get(name), str)), "")
    winner = None if winner.lower() in _NOBODY else winner
    status = str(result.get("status")).upper()
    if status not in _STATUSES:
        status = "WIN" if winner else "DRAW"
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
