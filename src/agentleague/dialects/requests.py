"""Requests as foreign agents spell them, put into the documented form.

What is in its documented place counts first and is judged as it is. The name and the end point of
an agent that registers go by several names, and may stand beside the object that should hold them.
What it says it is counts more than the name of its message: on a shared path or method, a referee
is known by that. An answer that a player pushes is read like one that it returns.
"""

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import Any, cast

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from agentleague.dialects import answers, starting
from agentleague.dialects.fields import PUSHED
from agentleague.dialects.results import called_off, find_result, flat_result
from agentleague.dialects.search import ENDPOINT
from agentleague.errors import MissingField
from agentleague.protocol import codec
from agentleague.protocol.codec import Incoming, Spelling
from agentleague.protocol.fast_path import is_unclear
from agentleague.protocol.jsonrpc import UNREADABLE
from agentleague.protocol.messages import METHODS, MatchResultReport

PLAYER, REFEREE = "LEAGUE_REGISTER_REQUEST", "REFEREE_REGISTER_REQUEST"
REPORT, QUERY = "MATCH_RESULT_REPORT", "LEAGUE_QUERY"
METAS = {PLAYER: "player_meta", REFEREE: "referee_meta"}
_METAS = (*METAS.values(), "agent_meta", "meta")
_SQUEEZED = {each.replace("_", ""): name for each, name in METHODS.items()}  # MatchResultReport
_KINDS = {"referee": REFEREE, "player": PLAYER}
_SAYS_WHAT_IT_IS = ("agent_type", "role", "agent_role", "type")

# Documented field of a registration -> what else it is called.
ALIASES: dict[str, tuple[str, ...]] = {
    "display_name": (
        *("name", "agent_name", "player_name", "referee_name"),
        *("agent_id", "player_id", "referee_id"),
    ),
    "contact_endpoint": ENDPOINT[1:],
    "version": ("agent_version",),
    "game_types": ("supported_games", "games"),
    "protocol_version": (),
    "max_concurrent_matches": (),
    "locks": (),
    "join_code": (),
    "claim": (),
    "proofs": (),
}
_QUERY_ALIASES = {"query_type": ("query", "type"), "query_params": ("params", "parameters")}
_REQUIRED = ("display_name", "contact_endpoint")
_NULL = b"null"
_EMPTY = (_NULL, b'""')
_WITHOUT_SCHEME = re.compile(r"[\w.-]+:\d+(/.*)?")
_URLS = (b'"http://', b'"https:/')
_EVERYWHERE = (None, "", "0.0.0.0", "::")  # where one listens, and nobody can be called

_encode = msgspec.json.Encoder().encode
_object = msgspec.json.Decoder(dict[str, Any])
_raw_object = msgspec.json.Decoder(dict[str, Raw])


def read_request(
    body: bytes, taken: frozenset[str], *, thorough: bool = True, path: str = "/mcp"
) -> Incoming:
    """Read a request in the documented or another spelling.

    At `/register`, a bare message that does not name its type is a registration.
    """
    spelling = AT_REGISTER if path == "/register" else FOREIGN
    incoming = codec.read_request(body, taken, thorough=thorough, spelling=spelling)
    message = incoming.message
    if isinstance(message, starting.WITH_MATCHES):
        message = starting.with_players(message, incoming.envelope.body)
    elif isinstance(message, MatchResultReport):
        try:
            message = _with_all_it_says(message, body, incoming.envelope.body)
        except MissingField as error:
            return incoming._replace(message=None, error=error)
    return incoming if message is incoming.message else incoming._replace(message=message)


def respell(name: str, text: bytes | Raw) -> dict[str, Any]:
    """The fields of a message, in the documented places; raises MissingField, ValidationError."""
    if name in METAS:
        return _respell_registration(_raw_object.decode(text), name)
    if name == REPORT:
        return _respell_report(_object.decode(text))
    if name == starting.START:
        return starting.respell_start(_object.decode(text))
    fields = _raw_object.decode(text)
    if name == QUERY:
        return _respell_query(fields)
    return fields | answers.read_pushed(name, text) if name in PUSHED else fields


def type_of(called: str, text: bytes | Raw) -> str | None:
    """The type of a message, by the name of its method or type, and by what a registrant says."""
    name = _SQUEEZED.get(re.sub(r"[^a-z0-9]|^league\W", "", called.lower()))
    if name != PLAYER and (name or "regist" not in called.lower()):
        return name
    try:
        fields = _object.decode(text)
    except UNREADABLE:
        return name
    places = [fields, *(each for each in fields.values() if isinstance(each, dict))]
    kind = _kind_of(called, fields, places)
    has_end_point = any(word in place for place in places for word in (*ENDPOINT, "port"))
    return kind if name or has_end_point else None


