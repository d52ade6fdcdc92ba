"""Who stands where, and why: results go in, a ranked table comes out.

Points decide first, then the tie-breaks in their order. Who is equal after all of them shares a
rank, and the next rank is as many further on: 1, 1, 3.
Head-to-head is a table of its own, over all matches among those who are level on points. It is made
once: who is still level in it goes on to the next tie-break, and is not compared again in a smaller
table among fewer players.
"""

from collections.abc import Callable, Mapping, Sequence
from itertools import repeat, takewhile
from string import digits
from typing import NamedTuple

from msgspec import UNSET, Struct, UnsetType

from agentleague.protocol import draws


class Points(NamedTuple):
    """What a match is worth."""

    win: int = 3
    draw: int = 1
    loss: int = 0


class Standing(Struct, frozen=True, kw_only=True):
    """One row of the table."""

    rank: int
    player_id: str
    display_name: str
    played: int
    wins: int
    draws: int
    losses: int
    technical_losses: int
    points: int
    tie_break: str | UnsetType = UNSET  # what put it behind the rank above, with equal points


class _Record(Struct):
    """What one player has done so far."""

    wins: int = 0
    draws: int = 0
    losses: int = 0
    technical_losses: int = 0
    points: int = 0
    taken: dict[str, int] = {}  # Points by opponent; who gave none may be missing.


class _TieBreak(NamedTuple):
    words: str
    sign: int  # 1 where more is better, -1 where less is.
    values: Callable[[Mapping[str, _Record]], list[int]]  # of all who are level on points, by sign


def _head_to_head(level: Mapping[str, _Record]) -> list[int]:
    values: list[int] = []
    for record in level.values():
        taken = record.taken
        if len(taken) < len(level):  # Early in a league there are few opponents, late few level.
            values.append(sum([points for each, points in taken.items() if each in level]))
        else:
            values.append(sum([taken[each] for each in level if each in taken]))
    return values


_DECIDERS = {
    "head_to_head": _TieBreak("head-to-head", 1, _head_to_head),
    "wins": _TieBreak("wins", 1, lambda level: [record.wins for record in level.values()]),
    "technical_losses": _TieBreak(
        "technical losses", -1, lambda level: [-each.technical_losses for each in level.values()]
    ),
}
TIE_BREAKS = (*_DECIDERS, "player_id")
_USUAL_POINTS = Points()


