"""JSON-RPC 2.0, and the other forms in which agents wrap the same messages.

A request is read into an `Envelope`: the id and the form of its answer, and the text of the message
inside, which the codec reads.
"""

import re
from collections.abc import Iterator
from enum import StrEnum
from typing import Annotated, Any

import msgspec
from msgspec import UNSET, Meta, Raw, Struct, UnsetType

from agentleague import errors
from agentleague.protocol import field_names, json_text

RequestId = Annotated[int, Meta(ge=-(2**53), le=2**53)] | Annotated[str, Meta(max_length=64)] | None


class Form(StrEnum):
    """How a message is wrapped; an answer takes the form of its request."""

    JSONRPC = "jsonrpc"  # {"jsonrpc": "2.0", "method": …, "params": message, "id": …}
    NESTED = "nested"  # the same with the message in params.message, or another key
    TOOL = "tool"  # MCP tools/call: the message in params.arguments
    BARE = "bare"  # the message alone
    HYBRID = "hybrid"  # the message beside jsonrpc, method and id; read from foreign agents only


class Envelope(Struct, gc=False):
    """A request, unwrapped as far as it could be read."""

    form: Form = Form.JSONRPC
    id: RequestId | UnsetType = None  # UNSET: a notification, which has no answer
    method: str = ""
    message_type: str | None = None
    body: bytes | Raw = b"{}"
    whole: bytes = b""  # a request from which `body` was not taken yet
    nested_in: str = ""  # the key under which the message stands, and marks of its field names


class _Request(Struct, gc=False):
    jsonrpc: str
    method: str
    params: Raw = Raw(b"{}")
    id: RequestId | UnsetType = UNSET


class _Loose(Struct):
    """The same fields with any types, to say what is wrong with them."""

    jsonrpc: Any = UNSET
    method: Any = UNSET
    params: Raw = Raw(b"{}")
    id: Any = UNSET
    message_type: Any = UNSET


class _Inside(Struct):
    message_type: Any = UNSET
    name: Any = UNSET
    arguments: Raw = Raw(b"{}")


class _Response(Struct, gc=False):
    result: Raw | UnsetType = UNSET
    error: Any = UNSET
    params: Raw | UnsetType = UNSET
    jsonrpc: Any = UNSET
    message_type: Any = UNSET


class _ToolResult(Struct):
    structuredContent: Raw = Raw(b"")
    content: Any = UNSET
    isError: Any = UNSET


_request = msgspec.json.Decoder(_Request)
_loose = msgspec.json.Decoder(_Loose)
_inside = msgspec.json.Decoder(_Inside)
_response = msgspec.json.Decoder(_Response)
_tool_result = msgspec.json.Decoder(_ToolResult)
_anything = msgspec.json.Decoder(Raw)
_string = msgspec.json.Decoder(str)
_fields = msgspec.json.Decoder(dict[str, Raw])
UNREADABLE = (msgspec.DecodeError, UnicodeDecodeError, RecursionError)

# Where agents put the message one level too deep.
_DEEPER = ("message", "data", "result", "params", "response", "payload")
_MARKS = (b'"message_type"', b'"player_meta"', b'"referee_meta"')  # of a message, wherever it is
_LEVELS, _PLACES_MAX = 5, 64  # of an answer that are searched
_HEADS, _BODIES = ("envelope", "header"), ("payload", "body", "data")  # of a message in two parts
_IDS = ("match_id", "player_id", "auth_token")
_RATE_LIMIT = re.compile(r"rate.?limit|too many requests", re.IGNORECASE)
_TOKEN = re.compile(r"tok_\w+")
RETRY_AFTER_MAX = 60.0  # seconds; a longer wait is cut to this


def read_request(
    body: bytes, envelope: Envelope, *, thorough: bool = True, assumed: str | None = None
) -> None:
    """Unwrap a request into `envelope`, which keeps what was read even if the rest is refused.

    `assumed` is the type of a bare message that names none. Raises UNREADABLE, which the caller
    explains, where the body is not JSON.
    """
    body, envelope.nested_in = field_names.documented(body)
    json_text.check(body, thorough=thorough)
    try:
        request = _request.decode(body)
    except msgspec.ValidationError:
        _read_loosely(body, envelope, assumed)
        return
    envelope.id, envelope.method, envelope.body = request.id, request.method, request.params
    if request.jsonrpc != "2.0":
        envelope.id = None if request.id is UNSET else request.id
        raise errors.InvalidRequest(f"jsonrpc is {request.jsonrpc[:20]!r}; it must be '2.0'")


def params_of(request: bytes) -> Raw:
    """The text of the message in a request that was read before."""
    return _request.decode(request).params


