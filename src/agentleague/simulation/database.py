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


class NumberTaken(StorageError):
    """There is a row of this number already."""


class Owner(NamedTuple):
    """Who writes a league, and until when nobody else may."""

    epoch: int
    owner: str
    lease_until: float  # by the clock of the database


class Database(Disk):
    """Rows and owners; `wrong` is told of rows that no rule allows."""

    def __init__(self, clock: VirtualClock, links: Links, seed: int) -> None:
        super().__init__(clock)
        self.clock, self.links, self.restarts = clock, links, 0
        self.owners: dict[str, Owner] = {}
        self.is_away = False
        self.wrong: Callable[[str], None] = lambda sentence: None
        self._random = Random(f"database|{seed}").random
        self.statements: dict[_Statement, None] = {}  # that somebody waits for, in order
        self.unconnected: set[str] = set()  # managers whose next statement needs a new connection

    def send(self, asker: tuple[str, Lifetime], work: Callable[[], Any], done: Any) -> None:
        """Let a manager ask for a statement; `done` gets its result, or a StorageError."""
        _Statement(self, *asker, work, done).send()

    def connect(self, name: str) -> bool:
        """Whether a manager has a connection; for a new one its answer must come through."""
        if name in self.unconnected and self.links.loses(DATABASE, name):
            return False
        self.unconnected.discard(name)
        return True

    def work_seconds(self) -> float:
        """How long the next statement takes."""
        return self.sync_seconds * (1 + (SLOWEST - 1) * self._random())

    # What a statement does: all of it at once.

    def take(self, league_id: str, owner: str) -> int | None:
        """The epoch of a new owner, unless the lease of another lasts."""
        now, before = self._clock.now(), self.owners.get(league_id, Owner(0, "", 0.0))
        if before.owner != owner and now < before.lease_until:
            return None
        self.owners[league_id] = Owner(before.epoch + 1, owner, now + LEASE_SECONDS)
        return before.epoch + 1

    def renew(self, league_id: str, epoch: int, seconds: float = LEASE_SECONDS) -> bool:
        """Let the lease begin anew, unless the epoch is over."""
        if not self.is_current(league_id, epoch):
            return False
        lease_until = self._clock.now() + seconds
        self.owners[league_id] = self.owners[league_id]._replace(lease_until=lease_until)
        return True

    def insert(self, league_id: str, epoch: int, rows: Sequence[Row]) -> int:
        """How many rows are written: all, or none where the epoch is over."""
        return self.write(league_id, epoch, rows) if self.is_current(league_id, epoch) else 0

    def tail(self, league_id: str, epoch: int) -> Head | None:
        """The end of the league, unless the epoch is over."""
        return self.head(league_id) if self.is_current(league_id, epoch) else None

    def owner(self, league_id: str) -> str:
        """Who took the league last."""
        return self.owners[league_id].owner

    def head(self, league_id: str) -> Head:
        """The end of the league."""
        return self._head(league_id)

    def is_current(self, league_id: str, epoch: int) -> bool:
        """Whether nobody has taken the league since."""
        return self.owners[league_id].epoch == epoch

    def write(self, league_id: str, epoch: int, rows: Sequence[Row]) -> int:
        """Put the rows into the table, where each number stands once."""
        if self.state == "full":
            raise StorageFull("could not extend file: No space left on device")
        if not self.is_current(league_id, epoch):  # Though its number may be taken by luck.
            self.wrong(f"row {rows[0].seq} came through in epoch {epoch}, which is over")
        if rows[0].seq <= self.head(league_id).seq:
            raise NumberTaken(f"there is a row {rows[0].seq} of league {league_id}")
        self._rows.setdefault(league_id, []).extend(rows)
        self.rows_total += len(rows)
        return len(rows)

    # What goes wrong with it.

    def restart(self) -> None:
        """Statements that are not carried out yet are lost, and so are all connections."""
        self.restarts += 1
        self.cut()

    def cut(self, name: str = "") -> None:
        """The connections of a manager are gone, or all."""
        for statement in [each for each in self.statements if name in ("", each.name)]:
            statement.cut()

    def mend(self) -> None:
        """It is there, and takes rows."""
        super().mend()
        self.is_away = False

    def crash(self) -> None:
        """A manager died; the database did not."""

    def is_reachable(self, name: str) -> bool:
        """Whether a manager can read from it now."""
        ways = (name, DATABASE), (DATABASE, name)
        return not self.is_away and not any(self.links.is_cut(*way) for way in ways)


class _Statement:
    """One statement on its way there, and its answer on its way back."""

    def __init__(
        self, database: Database, name: str, lifetime: Lifetime, work: Any, done: Any
    ) -> None:
        self.name, self._lifetime = name, lifetime
        self._database, self._work, self._done = database, work, done
        self._restarts: int | None = None  # of the database before it arrived

    def send(self) -> None:
        self._database.statements[self] = None
        late = partial(self._finish, NotConnected("the database does not answer"))
        self._lifetime.call_at(self._lifetime.now() + WAIT_SECONDS, late)
        if self._database.connect(self.name):
            self._travel(self.name, DATABASE, self._arrive)

    def cut(self) -> None:
        """The connection is gone: it does not arrive any more, or its answer does not."""
        if self._restarts is None:
            self._work = None
        self._lifetime.when_awake(self._finish, NotConnected("the connection is gone"))

    def _travel(self, source: str, target: str, then: Callable[[], None]) -> None:
        database = self._database
        if not database.links.loses(source, target):
            database.clock.call_after(database.links.delay(), then)

    def _arrive(self) -> None:
        database, self._restarts = self._database, self._database.restarts
        if database.is_away:
            self._answer(NotConnected("connection refused"))
        elif self._work:
            database.clock.call_after(database.work_seconds(), self._carry_out)

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
