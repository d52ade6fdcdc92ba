"""Text of other agents made safe to print: no terminal control, nothing invisible.

printable       any text; line ends are kept
one_line        the same on one line, shortened
one_line_json   a value as JSON in ASCII, on one line, shortened
printable_json  a value as whole JSON: a program can read it, a terminal can show it
log_text        for logs: on one line, shortened, without tokens

Also the words for a number of things, and for a slip of who typed a name.
"""

import json
import re
import unicodedata
from collections.abc import Collection, Iterable
from typing import Any

MARKS_MAX = 3  # accents on one letter; more would be written over the lines around
# Python calls these printable, but they show nothing: fillers, and the Braille blank.
UNSEEN = frozenset("\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0")
# These only change the look of the letter before; terminals differ in their width.
_VARIATION_SELECTOR = re.compile("[\u034f\u180b-\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef]")
LINE_MAX = 200
MOVE_MAX = 60
SCANNED_MAX = 1_000  # characters that are searched for tokens
SECRET_MIN = 40  # hexadecimal digits of a secret without a prefix
_SECRET = re.compile(
    r"(?<![a-z])(?:m?tok|ses|adm)_[0-9a-z_-]+|seat_[0-9a-z_-]{27,}|"
    rf"[0-9a-f]{{{SECRET_MIN},}}",
    re.IGNORECASE | re.ASCII,
)


def printable(text: str) -> str:
    """The text with a question mark for each character that is unseen or controls a terminal."""
    return text if text.isascii() and text.isprintable() else "".join(_visible(text))


def counted(number: int, noun: str, plural: str = "") -> str:
    """`1 match`, `2 matches`."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def duration(seconds: float) -> str:
    """`40 s`, `12 min`, `2 h 3 min` or `3 d 4 h`: the two largest units."""
    whole = max(0, round(seconds))
    parts = [(whole // 86_400, "d"), (whole // 3_600 % 24, "h"), (whole // 60 % 60, "min")]
    if whole < 60:
        return f"{whole} s"
    first = next(place for place, (number, _) in enumerate(parts) if number)
    return " ".join(f"{number} {unit}" for number, unit in parts[first : first + 2] if number)


def nearest(typed: str, known: Iterable[str], likeness: float = 0.6) -> str:
    """The name that was probably meant; empty if none is like it."""
    from difflib import get_close_matches  # Slow to load, and seldom needed.

    return next(iter(get_close_matches(typed, known, n=1, cutoff=likeness)), "")


def there_are(typed: str, known: Collection[str], listed: str = "") -> str:
    """`did you mean P01? There are P01, P02`; `listed` in place of all that is known."""
    near = nearest(typed, known)
    meant = f"did you mean {near}? There" if near else "there"
    return f"{meant} are {listed or ', '.join(known)}"


def one_line(text: str, at_most: int = LINE_MAX) -> str:
    """The text on one line, shortened, with a question mark for what `printable` replaces."""
    shown = printable(text.replace("\n", "?"))
    return shown if len(shown) <= at_most else f"{shown[: at_most - 3]}..."


def one_line_json(value: Any) -> str:
    """A value, such as a move, as JSON in ASCII on one line, shortened."""
    return one_line(json.dumps(value), MOVE_MAX)


def printable_json(value: Any, indent: int | None = None) -> str:
    """A value as JSON: letters of all languages as they are, unprintable characters escaped."""
    text = json.dumps(value, ensure_ascii=False, indent=indent)
    if text.isascii() and text.isprintable():
        return text
    return "".join(c if c.isprintable() or c == "\n" else json.dumps(c)[1:-1] for c in text)


def log_text(text: str, at_most: int = LINE_MAX) -> str:
    """The text on one line, shortened, with stars for anything that looks like a token."""
    if "_" in text or len(text) >= SECRET_MIN:
        text = _SECRET.sub("***", text[:SCANNED_MAX])[:at_most]
    return text if text.isprintable() else "".join(c if c.isprintable() else "?" for c in text)


def _visible(text: str) -> list[str]:
    shown: list[str] = []
    marks = 0
    for char in text:
        is_mark = unicodedata.category(char) in ("Mn", "Me")
        marks = marks + 1 if is_mark else 0
        if _VARIATION_SELECTOR.match(char) or marks > MARKS_MAX:
            continue
        is_seen = (char.isprintable() and char not in UNSEEN) or char == "\n"
        shown.append(char if is_seen else "?")
    return shown
