"""Sees every table that the manager shows: whether the rows ever gave it, and who saw which."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import msgspec

from agentleague.protocol.messages import (
    LeagueCompleted,
    LeagueStandingsUpdate,
    RoundCompleted,
    StandingRow,
)
from agentleague.simulation.recount import Fold, Recount

_rows = msgspec.json.Decoder(list[StandingRow])
_encode = msgspec.json.Encoder().encode


class _Shown(NamedTuple):
    fold: Fold
    is_ranked: bool  # by points


class TableChecks:
    """Holds tables against those that follow from the rows; `wrong` is told what does not fit."""

    def __init__(self, recount: Recount, wrong: Callable[[str], None]) -> None:
        self.rounds_told: set[tuple[str, int]] = set()  # address and round: it knows that it ended
        self.unshown: list[tuple[str, int]] = []  # it heard so before it saw the round's table
        self._recount, self._wrong = recount, wrong
        self._sent: dict[str, int] = {}  # address -> the row that led to the last table sent there
        self._seen: dict[str, int] = {}  # address -> the same of the newest table that arrived

    def sent(self, url: str, message: LeagueStandingsUpdate) -> None:
        """A table leaves the manager: it is on disk, and no older than the one before it."""
        row = self._row(url, message.standings)
        if row < self._sent.get(url, 0):
            self._wrong(f"I6: {url} is shown fewer results than before")
        self._sent[url] = row

    def end_sent(self, url: str, message: LeagueCompleted) -> None:
        """The last table: it counts all that was decided before the end."""
        row, end = self._row(url, message.final_standings), self._recount.end
        if not _shown(message.final_standings).is_ranked:
            self._wrong(f"{url} is told a final table in which more points stand below fewer")
        if end is None or row < end:
            self._wrong(f"{url} is told a final table that lacks results on disk")

    def arrived(self, url: str, message: LeagueStandingsUpdate) -> None:
        """A player saw it."""
        row = self._recount.folds.get(_shown(message.standings).fold, 0)
        self._seen[url] = max(row, self._seen.get(url, 0))

    def round_over(self, url: str, message: RoundCompleted) -> None:
        """An agent hears that a round is over; before that it saw what came of it."""
        self.rounds_told.add((url, message.round_id))
        last = self._recount.rounds.get(message.round_id)
        if last is None:
            self._wrong(f"{url} is told that round {message.round_id} is over; on disk it is not")
        elif self._seen.get(url, 0) < last:
            self.unshown.append((url, message.round_id))

    def _row(self, url: str, rows: Any) -> int:
        """The row that led to this table."""
        fold = _shown(rows).fold
        row = self._recount.folds.get(fold)
        if row is None:
            self._wrong(f"I3: {url} is shown {dict(fold)}, which no rows on disk lead to")
            return self._recount.counted
        return row


def _shown(rows: Any) -> _Shown:
    """The manager encodes a table once for all its receivers."""
    return _decoded(bytes(rows) if isinstance(rows, msgspec.Raw) else _encode(rows))


@lru_cache(maxsize=64)
def _decoded(text: bytes) -> _Shown:
    rows = _rows.decode(text)
    points = [row.points for row in rows]
    fold = sorted(
        (row.player_id, (row.played, row.wins, row.draws, row.losses, row.points)) for row in rows
    )
    return _Shown(tuple(fold), points == sorted(points, reverse=True))
