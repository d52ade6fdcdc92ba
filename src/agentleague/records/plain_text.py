"""Strangers' words on one line, never too long, and as JSON: harmless to print."""

import json
from typing import Any

from agentleague.protocol.printable import harmless

TEXT_MAX = 200
MOVE_MAX = 60


def printable(text: str, at_most: int = TEXT_MAX) -> str:
    """The text on one line, with a question mark for what a terminal might obey."""
    shown = harmless(text.replace("\n", "?"))
    return shown if len(shown) <= at_most else f"{shown[: at_most - 3]}..."


def as_json(move: Any) -> str:
    """A move as it came, in ASCII."""
    return printable(json.dumps(move), MOVE_MAX)


def json_text(value: Any, indent: int | None = None) -> str:
    """A value as JSON: letters of all languages as they are, what is not harmless escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)
