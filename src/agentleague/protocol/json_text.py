"""Refuse JSON that is broken, or that two parsers would read differently."""

import json
import re
from typing import Any

import msgspec

from agentleague.errors import UnreadableJson

DEPTH_MAX = 16

_STRING = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"', re.DOTALL)
_decode = msgspec.json.Decoder().decode
_encode = msgspec.json.Encoder().encode
_NOT_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_NOR_QUOTES = _NOT_BRACKETS.replace(b'"', b"")


def check(body: bytes, *, thorough: bool = True) -> None:
    """Raise UnreadableJson unless the text is UTF-8, no deeper than 16, and has no key twice.

    The decoder, which reads the text next, refuses what is not JSON, and lone surrogates. If not
    thorough, keys are not compared and only the decoder limits the depth: enough for a player.
    """
    try:
        body.decode()
    except UnicodeDecodeError as error:
        raise _refused("encoding", f"is not UTF-8 (byte {error.start})") from None
    if not thorough:
        return
    check_depth(body)
    if not _is_canonical(body):
        _check_keys(body.decode())


def explain(body: bytes, error: Exception) -> UnreadableJson:
    """The error for a text that the decoder refused."""
    if isinstance(error, RecursionError):
        return _refused("depth", "is nested too deeply")
    if body[:3] == b"\xef\xbb\xbf" or b"\0" in body:
        return _refused("encoding", "is not plain UTF-8 (a byte order mark, or UTF-16)")
    try:
        value = json.loads(body, parse_constant=_refuse_constant, parse_int=float)
        json.dumps(value, ensure_ascii=False).encode()
    except UnreadableJson as refused:
        return refused
    except UnicodeEncodeError:
        return _refused("encoding", "holds half of a surrogate pair")
    except (ValueError, RecursionError):
        pass
    return _refused("syntax", f"is not JSON ({error})")


def check_depth(body: bytes) -> None:
    """Raise UnreadableJson if brackets remain after sixteen times the innermost pairs went."""
    if body.count(b"{") + body.count(b"[") <= DEPTH_MAX:
        return
    if b"\\" not in body and body.count(b'"') % 2 == 0:  # Every quote begins or ends a string.
        body = body.translate(None, _NOR_QUOTES).replace(b'""', b"")
    brackets = _STRING.sub(b"", body).translate(None, _NOT_BRACKETS)
    for _ in range(DEPTH_MAX):
        if not brackets:
            return
        brackets = brackets.replace(b"[]", b" ").replace(b"{}", b" ").replace(b" ", b"")
    if b"[" in brackets or b"{" in brackets:
        raise _refused("depth", f"is nested deeper than {DEPTH_MAX} levels")


def _is_canonical(body: bytes) -> bool:
    """Whether reading and writing it again gives the same text: then no key was lost."""
    try:
        return _encode(_decode(body)) == body
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False


def _check_keys(text: str) -> None:
    try:
        # As floats, because an integer of 5,000 digits would end the reading too early.
        json.loads(
            text, object_pairs_hook=_unique, parse_constant=_refuse_constant, parse_int=float
        )
    except UnreadableJson:
        raise
    except ValueError:
        return  # Not JSON: the decoder says where.


def _unique(pairs: list[tuple[str, Any]]) -> None:
    seen: set[str] = set()
    for name, _ in pairs:
        if name in seen:
            raise _refused("duplicate_key", f"has the key {name[:64]!r} twice in one object")
        seen.add(name)


def _refuse_constant(text: str) -> None:
    raise _refused("number", f"holds {text}, which is no JSON number")


def _refused(kind: str, what: str) -> UnreadableJson:
    return UnreadableJson(f"the body {what}; send one JSON object", kind=kind)
