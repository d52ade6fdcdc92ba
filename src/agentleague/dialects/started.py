"""What a referee of another make answers when it is told to run a match.

It may say that it has begun, or nothing of the kind; or it plays first, and its answer is the
result. Only the content tells, and some say "ok" to everything: what such an answer is worth shows
when it is compared with the answer to nonsense.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import msgspec

from agentleague.errors import (
    LeagueError,
    NoConnection,
    PeerRefused,
    RateLimited,
    UnknownMethod,
    UnreadableJson,
)
from agentleague.protocol import json_text, jsonrpc, reports
from agentleague.protocol.messages import (
    MatchResultReport,
    RoundAnnouncement,
    RoundAnnouncementAck,
)

CLEAR = RoundAnnouncementAck().status  # what is handed on where the answer names the match
SAID_MAX = 64

_UNKNOWN = re.compile(
    r"unknown|unsupported|unhandled|unrecogni[sz]ed|ignored|invalid|not.?(found|implemented|known)",
    re.I,
)
_WRONG = ("error", "failed", "rejected", "fail")
_VARYING = ("timestamp", "conversation_id", "id", "match_id", "time", "request_id")
_object = msgspec.json.Decoder(dict[str, Any])
_report = msgspec.json.Decoder(MatchResultReport)
_encode = msgspec.json.Encoder(order="sorted").encode

Began = MatchResultReport | RoundAnnouncementAck


def read_started(
    request: RoundAnnouncement, status: int, body: bytes, retry_after: float | None = None
) -> Began:
    """The result of the match, or an acknowledgement; one that is not CLEAR has what was said.

    Raises:
        RateLimited, PeerRefused, NoConnection: it was not taken, or not understood.
    """
    if status == 429:
        raise RateLimited("HTTP 429: too many requests", retry_after=retry_after)
    try:
        text = bytes(jsonrpc.read_response(body if body.strip() else b"{}"))
    except UnreadableJson:
        text = body
    if status >= 400:
        raise _refused_by_status(status, text)
    match_id = request.matches[0].match_id if request.matches else ""
    for place in (text, *jsonrpc.look_deeper(text)):
        with suppress(UnreadableJson, *jsonrpc.UNREADABLE):
            json_text.check_depth(place)  # What it says may go into the journal.
            found = _read_here(_object.decode(place), match_id)
            if found:
                return found
    return RoundAnnouncementAck(_said(text))


def _refused_by_status(status: int, text: bytes) -> LeagueError:
    said = ""
    with suppress(*jsonrpc.UNREADABLE):
        fields = _object.decode(text)
        said = str(fields.get("detail", fields.get("message", fields.get("error", ""))))
    problem = f"HTTP {status}: {said}"[:200] if said else f"HTTP {status}"
    if status in (502, 503, 504):
        return NoConnection(problem, status=status)
    return PeerRefused(problem, number=None, code=None, data={}, status=status)


def _read_here(fields: Mapping[str, Any], match_id: str) -> Began | None:
    """What one object says; None where that is nothing certain."""
    _check_no_error(fields)
    result = reports.find(fields) if reports.is_over(fields) else None
    if result is not None:
        return _as_report(match_id, result)
    is_named = bool(match_id) and fields.get("match_id") == match_id
    return RoundAnnouncementAck() if is_named else None


def _check_no_error(fields: Mapping[str, Any]) -> None:
    error, status = fields.get("error"), str(fields.get("status", "")).lower()
    if isinstance(error, dict) and error:
        raise jsonrpc.refusal(error)
    is_unsaid = fields.get("success") is False or fields.get("accepted") is False
    is_error = error or status in _WRONG or fields.get("message_type") == "LEAGUE_ERROR"
    said = " ".join(str(fields[name]) for name in ("error", "status", "message") if name in fields)
    if _UNKNOWN.search(status) or (is_error and _UNKNOWN.search(said)):
        raise PeerRefused(said[:200], number=UnknownMethod.number, code=None, data={})
    if is_error or is_unsaid:
        raise jsonrpc.refusal({"message": said or "it does not want to", "data": dict(fields)})


def _as_report(match_id: str, result: Mapping[str, Any]) -> MatchResultReport | None:
    """A result as if it had been reported; None where its winner cannot be one."""
    report = {"message_type": "MATCH_RESULT_REPORT", "match_id": match_id, "result": result}
    with suppress(msgspec.ValidationError):
        return _report.decode(_encode(report))
    return None


def _said(text: bytes) -> str:
    """What an answer says, without what differs from one to the next."""
    try:
        fields = _object.decode(text)
    except jsonrpc.UNREADABLE:
        return "text " + text[:SAID_MAX].decode(errors="replace")
    fields = {name: value for name, value in fields.items() if name not in _VARYING}
    return _encode(fields)[:SAID_MAX].decode(errors="replace")
