"""A manager's journal in the simulated database: it decides as the one on PostgreSQL does."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal

from agentleague.errors import Claimed, StorageError, StorageFull
from agentleague.roles.ports import Head, Row
from agentleague.simulation.clock import Lifetime
from agentleague.simulation.database import LEASE_SECONDS, Database, NotConnected
from agentleague.simulation.disk import FULL_SECONDS, Disk, Write
from agentleague.storage import chain
from agentleague.storage.ownership import is_trusted, renewal_seconds, rows_found

RETRY_SECONDS = 0.2  # before a lost connection is made again


class DatabaseJournal(Disk):
    """Of one life of a manager; `on_lost` is told that the league is another's."""

    def __init__(self, database: Database, name: str, lifetime: Lifetime, league_id: str) -> None:
        super().__init__(lifetime)
        self.owner, self.epoch = f"{name} since {database.clock.now()}", 0
        self.on_lost: Callable[[StorageError], None] = lambda error: None
        self._asker, self._database, self._league_id = (name, lifetime), database, league_id
        self._rows, self._head_row = database.rows, Head(0, b"")  # what the next rows follow
        self._renewed_at = float("-inf")
        self._batch: Sequence[Write] = ()  # of the statement under way
        self._added: Sequence[Row] = ()  # the same as rows

    @property
    def state(self) -> Literal["ok", "full", "away", "failed"]:
        """Away is who cannot be sure any more that the league is its own."""
        is_sure = is_trusted(self._clock.now(), self._renewed_at, LEASE_SECONDS)
        return ("full" if self._is_full else "ok") if is_sure else "away"

    @state.setter
    def state(self, state: str) -> None:
        self._is_full = state == "full"

    def contend(self, done: Callable[[bool], None]) -> None:
        """Try to become the one who writes; `done` is told whether it is so."""
        sent_at = self._clock.now()

        def answered(epoch: Any) -> None:
            if isinstance(epoch, int):
                self.epoch, self._renewed_at = epoch, sent_at
                self._head_row = self._head(self._league_id)  # Nobody else can write any more.
                self._after(renewal_seconds(LEASE_SECONDS), self._renew)
            done(isinstance(epoch, int))

        work = partial(self._database.take, self._league_id, self.owner)
        self._database.send(self._asker, work, answered)

    def release(self) -> None:
        """End the lease, without waiting for an answer: the next manager need not wait."""
        if self.epoch:
            self._ask("renew", lambda answer: None, 0.0)

    def read(self, league_id: str, after: int = 0) -> Iterator[Row]:
        """The rows after a number."""
        self._database.reach(self._asker[0])
        return super().read(league_id, after)

    def find(self, league_id: str, first: int, last: int, text: bytes) -> Sequence[Row]:
        """The rows in whose body this text stands."""
        self._database.reach(self._asker[0])
        return super().find(league_id, first, last, text)

    def _commit(self, batch: Sequence[Write]) -> None:
        at = chain.moment(self._database.clock.now())
        entries = [chain.entry(event) for write in batch for event in write.events]
        self._batch = batch
        self._added = chain.extend(self._head_row, self._league_id, at, entries)
        self._send()

    def _send(self) -> None:
        self._ask("insert", self._sent, self._added)

    def _sent(self, written: Any) -> None:
        self._is_full = isinstance(written, StorageFull)
        if self._is_full:
            self._after(FULL_SECONDS, self._send)
        elif isinstance(written, StorageError):
            self._after(RETRY_SECONDS, self._look)
        else:
            self._settle(len(self._added) if written else None)

    def _look(self) -> None:
        """What became of a statement is not known: only the tail says whether to repeat it."""
        self._ask("tail", self._looked)

    def _looked(self, tail: Any) -> None:
        if isinstance(tail, NotConnected):
            self._after(RETRY_SECONDS, self._look)
        else:
            self._settle(rows_found(tail, self._head_row, self._added))

    def _settle(self, found: int | None) -> None:
        """So many of the rows are there: all or none, since a statement is carried out so."""
        if found is None:
            self._lose()
        elif found == 0:
            self._send()
        else:
            left = iter(self._added)
            self._head_row = Head(self._added[-1].seq, self._added[-1].hash)
            self._tell([(each.done, [next(left) for _ in each.events]) for each in self._batch])

    def _renew(self) -> None:
        sent_at = self._clock.now()

        def renewed(answer: Any) -> None:
            if answer is False:
                self._lose()
                return
            self._renewed_at = sent_at if answer is True else self._renewed_at
            waited = self._clock.now() - sent_at
            self._after(max(0.0, renewal_seconds(LEASE_SECONDS) - waited), self._renew)

        self._ask("renew", renewed)

    def _lose(self) -> None:
        self.on_lost(Claimed(f"another manager has taken league {self._league_id}"))

    def _ask(self, statement: str, done: Callable[[Any], None], *more: Any) -> None:
        work = partial(getattr(self._database, statement), self._league_id, self.epoch, *more)
        self._database.send(self._asker, work, done)

    def _after(self, seconds: float, what: Callable[[], None]) -> None:
        self._clock.call_at(self._clock.now() + seconds, what)
