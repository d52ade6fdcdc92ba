"""Makes hostile inputs from good ones: by their bytes, by their JSON, and by their lines.

All chance comes from the `Random` that is handed in, so a run of one seed can be had again.
"""

import copy
import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any

SIZE_MAX = 40_000
NASTY_BYTES = (
    *(b"", b"\0", b"\r\n", b"\n", b"\r\n\r\n", b" ", b"\t", b"\xff", b"\xc0\xaf", b"\xed\xa0\x80"),
    *(b"\xef\xbb\xbf", b"\xf4\x90\x80\x80", b'"', b"\\", b"\\ud800", b"\\u0000", b"{", b"}"),
    *(b"[", b"]", b":", b",", b"-", b"0", b"1e400", b"NaN", b"Infinity", b"-0", b"0x10", b"1_0"),
    *(b"null", b"true", b"9" * 20, b"9" * 5_000, b"[" * 2_000, b'{"a":' * 1_500, b"x" * 11_000),
    *(b"0\r\n\r\n", b"1\r\nx\r\n", b"ffffffffffffffff\r\n", b"Content-Length: 5\r\n"),
    *(b"Transfer-Encoding: chunked\r\n", b"Connection: close\r\n", b"X: y\r\n" * 400),
    *(b"Expect: 100-continue\r\n", b"Upgrade: h2c\r\nConnection: Upgrade\r\n", b"Host: a,b\r\n"),
)
NASTY_VALUES: tuple[Any, ...] = (
    *(None, True, False, 0, -1, 1, 2**31, 2**53 + 1, 2**63, 2**64, 10**30, -(10**30), 1.5, 1e308),
    *(-0.0, "", " ", "\0", "\x1b[31m", "‮", "﻿", "x" * 65, "x" * 600, "é" * 300, "../..", "P01"),
    *(
        "R1M1",
        "R9M9",
        "REF01",
        "even",
        "odd",
        "tok_",
        "mtok_",
        "league.v2",
        "league.v3",
        "__proto__",
    ),
    *("2026-03-04T09:00:00Z", "2026-02-30T09:00:00Z", "0000-00-00T00:00:00Z", "+00:00"),
    *("http://127.0.0.1:8101/mcp", "http://169.254.169.254/", "file:///etc/passwd", "tools/call"),
    *([], {}, [[]], [None] * 40, {"": {}}, {"message": {"message": {}}}, [0, "P01", "even"]),
)


def mutated(rng: Random, seeds: Sequence[bytes]) -> bytes:
    """One input: a seed, changed a few times, in a way that keeps much of its structure."""
    data = rng.choice(seeds)
    for _ in range(rng.choice((0, 1, 1, 1, 2, 2, 3, 5))):
        data = rng.choice(CHANGES)(rng, data, seeds)[:SIZE_MAX]
    return data


def mutated_lines(rng: Random, seeds: Sequence[bytes]) -> bytes:
    """One input of several messages: some lines are changed, in disorder, left out or repeated."""
    lines = rng.choice(seeds).split(b"\n")
    for _ in range(rng.choice((0, 1, 2, 4))):
        at = rng.randrange(len(lines))
        lines[at] = rng.choice(CHANGES)(rng, lines[at], [rng.choice(lines)]).replace(b"\n", b" ")
    if rng.random() < 0.3:
        rng.shuffle(lines)
    if rng.random() < 0.3:
        lines.insert(rng.randrange(len(lines)), rng.choice(lines))
    return b"\n".join(line[:SIZE_MAX] for line in lines[rng.choice((0, 0, 1)) :])


def _exchange(rng: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    at, length = rng.randint(0, len(data)), rng.choice((0, 0, 1, 2, 4, 16))
    return data[:at] + rng.choice(NASTY_BYTES) + data[at + length :]


def _flip(rng: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    if not data:
        return rng.randbytes(8)
    at = rng.randrange(len(data))
    return data[:at] + bytes([data[at] ^ (1 << rng.randrange(8))]) + data[at + 1 :]


def _cut(rng: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    at = rng.randint(0, len(data))
    return data[:at] if rng.random() < 0.7 else data[at:]


def _splice(rng: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    other = rng.choice(seeds)
    return data[: rng.randint(0, len(data))] + other[rng.randint(0, len(other)) :]


def _append(rng: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    return data + rng.choice(seeds)


def _repeat(rng: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    start = rng.randint(0, len(data))
    piece = data[start : start + rng.choice((1, 8, 64, 512))]
    return data[:start] + piece * rng.choice((2, 3, 50, 300)) + data[start + len(piece) :]


def _lines(rng: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    lines = data.splitlines(keepends=True) + rng.choice(seeds).splitlines(keepends=True)[:3]
    if len(lines) < 2:
        return data
    first, second = rng.randrange(len(lines)), rng.randrange(len(lines))
    if rng.random() < 0.5:
        lines[first], lines[second] = lines[second], lines[first]
    else:
        lines.insert(first, lines[second])
    return b"".join(lines)


def _value(rng: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    """Change the JSON within, wherever it begins: types, names, repeated and nested parts."""
    start = data.find(b"{")
    try:
        value = json.loads(data[max(start, 0) :])
    except (ValueError, RecursionError):
        return _exchange(rng, data, seeds)
    places = _places(value)
    if places:
        holder, key = rng.choice(places)
        if rng.random() < 0.3:
            other, other_key = rng.choice(places)
            holder[key] = copy.deepcopy(other[other_key])
        else:
            _change(rng, holder, key)
    text = json.dumps(value, ensure_ascii=rng.random() < 0.5).encode("utf-8", "surrogatepass")
    return data[: max(start, 0)] + (text.replace(b'": ', b'":') if rng.random() < 0.5 else text)


def _value_in_line(rng: Random, data: bytes, seeds: Sequence[bytes]) -> bytes:
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    lines[at] = _value(rng, lines[at], seeds).replace(b"\n", b" ")
    return b"\n".join(lines)


def _change(rng: Random, holder: Any, key: Any) -> None:
    choice = rng.randrange(6)
    if choice == 0:
        del holder[key]
    elif choice == 1:
        holder[key] = [holder[key]] * rng.choice((1, 2, 30))
    elif choice == 2:
        for _ in range(rng.choice((1, 3, 14, 20))):
            holder[key] = {"message": holder[key]} if rng.random() < 0.5 else [holder[key]]
    elif choice == 3 and isinstance(holder, dict):
        holder[rng.choice(("message", "params", "id", "result", "error", str(key) * 2))] = holder[
            key
        ]
    elif choice == 4:
        holder[key] = json.dumps(holder[key])
    else:
        holder[key] = rng.choice(NASTY_VALUES)


def _places(value: Any) -> list[tuple[Any, Any]]:
    found, waiting = [], [value]
    while waiting and len(found) < 500:
        part = waiting.pop()
        keys = (
            part if isinstance(part, dict) else range(len(part)) if isinstance(part, list) else ()
        )
        for key in keys:
            found.append((part, key))
            waiting.append(part[key])
    return found


Change = Callable[[Random, bytes, Sequence[bytes]], bytes]
CHANGES: tuple[Change, ...] = (
    *(_exchange, _exchange, _flip, _cut, _splice, _append, _repeat, _lines),
    *(_value, _value, _value, _value_in_line, _value_in_line),
)
