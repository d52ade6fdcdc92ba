"""What a peer itself says of a message that it did not take, for the person who wrote the peer."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from agentleague.dialects.table import in_words
from agentleague.dialects.tools import field_called, message_like
from agentleague.errors import LeagueError
from agentleague.protocol import jsonrpc
from agentleague.protocol.messages import METHODS, WIRE_NAME, Message
from agentleague.protocol.printable import log_text

SAID_MAX = 200  # characters
NOTE_MAX = 500  # characters of a note in a report
PARTS_MAX = 3  # of a list of complaints
DEPTH_MAX = 5
FIELDS_MAX = 3  # that are added because a complaint names them
FORMS_SHOWN = 6
_WORDS = (
    *("error", "detail", "details", "errors", "error_message", "message", "error_description"),
    *("reason", "data", "result", "content", "text"),
)
_SAID, _ASKED_AS = "said ", " [asked as "  # in a note of a transcript
_NAME = re.compile(r"[A-Za-z]\w{2,31}\b", re.ASCII)
_MISSING = re.compile(r"missing|required|KeyError|expected", re.IGNORECASE)
_PLACES = ("body", "params")  # in which a field is, before the field itself


def in_its_words(status: int, body: bytes) -> str:
    """HTTP status and complaint on one line: `HTTP 422: game_invitation: Field required`.

    It is shortened, can be printed, and holds none of the tokens that the peer was sent.
    """
    try:
        said = _complaint(msgspec.json.decode(body), DEPTH_MAX)
    except jsonrpc.UNREADABLE:
        said = ""
    lines = body[: SAID_MAX * 4].decode(errors="replace").split("\n")
    said = said or next((line.strip() for line in lines if line.strip()), "")
    http = f"HTTP {status}" if status >= 300 else ""
    return log_text(": ".join(filter(None, (http, said))), SAID_MAX)


def variants_in(said: str, message: Message, had: Sequence[str]) -> Iterator[str]:
    """Variants of a dialect that a complaint asks for: fields that it names, or another method.

    `had` are fields that were added before.
    """
    kind, fields = WIRE_NAME[type(message)], msgspec.to_builtins(message)
    names = [each for each in dict.fromkeys(_NAME.findall(said)) if each not in fields]
    wanted = [each for each in names if field_called(each, kind, fields) is not None]
    if wanted and _MISSING.search(said):
        yield "+" + "".join(f".{each}" for each in (*had, *wanted)[:FIELDS_MAX])
    others = (each for each in names if message_like(each, [kind]) and each.lower() not in METHODS)
    yield from (f"+{each}" for each in list(others)[:FIELDS_MAX])


def note_of(error: LeagueError) -> str:
    """What a transcript notes of a failed call: what was said, and the dialects that were tried."""
    said, forms = error.context.get("said"), error.context.get("forms")
    note = f"{_SAID}{said}" + (f"{_ASKED_AS}{forms}]" if forms else "") if said else ""
    return note[:NOTE_MAX]


def read_note(note: str) -> tuple[str, list[str]]:
    """What such a note quotes, and the dialects; both empty if it is another."""
    if not note.startswith(_SAID):
        return "", []
    before, found, forms = note.removeprefix(_SAID).rpartition(_ASKED_AS)
    return (before, forms.rstrip("]").split(", ")) if found else (forms, [])


def in_vain(said: str, forms: Sequence[str]) -> str:
    """What to say of an agent that understood no dialect; follows its name."""
    asked = "; ".join(in_words(each) for each in forms[:FORMS_SHOWN])
    more = len(forms) - FORMS_SHOWN
    rest = f"; and {more} more" if more > 0 else ""
    return (
        f"understands no form in which it was asked ({asked}{rest}). It said: {log_text(said)}. "
        "From now on it is asked once each time, until it understands"
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
