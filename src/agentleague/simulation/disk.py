"""A disk in virtual time: rows are safe a little after they are written, or lost in a crash."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from agentleague.errors import StorageError
from agentleague.roles.effects import Event
from agentleague.roles.ports import Cancel, Clock, Row
from agentleague.storage.memory import MemoryJournal

Written = Sequence[Row] | StorageError
Done = Callable[[Written], None]
SYNC_SECONDS = 0.002  # for a commit
FULL_SECONDS = 1.0  # between two tries to write to a disk that is full


class Write(NamedTuple):
    """Events that somebody wants to write."""

    league_id: str
    after: int
    events: Sequence[Event]
    done: Done


class Disk(MemoryJournal):
    """A journal whose writes are staged, and committed in groups as a disk does it.

    A commit takes `sync_seconds`: halfway the rows are safe, at the end their writer is told. So a
    crash finds rows that are lost, and safe rows that nobody was told of. While the disk is full
    writes wait; when it fails the commit under way is refused, and nothing of it is safe.
    """

    def __init__(self, clock: Clock, sync_seconds: float = SYNC_SECONDS) -> None:
        super().__init__(clock.now)
        self.sync_seconds = sync_seconds
        self.rows_total = 0  # that are safe
        self.deliver: Callable[[Callable[[], None]], None] = lambda what: what()  # to the writer
        self.on_commit: Callable[[Sequence[Event]], None] | None = None  # gets what is safe now
        self._clock = clock
        self._staged: list[Write] = []
        self._unsafe: Sequence[Write] = ()  # of the commit under way, until they are safe
        self._stop: Cancel | None = None  # the commit under way

    @property
    def is_clean(self) -> bool:
        """Whether everything that was written is safe, and its writer knows."""
        return self._stop is None

    def append(self, league_id: str, after: int, events: Sequence[Event], done: Done) -> None:
        """Stage the events behind row `after`; `done` is called when they are safe."""
        self._staged.append(Write(league_id, after, events, done))
        if self._stop is None:
            self._begin()

    def mend(self) -> None:
        """Let writes succeed again."""
        self.state = "ok"

    def crash(self) -> None:
        """The writer is dead: rows that are not safe are lost, and nobody is told."""
        if self._stop:
            self._stop()
        self._stop = None
        self._staged.clear()
        self._unsafe = ()
        self.close()

    def dispose(self) -> None:
        """Nothing is left of it but the rows."""

    def flip_bits(self) -> str | None:
        """What becomes of damaged copies, if it has any and that is wrong."""
        return None

    def _begin(self) -> None:
        batch, self._staged = self._staged, []
        self._unsafe = batch
        self._wait(lambda: self._commit(batch))

    def _commit(self, batch: Sequence[Write]) -> None:
        if self.state == "full":
            self._wait(lambda: self._commit(batch), FULL_SECONDS)
            return
        self._unsafe = ()
        outcomes: list[tuple[Done, Written]]
        if self.state == "failed":
            outcomes = [(write.done, self._refused(write)) for write in batch]
            self.mend()
        else:
            outcomes = [(write.done, self._written(write)) for write in batch]
        self._wait(lambda: self.deliver(lambda: self._tell(outcomes)))

    def _written(self, write: Write) -> Written:
        outcome: list[Written] = []
        super().append(write.league_id, write.after, write.events, outcome.append)
        self.rows_total += len(write.events)
        if self.on_commit:
            self.on_commit(write.events)
        return outcome[0]

    def _refused(self, write: Write) -> StorageError:
        """Nothing of it is safe."""
        return StorageError("disk I/O error")

    def _tell(self, outcomes: Sequence[tuple[Done, Written]]) -> None:
        under_way = self._stop
        for done, outcome in outcomes:
            if self._stop is under_way:  # Else the writer has crashed meanwhile.
                done(outcome)
        if self._stop is under_way:
            self._stop = None
            if self._staged:
                self._begin()

    def _wait(self, then: Callable[[], None], seconds: float | None = None) -> None:
        wait = self.sync_seconds / 2 if seconds is None else seconds
        self._stop = self._clock.call_at(self._clock.now() + wait, then)
