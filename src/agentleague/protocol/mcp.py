"""MCP requests: which ones are, whether headers and body say the same, how they are answered.

One end point serves the stateless revision and, without sessions, those that begin with a
handshake. A request is stateless if its version says so, in the header or in `_meta`. What cannot
be MCP is left to the dialects of the league.
"""

import re
from base64 import b64encode
from collections.abc import Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Struct, UnsetType

from agentleague.errors import UnreadableJson
from agentleague.protocol import json_text
from agentleague.protocol.jsonrpc import UNREADABLE, readable_id

STATELESS = ("2026-07-28",)
WITH_HANDSHAKE = ("2025-11-25", "2025-06-18", "2025-03-26")
VERSIONS = STATELESS + WITH_HANDSHAKE
UNREADABLE_JSON, INVALID, NO_METHOD, BAD_PARAMS, INTERNAL = -32700, -32600, -32601, -32602, -32603
MISMATCH, UNSUPPORTED = -32020, -32022
NOT_FOUND = -32002  # of a resource, before the stateless revision

_PREFIX = "io.modelcontextprotocol/"  # of keys in `_meta`
_VERSION, _CAPABILITIES = f"{_PREFIX}protocolVersion", f"{_PREFIX}clientCapabilities"
_STATUSES = {NO_METHOD: 404, INTERNAL: 200}  # any other error of a stateless request is 400
_BROKEN = (UNREADABLE_JSON, INVALID, MISMATCH)  # errors that are 400 in every revision
_NAMED = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
_HEADERS = ("mcp-protocol-version", "mcp-method", "mcp-name")
_METHODS = ("initialize", "ping", "tools/list", "tools/call")
_FAMILIES = ("server/", "notifications/", "resources/", "prompts/")
_METHOD = re.compile(
    rb'"method"\s*:\s*"(?:initialize"|ping"|tools\\?/list"'
    rb"|(?:server|notifications|resources|prompts)\\?/)"
)
_BEARER = re.compile(rb"\r\nauthorization:[ \t]*bearer[ \t]+(\S+)", re.IGNORECASE)
_BASE64 = re.compile(r"=\?base64\?.*\?=")
_SHOWN = 100  # letters of what was sent that are repeated

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder().decode

Answer = tuple[int, bytes]  # an HTTP status and a body
_Fault = tuple[int, str] | tuple[int, str, Any] | None  # a code, a sentence and data


class Request(Struct):
    """An MCP request, or a notification, which has no id."""

    server: Mapping[str, str]  # who answers
    headers: Mapping[str, list[str]] = {}
    method: str = ""
    params: dict[str, Any] = {}
    id: Any | UnsetType = None
    is_stateless: bool = False
    refusal: Answer | None = None  # which fault it has

    def result(self, fields: Mapping[str, Any], *, fresh_ms: int | None = None) -> Answer:
        """A result; one that may be kept says for how long."""
        if self.is_stateless:
            kept = {} if fresh_ms is None else {"ttlMs": fresh_ms, "cacheScope": "private"}
            meta = {"_meta": {f"{_PREFIX}serverInfo": self.server}}
            fields = {"resultType": "complete", **fields, **kept, **meta}
        return 200, _encode({"jsonrpc": "2.0", "id": self.id, "result": fields})

    def error(self, code: int, sentence: str, data: Any = UNSET) -> Answer:
        """An error, with the HTTP status of its revision."""
        status = 400 if code in _BROKEN else 200
        if self.is_stateless:
            status = _STATUSES.get(code, 400)
        error = {"code": code, "message": sentence} | ({} if data is UNSET else {"data": data})
        request_id = None if self.id is UNSET else self.id
        return status, _encode({"jsonrpc": "2.0", "id": request_id, "error": error})


def may_be_mcp(head: bytes, body: bytes) -> bool:
    """Whether it is worth reading as MCP: by its headers, or by a method that no message has."""
    return b"\r\nmcp-" in head.lower() or _METHOD.search(body) is not None


def bearer(head: bytes) -> str:
    """The token in the Authorization header; empty if there is none."""
    found = _BEARER.search(head)
    return found[1].decode("latin-1") if found else ""


