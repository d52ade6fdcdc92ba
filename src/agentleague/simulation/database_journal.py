"""A manager's journal in the simulated database: the decisions of the one on PostgreSQL."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Literal

from agentleague.errors import Claimed, StorageError, StorageFull
from agentleague.roles.effects import Event
from agentleague.roles.ports import Head, Row
from agentleague.simulation.clock import Lifetime
from agentleague.simulation.database import LEASE_SECONDS, Database, NotConnected
from agentleague.simulation.disk import FULL_SECONDS, Done, Write
from agentleague.storage import chain
from agentleague.storage.ownership import is_trusted, renewal_seconds, rows_found

RETRY_SECONDS = 0.2  # before a lost connection is made again


class DatabaseJournal:
    """Of one life of a manager; `on_lost` is told that the league is another's."""

    lost = None

    def __init__(self, database: Database, name: str, lifetime: Lifetime) -> None:
        self.epoch = 0
        self.on_lost: Callable[[StorageError], None] = lambda error: None
        self._database, self._lifetime = database, lifetime
        self._name, self.owner = name, f"{name} since {database.clock.now()}"
        self._league_id, self._head = "", Head(0, b"")
        self._renewed_at = float("-inf")
        self._is_full = self._is_busy = False
        self._staged: list[Write] = []
        self._batch: Sequence[Write] = ()  # of the statement under way
        self._rows: Sequence[Row] = ()  # the same as rows

    @property
    def state(self) -> Literal["ok", "full", "away"]:
        """Away is who cannot be sure any more that the league is its own."""
        if not is_trusted(self._lifetime.now(), self._renewed_at, LEASE_SECONDS):
            return "away"
        return "full" if self._is_full else "ok"

    @property
    def is_clean(self) -> bool:
        """Whether everything that was decided is written, and known to be."""
        return not self._is_busy

    def claim(self, league_id: str, done: Callable[[bool], None]) -> None:
        """Try to become the one who writes; `done` is told whether it is so."""
        sent_at = self._lifetime.now()

        def answered(epoch: Any) -> None:
            if isinstance(epoch, int):
                self.epoch, self._league_id, self._renewed_at = epoch, league_id, sent_at
                self._head = self._database.head(league_id)  # Nobody else can write any more.
                self._later(renewal_seconds(LEASE_SECONDS), self._renew)
            done(isinstance(epoch, int))

        self._ask(partial(self._database.take, league_id, self.owner), answered)

    def release(self) -> None:
        """End the lease, without waiting for an answer: the next manager need not wait."""
        if self.epoch:
            self._ask(self._statement("renew", 0.0), lambda answer: None)

    def read(self, league_id: str, after: int = 0) -> Iterator[Row]:
        """The rows after a number."""
        self._look_for_it()
        return self._database.read(league_id, after)

    def find(self, league_id: str, first: int, last: int, text: bytes) -> Sequence[Row]:
        """The rows in whose body this text stands."""
        self._look_for_it()
        return self._database.find(league_id, first, last, text)

    def append(self, league_id: str, after: int, events: Sequence[Event], done: Done) -> None:
        """Stage the events behind row `after`; `done` is called when they are known to be safe."""
        self._staged.append(Write(league_id, after, events, done))
        if not self._is_busy:
            self._is_busy = True
            self._later(0.0, self._begin)  # As a thread does: it may be stopped before it writes.

    def _begin(self) -> None:
        self._batch, self._staged = self._staged, []
        at = chain.moment(self._database.clock.now())
        entries = [chain.entry(event) for write in self._batch for event in write.events]
        self._rows = chain.extend(self._head, self._league_id, at, entries)
        self._send()

    def _send(self) -> None:
        self._ask(self._statement("insert", self._rows), self._sent)

    def _sent(self, written: Any) -> None:
        self._is_full = isinstance(written, StorageFull)
        if self._is_full:
            self._later(FULL_SECONDS, self._send)
        elif isinstance(written, StorageError):
            self._later(RETRY_SECONDS, self._look)
        elif written:
            self._confirm()
        else:
            self._lose()

    def _look(self) -> None:
        """What became of a statement is not known: only the tail says whether to repeat it."""
        self._ask(self._statement("tail"), self._looked)

    def _looked(self, tail: Any) -> None:
        if isinstance(tail, StorageError):
            self._later(RETRY_SECONDS, self._look)
            return
        found = rows_found(tail, self._head, self._rows) if tail else None
        if found is None:
            self._lose()
        elif found:  # A statement is carried out as a whole.
            self._confirm()
        else:
            self._send()

    def _confirm(self) -> None:
        rows, first = self._rows, 0
        self._head = Head(rows[-1].seq, rows[-1].hash)
        for write in self._batch:
            last = first + len(write.events)
            write.done(rows[first:last])
            first = last
        self._batch, self._is_busy = (), bool(self._staged)
        if self._is_busy:
            self._begin()

    def _renew(self) -> None:
        sent_at = self._lifetime.now()

        def renewed(answer: Any) -> None:
            if answer is True:
                self._renewed_at = sent_at
            elif answer is False:
                self._lose()
            waited = self._lifetime.now() - sent_at
            self._later(max(0.0, renewal_seconds(LEASE_SECONDS) - waited), self._renew)

        self._ask(self._statement("renew"), renewed)

    def _lose(self) -> None:
        error = Claimed(f"another manager has taken league {self._league_id}")
        if self._batch:
            self._batch[0].done(error)
        else:
            self.on_lost(error)

    def _look_for_it(self) -> None:
        if not self._database.is_reachable(self._name):
            raise NotConnected("the database is away")

    def _statement(self, name: str, *more: Any) -> Callable[[], Any]:
        return partial(getattr(self._database, name), self._league_id, self.epoch, *more)

    def _ask(self, work: Callable[[], Any], done: Callable[[Any], None]) -> None:
        self._database.send((self._name, self._lifetime), work, done)

    def _later(self, seconds: float, what: Callable[[], None]) -> None:
        self._lifetime.call_at(self._lifetime.now() + seconds, what)
