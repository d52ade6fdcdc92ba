"""What a peer itself says of a message that it did not take, for the person who wrote the peer."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from agentleague.dialects.tools import field_called, message_like
from agentleague.errors import LeagueError
from agentleague.protocol import jsonrpc
from agentleague.protocol.messages import METHODS, WIRE_NAME, Message
from agentleague.protocol.printable import log_text

SAID_MAX = 200  # characters
PAGE_BYTES = 8192  # of a body that are looked through for its first line
NOTE_MAX = 500  # characters of a note in a report
PARTS_MAX = 3  # of a list of complaints
DEPTH_MAX = 5
FIELDS_MAX = 3  # that are added because a complaint names them
_WORDS = (
    *("error", "detail", "details", "errors", "error_message", "message", "error_description"),
    *("reason", "data", "result", "content", "text"),
)
_SAID, _ASKED_AS = "said ", " [asked as "  # in a note of a transcript
CAME = "came "  # there, before our own words for what came
_BYTE = re.compile(r"\(byte (\d+)\)")
_STREAMS = (b"data:", b"event:", b"id:", b":")  # of events, which hold the JSON
# No part of it looks further than the next `<` or, once, to the end: a page may be hostile.
_PAGE = re.compile(r"<(script|style)\b.*?(?:</\1>|\Z)|<[^<>]*>", re.DOTALL | re.IGNORECASE)
_NAME = re.compile(r"[A-Za-z]\w{2,31}\b", re.ASCII)
_MISSING = re.compile(r"missing|required|KeyError|expected", re.IGNORECASE)
_PLACES = ("body", "params")  # in which a field is, before the field itself


def in_its_words(status: int, body: bytes) -> str:
    """HTTP status and complaint on one line, without tokens: `HTTP 422: match_id: missing`."""
    if not body.strip():
        return f"HTTP {status} with an empty body"
    said = problem = ""
    try:
        said = _complaint(msgspec.json.decode(body), DEPTH_MAX)
    except jsonrpc.UNREADABLE as error:
        at = _BYTE.search(str(error))
        if not body.startswith(_STREAMS):
            cut = f"JSON that breaks off after {len(body)} bytes"
            problem = f"text that is not JSON, from byte {at[1]} on" if at else cut
    said = said or _first_line(body[:PAGE_BYTES].decode(errors="replace").strip())
    http = f"HTTP {status}" if status >= 300 else problem
    return log_text(": ".join(filter(None, (http, said))), SAID_MAX)


def _first_line(text: str) -> str:
    """Of a page the first two lines that are seen: the first is its title."""
    lines = (_PAGE.sub("\n", text) if text.startswith("<") else text).strip().split("\n")
    seen = [line.strip() for line in lines if line.strip()][: 2 if text.startswith("<") else 1]
    return ": ".join(line for n, line in enumerate(seen) if not n or line not in seen[0])


def variants_in(said: str, message: Message, had: Sequence[str]) -> Iterator[str]:
    """Variants that a complaint asks for: fields beside those that it `had`, or another method."""
    kind, fields = WIRE_NAME[type(message)], msgspec.to_builtins(message)
    names = [each for each in dict.fromkeys(_NAME.findall(said)) if each not in fields]
    wanted = [each for each in names if field_called(each, kind, fields) is not None]
    if wanted and _MISSING.search(said):
        yield "+" + "".join(f".{each}" for each in (*had, *wanted)[:FIELDS_MAX])
    others = (each for each in names if message_like(each, [kind]) and each.lower() not in METHODS)
    yield from (f"+{each}" for each in list(others)[:FIELDS_MAX])


def note_of(error: LeagueError) -> str:
    """What a transcript notes of a failed call: what was said, or came, and the dialects tried."""
    said, forms = error.context.get("said"), error.context.get("forms")
    asked_as = f"{_ASKED_AS}{forms}]" if forms else ""
    return (f"{_SAID}{said}{asked_as}" if said else CAME + log_text(str(error)))[:NOTE_MAX]


def read_note(note: str) -> tuple[str, list[str]]:
    """What such a note quotes, and the dialects; both empty if it is another."""
    if not note.startswith(_SAID):
        return "", []
    before, found, forms = note.removeprefix(_SAID).rpartition(_ASKED_AS)
    return (before, forms.rstrip("]").split(", ")) if found else (forms, [])


def in_vain(said: str) -> str:
    """What to say of an agent that understood no dialect; follows its name."""
    return (
        f"does not understand what it is asked. It said: {log_text(said)}. From now on it is asked "
        "once each time, until it understands"
    )


def _complaint(value: Any, depth: int) -> str:
    """The complaint in a JSON value; empty if there is none."""
    if isinstance(value, str) or not depth:
        return str(value)
    if isinstance(value, list):
        return "; ".join(filter(None, (_complaint(each, depth - 1) for each in value[:PARTS_MAX])))
    if not isinstance(value, dict):
        return ""
    if "msg" in value:  # Of a field, as pydantic has it.
        loc = value.get("loc")
        path = [str(each) for each in loc if each not in _PLACES] if isinstance(loc, list) else []
        return ": ".join([*([".".join(path)] if path else []), str(value["msg"])])
    code = value.get("code")
    number = f"error {code}" if isinstance(code, int) and "message" in value else ""
    said = [_complaint(value[name], depth - 1) for name in _WORDS if value.get(name)]
    return ": ".join(filter(None, dict.fromkeys((number, *said[: 2 if number else 1]))))
