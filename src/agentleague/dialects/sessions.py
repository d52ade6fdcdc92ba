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
from agentleague.protocol.mcp import NO_METHOD, STATELESS, in_base64

LISTING = b'{"jsonrpc":"2.0","method":"tools/list","params":{},"id":%d}'
INITIALIZE = (
    b'{"jsonrpc":"2.0","method":"initialize","params":{"protocolVersion":"2025-11-25",'
    b'"capabilities":{},"clientInfo":{"name":"agentleague","version":"2"}},"id":%d}'
)
INITIALIZED = b'{"jsonrpc":"2.0","method":"notifications/initialized","params":{}}'
ID_MAX = 256
_SINGLE = STATELESS[0]  # the revision in which every call stands alone
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


class Session(Struct, frozen=True):
    """The revision that an agent speaks, and the id of the session, if it gave one."""

    revision: str = _SINGLE
    id: str = ""

    @property
    def headers(self) -> dict[str, str]:
        """What the head of each request says."""
        named = {"Mcp-Session-Id": self.id} if self.id else {}
        return {"MCP-Protocol-Version": self.revision} | named

    def write(self, body: bytes) -> tuple[bytes, bytes]:
        """A request of ours as this revision has it, and lines of its head after line breaks."""
        headers = self.headers
        if self.revision == _SINGLE:
            called = msgspec.json.decode(body)
            headers["Mcp-Method"] = called["method"]
            if name := called["params"].get("name"):
                # A name that an agent lists may hold anything, also a line break.
                headers["Mcp-Name"] = name if _IN_A_HEADER.fullmatch(name) else in_base64(name)
            before, params, rest = body.partition(b'"params":{')
            body = b"".join((before, params, _META, b"," * (rest[:1] != b"}"), rest))
        return body, "".join(f"\r\n{name}: {each}" for name, each in headers.items()).encode()


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
    is_refused = status == 404 or (status == 400 and _GONE.search(body))
    return bool(session and session.id and is_refused)


def read_session(body: bytes, session_id: str) -> Session | None:
    """What came of `initialize`; None if that is not known there. Raises NoConnection."""
    try:
        revision = msgspec.json.decode(body)["result"]["protocolVersion"]
    except (*UNREADABLE, KeyError, TypeError):
        return None
    if not isinstance(revision, str) or not _REVISION.fullmatch(revision):
        one = "initialize: protocolVersion is no revision of MCP; answer with one like 2025-11-25"
        raise NoConnection(one)
    if not _ID.fullmatch(session_id):
        raise NoConnection(
            f"initialize: Mcp-Session-Id must be at most {ID_MAX} characters of printable ASCII "
            "without spaces"
        )
    return Session(revision, session_id)
