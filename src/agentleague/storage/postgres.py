"""Journals in a PostgreSQL database: several machines may run them, one at a time each league.

One thread writes. `append` only checks and queues; the thread takes all that waits, chains the
rows, and inserts them in one statement, which is a transaction: group commit, also over leagues.

Each league has one row in `owners`. Whoever claims it raises its epoch, which is possible when the
lease is over, by the clock of the database; the thread renews the leases. A lease only says when
another may claim: who may write is said by the epoch, which the insertion itself compares. So an
owner that was stopped, or whose clock is wrong, writes nothing once another has taken over.

A database that is away is waited out. Whether a statement was carried out whose answer is lost,
the last row says: it is read before anything is repeated. Only another owner ends a league.
"""

import logging
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from itertools import chain as chained
from threading import Event as Signal
from threading import Lock, Thread
from time import perf_counter
from typing import Literal
from uuid import uuid4

import psycopg

from agentleague.errors import Claimed, Lost, StorageError, StorageFull
from agentleague.roles.ports import Head, Row
from agentleague.storage import postgres_reader
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.ownership import is_trusted, renewal_seconds, rows_found
from agentleague.storage.postgres_errors import NO_ROOM, explain, is_passing
from agentleague.storage.postgres_reader import (
    CHANNEL,
    COLUMNS,
    Connection,
    PostgresLimits,
    PostgresReader,
    connect,
)
from agentleague.storage.postgres_schema import LastingConnection, cautions
from agentleague.storage.queued import LAST, Append, Claim, QueuedJournal

_log = logging.getLogger(__name__)

_LEASE = "clock_timestamp() + make_interval(secs => %(seconds)s)"
_CLAIM = f"""
INSERT INTO agentleague.owners AS former (league_id, epoch, owner, address, lease_until)
VALUES (%(league_id)s, 1, %(owner)s, replace(%(address)s, '*', %(league_id)s), {_LEASE})
ON CONFLICT (league_id) DO UPDATE SET epoch = former.epoch + 1, owner = excluded.owner,
    address = excluded.address, lease_until = {_LEASE}
WHERE former.lease_until <= clock_timestamp() OR former.owner = excluded.owner
RETURNING epoch, lost_until, lost_hash
"""
_OWNER = "SELECT owner, address, lease_until::text FROM agentleague.owners WHERE league_id = %s"
_CLAIMED = "unnest(%(leagues)b::text[], %(epochs)b::bigint[]) AS claimed(league_id, epoch)"
_RENEW = f"""
UPDATE agentleague.owners SET lease_until = {_LEASE},
    address = replace(%(address)s, '*', owners.league_id) FROM {_CLAIMED}
WHERE owners.league_id = claimed.league_id AND owners.epoch = claimed.epoch AND owner = %(owner)s
RETURNING owners.league_id
"""
# FOR SHARE makes it wait for a take-over that is under way, and then look at its epoch; a take-over
# waits for the end of this. Without it, or with the compare in a statement before, an owner that
# was stopped in between writes behind its successor's back.
_APPEND = f"""
WITH mine AS MATERIALIZED (
    SELECT league_id FROM agentleague.owners JOIN {_CLAIMED} USING (league_id, epoch)
    WHERE owner = %(owner)s ORDER BY league_id FOR SHARE OF owners
), written AS (
    INSERT INTO agentleague.rows ({COLUMNS})
    SELECT {COLUMNS} FROM unnest(%(league_id)b::text[], %(seq)b::bigint[], %(at)b::text[],
        %(kind)b::text[], %(version)b::int[], %(body)b::bytea[], %(hash)b::bytea[]
    ) AS added({COLUMNS}) WHERE league_id IN (SELECT league_id FROM mine)
)
SELECT league_id FROM mine
"""
_PROVE = """
UPDATE agentleague.owners SET lost_until = %s, lost_hash = %s WHERE league_id = %s AND epoch = %s
"""
# The setting is that of this transaction: a pooler may give the session to others.
_NOTIFY = f"""
SELECT set_config('synchronous_commit', 'off', true), pg_notify('{CHANNEL}', id)
FROM unnest(%s::text[]) AS id
"""


@dataclass(eq=False, slots=True, kw_only=True)
class _Claim(Claim):
    epoch: int
    has_loss: bool  # which was accepted, and is on record until a row is written
    released: Signal | None = None  # to be set when its lease is given up


