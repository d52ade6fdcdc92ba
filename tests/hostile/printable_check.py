"""Judges what was printed or written: could it do anything but be read?"""

import csv
import io
import json
import re
import unicodedata
from itertools import takewhile

OUR_STYLES = re.compile("\x1b\\[(0|1|1;31|1;32|2|22)m")  # what we print on a terminal ourselves
FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


def assert_harmless(text, *, on_terminal=False):
    """Nothing in it but what can be seen, and line ends."""
    if on_terminal:
        text = OUR_STYLES.sub("", text.replace("\r\n", "\n"))
    bad = {char for char in text if not char.isprintable() and char != "\n"}
    lines = [line for line in text.splitlines() if bad & set(line)]
    assert not bad, [*map(ascii, sorted(bad)), *map(ascii, lines[:3])]


def read_json(text):
    """The value of harmless JSON, which says the same when it is written and read again."""
    assert_harmless(text)
    value = json.loads(text)
    assert json.loads(json.dumps(value)) == value
    return value


def read_lines(text):
    """The values of harmless JSON lines; each line is one, by every notion of a line."""
    lines = text.splitlines()
    assert text.count("\n") == len(lines)
    return [read_json(line) for line in lines]


def read_csv(text):
    """The rows of harmless CSV; no cell is a formula, and each row has all cells."""
    assert_harmless(text)
    head, *rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    assert text.count("\n") == len(rows) + 1
    for row in rows:
        assert len(row) == len(head)
        for cell in row:
            is_number = re.fullmatch(r"-?\d+(\.\d+)?", cell)
            assert is_number or cell.startswith("'") or not cell.lstrip().startswith(FORMULA), cell
    return [dict(zip(head, row, strict=True)) for row in rows]


def width(text):
    """How many columns of a terminal a text takes."""
    return sum(map(_columns, text))


def _columns(char):
    if unicodedata.category(char) in ("Mn", "Me") or "\u1160" <= char <= "\u11ff":
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def assert_aligned(table):
    """All rows below the rule end in the same column: the last one is of numbers."""
    lines = table.splitlines()
    (rule,) = [number for number, line in enumerate(lines) if set(line.strip()) == {"\u2500"}]
    rows = list(takewhile(str.strip, lines[rule + 1 :]))  # A sentence about them may follow.
    assert len(rows) > 2
    assert len({width(row) for row in rows}) == 1, [(width(row), row) for row in rows]
