"""A journal that lives as long as its object: for the simulator, for tests, for leagues in memory.

It answers `done` before `append` returns, which no other journal does: nothing waits for a disk.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Literal

from agentleague.errors import Claimed, Lost, StorageError
from agentleague.roles.effects import Event
from agentleague.roles.ports import Head, Row
from agentleague.storage import chain


class MemoryJournal:
    """Rows in a list per league; `wall` gives the Unix seconds that rows are dated with."""

    def __init__(self, wall: Callable[[], float]) -> None:
        self.state: Literal["ok", "full", "away", "failed"] = "ok"
        self.lost: Lost | None = None
        self._wall = wall
        self._rows: dict[str, list[Row]] = {}
        self._claimed: set[str] = set()
        self._followers: set[asyncio.Event] = set()

    def claim(self, league_id: str, *, accept_loss: bool = False) -> Head:
        """Become the one who appends to this league; nothing can be lost of it."""
        if league_id in self._claimed:
            raise Claimed(f"league {league_id} is claimed already; close the journal first")
        self._claimed.add(league_id)
        return self._head(league_id)

    def end(self, lost: Lost) -> Lost:
        """The rows are as lost as they were."""
        return lost

    def publish(self, address: str) -> None:
        """No other process could look for its manager."""

    def close(self) -> None:
        """Give up every claim, as the end of a process does; the rows stay."""
        self._claimed.clear()

    def leagues(self) -> list[str]:
        """The leagues that have rows."""
        return sorted(self._rows)

    def read(self, league_id: str, after: int = 0) -> Iterator[Row]:
        """The rows after a number, each one verified."""
        rows = self._rows.get(league_id, [])
        if after > len(rows):
            raise chain.damaged(league_id, after)
        head = rows[after - 1] if after else chain.start(league_id)
        yield from chain.verified(head, rows[after:])

    async def follow(self, league_id: str, after: int = 0) -> AsyncIterator[Row]:
        """The same rows, then each later one: an append wakes the waiting readers."""
        appended = asyncio.Event()
        self._followers.add(appended)
        try:
            while True:
                appended.clear()
                for row in self.read(league_id, after):
                    yield row
                    after = row.seq
                await appended.wait()
        finally:
            self._followers.discard(appended)

    def damage(self) -> None:
        """Nothing can be wrong with what is only in memory."""

    def size_bytes(self) -> int:
        """How much room the rows take."""
        return sum(len(row.body) + len(row.hash) for rows in self._rows.values() for row in rows)

    def find(self, league_id: str, first: int, last: int, text: bytes) -> Sequence[Row]:
        """Of the rows from `first` to `last` those in whose body this text stands."""
        rows = self._rows.get(league_id, [])[first - 1 : last]
        return [row for row in rows if text in row.body]

    def append(
        self,
        league_id: str,
        after: int,
        events: Sequence[Event],
        done: Callable[[Sequence[Row] | StorageError], None],
    ) -> None:
        """Write the events behind row `after`, all or none; `done` is called at once."""
        head = self._head(league_id)
        refusal = chain.refusal(league_id, after, head.seq if league_id in self._claimed else None)
        if refusal:
            return done(refusal)
        at = chain.moment(self._wall())
        rows = chain.extend(head, league_id, at, map(chain.entry, events))
        if rows:
            self._rows.setdefault(league_id, []).extend(rows)
        for appended in self._followers:
            appended.set()
        return done(rows)

    def _head(self, league_id: str) -> Head:
        rows = self._rows.get(league_id)
        return Head(rows[-1].seq, rows[-1].hash) if rows else chain.start(league_id)