class PostgresJournal(QueuedJournal[_Claim], PostgresReader):
    """The journals of a database that this process writes, for the loop to which `deliver` leads.

    `wall` gives the Unix seconds that rows are dated with; nothing else depends on them.
    """

    def __init__(
        self,
        url: DatabaseUrl,
        wall: Callable[[], float],
        deliver: Callable[[Callable[[], None]], None],
        *,
        limits: PostgresLimits = PostgresLimits(),  # noqa: B008
    ) -> None:
        PostgresReader.__init__(self, url, limits)
        super().__init__(wall, deliver, limits)
        self.lost: Lost | None = None
        self.on_ownership_lost: Callable[[str, Claimed], None] = lambda league_id, error: None
        self.owner, self._address, self._size = uuid4().hex, "", 0
        self._claiming = Lock()
        self._asked = LastingConnection(url, limits)  # by the loop, and by who claims
        self._holding = Lock()  # else a renewal could put back the address before the last one
        self._hints = _Hints(url, limits)
        # Of the thread alone:
        self._connection: Connection | None = None
        self._is_unknown = False  # what became of the last statement
        self._renew_at = 0.0
        # Of all:
        self._trouble: Literal["ok", "full", "away", "failed"] = "ok"
        self._renewed_at = 0.0  # when the last renewal was sent that succeeded

    @property
    def state(self) -> Literal["ok", "full", "away", "failed"]:
        """Whether it can write; `away` also if a lease may be over that it could not renew."""
        lease = self._limits.lease_seconds
        is_sure = not self._claims or is_trusted(perf_counter(), self._renewed_at, lease)
        return self._trouble if is_sure or self._trouble != "ok" else "away"

    def claim(self, league_id: str, *, accept_loss: bool = False) -> Head:
        """Become the one who appends to this league.

        A loss of this league that is accepted is in `lost`, and on record until a row is written.

        Raises:
            Claimed: another's lease lasts, or this journal claimed the league before.
            Lost: somebody has proved that rows are gone.
            StorageError: the database is away, or cannot hold a journal.
        """
        with self._claiming:
            if self._end is not None:
                raise self._end
            if league_id in self._claims:
                raise Claimed(f"league {league_id} is claimed already; close the journal first")
            began = perf_counter()
            epoch, head, lost = self._asked.ask(partial(self._take_over, league_id))
            claim = _Claim(league_id, head, head.seq, epoch=epoch, has_loss=bool(lost))
            if lost and not accept_loss:
                self._asked.ask(lambda connection: self._hold(connection, [claim], 0.0))
                raise Lost(f"{lost}; {_instead(self._url)}", **lost.context)
            with self._queueing:
                self.lost = lost or self.lost
                if not self._claims:
                    self._renewed_at = began
                self._claims[league_id] = claim
            if self._thread.ident is None:
                self._warn()
                self._thread.start()
                self._hints.start()
        return head

    def release(self, league_id: str) -> None:
        """Write what waits of this league, then let another have it at once."""
        with self._queueing:
            claim = self._claims.pop(league_id, None)
            if claim is None or self._end is not None:
                return
            claim.released = Signal()
            self._queue.put(Append(claim, 0.0, (), lambda answer: None))
        # Where the database is away, the lease runs out by itself.
        while not claim.released.wait(self._limits.retry_seconds) and self._trouble == "ok":
            pass

    def end(self, lost: Lost) -> Lost:
        """Write no more of this league: somebody proves that rows are gone; so finds the next."""
        of = lost.context
        proved = Lost(f"{lost}; {_instead(self._url)}", **of)
        with self._queueing:
            claim = self._claims.get(of["league_id"])
            if claim is not None:
                claim.error = proved
                values = (of["lost_until"], of["hash"], claim.league_id, claim.epoch)
        if claim is not None:
            with suppress(StorageError):
                self._asked.ask(lambda connection: connection.execute(_PROVE, values))
        return proved

    def publish(self, address: str) -> None:
        """Say where its leagues are called, also later ones; `*` stands for a league's id."""
        self._address = address
        claims = [*self._claims.values()]
        with suppress(StorageError):  # The next renewal says it again.
            self._asked.ask(lambda connection: self._hold(connection, claims))

    def find(self, league_id: str, first: int, last: int, text: bytes) -> Sequence[Row]:
        """Of the committed rows from `first` to `last` those in whose body this text stands."""
        if self.state == "away":  # The loop must not wait for it.
            raise StorageError("the database is away")
        return self._asked.ask(lambda at: postgres_reader.find(at, league_id, first, last, text))

    def size_bytes(self) -> int:
        """How much room the rows of all leagues take; while the database is away, took."""
        if self.state == "ok":
            self._size = self._asked.ask(postgres_reader.size_bytes)
        return self._size

    def close(self) -> None:
        """Write what waits, unless the database is away, and let others have the leagues.

        The last answers are handed to `deliver` before this returns.
        """
        self._stop_queueing()
        if self._thread.ident is not None:
            self._thread.join()
        self._hints.close()
        with self._claiming:
            self._asked.close()

    # By whoever calls.

    def _warn(self) -> None:
        with suppress(StorageError):  # What is wrong is found by who writes.
            for sentence in self._asked.ask(lambda at: [*cautions(at, self._url, self._limits)]):
                _log.warning("%s", sentence)

    def _take_over(self, league_id: str, connection: Connection) -> tuple[int, Head, Lost | None]:
        lease = {"address": self._address, "seconds": self._limits.lease_seconds}
        values = {"league_id": league_id, "owner": self.owner, **lease}
        taken = connection.execute(_CLAIM, values).fetchone()
        if taken is None:
            found = connection.execute(_OWNER, [league_id]).fetchone()
            owner, address, until = found or ("unknown", "", "now")
            at = f" at {address}" if address else ""
            is_served = f"/leagues/{league_id}/" in address
            how = f"; end that with: league leagues archive {league_id}" if is_served else ""
            sentence = f"league {league_id} is run by another manager{at}: its lease lasts until "
            raise Claimed(f"{sentence}{until}{how}", owner=owner)
        epoch, lost_until, lost_hash = taken
        # Only now nobody adds to what is read.
        head = postgres_reader.last_head(connection, league_id)
        proved = Head(lost_until, bytes.fromhex(lost_hash))
        lost = postgres_reader.find_lost(connection, league_id, proved) if lost_until else None
        return epoch, head, lost

    # By the thread.

    def _write(self) -> None:
        try:
            while self._next is not LAST:
                # Wait for something to write, or until leases are to be renewed.
                self._take(max(0.0, self._renew_at - perf_counter()))
                self._commit()
        except Exception as error:  # Whatever it was, those who wait must be told.
            self._fail(error)
        for _ in range(2):  # Its connection may be gone, and the database there.
            with suppress(psycopg.Error):  # Else the leases run out by themselves.
                self._connection = self._connection or connect(self._url, self._limits, writes=True)
                self._hold(self._connection, [*self._claims.values()], 0.0)
                break
            self._disconnect()
        self._disconnect()

    def _commit(self) -> None:
        added = self._chain()
        left: dict[_Claim, list[Row]] = {}
        for append, rows in zip(self._batch, added, strict=True):
            left.setdefault(append.claim, []).extend(rows)
        self._wait_out(lambda connection: self._step(connection, left))
        if self._batch:
            self._hints.add(claim.league_id for claim in left)
            self._settle(added)

    def _step(self, connection: Connection, left: dict[_Claim, list[Row]]) -> None:
        """What is to be done now; all of it may be done again after an error."""
        if perf_counter() >= self._renew_at:
            self._renew(connection)
        if self._is_unknown:
            for claim, rows in left.items():
                self._drop_written(connection, claim, rows)
        new = {claim: rows for claim, rows in left.items() if rows and not claim.error}
        if new:
            self._is_unknown = True
            self._insert(connection, new)
        self._is_unknown = False
        for claim in left:
            if claim.released:
                self._hold(connection, [claim], 0.0)
                claim.released.set()

    def _renew(self, connection: Connection) -> None:
        began, claims = perf_counter(), [*self._claims.values()]
        held = self._hold(connection, claims)
        self._lose(claim for claim in claims if claim.league_id not in held)
        self._renewed_at = began
        self._renew_at = began + renewal_seconds(self._limits.lease_seconds)

    def _hold(
        self, connection: Connection, claims: Sequence[_Claim], seconds: float | None = None
    ) -> set[str]:
        """Renew the leases of these, or let them end; gives the leagues that are still its own."""
        if not claims:
            return set()
        seconds = self._limits.lease_seconds if seconds is None else seconds
        with self._holding:
            address = self._address if seconds else ""
            values = {**self._claimed(claims), "seconds": seconds, "address": address}
            return {league_id for (league_id,) in connection.execute(_RENEW, values)}

    def _drop_written(self, connection: Connection, claim: _Claim, rows: list[Row]) -> None:
        tail = postgres_reader.last_head(connection, claim.league_id)
        found = rows_found(tail, claim.head, rows)
        if found is None:
            self._lose([claim])
        elif found:
            claim.head = rows[found - 1]
            del rows[:found]

    def _insert(self, connection: Connection, new: dict[_Claim, list[Row]]) -> None:
        columns = zip(*chained.from_iterable(new.values()), strict=True)
        values = dict(zip(Row._fields, map(list, columns), strict=True))
        mine = connection.execute(_APPEND, {**self._claimed(new), **values}, prepare=True)
        owned = {league_id for (league_id,) in mine}
        for claim, rows in new.items():
            if claim.league_id in owned:
                claim.head = rows[-1]
                rows.clear()
                if claim.has_loss:
                    connection.execute(_PROVE, (0, "", claim.league_id, claim.epoch))
                    claim.has_loss = False
        self._lose(claim for claim in new if claim.league_id not in owned)

    def _claimed(self, claims: Iterable[_Claim]) -> dict[str, object]:
        pairs = [(claim.league_id, claim.epoch) for claim in claims]
        leagues, epochs = map(list, zip(*pairs, strict=True))
        return {"leagues": leagues, "epochs": epochs, "owner": self.owner}

    def _lose(self, claims: Iterable[_Claim]) -> None:
        for claim in claims:
            if claim.error:
                continue
            league_id = claim.league_id
            error = claim.error = Claimed(
                f"another manager has taken over league {league_id}; this one stops, and has told "
                "nobody what it could not write"
            )
            with self._queueing:
                if self._claims.get(league_id) is claim:
                    del self._claims[league_id]
            self._deliver(lambda at=league_id, why=error: self.on_ownership_lost(at, why))  # type: ignore[misc]

    def _wait_out(self, act: Callable[[Connection], None]) -> None:
        """Do it as soon as the database is there and has room; when closing, try once more."""
        is_first = True
        while True:
            is_last = self._closing.is_set()
            try:
                if self._connection is None:
                    self._connection = connect(self._url, self._limits, writes=True)
                act(self._connection)
                break
            except psycopg.Error as error:
                self._disconnect()
                if not is_passing(error):
                    raise
                # A connection may be cut and the next one fine: that is no trouble yet.
                if not is_first or error.sqlstate == NO_ROOM:
                    self._be_in_trouble(error, is_last)
                is_first = False
        if self._trouble != "ok":
            self._trouble = "ok"
            _log.warning("the database %s can be written to again", self._url.of(""))

    def _be_in_trouble(self, error: psycopg.Error, is_last: bool) -> None:
        trouble: Literal["full", "away"] = "full" if error.sqlstate == NO_ROOM else "away"
        why = explain(error, self._url)
        if self._trouble != trouble:
            self._trouble = trouble
            _log.error("the journal waits: %s", why)
        if is_last:
            kind = StorageFull if trouble == "full" else StorageError
            raise kind(f"closed while the journal could not be written: {why}")
        self._closing.wait(self._limits.retry_seconds)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _fail(self, error: Exception) -> None:
        if isinstance(error, psycopg.Error):
            error = explain(error, self._url)
        _log.error("the journal in %s cannot go on: %s", self._url.of(""), error)
        if not isinstance(error, StorageError):
            error = StorageError(f"cannot write the journal in {self._url.of('')}: {error}")
        self._trouble = "failed"
        self._end_with(error)