def _kind_of(called: str, fields: Mapping[str, Any], places: list[Any]) -> str:
    """What registers: what it says it is, then its method or type, and its ids only at last."""
    said = [str(place.get(word)).lower() for place in places for word in _SAYS_WHAT_IT_IS]
    said += [meta for meta in METAS.values() if isinstance(fields.get(meta), dict)]
    kinds = [kind for sign in said for kind in _KINDS if sign.startswith(kind)]
    if called != PLAYER or fields.get("message_type"):  # Else its type was assumed.
        told = called.lower().replace("league_register", "player")
        kinds += [kind for kind in _KINDS if kind in told]
    has_id = any(fields.get(name) for name in ("referee_id", "referee_name"))
    return _KINDS[next(iter(kinds), "referee" if has_id else "player")]


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
    own = METAS[name]
    given = next((fields[each] for each in (own, *_METAS) if _is_object(fields.get(each))), None)
    if given is None and bytes(fields.get(own, _NULL)) != _NULL:
        return fields  # It is none, and is judged as it is.
    if given is None:  # Then the object in which an end point is, whatever it is called.
        given = next((each for each in fields.values() if _is_object(each) and _url_in(each)), None)
    inner = _raw_object.decode(given) if given is not None else {}
    found: dict[str, Any] = {field: at for field in ALIASES if (at := _find(field, inner, fields))}
    found |= _called_at(found.get("contact_endpoint"), inner, fields)
    if not inner and not any(field in found for field in _REQUIRED):
        return fields  # The whole object is missing.
    if "display_name" not in found and bytes(inner.get("display_name", _NULL)) in _EMPTY:
        sender = str(_value(fields.get("sender", _NULL)) or "").rpartition(":")[2]
        if sender or name == REFEREE:
            found["display_name"] = sender  # Without one, a referee is called by its id.
    return {**fields, own: {**inner, **found}}


def _is_object(text: Raw | None) -> bool:
    return text is not None and bytes(text)[:1] == b"{"


def _find(field: str, inner: Mapping[str, Raw], outer: Mapping[str, Raw]) -> Raw | None:
    if bytes(inner.get(field, _NULL)) not in _EMPTY:
        return inner[field]
    for place in (inner, outer):
        for name in (field, *ALIASES[field]):
            if name in place and bytes(place[name]) not in _EMPTY:
                return place[name]
    return None


def _called_at(found: Raw | None, *places: Mapping[str, Raw]) -> dict[str, str]:
    """The end point, if it has no scheme, another name, or is only a port, or a host and a port."""
    given = _value(found or _NULL) or next(filter(None, map(_url_in, places)), None)
    if not found and given:
        return {"contact_endpoint": given}
    if isinstance(given, str) and _WITHOUT_SCHEME.fullmatch(given):
        return {"contact_endpoint": f"http://{given}"}
    port = next((_value(place["port"]) for place in places if "port" in place), None)
    if found or not str(port).isdecimal():
        return {}
    host = next((_value(place["host"]) for place in places if "host" in place), None)
    return {"contact_endpoint": f"http://{'127.0.0.1' if host in _EVERYWHERE else host}:{port}/mcp"}


def _url_in(place: Raw | Mapping[str, Raw]) -> str:
    """The one URL in an object, whatever it is called; empty if there is not one."""
    fields = place if isinstance(place, Mapping) else _raw_object.decode(place)
    urls = {bytes(each) for each in fields.values() if bytes(each)[:8] in _URLS}
    return str(_value(urls.pop())) if len(urls) == 1 else ""


def _value(text: Raw | bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except UNREADABLE:  # A number that no parser can hold.
        return None


def _with_all_it_says(
    report: MatchResultReport, body: bytes, text: bytes | Raw
) -> MatchResultReport:
    """A report that can be read, with what it says elsewhere of how the match ended."""
    details, must_be_read = report.result.details, is_unclear(report, body)
    if not must_be_read and report.epoch is not UNSET:  # A referee of ours sent it.
        return report
    with suppress(*UNREADABLE):  # Then it is not what is meant.
        fields = {**respell(REPORT, text), "message_type": REPORT}
        found = cast("MatchResultReport", codec.DECODERS[REPORT].decode(_encode(fields)))
        if must_be_read:
            return found
        details = replace(details, ends=found.result.details.ends)
    return replace(report, result=replace(report.result, details=details))


def _respell_report(fields: dict[str, Any]) -> dict[str, Any]:
    """A report; what its match is, the manager finds out if that is not said."""
    found = find_result(fields)
    if found is None and (word := called_off(fields)):
        problem = f"{REPORT}.result: the match is {word}, so there is nothing to report: play it"
        raise MissingField(problem, field="result.winner", kind="missing")
    if found is None:
        return fields
    given = fields["result"] if isinstance(fields.get("result"), dict) else {}
    if isinstance(given.get("details"), dict):
        found["details"] = given["details"] | found["details"]
    ids = (fields[name] for name in ("match_id", "game_id") if isinstance(fields.get(name), str))
    return {**fields, "match_id": next(ids, ""), "result": given | found}


def _respell_query(fields: dict[str, Raw]) -> dict[str, Any]:
    for field, names in _QUERY_ALIASES.items():
        given = (fields[each] for each in names if bytes(fields.get(each, _NULL)) != _NULL)
        if field not in fields and (found := next(given, None)):
            fields[field] = found
    return fields


def _unused_places(name: str, body: bytes) -> Iterator[str]:
    """The documented places that a registration does not use, judged by its text alone."""
    meta = METAS.get(name)
    if meta and b'"%b"' % meta.encode() not in body:
        yield meta
    elif meta:
        for field in _REQUIRED:
            if not re.search(rb'"%b"\s*:\s*(?!\s|""|null)' % field.encode(), body):
                yield f"{meta}.{field}"


def _bare_type(body: bytes) -> str | None:
    return PLAYER if any(b'"%b"' % word in body for word in _SIGNS) else None


_SIGNS = (b"player_meta", b"referee_meta", b"agent_type")

# A registration, and a join that says `accepted`, can be read as they are, but not rightly.
FOREIGN = Spelling(
    respell, frozenset({*METAS, "GAME_JOIN_ACK"}), _unused_places, _bare_type, type_of
)
AT_REGISTER = FOREIGN._replace(bare_type=lambda body: PLAYER)
