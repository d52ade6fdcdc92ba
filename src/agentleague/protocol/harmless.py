"""Strangers' words made harmless to print: nothing that a terminal obeys, nothing that hides."""

import unicodedata

MARKS_MAX = 3  # accents on one letter; more would be written over the lines around
# Printable by the book, but nobody sees them: fillers, and the blank of Braille.
UNSEEN = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")


def harmless(text: str) -> str:
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
