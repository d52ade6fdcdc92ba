"""Seats: end points at the manager for agents that can only call out, and what these say there."""

from typing import Annotated, Literal, TypeVar
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, Struct

from agentleague.protocol import json_text
from agentleague.protocol.codec import complaint
from agentleague.protocol.jsonrpc import UNREADABLE

PREFIX = "/seats/"
CALLS_MAX = 16  # that wait at one seat, and answers in one poll
WAIT_SECONDS = 25.0  # that a poll is held at most
BODY_BYTES = 10_240  # of an answer, which a referee reads, and of a poll, which a manager reads

Whole = Annotated[int, Meta(ge=0, le=2**53)]
Id = Annotated[str, Meta(max_length=64)]
State = Literal["open", "superseded", "taken", "reopen"]
Taken = Literal["taken", "duplicate", "late", "stale", "unknown"]


class Opening(Struct, frozen=True):
    """An agent takes its seat; `client` names its process, whose second request changes nothing."""

    client: Id = ""


class Opened(Struct, frozen=True):
    """The seat is the agent's; who opens it later has a higher epoch."""

    epoch: Whole


class SeatAnswer(Struct, frozen=True):
    """What the agent answers to one call, as an HTTP server would."""

    id: Id
    status: Annotated[int, Meta(ge=200, le=599)]
    body: str


class Poll(Struct, frozen=True):
    """An agent brings answers and waits for calls; `ack` is the last call that it has."""

    epoch: Whole
    ack: Whole = 0
    wait: Annotated[float, Meta(ge=0)] = WAIT_SECONDS
    answers: Annotated[tuple[SeatAnswer, ...], Meta(max_length=CALLS_MAX)] = ()


class SeatCall(Struct, frozen=True):
    """A request to the agent, the proof that it is the manager's, and the seconds left for it."""

    id: str
    seq: int
    body: str
    proof: str = ""
    seconds: float = 0.0  # 0: not known


class Receipt(Struct, frozen=True):
    """What became of an answer; only one that is `taken` reached who asked."""

    id: str
    state: Taken


class Polled(Struct, frozen=True):
    """The end of a poll: `taken` is final, after `reopen` the agent opens its seat again."""

    epoch: int
    state: State
    calls: tuple[SeatCall, ...] = ()
    receipts: tuple[Receipt, ...] = ()


T = TypeVar("T", bound=Struct)


def read(body: bytes, kind: type[T]) -> T:
    """What came to a seat or from it.

    Raises: UnreadableJson, MissingField or WrongType.
    """
    try:
        return msgspec.json.decode(body or b"{}", type=kind)
    except msgspec.ValidationError as error:
        raise complaint(kind.__name__.lower(), error) from None
    except UNREADABLE as error:
        raise json_text.explain(body, error) from None


def is_seat(endpoint: str) -> bool:
    """Whether an end point, as the manager records it, is a seat."""
    return endpoint.startswith(PREFIX)


def seat_of(player_id: str) -> str:
    """The path of a player's seat; below it are `open`, `poll` and the end point `mcp`."""
    return PREFIX + player_id


def endpoint_of(player_id: str) -> str:
    """The end point of a seated player, as the manager records it."""
    return f"{seat_of(player_id)}/mcp"


def split(path: str) -> tuple[str, str]:
    """Whose seat a path is about, and what is done there; empty where it is no such path."""
    player_id, _, action = path.removeprefix(PREFIX).partition("/")
    return (player_id, action) if is_seat(path) and action in ("open", "poll", "mcp") else ("", "")


def url_at(manager_url: str, path: str) -> str:
    """A path below a seat, or a URL with such a path, at the manager as the caller reaches it.

    A manager at `/leagues/cup/mcp` has its seats below `/leagues/cup`; of several addresses,
    between commas, the first stands for all.
    """
    where = urlsplit(manager_url.partition(",")[0])
    above = where.path.rstrip("/").rpartition("/")[0]
    _, prefix, seat = urlsplit(path).path.rpartition(PREFIX)
    return f"{where.scheme}://{where.netloc}{above}{prefix}{seat}"
