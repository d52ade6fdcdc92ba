"""A database in virtual time that several managers share, with the rules of the real one.

A statement travels there, is carried out at one instant or not at all, and its answer travels back;
each of these can be lost. So a manager that has no answer does not know what became of it, and a
statement may be carried out when nobody waits for it any more.
"""

from collections.abc import Callable, Sequence
from functools import partial
from random import Random
from typing import Any, NamedTuple

from agentleague.errors import StorageError, StorageFull
from agentleague.roles.ports import Head, Row
from agentleague.simulation.clock import Lifetime, VirtualClock
from agentleague.simulation.disk import Disk
from agentleague.simulation.network import Links

DATABASE = "database"  # its name among the ways of the network
LEASE_SECONDS = 4.0
WAIT_SECONDS = 2.0  # for an answer, before a connection is given up
SLOWEST = 10.0  # a statement takes up to so many times as long as the quickest


class NotConnected(StorageError):
    """The database is away, or the connection was lost: the statement may be carried out or not."""


class Owner(NamedTuple):
    """Who writes a league, and until when nobody else may."""

    epoch: int
    owner: str
    lease_until: float  # by the clock of the database


class Database(Disk):
    """Rows and owners; `wrong` is told of rows that no rule allows."""

    def __init__(self, clock: VirtualClock, links: Links, seed: int) -> None:
        super().__init__(clock)
        self.clock, self.links, self.rows = clock, links, self._rows
        self.owners: dict[str, Owner] = {}
        self.is_away, self.restarts = False, 0
        self.wrong: Callable[[str], None] = lambda sentence: None
        self.random = Random(f"database|{seed}").random
        self.statements: dict[_Statement, None] = {}  # that somebody waits for, in order
        self.unconnected: set[str] = set()  # managers whose next statement needs a new connection

    def send(self, asker: tuple[str, Lifetime], work: Callable[[], Any], done: Any) -> None:
        """Let a manager ask for a statement; `done` gets its result, or a StorageError."""
        _Statement(self, asker, work, done).send()

    def reach(self, name: str) -> None:
        """Raises NotConnected where a manager cannot read."""
        if self.is_away or name in self.unconnected:
            raise NotConnected("the database is away")

    # What a statement does: all of it at once.

    def take(self, league_id: str, owner: str) -> int | None:
        """The epoch of a new owner, unless the lease of another lasts."""
        now, before = self.clock.now(), self.owners.get(league_id, Owner(0, "", 0.0))
        if before.owner != owner and now < before.lease_until:
            return None
        self.owners[league_id] = Owner(before.epoch + 1, owner, now + LEASE_SECONDS)
        return before.epoch + 1

    def renew(self, league_id: str, epoch: int, seconds: float = LEASE_SECONDS) -> bool:
        """Let the lease begin anew, unless the epoch is over."""
        if self.is_current(league_id, epoch):
            lease_until = self.clock.now() + seconds
            self.owners[league_id] = self.owners[league_id]._replace(lease_until=lease_until)
        return self.is_current(league_id, epoch)

    def insert(self, league_id: str, epoch: int, rows: Sequence[Row]) -> bool:
        """Whether all rows are written: none is where the epoch is over."""
        return self.is_current(league_id, epoch) and self.write(league_id, epoch, rows)

    def tail(self, league_id: str, epoch: int) -> Head:
        """The end of the league, whoever wrote it."""
        return self._head(league_id)

    def is_current(self, league_id: str, epoch: int) -> bool:
        """Whether nobody has taken the league since."""
        return self.owners[league_id].epoch == epoch

    def write(self, league_id: str, epoch: int, rows: Sequence[Row]) -> bool:
        """Put the rows into the table, where each number stands once."""
        if self.state == "full":
            raise StorageFull("could not extend file: No space left on device")
        if not self.is_current(league_id, epoch):  # Though its number may be taken by luck.
            self.wrong(f"row {rows[0].seq} came through in epoch {epoch}, which is over")
        if rows[0].seq <= self._head(league_id).seq:
            raise StorageError(f"there is a row {rows[0].seq} of league {league_id}")
        self.rows.setdefault(league_id, []).extend(rows)
        self.rows_total += len(rows)
        return True

    # What goes wrong with it.

    def cut(self, name: str = "") -> None:
        """The connections of a manager are gone, or all."""
        for statement in [each for each in self.statements if name in ("", each.name)]:
            statement.cut()

    def restart(self) -> None:
        """It is away; statements that are not carried out yet are lost, and all connections."""
        self.is_away = True
        self.restarts += 1
        self.cut()

    def mend(self) -> None:
        """It is there, and takes rows."""
        super().mend()
        self.is_away = False

    def crash(self) -> None:
        """A manager died; the database did not."""


class _Statement:
    """One statement on its way there, and its answer on its way back."""

    def __init__(
        self, database: Database, asker: tuple[str, Lifetime], work: Any, done: Any
    ) -> None:
        self._database, self._work, self._done = database, work, done
        self.name, self._lifetime = asker
        self._restarts: int | None = None  # of the database before it arrived

    def send(self) -> None:
        database, name = self._database, self.name
        database.statements[self] = None
        late = partial(self._finish, NotConnected("the database does not answer"))
        self._lifetime.call_at(self._lifetime.now() + WAIT_SECONDS, late)
        if name in database.unconnected and database.links.loses(DATABASE, name):
            return  # A new connection needs an answer before anything can be sent.
        database.unconnected.discard(name)
        self._travel(name, DATABASE, self._arrive)

    def cut(self) -> None:
        """The connection is gone: it does not arrive any more, or its answer does not."""
        if self._restarts is None:
            self._work = None
        self._lifetime.when_awake(self._finish, NotConnected("the connection is gone"))

    def _travel(self, source: str, target: str, then: Callable[[], None]) -> None:
        links = self._database.links
        if not links.loses(source, target):
            self._database.clock.call_after(links.delay(), then)

    def _arrive(self) -> None:
        database, self._restarts = self._database, self._database.restarts
        if database.is_away:
            self._answer(NotConnected("connection refused"))
        elif self._work:
            seconds = database.sync_seconds * (1 + (SLOWEST - 1) * database.random())
            database.clock.call_after(seconds, self._carry_out)

    def _carry_out(self) -> None:
        if self._restarts == self._database.restarts:
            try:
                self._answer(self._work())
            except StorageError as error:
                self._answer(error)

    def _answer(self, result: Any) -> None:
        finish = partial(self._lifetime.when_awake, self._finish, result)
        self._travel(DATABASE, self.name, finish)

    def _finish(self, result: Any) -> None:
        if self in self._database.statements:
            del self._database.statements[self]
            if isinstance(result, NotConnected):
                self._database.unconnected.add(self.name)
            self._done(result)
