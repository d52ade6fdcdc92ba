"""The ports: all that a host needs from the world, and the one thing it needs from a role."""

from collections.abc import AsyncIterator, Callable, Collection, Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple, Protocol

from msgspec import Struct

from agentleague.errors import LeagueError, Lost, StorageError
from agentleague.protocol.messages import Message
from agentleague.roles.effects import Address, Effect, Event, Turn
from agentleague.roles.stimuli import Caller, Stimulus

Cancel = Callable[[], None]


class Head(NamedTuple):
    """The end of a journal: the number and the chain hash of its last row."""

    seq: int
    hash: bytes


class Row(NamedTuple):
    """One journal row as stored."""

    league_id: str
    seq: int
    at: str
    kind: str
    version: int
    body: bytes
    hash: bytes


class Answer(Struct, frozen=True, gc=False):
    """What became of a call; after one that is not the last a better one may follow."""

    message: Message | None
    error: LeagueError | None
    seconds: float
    dialect: str = ""  # in which it was understood, where others were tried
    is_last: bool = True


OnAnswer = Callable[[Answer], None]
OnTold = Callable[[Mapping[str, LeagueError]], None]


class Telling(Protocol):
    """A broadcast under way: for whom it waits, and whom it could not tell."""

    @property
    def awaited(self) -> Collection[str]: ...

    @property
    def failed(self) -> Mapping[str, LeagueError]: ...

    def cancel(self) -> None: ...


class Role(Protocol):
    """Manager, referee or player: a stimulus and the time go in, effects come out."""

    def handle(self, stimulus: Stimulus, now: float) -> Sequence[Effect]: ...

    def answer(self, message: Message, caller: Caller, now: float) -> Message | LeagueError | None:
        """What is answered at once, where nothing has to be recorded, called or timed.

        None: nothing has changed, and `handle` is asked.
        """

    def apply(self, event: Event) -> None: ...


class Clock(Protocol):
    """Monotonic seconds and timers."""

    def now(self) -> float: ...

    def call_at(self, when: float, wake: Callable[[], None]) -> Cancel: ...


OnAsk = Callable[[Message, Caller, Callable[[Message | LeagueError], None]], None]


class Transport(Protocol):
    """Messages in and out.

    In a broadcast each agent gets its messages in order; one that fails does not keep the next from
    being sent, unless the time is over. `done` is told at the end, never within the call.
    """

    def listen(self, on_ask: OnAsk) -> None: ...

    def call(self, to: Address, message: Message, until: float, done: OnAnswer) -> Cancel: ...

    def broadcast(
        self, letters: Sequence[tuple[Address, Sequence[Message]]], until: float, done: OnTold
    ) -> Telling: ...


class Seat(Protocol):
    """An agent's end of a seat: `start` it to fetch calls, which come as other requests do."""

    ended: Callable[[], None]  # is told that another program has taken the seat
    refused: Callable[[int, bytes], None]  # with an HTTP status and body
    heard: Callable[[bool], None]  # whether the manager is there, when it answers or does not

    def start(self) -> None: ...


class JournalReader(Protocol):
    """The committed rows of leagues, each one verified; anybody may read while a manager writes.

    `follow` goes on with later rows as they are committed, also by another process.
    """

    def leagues(self) -> Sequence[str]: ...

    def read(self, league_id: str, after: int = 0) -> Iterator[Row]: ...

    def find(self, league_id: str, first: int, last: int, text: bytes) -> Sequence[Row]: ...

    def follow(self, league_id: str, after: int = 0) -> AsyncIterator[Row]: ...

    def damage(self) -> str | None: ...

    def size_bytes(self) -> int: ...


class Journal(JournalReader, Protocol):
    """Append-only rows, chained by hash, one chain per league.

    It is `full` while there is no room, and `away` while its database is, or may be another's.
    """

    @property
    def state(self) -> Literal["ok", "full", "away", "failed"]: ...

    @property
    def lost(self) -> Lost | None:
        """The loss that a claim has accepted; it is noted as accepted with the next row."""

    def claim(self, league_id: str, *, accept_loss: bool = False) -> Head: ...

    def end(self, lost: Lost) -> Lost:
        """Write no more: somebody proves that rows are gone. Returns it with what to do.

        The next claim finds the same.
        """

    def append(
        self,
        league_id: str,
        after: int,
        events: Sequence[Event],
        done: Callable[[Sequence[Row] | StorageError], None],
    ) -> None: ...

    def publish(self, address: str) -> None:
        """Let commands on this machine find the manager."""

    def close(self) -> None: ...


class StrategyRunner(Protocol):
    """Runs the author's function; `done` gets a move, or None and why it failed."""

    def run(self, turn: Turn, done: Callable[[Any, str | None], None]) -> None: ...