def look_inside(envelope: Envelope) -> None:
    """Find the message in the params: flat, nested under a key, or a tool's `arguments`."""
    inside = _peek(envelope.body)
    if envelope.method == "tools/call" and isinstance(inside.name, str):
        envelope.form, envelope.method, envelope.body = Form.TOOL, inside.name, inside.arguments
        inside = _peek(envelope.body)
    if inside.message_type in (UNSET, None) and _unnest(envelope):
        envelope.form = envelope.form if envelope.form is Form.TOOL else Form.NESTED
        inside = _peek(envelope.body)
    if isinstance(inside.message_type, str):
        envelope.message_type = inside.message_type
    elif inside.message_type not in (UNSET, None):
        raise errors.WrongType("message_type: expected `str`", field="message_type", kind="type")


def _unnest(envelope: Envelope) -> bool:
    """Take the message from under its key; from two objects, `envelope` and `payload`, together."""
    outer = _fields.decode(envelope.body)
    for name in ("message", *_HEADS, *outer):
        text = bytes(outer.get(name, b""))
        if text[:1] == b"{" and (name == "message" or any(each in text for each in _MARKS)):
            envelope.body = _with_ids(outer[name], envelope.body)
            rests = (each for each in _BODIES if bytes(outer.get(each, b""))[:1] == b"{")
            rest = next(rests, "") if name in _HEADS else ""
            if rest:
                both = _fields.decode(outer[rest]) | _fields.decode(envelope.body)
                envelope.body = msgspec.json.encode(both)
            envelope.nested_in = f"{name}.{rest}".rstrip(".") + envelope.nested_in
            return True
    return False


def _with_ids(message: Raw, outer: bytes | Raw) -> bytes | Raw:
    """A nested message, with the ids and the token that are only beside it."""
    beside = _fields.decode(outer)
    ids = {name: beside[name] for name in _IDS if bytes(beside.get(name, b""))[:1] == b'"'}
    return msgspec.json.encode(ids | _fields.decode(message)) if ids else message


def write_request(method: str, message: bytes, request_id: int) -> bytes:
    """A request in the canonical form."""
    return b'{"jsonrpc":"2.0","method":"%b","params":%b,"id":%d}' % (
        method.encode(),
        message,
        request_id,
    )


def write_result(envelope: Envelope, message: bytes) -> bytes:
    """An answer in the form of its request; nothing for a notification."""
    if envelope.form is Form.BARE:
        return message
    if envelope.id is UNSET:
        return b""
    if envelope.form is Form.TOOL:
        text = msgspec.json.encode(message.decode())
        message = b'{"content":[{"type":"text","text":%b}],"structuredContent":%b}' % (
            text,
            message,
        )
    return b'{"jsonrpc":"2.0","result":%b,"id":%b}' % (message, msgspec.json.encode(envelope.id))


def write_error(envelope: Envelope, number: int, text: str, data: bytes) -> bytes:
    """A refusal in the form of its request; nothing for a notification."""
    if envelope.form is Form.BARE:
        return data
    if envelope.id is UNSET:
        return b""
    return b'{"jsonrpc":"2.0","error":{"code":%d,"message":%b,"data":%b},"id":%b}' % (
        number,
        msgspec.json.encode(text),
        data,
        msgspec.json.encode(envelope.id),
    )


def read_response(body: bytes) -> bytes | Raw:
    """The text of the message in an answer; raises PeerRefused, RateLimited or UnreadableJson."""
    try:
        response = _response.decode(body)
    except UNREADABLE as error:
        content = _string_content(body)
        if content is not body and content.lstrip()[:1] == b"{":  # Written as JSON twice.
            return read_response(content)
        raise errors.UnreadableJson(
            f"the answer is no JSON object ({error})", kind="syntax"
        ) from None
    if response.jsonrpc is UNSET and response.message_type is not UNSET:
        return body  # A `result` or `error` in it is a field of the message.
    is_refused = response.error is not UNSET and response.error is not None
    if is_refused and (response.error or response.result is UNSET):
        raise refusal(response.error)
    if response.result is not UNSET:
        return read_tool_result(response.result)
    return response.params if response.params is not UNSET else body


def look_deeper(text: bytes | Raw) -> Iterator[bytes]:
    """Where else the message may be: in a string that holds JSON, or one level down."""
    content = _string_content(bytes(text))
    yield content
    try:
        fields = _fields.decode(content)
    except UNREADABLE:
        return
    for name in _DEEPER:
        if name in fields:
            yield _string_content(bytes(fields[name]))


def look_everywhere(text: bytes | Raw) -> Iterator[bytes]:
    """The same some levels down and under any name; the nearest first, then the usual names."""
    places = [_string_content(bytes(text))]
    for _ in range(_LEVELS):
        yield from places
        places = [inner for place in places for inner in _inside_of(place)][:_PLACES_MAX]


