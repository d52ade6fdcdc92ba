"""Bytes to the JSON guard: it refuses what two parsers would read differently, and only that."""

import json
from typing import Any

import msgspec

from agentleague.errors import UnreadableJson
from agentleague.protocol import json_text
from fuzz.seeds import REQUESTS

SEEDS = [
    *REQUESTS,
    b"[" * 16 + b"]" * 16,
    b'{"a":' * 17 + b"1" + b"}" * 17,
    b'{"a":1,"\\u0061":2}',
    b'{"a" :1, "b": 2, "a" :3}',
    b'{"a":1,"b":{"a":1},"c":[{"a":1},{"a":"a\\":"}]}',
    b'["[[[[[[[[[[[[[[[[[[[[",{"]":"}"}]',
    b"[1e400,NaN,-0,1.0]",
    b'"\\ud83d\\ude00\\ud800"',
]


class _Twice(Exception):
    pass


def one(data: bytes) -> None:
    """Compare with a slow reader that was written for this."""
    refused = None
    try:
        json_text.check(data)
        value = msgspec.json.decode(data)
    except UnreadableJson as error:
        refused = error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        refused = json_text.explain(data, error)
    if refused is None:
        assert _slow(data) == "good", "it was let through"
        assert json.loads(data) == value or b"e" in data.lower() or _is_long(data)
        json.dumps(value, ensure_ascii=False).encode()
    else:
        assert len(str(refused)) < 500
        assert refused.context["kind"] in ("encoding", "depth", "duplicate_key", "number", "syntax")
        assert _slow(data) == "bad" or _is_long(data), f"it is good, and was refused: {refused}"
    _not_thorough(data)


def _not_thorough(data: bytes) -> None:
    refused = None
    try:
        json_text.check(data, thorough=False)
    except UnreadableJson as error:
        refused = error
    assert refused is None or refused.context["kind"] == "encoding"


def _slow(data: bytes) -> str:
    try:
        text = data.decode()
        value = json.loads(text, object_pairs_hook=_pairs, parse_constant=_no, parse_int=float)
        json.dumps(value, ensure_ascii=False).encode()
        return "good" if _depth(value) <= json_text.DEPTH_MAX else "bad"
    except (ValueError, RecursionError, _Twice):
        return "bad"


class _Pairs(list[Any]):
    """An object, all of whose pairs are kept."""


def _pairs(pairs: list[tuple[str, Any]]) -> _Pairs:
    if len({name for name, _ in pairs}) < len(pairs):
        raise _Twice
    return _Pairs(pairs)


def _no(text: str) -> None:
    raise ValueError(text)


def _depth(value: Any) -> int:
    if isinstance(value, _Pairs):
        return 1 + max((_depth(each) for _, each in value), default=0)
    if isinstance(value, list):
        return 1 + max(map(_depth, value), default=0)
    return 0


def _is_long(data: bytes) -> bool:
    """A number that some decoders hold and others do not: either is right."""
    return b"9" * 18 in data or b"0" * 18 in data or b"e" in data.lower() or b"e+" in data