class Table:
    """Count each finished match once, in any order; read the rows at any time.

    With the player id among the tie-breaks nobody shares a rank; what comes after it never decides.
    Raises ValueError for a tie-break that is not known.
    """

    def __init__(
        self,
        players: Mapping[str, str],
        points: Points = _USUAL_POINTS,
        tie_breaks: Sequence[str] = tuple(_DECIDERS),
    ) -> None:
        for name in tie_breaks:
            if name not in TIE_BREAKS:
                raise ValueError(f"Unknown tie-break {name!r}; known are {', '.join(TIE_BREAKS)}.")
        self._ids_decide = "player_id" in tie_breaks
        deciding = takewhile("player_id".__ne__, tie_breaks)
        self._deciders = [(name, _DECIDERS[name]) for name in deciding]
        self._points = points
        self._names = dict(players)
        # Sorted once by id, and every later sort is stable: so the id has the last word.
        self._records = {player_id: _Record() for player_id in sorted(players, key=_by_number)}
        self._scores: dict[str, tuple[int, ...]] = {}
        self._rows: tuple[Standing, ...] = ()
        self._places: dict[str, int] = {}  # in the rows

    def count(
        self,
        player_a: str,
        player_b: str,
        *,
        winner: str | None,
        technical: bool = False,
        times: int = 1,
    ) -> None:
        """Add one finished match, or take it back, counted -1 `times`.

        Without a winner it is a draw, or if technical, lost by both.
        Raises ValueError for anything but two players of this table, one of them perhaps winner.
        """
        records = self._records
        if player_a == player_b or player_a not in records or player_b not in records:
            raise ValueError(f"{player_a!r} and {player_b!r} are not two players of this table.")
        if winner not in (player_a, player_b, None):
            raise ValueError(f"The winner {winner!r} is neither {player_a!r} nor {player_b!r}.")
        for player, opponent in ((player_a, player_b), (player_b, player_a)):
            record = records[player]
            if winner == player:
                record.wins += times
                points = self._points.win
            elif winner is None and not technical:
                record.draws += times
                points = self._points.draw
            else:
                record.losses += times
                record.technical_losses += times * technical
                points = self._points.loss
            if points:
                record.points += times * points
                record.taken[opponent] = record.taken.get(opponent, 0) + times * points
        self._rows = ()

    def rows(self) -> Sequence[Standing]:
        """All rows, rank 1 first; made anew only after something was counted."""
        if not self._rows:
            self._rows = tuple(self._ranking())
            self._places = {row.player_id: place for place, row in enumerate(self._rows)}
        return self._rows

    def row(self, player_id: str) -> Standing:
        """One player's row."""
        return self.rows()[self._places[player_id]]

    def record(self, player_id: str) -> tuple[int, int, int, int]:
        """One player's wins, losses, draws and points; to know them nobody has to be ranked."""
        record = self._records[player_id]
        return record.wins, record.losses, record.draws, record.points

    def why(self, player_id: str) -> str:
        """In words why a player stands where it stands, between the ranks above and below."""
        row, place = self.row(player_id), self._places[player_id]
        reasons = [f"{row.points} point" if row.points == 1 else f"{row.points} points"]
        level = []
        for other in self.rows()[max(place - 1, 0) : place + 2]:
            if other is not row and other.points == row.points:
                decided = self._decided(player_id, other.player_id)
                if decided:
                    reasons.append(decided)
                else:
                    level.append(self._named(other.player_id))
        if level and self._ids_decide:
            reasons.append(f"level with {' and '.join(level)} until the player id decides")
        elif level:
            others = sum(other.rank == row.rank for other in self.rows()) - 1
            with_whom = " and ".join(level) if others == len(level) else f"{others} others"
            reasons.append(f"level with {with_whom} after all tie-breaks")
        return ", ".join(reasons)

    def _named(self, player_id: str) -> str:
        return f"{player_id} {self._names[player_id]}".rstrip()

    def first(self) -> Sequence[Standing]:
        """The rows of rank 1."""
        return [*takewhile(lambda row: row.rank == 1, self.rows())]

    def _ranking(self) -> list[Standing]:
        rows: list[Standing] = []
        by_points: dict[int, dict[str, _Record]] = {}
        for player_id, record in self._records.items():
            by_points.setdefault(record.points, {})[player_id] = record
        for points in sorted(by_points, reverse=True):
            level = by_points[points]
            columns = [decider.values(level) for _, decider in self._deciders]
            each_score = zip(*columns, strict=True) if columns else repeat((), len(level))
            scores = dict(zip(level, each_score, strict=True))
            self._scores |= scores
            above: tuple[int, ...] | None = None
            tie_break: str | UnsetType = UNSET
            rank = 0
            for player_id in sorted(level, key=scores.__getitem__, reverse=True):
                record, score = level[player_id], scores[player_id]
                if score != above or self._ids_decide:
                    rank = len(rows) + 1
                    tie_break = UNSET if above is None else self._tie_break(above, score)
                rows.append(
                    Standing(
                        rank=rank,
                        player_id=player_id,
                        display_name=self._names[player_id],
                        played=record.wins + record.draws + record.losses,
                        wins=record.wins,
                        draws=record.draws,
                        losses=record.losses,
                        technical_losses=record.technical_losses,
                        points=record.points,
                        tie_break=tie_break,
                    )
                )
                above = score
        return rows

    def _tie_break(self, above: tuple[int, ...], below: tuple[int, ...]) -> str:
        """The first tie-break in which two differ who are level on points."""
        for (name, _), more, less in zip(self._deciders, above, below, strict=True):
            if more != less:
                return name
        return "player_id"

    def _decided(self, player_id: str, other_id: str) -> str | None:
        """What separates two who are level on points; None if no tie-break does."""
        scores = zip(self._scores[player_id], self._scores[other_id], strict=True)
        for (_, (words, sign, _)), (own, others) in zip(self._deciders, scores, strict=True):
            if own != others:
                place = f"{'ahead of' if own > others else 'behind'} {self._named(other_id)}"
                return f"{place} by {words} ({sign * own} to {sign * others})"
        return None


def drawn_champion(seed: bytes, league_id: str, first: Sequence[Standing]) -> Standing:
    """The one champion that the documents know, among those who share rank 1."""
    bounds, moves = (1, len(first)), champion_moves(first)
    number = draws.number(seed, league_id, draws.CHAMPION, index=0, moves=moves, bounds=bounds)
    return first[number - 1]


def champion_moves(first: Sequence[Standing]) -> list[tuple[int, str, int]]:
    """Those among whom the champion is drawn, in the form of a match's moves: rank, id, points."""
    return [(row.rank, row.player_id, row.points) for row in first]


def _by_number(player_id: str) -> tuple[str, int, str]:
    """Sorts P2 before P10, and ids without a number as text."""
    letters = player_id.rstrip(digits)
    return letters, int(player_id[len(letters) :] or 0), player_id
