"""JSON Schema (2020-12) of every message, and of the JSON-RPC around it, made from the classes.

A schema says what is accepted: required is what a message is refused without, a field with a
`default` may be missing but is always sent by us, and unknown fields are welcome everywhere.
"""

from collections.abc import Iterable, Iterator
from copy import deepcopy
from functools import cache
from typing import Any

import msgspec

from agentleague.protocol.field_docs import Note, example, note_of
from agentleague.protocol.jsonrpc import RequestId
from agentleague.protocol.messages import MESSAGES, PROTOCOL, Exchange, Kind

DIALECT = "https://json-schema.org/draft/2020-12/schema"
NAMESPACE = "urn:agentleague:league.v2"
PROTOCOLS = rf"^{PROTOCOL.replace('.', '[.]')}([.]|$)"
REF = "#/$defs/"
PUSHED = "PUSH_ACK"  # how an answer is answered that came as a request

Schema = dict[str, Any]


def message_schema(name: str, *, jsonrpc: bool = False) -> Schema:
    """The schema of one message by its type, or of the JSON-RPC bodies that carry it."""
    definitions = _definitions()
    if not jsonrpc:
        return _whole(name, definitions[name])
    bodies = [part for part in _carriers(name) if part in definitions]
    top = {"title": f"{name} in JSON-RPC 2.0", "anyOf": [_ref(body) for body in bodies]}
    return _whole(f"{name}:jsonrpc", top)


def all_schemas(*, jsonrpc: bool = False) -> Schema:
    """One schema that any message satisfies, or any JSON-RPC body; in `$defs` each by its name."""
    definitions = _definitions()
    if jsonrpc:
        bodies = [name for name in definitions if name.endswith((".request", ".answer"))]
        top = {"title": "A body of league.v2", "anyOf": [_ref(name) for name in bodies]}
        return _whole("jsonrpc", top)
    top = {"title": "A message of league.v2", "oneOf": [_ref(name) for name in MESSAGES]}
    return _whole("", top)


def answer_of(kind: Kind) -> str | None:
    """The type of what a message is answered with; None where it is only ever an answer."""
    return (kind.answer or PUSHED) if kind.method else None


def _whole(name: str, top: Schema) -> Schema:
    """A schema that stands alone: with all that it refers to."""
    definitions = _definitions()
    needed = sorted(_closure(top, definitions))
    schema = {"$schema": DIALECT, "$id": f"{NAMESPACE}:{name}".rstrip(":"), **deepcopy(top)}
    parts = {part: deepcopy(definitions[part]) for part in needed}
    return {**schema, "$defs": parts} if parts else schema


def _carriers(name: str) -> Iterator[str]:
    yield f"{name}.request"
    for asked, kind in MESSAGES.items():
        if answer_of(kind) == name:
            yield f"{asked}.answer"
    if MESSAGES[name].method:
        yield f"{name}.answer"
    if name in ("LEAGUE_ERROR", "GAME_ERROR"):
        yield "JsonRpcRefusal"


@cache
def _definitions() -> dict[str, Schema]:
    """Every message by its type, every object in them by its class, every body."""
    names = {kind.cls.__name__: name for name, kind in MESSAGES.items()}
    classes = [kind.cls for kind in MESSAGES.values()]
    _, components = msgspec.json.schema_components(classes, ref_template=REF + "{name}")
    found = {names.get(each, each): _described(each, schema) for each, schema in components.items()}
    for name in MESSAGES:
        found[name]["title"] = name
        found[name]["examples"] = [example(name)]
        found[name]["properties"]["message_type"] = {"const": name}
        found[name]["properties"]["protocol"]["pattern"] = PROTOCOLS
    found["JsonRpcRefusal"] = _refusal()
    for name, kind in MESSAGES.items():
        answer = answer_of(kind)
        if kind.method and answer:
            found[f"{name}.request"] = _request(name, kind)
            found[f"{name}.answer"] = _answer(name, answer)
    return found


def _described(owner: str, schema: Schema) -> Schema:
    for field, about in schema.get("properties", {}).items():
        if field != "message_type":
            _describe(about, note_of(owner, field))
    if "prefixItems" in schema:
        for field, about in zip(Exchange.__struct_fields__, schema["prefixItems"], strict=True):
            _describe(about, note_of(owner, field))
            about["title"] = field
    return schema


def _describe(about: Schema, note: Note) -> None:
    about["description"] = note.text
    if note.example is not ...:
        about["examples"] = [note.example]
    if note.format:
        about["format"] = note.format
        if about.get("default") == "":  # It may be missing, but not be empty.
            del about["default"]


def _request(name: str, kind: Kind) -> Schema:
    return {
        "title": f"{kind.method} with {name}",
        "description": "How it is asked. The manager knows method names in any case; without an "
        "id it answers HTTP 202 and nothing.",
        "type": "object",
        "properties": {
            "jsonrpc": {"const": "2.0"},
            "method": {"enum": list(dict.fromkeys((kind.method, *kind.aliases, name)))},
            "params": _ref(name),
            "id": _request_id(),
        },
        "required": ["jsonrpc", "method", "params"],
    }


def _answer(name: str, answer: str) -> Schema:
    result = {
        "title": f"{answer} as the answer to {name}",
        "type": "object",
        "properties": {"jsonrpc": {"const": "2.0"}, "result": _ref(answer), "id": _request_id()},
        "required": ["jsonrpc", "result", "id"],
    }
    return {"title": f"The answer to {name}", "oneOf": [result, _ref("JsonRpcRefusal")]}


def _refusal() -> Schema:
    errors = {"anyOf": [_ref("LEAGUE_ERROR"), _ref("GAME_ERROR")]}
    code = {"type": "integer", "description": "The number of the error."}
    message = {"type": "string", "description": "Its name, and what happened."}
    return {
        "title": "A refusal",
        "description": "The answer to what was refused; the id is null where none could be read.",
        "type": "object",
        "properties": {
            "jsonrpc": {"const": "2.0"},
            "error": {
                "type": "object",
                "properties": {"code": code, "message": message, "data": errors},
                "required": ["code", "message"],
            },
            "id": _request_id(),
        },
        "required": ["jsonrpc", "error", "id"],
    }


def _request_id() -> Schema:
    schema = msgspec.json.schema(RequestId)
    return {**schema, "description": "Made by the caller; the answer repeats it."}


def _ref(name: str) -> Schema:
    return {"$ref": REF + name}


def _closure(schema: Schema, definitions: dict[str, Schema]) -> set[str]:
    """The names of all definitions that a schema refers to, however far away."""
    needed: set[str] = set()
    waiting = list(_references(schema))
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting += _references(definitions[name])
    return needed


def _references(value: Any) -> Iterator[str]:
    inside: Iterable[Any] = ()
    if isinstance(value, dict):
        inside = value.values()
        if "$ref" in value:
            yield str(value["$ref"]).removeprefix(REF)
    elif isinstance(value, list):
        inside = value
    for each in inside:
        yield from _references(each)
