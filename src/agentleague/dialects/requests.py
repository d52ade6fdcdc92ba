"""Requests as foreign agents spell them, put into the documented form.

What is in its documented place counts first and is judged as it is. The name and the end point of
an agent that registers go by several names, and may stand beside the object that should hold them.
An answer that a player pushes is read like one that it returns.
"""

from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Raw

from agentleague.dialects import answers, starting
from agentleague.dialects.results import find_result, flat_result
from agentleague.protocol import codec
from agentleague.protocol.codec import Incoming, Spelling

PLAYER, REFEREE = "LEAGUE_REGISTER_REQUEST", "REFEREE_REGISTER_REQUEST"
METAS = {PLAYER: "player_meta", REFEREE: "referee_meta"}
REPORT = "MATCH_RESULT_REPORT"

# Documented field of a registration -> what else it is called.
ALIASES: dict[str, tuple[str, ...]] = {
    "display_name": ("name", "agent_name", "player_name", "referee_name"),
    "contact_endpoint": ("endpoint", "callback_url", "url", "contact_url"),
    "version": ("agent_version",),
    "game_types": ("supported_games", "games"),
    "protocol_version": (),
    "max_concurrent_matches": (),
    "locks": (),
    "join_code": (),
    "claim": (),
    "proofs": (),
}
_REQUIRED = ("display_name", "contact_endpoint")
_NULL = b"null"

_encode = msgspec.json.Encoder().encode
_object = msgspec.json.Decoder(dict[str, Any])
_raw_object = msgspec.json.Decoder(dict[str, Raw])


def read_request(
    body: bytes, taken: frozenset[str], *, thorough: bool = True, path: str = "/mcp"
) -> Incoming:
    """Read a request in the documented or another spelling.

    At `/register`, a bare message that does not name its type is a registration.
    """
    spelling = FOREIGN
    if path == "/register":
        spelling = FOREIGN._replace(bare_type=REFEREE if b'"referee_meta"' in body else PLAYER)
    incoming = codec.read_request(body, taken, thorough=thorough, spelling=spelling)
    if not isinstance(incoming.message, starting.WITH_MATCHES):
        return incoming
    text = codec.text_of(incoming.envelope)
    return incoming._replace(message=starting.with_players(incoming.message, text))


def respell(name: str, text: bytes | Raw) -> dict[str, Any]:
    """The fields of a message of this type, in the documented places.

    Raises:
        MissingField: what cannot be done without is nowhere.
        ValidationError: the text is not an object.
    """
    if name in METAS:
        return _respell_registration(_raw_object.decode(text), name)
    if name == REPORT:
        return _respell_report(_object.decode(text))
    if name == starting.START:
        return starting.respell_start(_object.decode(text))
    fields = _raw_object.decode(text)
    return fields | answers.read_pushed(name, text) if name in answers.PUSHED else fields


def with_flat_fields(name: str, body: bytes) -> bytes:
    """A registration or a report of ours with its content beside it too, under several names."""
    fields = _object.decode(body)
    if name not in METAS:
        return _encode({**flat_result(fields["result"]), **fields})
    meta, kind = fields[METAS[name]], METAS[name].removesuffix("_meta")
    beside = {alias: meta[each] for each in _REQUIRED for alias in (each, *ALIASES[each][:2])}
    more = {"version": meta["version"], "agent_type": kind, "role": kind}
    return _encode({**beside, **more, **fields})


def _respell_registration(fields: dict[str, Raw], name: str) -> dict[str, Any]:
    given = bytes(fields.get(METAS[name], _NULL))
    if given != _NULL and given[:1] != b"{":
        return fields
    inner = _raw_object.decode(given) if given != _NULL else {}
    found = {field: at for field in ALIASES if (at := _find(field, inner, fields))}
    if not inner and not any(field in found for field in _REQUIRED):
        return fields  # The whole object is missing.
    return {**fields, METAS[name]: {**inner, **found}}


def _find(field: str, inner: Mapping[str, Raw], outer: Mapping[str, Raw]) -> Raw | None:
    if field in inner:
        return inner[field]
    for place in (inner, outer):
        for name in (field, *ALIASES[field]):
            if name in place and bytes(place[name]) != _NULL:
                return place[name]
    return None


def _respell_report(fields: dict[str, Any]) -> dict[str, Any]:
    given = fields.get("result")
    if isinstance(given, dict) and "winner" in given:
        return fields
    found = find_result(fields)
    return fields if found is None else {**fields, "result": found}


def _unused_places(name: str, body: bytes) -> Iterator[str]:
    """The documented places that a registration does not use, judged by its text alone."""
    meta = METAS.get(name)
    if meta and b'"%b"' % meta.encode() not in body:
        yield meta
    elif meta:
        for field in _REQUIRED:
            if b'"%b"' % field.encode() not in body:
                yield f"{meta}.{field}"


# A registration, and a join that says `accepted`, can be read as they are, but not rightly.
FOREIGN = Spelling(respell, frozenset({*METAS, "GAME_JOIN_ACK"}), _unused_places)
