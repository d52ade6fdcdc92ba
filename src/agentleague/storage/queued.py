"""What journals have in common whose rows one thread writes: appends wait in a queue for it."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from queue import Empty, SimpleQueue
from threading import Event as Signal
from threading import Lock, Thread
from typing import Any, Generic, NamedTuple, TypeVar

from agentleague.errors import StorageError, StorageFull
from agentleague.roles.effects import Event
from agentleague.roles.ports import Head, Row
from agentleague.storage import chain

Done = Callable[[Sequence[Row] | StorageError], None]


@dataclass(eq=False, slots=True)
class Claim:
    """A league to which this journal appends."""

    league_id: str
    head: Head | Row  # behind which the next rows are written
    last: int  # number of the last row, queued ones counted
    error: StorageError | None = None  # why it is over


class Append(NamedTuple):
    """Events of one call, which are written all or none."""

    claim: Any
    at: float
    entries: Sequence[chain.Entry]
    done: Done


LAST = Append(Claim("", Head(0, b""), 0), 0.0, (), lambda answer: None)  # Nothing comes behind it.
_Claim = TypeVar("_Claim", bound=Claim)


@dataclass(frozen=True)
class QueueLimits:
    """The limits of a queue."""

    batch: int = 512  # events in a transaction
    waiting: int = 10_000  # events not yet committed


class QueuedJournal(Generic[_Claim]):
    """The queue of a journal; `_write` runs in its thread, which a claim starts."""

    def __init__(
        self,
        wall: Callable[[], float],
        deliver: Callable[[Callable[[], None]], None],
        bounds: QueueLimits,
    ) -> None:
        self.commits = 0
        self._wall, self._deliver, self._bounds = wall, deliver, bounds
        self._claims: dict[str, _Claim] = {}
        self._queue: SimpleQueue[Append] = SimpleQueue()
        self._batch: list[Append] = []  # taken from the queue, and not committed yet
        self._next: Append | None = None  # taken too, but the batch had no room for it
        self._queued = self._settled = 0  # events so far; and those committed or given up
        self._queueing = Lock()  # held while the end is set: nothing is queued after it
        self._closing = Signal()
        self._end: StorageError | None = None  # why everything is refused
        self._thread = Thread(target=self._write, name="journal", daemon=True)

    @property
    def waiting(self) -> int:
        """How many events are not committed yet."""
        return self._queued - self._settled

    def append(self, league_id: str, after: int, events: Sequence[Event], done: Done) -> None:
        """Write the events, all or none; only a refusal reaches `done` before this returns."""
        with self._queueing:
            claim = self._claims.get(league_id)
            refusal = self._refusal(claim, league_id, after, len(events))
            if refusal is None and claim is not None:
                entries = [*map(chain.entry, events)]
                self._queued += len(events)
                claim.last += len(events)
                self._queue.put(Append(claim, self._wall(), entries, done))
        if refusal is not None:
            done(refusal)

    def _refusal(
        self, claim: _Claim | None, league_id: str, after: int, count: int
    ) -> StorageError | None:
        end = self._end or (claim.error if claim else None)
        if end is not None:
            return end
        # Where nothing waits an append may be larger than the limit, or it never could be written.
        if self.waiting and self.waiting + count > self._bounds.waiting:
            return StorageFull(f"the journal is {self.waiting:,} events behind")
        return chain.refusal(league_id, after, claim.last if claim else None)

    def _stop_queueing(self) -> None:
        with self._queueing:
            self._end = self._end or StorageError("the journal is closed")
        self._closing.set()
        self._queue.put(LAST)

    def _write(self) -> None:
        raise NotImplementedError

    def _take(self, seconds: float | None) -> None:
        """Wait for something to write, not longer than that; take all of it."""
        size = 0
        with suppress(Empty):
            self._next = self._next or self._queue.get(timeout=seconds)
            while self._next is not LAST:
                size += len(self._next.entries)
                if self._batch and size > self._bounds.batch:
                    return
                self._batch.append(self._next)
                self._next = None
                self._next = self._queue.get_nowait()

    def _chain(self) -> list[list[Row]]:
        heads: dict[_Claim, Head | Row] = {}
        added = []
        for claim, unix_seconds, entries, _ in self._batch:
            head, at = heads.get(claim, claim.head), chain.moment(unix_seconds)
            added.append(chain.extend(head, claim.league_id, at, entries))
            if added[-1]:
                heads[claim] = added[-1][-1]
        return added

    def _settle(self, added: Sequence[Sequence[Row]]) -> None:
        each = zip(self._batch, added, strict=True)
        answers = [(append.done, append.claim.error or rows) for append, rows in each]
        self._settled += sum(map(len, added))
        self._batch.clear()
        self.commits += 1
        self._deliver(partial(_answer, answers))

    def _end_with(self, error: StorageError) -> None:
        with self._queueing:
            self._end = error
            left = [*self._batch, *filter(None, [self._next])]
            while not self._queue.empty():
                left.append(self._queue.get())
            self._settled = self._queued
        self._deliver(partial(_answer, [(append.done, error) for append in left]))


def _answer(answers: Sequence[tuple[Done, Sequence[Row] | StorageError]]) -> None:
    for done, result in answers:
        done(result)
