"""What can happen to a role."""

import re
from collections.abc import Collection, Hashable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct

from agentleague.errors import LeagueError
from agentleague.protocol.messages import Message
from agentleague.protocol.tokens import PROOF_HEADER

_HEADER_NAME = re.compile(r"[!#$%&'*+\-.^_`|~0-9A-Za-z]+")
_HEADER_VALUE = re.compile(r"[\t\x20-\x7e\x80-\xff]*")  # one line of latin-1
_PROOF = b"\r\n%b:" % PROOF_HEADER.lower().encode()
Headers = Sequence[tuple[str, str]]  # names and values
Key = Hashable  # a role's own name for a call, a timer or a strategy's run


class Caller(Struct, frozen=True, gc=False):
    """Who asked, as far as the transport can tell."""

    source: str  # the address the request came from; empty where a proxy hides it
    token: str | None = None
    form: str = "jsonrpc"  # how the request was written; the answer takes the same form
    missing: tuple[str, ...] = ()  # paths of documented fields that were not there
    rpc_method: str = ""  # the JSON-RPC method of the request
    head: bytes = b""  # request line and headers as they were sent
    body: bytes = b""  # as it was sent, where proofs may be asked for
    addresses: tuple[str, ...] = ()  # of the host name in a registration's end point, if it has one
    nested_in: str = ""  # the key under which the message stood
    has_text_id: bool = False  # of its JSON-RPC request
    is_notification: bool = False  # to which nothing is answered

    @property
    def proof(self) -> str:
        """By which a manager shows that the request is its own; empty where there is none."""
        shown = self.head.lower().partition(_PROOF)[2].partition(b"\r\n")[0]
        return shown.strip().decode("latin-1")


def read_headers(head: bytes) -> dict[str, str]:
    """Headers by lower-case name, without the request line; several of a name are joined."""
    headers: dict[str, str] = {}
    for line in head.decode("latin-1").split("\r\n")[1:]:
        name, _, value = line.partition(":")
        name, value = name.strip().lower(), value.strip()
        headers[name] = f"{headers[name]}, {value}" if name in headers else value
    return headers


def write_headers(headers: Headers) -> bytes:
    """Headers as lines below a status line. Raises ValueError for what is longer than a line."""
    for name, value in headers:
        if not _HEADER_NAME.fullmatch(name) or not _HEADER_VALUE.fullmatch(value):
            raise ValueError(f"not a header: {name!r}: {value!r}")
    return "".join(f"\r\n{name}: {value}" for name, value in headers).encode("latin-1")


class Started(Struct, frozen=True):
    """The role begins, or begins again after its journal was replayed."""

    wall_offset: float  # wall clock minus monotonic clock; only for printing


class Asked(Struct, frozen=True, gc=False):
    """A message came in; `reply` names the answer that is awaited."""

    message: Message
    caller: Caller
    reply: int


class Answered(Struct, frozen=True):
    """A call came back with a message, with an error, or (a mere acknowledgement) with neither."""

    key: Key
    message: Message | None
    error: LeagueError | None
    seconds: float
    dialect: str = ""  # in which the call was understood, where others were tried
    is_last: bool = True  # else it was empty, and a better one may follow


class Told(Struct, frozen=True):
    """A broadcast was heard by all but the `failed`; it comes again while some are `awaited`."""

    key: Key
    failed: Mapping[str, LeagueError]
    awaited: Collection[str] = ()


class Woken(Struct, frozen=True, gc=False):
    """A timer rang."""

    key: Key


class StrategyReturned(Struct, frozen=True):
    """The author's function came back with a move, or failed."""

    key: Key
    move: Any
    error: str | None = None


class SeatHeard(Struct, frozen=True):
    """How it goes at an agent's seat; `said` is what the manager `refused` it with."""

    state: Literal["there", "away", "refused", "taken"]
    said: str = ""


Stimulus = Started | Asked | Answered | Told | Woken | StrategyReturned | SeatHeard