def read(head: bytes, body: bytes, server: Mapping[str, str]) -> Request | None:
    """The request, perhaps with its refusal; None if it is none of MCP, by its method or form."""
    request = Request(server, _routing_headers(head))
    fault = INVALID, "the body is no JSON object; send one request alone"
    try:
        json_text.check(body)
        value = _decode(body)
    except (UnreadableJson, *UNREADABLE) as error:
        value, fault = None, (UNREADABLE_JSON, f"the body cannot be read: {error}")
    if not isinstance(value, dict):
        request.refusal = request.error(*fault)
        return request if request.headers else None
    request.id, method, params = value.get("id", UNSET), value.get("method"), value.get("params")
    params = {} if params is None else params
    version = request.headers.get(_HEADERS[0], [None])[0]
    meta = params.get("_meta") if isinstance(params, dict) else None
    is_told = isinstance(meta, dict) and _VERSION in meta
    request.is_stateless = is_told or version not in (None, *WITH_HANDSHAKE)
    request.method = method if isinstance(method, str) else ""
    if not (request.is_stateless or method in _METHODS or request.method.startswith(_FAMILIES)):
        return None
    if wrong := _fault_of_form(request, value, params) or _fault_of_headers(request):
        request.refusal = request.error(*wrong)
    return request


def _routing_headers(head: bytes) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for line in head.decode("latin-1").split("\r\n")[1:]:
        name, _, value = line.partition(":")
        if (name := name.lower()) in _HEADERS:
            found.setdefault(name, []).append(value.strip(" \t"))
    return found


def _fault_of_form(request: Request, value: Mapping[str, Any], params: Any) -> _Fault:
    """What a JSON-RPC request of MCP lacks; it has its params then, and an id that can be told."""
    given, key = request.id, _NAMED.get(request.method, "")
    request.id = UNSET if given is UNSET else readable_id(given)
    request.params = params if isinstance(params, dict) else {}
    if value.get("jsonrpc") != "2.0" or not request.method:
        return INVALID, "send one JSON-RPC 2.0 request: jsonrpc, id, method, params"
    if request.id is None:
        return INVALID, "id must be a text of at most 64 letters or a whole number of 53 bits"
    if given is UNSET and not request.method.startswith("notifications/"):
        return INVALID, f"{request.method[:_SHOWN]} needs an id"
    if not isinstance(params, dict) or (key and not isinstance(params.get(key), str)):
        return BAD_PARAMS, f"params.{key} must be a text" if key else "params must be an object"
    return None


def _fault_of_headers(request: Request) -> _Fault:
    """What headers say twice or, where there is no handshake, otherwise than the body."""
    for name, values in request.headers.items():
        if len(values) > 1:
            return MISMATCH, f"the header {name} occurs {len(values)} times; send it once"
    if not request.is_stateless or request.id is UNSET:
        return None
    meta, key = request.params.get("_meta"), _NAMED.get(request.method)
    meta = meta if isinstance(meta, dict) else {}
    missing = [each for each in (_VERSION, _CAPABILITIES) if each not in meta]
    if missing:
        return BAD_PARAMS, f"params._meta lacks {' and '.join(missing)}"
    said = [meta[_VERSION], request.method, *([request.params[key]] if key else ())]
    for name, value in zip(_HEADERS, said, strict=False):
        sent = request.headers.get(name, [None])[0]
        is_coded = sent is not None and name == "mcp-name" and _BASE64.fullmatch(sent)
        if sent is None or sent != (in_base64(value) if is_coded else value):
            shown = "is missing" if sent is None else f"is {sent[:_SHOWN]!r}"
            expected = f"the body says {str(value)[:_SHOWN]!r}"
            return MISMATCH, f"the header {name} {shown}; {expected}"
    if meta[_VERSION] in STATELESS:
        return None
    data = {"supported": VERSIONS, "requested": meta[_VERSION]}
    return UNSUPPORTED, f"Unsupported protocol version; use {STATELESS[0]}", data


def in_base64(name: str) -> str:
    """A name as a header has it where it could not stand there."""
    return f"=?base64?{b64encode(name.encode()).decode()}?="
