"""What a role can do: values, so that a test compares lists."""

from collections.abc import Mapping, Sequence
from functools import cached_property
from random import Random
from typing import Any

from msgspec import Struct

from agentleague.errors import LeagueError
from agentleague.protocol.messages import Message
from agentleague.roles.stimuli import Key


class Event(Struct, frozen=True, gc=False, tag_field="kind"):
    """A decision that goes into the journal; each kind is a subclass."""


class Address(Struct, frozen=True, gc=False):
    """Where an agent is called."""

    agent_id: str
    url: str
    dialect: str = ""  # how it wants to be spoken to; empty: as we like
    proof_keys: tuple[bytes, ...] = ()  # with which a manager proves its messages to it


class Record(Struct, frozen=True, gc=False):
    """Write an event into the journal; the role has applied it already."""

    event: Event


class Reply(Struct, frozen=True):
    """Answer what was asked; `receipt` is the row that the host names in the answer."""

    to: int
    answer: Message | LeagueError
    receipt: int | None = None


class Call(Struct, frozen=True, gc=False):
    """Send a message and hand back what is answered before `until`."""

    key: Key
    to: Address
    message: Message
    until: float
    receipt: int | None = None


# Messages with the row that the host names in each, if any; what is the same for all is one object.
Letters = Sequence[tuple[Address, Sequence[tuple[Message, int | None]]]]


class Broadcast(Struct, frozen=True):
    """Send each of many agents its messages, in order, and say who has not answered by `until`."""

    key: Key
    letters: Letters
    until: float


class Drop(Struct, frozen=True, gc=False):
    """Stop waiting for a call or a broadcast."""

    key: Key


class WakeAt(Struct, frozen=True, gc=False):
    """Ring at `when`; a second timer of the same key replaces the first."""

    key: Key
    when: float


class Turn(Struct, frozen=True, kw_only=True, dict=True):
    """What an author's function is shown when it is to move.

    `history` has the matches of this league, `past` those of earlier ones that were kept; a name is
    empty until a table has told it.
    """

    game_type: str
    league_id: str
    match_id: str
    round_id: int
    player_id: str
    opponent_id: str
    record: Mapping[str, int]
    history: Sequence[Mapping[str, Any]]
    standings: Sequence[Mapping[str, Any]]
    legal_moves: Sequence[Any]
    position: Any
    seconds_left: float
    seed: str  # of `rng`
    opponent_name: str = ""
    number: int = 0  # of the turn in its match, as the referee counts
    past: Sequence[Mapping[str, Any]] = ()

    @cached_property
    def rng(self) -> Random:
        """The random numbers of this turn; seeding takes as long as the rest of a turn."""
        return Random(self.seed)


class RunStrategy(Struct, frozen=True):
    """Run the author's function."""

    key: Key
    turn: Turn


class End(Struct, frozen=True):
    """The role's work is done; `summary` is what there is to say."""

    summary: Any = None


class Sit(Struct, frozen=True, gc=False):
    """Fetch calls from a seat at the manager, whose path this is; what comes is told as asked."""

    manager_url: str
    seat: str
    token: str


Effect = Record | Reply | Call | Broadcast | Drop | WakeAt | RunStrategy | End | Sit
