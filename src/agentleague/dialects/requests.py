"""Requests as foreign agents spell them, put into the documented form.

What is in its documented place counts first and is judged as it is. The name and the end point of
an agent that registers go by several names, and may stand beside the object that should hold them.
What it says it is counts more than the name of its message: on a shared path or method, a referee
is known by that. An answer that a player pushes is read like one that it returns.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from operator import attrgetter
from typing import Any, cast

import msgspec
from msgspec import UNSET, Raw
from msgspec.structs import replace

from agentleague.dialects import answers, starting
from agentleague.dialects.fields import PUSHED
from agentleague.dialects.results import called_off, find_result, flat_result
from agentleague.dialects.search import ENDPOINT
from agentleague.errors import LeagueError, MissingField, UnknownMethod, VersionMismatch
from agentleague.protocol import codec, json_text, jsonrpc, messages, timestamps
from agentleague.protocol.codec import ENVELOPE, EXPECTED, FILLED_IN, Incoming, encode
from agentleague.protocol.fast_path import is_unclear
from agentleague.protocol.jsonrpc import UNREADABLE, Envelope
from agentleague.protocol.messages import METHODS, PROTOCOL, MatchResultReport, Message

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

# What says who may do something, or what is to be done: it fits, or the message is refused. Any
# other optional field gives its sender no more if it is left out here than if it was never sent.
DECIDING = frozenset(
    {
        *("auth_token", "session", "epoch", "join_code", "referee_code", "claim"),
        *("locks", "proofs", "matches", "rules", "moves", "forfeits", "aborted", "params"),
    }
)
MISFITS_MAX = 20  # in one message; each is found by reading it once more
# A registration, and a join that says `accepted`, can be read as they are, but not rightly.
RESPELLED = frozenset({*METAS, "GAME_JOIN_ACK"})
_SIGNS = (b"player_meta", b"referee_meta", b"agent_type")  # of a registration
_CANONICAL = {kind.method: name for name, kind in messages.MESSAGES.items() if kind.method}
_EXPECTED: dict[type[Message], list[tuple[str, Any]]] = {  # paths, and names or getters
    messages.MESSAGES[name].cls: [
        (path, f'"{path.rpartition(".")[2]}"'.encode() if path in FILLED_IN else attrgetter(path))
        for path in ("protocol", "message_type", *ENVELOPE, *paths)
    ]
    for name, paths in EXPECTED.items()
}
_object = msgspec.json.Decoder(dict[str, Any])
_raw_object = msgspec.json.Decoder(dict[str, Raw])


def read_request(
    body: bytes, taken: frozenset[str], *, thorough: bool = True, path: str = "/mcp"
) -> Incoming:
    """Read a request in any wrapping and spelling; a refused one still says how to answer it."""
    envelope, misfits = Envelope(), list[str]()
    # A bare message that does not name its type may be a registration.
    is_registration = path == "/register" or any(b'"%b"' % word in body for word in _SIGNS)
    assumed = PLAYER if is_registration else None
    try:
        jsonrpc.read_request(body, envelope, thorough=thorough, assumed=assumed)
        message = _read_message(envelope, taken, misfits, is_flat=b'"message"' not in body)
        if message.protocol != PROTOCOL and not message.protocol.startswith(PROTOCOL + "."):
            problem = f"protocol is {message.protocol!r}; this league speaks {PROTOCOL}"
            raise VersionMismatch(problem, field="protocol")
        if message.timestamp:
            timestamps.parse(message.timestamp)
        misfits += _left_out(message, body, misfits)
        if isinstance(message, starting.WITH_MATCHES):
            message = starting.with_players(message, envelope.body)
        elif isinstance(message, MatchResultReport):
            message = _with_all_it_says(message, body, envelope.body)
    except LeagueError as error:
        return Incoming(envelope, None, error)
    except UNREADABLE as error:
        return Incoming(envelope, None, json_text.explain(body, error))
    return Incoming(envelope, message, None, tuple(misfits))


def _left_out(message: Message, body: bytes, misfits: Sequence[str]) -> list[str]:
    """The documented fields and places that a message does not use."""
    meta = message.player_meta if isinstance(message, messages.LeagueRegisterRequest) else None
    needed = _REQUIRED[:1] if meta and meta.seat is True else _REQUIRED
    left_out = list(_unused_places(messages.WIRE_NAME[type(message)], body, needed))
    unfit = {each.partition(" ")[0] for each in misfits}
    for path, at in _EXPECTED.get(type(message), ()):
        is_there = at in body if isinstance(at, bytes) else at(message)
        if not is_there and path not in unfit:
            left_out.append(path)
    return left_out


def _read_message(
    envelope: Envelope, taken: frozenset[str], misfits: list[str], *, is_flat: bool
) -> Message:
    name = envelope.message_type or _CANONICAL.get(envelope.method)
    # If this fails, the message may be nested, or of another type than its method says.
    if is_flat and name in taken - RESPELLED and (message := _decode(name, envelope.body)):
        return message
    if envelope.message_type is None:
        jsonrpc.look_inside(envelope)
    called = envelope.message_type or envelope.method
    name = type_of(called, envelope.body)
    if name not in taken:
        methods = (m for m, kind in _CANONICAL.items() if kind in taken and "register" in m)
        known = [*sorted(taken), *sorted(methods)]
        raise UnknownMethod(f"{called[:300]!r} is no message that this agent takes", known=known)
    envelope.message_type = name
    envelope.body = _cleaned(name, envelope.body)
    if name not in RESPELLED and (message := _decode(name, envelope.body)):
        return message
    try:
        fields = respell(name, envelope.body)
        if name == QUERY and envelope.method.lower() == "get_standings":
            fields.setdefault("query_type", "GET_STANDINGS")
        text = encode({**fields, "message_type": name})
        return _decode(name, text) or _read_what_fits(name, text, misfits)
    except msgspec.ValidationError as error:
        raise codec.complaint(name, error) from None


def _cleaned(name: str, text: bytes | Raw) -> bytes | Raw:
    if b"null" not in bytes(text):
        return text
    try:
        return encode(codec.without_nulls(name, msgspec.json.decode(text)))
    except msgspec.DecodeError:  # A number in it that no parser can hold.
        return text


def _decode(name: str, text: bytes | Raw) -> Message | None:
    try:
        return codec.DECODERS[name].decode(text)
    except msgspec.ValidationError:
        return None


def _read_what_fits(name: str, text: bytes, misfits: list[str]) -> Message:
    try:
        fields = msgspec.json.decode(_cleaned(name, text))
    except msgspec.DecodeError:
        return codec.DECODERS[name].decode(text)
    message, found = codec.fitted(name, fields, _leave_out, MISFITS_MAX)
    misfits += found
    return message


def _leave_out(fields: dict[str, Any], found: MissingField) -> bool:
    """Leave out the field that does not fit; False if it is needed, or decides something."""
    steps = codec.steps_to(found)
    while steps and isinstance(steps[-1], int):
        steps.pop()
    if found.context["kind"] == "missing" or not DECIDING.isdisjoint(steps):
        return False
    place: Any = fields
    for step in steps[:-1]:
        place = place[step]
    del place[steps[-1]]
    return True


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
        return encode({**flat_result(fields["result"]), **fields})
    meta, kind = fields[METAS[name]], METAS[name].removesuffix("_meta")
    beside = {alias: meta[each] for each in _REQUIRED for alias in (each, *ALIASES[each][:2])}
    more = {"version": meta["version"], "agent_type": kind, "role": kind}
    return encode({**beside, **more, **fields})


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
        found = cast("MatchResultReport", codec.DECODERS[REPORT].decode(encode(fields)))
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


def _unused_places(name: str, body: bytes, needed: Sequence[str]) -> Iterator[str]:
    """The documented places that a registration does not use, judged by its text alone."""
    meta = METAS.get(name)
    if meta and b'"%b"' % meta.encode() not in body:
        yield meta
    elif meta:
        for field in needed:
            if not re.search(rb'"%b"\s*:\s*(?!\s|""|null)' % field.encode(), body):
                yield f"{meta}.{field}"
