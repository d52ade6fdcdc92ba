"""Strangers' words made harmless to print: no control characters, never too long."""

import json
from typing import Any

TEXT_MAX = 200
MOVE_MAX = 60


def printable(text: str, at_most: int = TEXT_MAX) -> str:
    """The text on one line, with a question mark for what a terminal might obey."""
    shown = "".join(char if char.isprintable() else "?" for char in text)
    return shown if len(shown) <= at_most else f"{shown[: at_most - 3]}..."


def as_json(move: Any) -> str:
    """A move as it came, in ASCII."""
    return printable(json.dumps(move), MOVE_MAX)
