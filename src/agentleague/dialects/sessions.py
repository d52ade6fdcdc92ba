"""What an MCP agent wants around a call: a session that a handshake began, or a call that says all.

The revision of 2026-07-28 has no handshake: headers repeat what the call is, and `_meta` names the
revision. Earlier ones begin with `initialize`, and a server may give an id that every later request
carries; it may forget it at any time.
"""

import re

import msgspec
from msgspec import Struct

from agentleague.errors import NoConnection
from agentleague.protocol.jsonrpc import UNREADABLE

LISTING = b'{"jsonrpc":"2.0","method":"tools/list","params":{},"id":%d}'
INITIALIZE = (
    b'{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{},"clientInfo":{"name":"agentleague","version":"2"}},"id":%d}'
)
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized"}'
ID_MAX = 256
_SINGLE = "2026-07-28"  # the revision in which every call stands alone
_META = (
    b'"_meta":{"io.modelcontextprotocol/protocolVersion":"%b",'
    b'"io.modelcontextprotocol/clientInfo":{"name":"agentleague","version":"2"},'
    b'"io.modelcontextprotocol/clientCapabilities":{}}'
) % _SINGLE.encode()
_REVISION = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")
_ID = re.compile(rf"[!-~]{{0,{ID_MAX}}}")
_IN_A_HEADER = re.compile(r"(?!=\?)[!-~]+")
_GONE = re.compile(rb"session|initiali[sz]ed", re.IGNORECASE)
_NOT_THERE = (404, 405, 501)
NO_METHOD = -32601


class Session(Struct, frozen=True):
    """The revision that an agent speaks, and the id of the session, if it gave one."""

    revision: str = _SINGLE
    id: str = ""

    def write(self, body: bytes) -> bytes:
        """A request of ours as this revision has it."""
        if self.revision != _SINGLE:
            return body
        before, params, rest = body.partition(b'"params":{')
        return b"".join((before, params, _META, b"," * (rest[:1] != b"}"), rest))

    def headers(self, body: bytes) -> bytes:
        """What a request needs in its head, each line after a line break."""
        lines = [f"MCP-Protocol-Version: {self.revision}"]
        if self.id:
            lines.append(f"Mcp-Session-Id: {self.id}")
        if self.revision == _SINGLE:
            called = _called.decode(body)
            lines.append(f"Mcp-Method: {called.method}")
            if called.params.name:
                lines.append(f"Mcp-Name: {_header_value(called.params.name)}")
        return "".join(f"\r\n{line}" for line in lines).encode()


class _Params(Struct, frozen=True):
    name: str = ""


class _Called(Struct):
    method: str
    params: _Params = _Params()


_called = msgspec.json.Decoder(_Called)


def _header_value(name: str) -> str:
    """A name that an agent lists may hold anything, also a line break."""
    if _IN_A_HEADER.fullmatch(name):
        return name
    return f"=?base64?{msgspec.to_builtins(name.encode())}?="


def wants_handshake(status: int, body: bytes) -> bool:
    """Whether an agent that lists no tools may do so after a handshake."""
    if status >= 500 or status in _NOT_THERE:
        return False
    try:
        error = msgspec.json.decode(body)["error"]
    except (*UNREADABLE, KeyError, TypeError):
        return status >= 400
    return not (isinstance(error, dict) and error.get("code") == NO_METHOD)


def is_gone(session: Session | None, status: int, body: bytes) -> bool:
    """Whether a server has forgotten this session."""
    is_refused = status == 404 or (status == 400 and _GONE.search(body) is not None)
    return session is not None and session.id != "" and is_refused


def read_session(body: bytes, session_id: str) -> Session | None:
    """What came of `initialize`; None if that is not known there. Raises NoConnection."""
    try:
        revision = msgspec.json.decode(body)["result"]["protocolVersion"]
    except (*UNREADABLE, KeyError, TypeError):
        return None
    if not isinstance(revision, str) or not _REVISION.fullmatch(revision):
        raise NoConnection(
            "initialize: protocolVersion is no revision of MCP; answer with one like 2025-11-25"
        )
    if not _ID.fullmatch(session_id):
        raise NoConnection(
            f"initialize: Mcp-Session-Id must be at most {ID_MAX} characters of printable ASCII "
            "without spaces"
        )
    return Session(revision, session_id)
