"""Registrations as agents in the wild write them, put into the documented form.

Names and end points go by several names and may stand beside the object that should hold them. What
is there in its documented place always counts first, and is judged as it is.
"""

from collections.abc import Iterator, Mapping

import msgspec
from msgspec import Raw

PLAYER, REFEREE = "LEAGUE_REGISTER_REQUEST", "REFEREE_REGISTER_REQUEST"
METAS = {PLAYER: "player_meta", REFEREE: "referee_meta"}

# Documented field -> what else it is called.
ALIASES: dict[str, tuple[str, ...]] = {
    "display_name": ("name", "agent_name", "player_name", "referee_name"),
    "contact_endpoint": ("endpoint", "callback_url", "url", "contact_url"),
    "version": ("agent_version",),
    "game_types": ("supported_games", "games"),
    "protocol_version": (),
    "max_concurrent_matches": (),
    "locks": (),
    "join_code": (),
}
_REQUIRED = ("display_name", "contact_endpoint")
_NULL = b"null"

_encode = msgspec.json.Encoder().encode
_object = msgspec.json.Decoder(dict[str, Raw])


def assumed(body: bytes) -> str:
    """What a bare message is that came to `/register` and does not say."""
    return REFEREE if b'"referee_meta"' in body else PLAYER


def spelt_out(fields: dict[str, Raw], name: str) -> dict[str, Raw]:
    """The fields of a registration, with all that it says of the agent where it belongs."""
    given = bytes(fields.get(METAS[name], _NULL))
    if given != _NULL and given[:1] != b"{":
        return fields
    inner = _object.decode(given) if given != _NULL else {}
    found = {field: at for field in ALIASES if (at := _find(field, inner, fields))}
    if not inner and not any(field in found for field in _REQUIRED):
        return fields  # There is nothing of it here: what is missing is the object.
    return {**fields, METAS[name]: Raw(_encode({**inner, **found}))}


def unsent(name: str, body: bytes) -> Iterator[str]:
    """The documented places that this registration does not use; judged by its text alone."""
    meta = METAS.get(name)
    if meta and b'"%b"' % meta.encode() not in body:
        yield meta
    elif meta:
        for field in _REQUIRED:
            if b'"%b"' % field.encode() not in body:
                yield f"{meta}.{field}"


def flattened(name: str, body: bytes) -> bytes:
    """A registration of ours that also says the least beside it: for who looks for no more."""
    fields = _object.decode(body)
    meta = _object.decode(fields[METAS[name]]) if name in METAS else {}
    beside = {
        alias: meta[field]
        for field in _REQUIRED
        for alias in (field, *ALIASES[field][:2])
        if field in meta
    }
    return _encode({**beside, **fields})


def _find(field: str, inner: Mapping[str, Raw], outer: Mapping[str, Raw]) -> Raw | None:
    if field in inner:
        return inner[field]
    for place in (inner, outer):
        for name in (field, *ALIASES[field]):
            if name in place and bytes(place[name]) != _NULL:
                return place[name]
    return None
