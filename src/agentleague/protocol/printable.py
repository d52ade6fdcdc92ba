"""Strangers' words made harmless to print: nothing that a terminal obeys, nothing that hides.

Strangers' words on one line, never too long, and as JSON: harmless to print.
"""

import json
import re
import unicodedata
from typing import Any

MARKS_MAX = 3  # accents on one letter; more would be written over the lines around
# Printable by the book, but nobody sees them: fillers, and the blank of Braille.
UNSEEN = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
TEXT_MAX = 200
LOOKED_AT_MAX = 1_000
SECRET_MIN = 40  # digits of what has no name; what has one has a "_" too
_SECRET = re.compile(
    rf"(?<![a-z])(?:m?tok|ses|adm)_[0-9a-z_-]+|[0-9a-f]{{{SECRET_MIN},}}", re.IGNORECASE | re.ASCII
)


def printable(text: str) -> str:
    """The text with a question mark for what cannot be seen, or what a terminal might obey.

    Line ends are kept; whoever wants one line takes them out first.
    """
    return text if text.isascii() and text.isprintable() else "".join(_visible(text))


def _visible(text: str) -> list[str]:
    shown: list[str] = []
    marks = 0
    for char in text:
        is_mark = unicodedata.category(char) in ("Mn", "Me")
        marks = marks + 1 if is_mark else 0
        if _selects(char) or marks > MARKS_MAX:
            continue
        is_seen = (char.isprintable() and char not in UNSEEN) or char == "\n"
        shown.append(char if is_seen else "?")
    return shown


def _selects(char: str) -> bool:
    """Whether it only asks for another look of the letter before: terminals differ in its width."""
    return (
        char == "\u034f"
        or "\u180b" <= char <= "\u180f"
        or "\ufe00" <= char <= "\ufe0f"
        or "\U000e0100" <= char <= "\U000e01ef"
    )


def clean(text: str) -> str:
    """Harmless to print, on one line, never too long, and without what looks like a token."""
    if "_" in text or len(text) >= SECRET_MIN:
        text = _SECRET.sub("***", text[:LOOKED_AT_MAX])[:TEXT_MAX]
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


LINE_MAX = 200
MOVE_MAX = 60


def one_line(text: str, at_most: int = LINE_MAX) -> str:
    """The text on one line, with a question mark for what a terminal might obey."""
    shown = printable(text.replace("\n", "?"))
    return shown if len(shown) <= at_most else f"{shown[: at_most - 3]}..."


def as_json(move: Any) -> str:
    """A move as it came, in ASCII."""
    return one_line(json.dumps(move), MOVE_MAX)


def json_text(value: Any, indent: int | None = None) -> str:
    """A value as JSON: letters of all languages as they are, what is not harmless escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