class _Hints:
    """Says on a connection of its own that leagues have new rows; nobody relies on it.

    NOTIFY takes a lock of the whole server when it commits: so it is not said for every row.
    """

    def __init__(self, url: DatabaseUrl, limits: PostgresLimits) -> None:
        self._url, self._limits = url, limits
        self._leagues: set[str] = set()
        self._moving = Lock()
        self._is_there, self._closing = Signal(), Signal()
        self.start = Thread(target=self._say, name="journal-hints", daemon=True).start

    def add(self, leagues: Iterable[str]) -> None:
        with self._moving:
            self._leagues.update(leagues)
        self._is_there.set()

    def close(self) -> None:
        self._closing.set()
        self._is_there.set()

    def _say(self) -> None:
        connection: Connection | None = None
        while self._is_there.wait() and not self._closing.is_set():
            self._is_there.clear()
            with self._moving:
                leagues, self._leagues = [*self._leagues], set()
            try:
                if connection is None:
                    connection = connect(self._url, self._limits)
                connection.execute(_NOTIFY, [leagues])
            except psycopg.Error:
                if connection is not None:
                    connection.close()
                connection = None
            self._closing.wait(self._limits.notify_seconds)
        if connection is not None:
            connection.close()


def _instead(url: DatabaseUrl) -> str:
    return (
        f"nothing was changed. Restore a backup of the database {url.of('')}, or go on without "
        "them: the same command with --accept-loss"
    )