def _inside_of(text: bytes) -> list[bytes]:
    try:
        fields = _fields.decode(text)
    except UNREADABLE:
        return []
    names = sorted(fields, key=lambda name: name not in _DEEPER)
    return [_string_content(bytes(fields[name])) for name in names]


def _string_content(text: bytes) -> bytes:
    if text.lstrip()[:1] != b'"':
        return text
    try:
        return _string.decode(text).encode()
    except UNREADABLE:
        return text


def _read_loosely(body: bytes, envelope: Envelope, assumed: str | None) -> None:
    try:
        loose = _loose.decode(body)
    except msgspec.ValidationError as error:
        raise _no_request(body, error) from None
    if loose.jsonrpc is UNSET and loose.method is UNSET:
        envelope.form, envelope.body = Form.BARE, body
        if loose.message_type in (UNSET, None) and _unnest(envelope):
            loose = _loose.decode(envelope.body)
        said = assumed if loose.message_type in (UNSET, None) else loose.message_type
        if isinstance(said, str):
            envelope.message_type = said
            return
        raise errors.InvalidRequest(
            "there is no jsonrpc and no message_type; name the message in message_type, "
            "or wrap it in a JSON-RPC 2.0 request",
            field="message_type",
        )
    envelope.id, envelope.body = readable_id(loose.id), loose.params
    raise errors.InvalidRequest(_describe_fault(loose))


def _no_request(body: bytes, error: msgspec.ValidationError) -> errors.LeagueError:
    if body.lstrip()[:1] == b"{":  # A number in it that no parser can hold.
        return errors.InvalidRequest(f"the body is no JSON-RPC 2.0 request ({error})")
    _anything.decode(body)  # Raises where it is not even JSON.
    kind = "a batch is not taken" if body.lstrip()[:1] == b"[" else "the body is no JSON object"
    return errors.InvalidRequest(f"{kind}; send one JSON-RPC 2.0 request")


def readable_id(value: Any) -> RequestId:
    """The id of a request that is refused as such; null if it cannot be repeated."""
    try:
        found: RequestId = msgspec.convert(value, RequestId)
    except msgspec.ValidationError:
        return None
    return found


def _describe_fault(loose: _Loose) -> str:
    if loose.jsonrpc != "2.0":
        return "jsonrpc is missing or not '2.0'; wrap the message in JSON-RPC 2.0, or send it bare"
    if not isinstance(loose.method, str):
        return "method is missing or not a string"
    return "id must be a string of at most 64 characters, an integer of 53 bits, or null"


def _peek(body: bytes | Raw) -> _Inside:
    try:
        return _inside.decode(body)
    except msgspec.ValidationError as error:
        raise errors.WrongType(
            f"params: {error}; put the message there as an object", field="params", kind="type"
        ) from None


def read_tool_result(result: bytes | Raw) -> bytes | Raw:
    """The text of the message in the result of an MCP tool; raises PeerRefused if that failed."""
    raw = bytes(result)
    if b"ontent" not in raw and b"isError" not in raw:  # Not the answer of a tool.
        return result
    try:
        tool = _tool_result.decode(result)
    except UNREADABLE:
        return result
    is_structured = bytes(tool.structuredContent)[:1] == b"{"
    parts = tool.content if isinstance(tool.content, list) else []
    texts = (part.get("text") for part in parts if isinstance(part, dict))
    text = next((each for each in texts if isinstance(each, str)), None)
    if tool.isError is True:
        data = msgspec.json.decode(tool.structuredContent) if is_structured else None
        refused = refusal({"message": text, "data": data})
        refused.context["is_of_tool"] = True
        raise refused
    if is_structured:
        return tool.structuredContent
    return text.encode() if text is not None else result


def refusal(error: Any) -> errors.PeerUnavailable:
    """A JSON-RPC error as ours, whatever the peer put into it."""
    error = error if isinstance(error, dict) else {"message": str(error)}
    data = error.get("data")
    data = data if isinstance(data, dict) else {}
    number, code = error.get("code"), data.get("error_code")
    said = without_tokens(str(error.get("message", "")))[:200]
    which = f"error {str(number or code)[:64]}" if number or code else "an error"
    sentence = f"the peer answered with {which}: {said}"
    is_limit = number == errors.RateLimited.number or code == errors.RateLimited.code
    if is_limit or _RATE_LIMIT.search(said):
        return errors.RateLimited(sentence, retry_after=_retry_after(data))
    return errors.PeerRefused(sentence, number=number, code=code, data=data)


def without_tokens(text: str) -> str:
    """The text of a peer without tokens, so that it may be repeated."""
    return _TOKEN.sub("tok_…", text)


def _retry_after(data: dict[str, Any]) -> float | None:
    seconds = data.get("retry_after")
    if isinstance(seconds, bool) or not isinstance(seconds, int | float):
        return None
    return float(min(max(seconds, 0), RETRY_AFTER_MAX))
