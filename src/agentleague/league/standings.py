"""Who stands where, and why: results go in, a ranked table comes out.

Where a format knows merits, such as how far somebody came in a knockout, they decide first; then
points, then the tie-breaks in their order. Who is equal after all of them shares a
rank, and the next rank is as many further on: 1, 1, 3.
Head-to-head is a table of its own, over all matches among those who are level on points. It is made
once: who is still level in it goes on to the next tie-break, and is not compared again in a smaller
table among fewer players.
Buchholz is the sum of the opponents' points, match by match; Sonneborn-Berger counts those of an
opponent who was beaten, and half of them for a draw. A bye that is worth points counts in both as a
match against somebody with the player's own points. Another rule would get another name.
"""

from collections.abc import Callable, Mapping, Sequence, Set
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
    bye_points: int = 0  # of these
    taken: dict[str, int] = {}  # Points by opponent; who gave none may be missing.
    # By opponent, itself for a bye: matches, and the halves won; if a tie-break asks for them.
    faced: dict[str, int] = {}
    halves: dict[str, int] = {}

    def face(self, opponent: str, halves: int, times: int) -> None:
        self.faced[opponent] = self.faced.get(opponent, 0) + times
        self.halves[opponent] = self.halves.get(opponent, 0) + times * halves


class _TieBreak(NamedTuple):
    words: str
    sign: int  # 1 where more is better, -1 where less is.
    # Of all who are level on points, by sign, the others being at hand.
    values: Callable[[Mapping[str, _Record], Mapping[str, _Record]], list[int]]
    parts: int = 1  # A value counts halves where there are two.


def _head_to_head(level: Mapping[str, _Record], _: Mapping[str, _Record]) -> list[int]:
    values: list[int] = []
    for record in level.values():
        taken = record.taken
        if len(taken) < len(level):  # Early in a league there are few opponents, late few level.
            values.append(sum([points for each, points in taken.items() if each in level]))
        else:
            values.append(sum([taken[each] for each in level if each in taken]))
    return values


def _buchholz(level: Mapping[str, _Record], everybody: Mapping[str, _Record]) -> list[int]:
    return [
        sum([everybody[other].points * times for other, times in record.faced.items()])
        for record in level.values()
    ]


def _sonneborn_berger(level: Mapping[str, _Record], everybody: Mapping[str, _Record]) -> list[int]:
    return [
        sum([everybody[other].points * halves for other, halves in record.halves.items()])
        for record in level.values()
    ]


_DECIDERS = {
    "head_to_head": _TieBreak("head-to-head", 1, _head_to_head),
    "wins": _TieBreak("wins", 1, lambda level, _: [record.wins for record in level.values()]),
    "technical_losses": _TieBreak(
        "technical losses", -1, lambda level, _: [-r.technical_losses for r in level.values()]
    ),
    "buchholz": _TieBreak("Buchholz", 1, _buchholz),
    "sonneborn_berger": _TieBreak("Sonneborn-Berger", 1, _sonneborn_berger, parts=2),
}
_BY_OPPONENT = ("buchholz", "sonneborn_berger")
USUAL_TIE_BREAKS = ("head_to_head", "wins", "technical_losses")
TIE_BREAKS = (*_DECIDERS, "player_id")
_USUAL_POINTS = Points()
NO_MERIT = (0, 0)


def _no_words(player_id: str) -> str:
    return ""


class Table:
    """Count each finished match once, in any order; read the rows at any time.

    With the player id among the tie-breaks nobody shares a rank; what comes after it never decides.
    Raises ValueError for a tie-break that is not known.
    """

    def __init__(
        self,
        players: Mapping[str, str],
        points: Points = _USUAL_POINTS,
        tie_breaks: Sequence[str] = USUAL_TIE_BREAKS,
    ) -> None:
        for name in tie_breaks:
            if name not in TIE_BREAKS:
                raise ValueError(f"Unknown tie-break {name!r}; known are {', '.join(TIE_BREAKS)}.")
        self._ids_decide = "player_id" in tie_breaks
        deciding = takewhile("player_id".__ne__, tie_breaks)
        self._deciders = [(name, _DECIDERS[name]) for name in deciding]
        self._is_by_opponent = any(name in _BY_OPPONENT for name, _ in self._deciders)
        self._points = points
        self._names = dict(players)
        self._records = {player_id: _Record() for player_id in players}
        self._is_sorted = False  # by id; that is done once, when somebody asks for the rows
        self._scores: dict[str, tuple[int, ...]] = {}
        self._merits: Mapping[str, tuple[int, int]] = {}
        self._words: Callable[[str], str] = _no_words
        self._rows: tuple[Standing, ...] = ()
        self._places: dict[str, int] = {}  # in the rows

    @property
    def players(self) -> Set[str]:
        """Everybody in the table."""
        return self._records.keys()

    def add(self, player_id: str, name: str) -> None:
        """Somebody came late."""
        self._names[player_id] = name
        self._records[player_id] = _Record()
        self._is_sorted, self._rows = False, ()

    def rank_by(
        self, merits: Mapping[str, tuple[int, int]], words: Callable[[str], str] = _no_words
    ) -> None:
        """What ranks the players before their points, and in words; empty: points alone do."""
        self._words = words
        if merits != self._merits:
            self._merits, self._rows = merits, ()

    def count_byes(self, players: Sequence[str], points: int) -> None:
        """Add what a bye is worth to these players' points."""
        if points:
            for player_id in players:
                record = self._records[player_id]
                record.points += points
                record.bye_points += points
                record.face(player_id, 2 if points == self._points.win else 1, 1)
            self._rows = ()

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
                points, halves = self._points.win, 2
            elif winner is None and not technical:
                record.draws += times
                points, halves = self._points.draw, 1
            else:
                record.losses += times
                record.technical_losses += times * technical
                points, halves = self._points.loss, 0
            if points:
                record.points += times * points
                record.taken[opponent] = record.taken.get(opponent, 0) + times * points
            if self._is_by_opponent:
                record.face(opponent, halves, times)
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
        reasons += filter(None, [self._words(player_id)])
        level = []
        for other in self.rows()[max(place - 1, 0) : place + 2]:
            if other is not row and self._before(other) == self._before(row):
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

    def tie_breaks_of(self, player_id: str) -> dict[str, str]:
        """What a player has in each tie-break that decides, in their order."""
        self.rows()
        scores = zip(self._deciders, self._scores[player_id], strict=True)
        return {name: _shown(each.sign * value, each.parts) for (name, each), value in scores}

    def bye_points(self, player_id: str) -> int:
        """How many of a player's points are for byes."""
        return self._records[player_id].bye_points

    def between(self, player_id: str, other_id: str) -> str:
        """Which tie-break separates two who are level on points; `id` if none does, else empty."""
        if self._before(self.row(player_id)) != self._before(self.row(other_id)):
            return ""
        scores = zip(self._scores[player_id], self._scores[other_id], strict=True)
        found = (
            each.words for (_, each), (a, b) in zip(self._deciders, scores, strict=True) if a != b
        )
        return next(found, "id")

    def _before(self, row: Standing) -> tuple[tuple[int, int], int]:
        return self._merits.get(row.player_id, NO_MERIT), row.points

    def _named(self, player_id: str) -> str:
        return f"{player_id} {self._names[player_id]}".rstrip()

    def first(self) -> Sequence[Standing]:
        """The rows of rank 1."""
        return [*takewhile(lambda row: row.rank == 1, self.rows())]

    def _ranking(self) -> list[Standing]:
        rows: list[Standing] = []
        by_points: dict[tuple[tuple[int, int], int], dict[str, _Record]] = {}
        merits = self._merits
        if not self._is_sorted:  # Every later sort is stable: so the id has the last word.
            ids = sorted(self._records, key=_by_number)
            self._records, self._is_sorted = {each: self._records[each] for each in ids}, True
        for player_id, record in self._records.items():
            before = merits.get(player_id, NO_MERIT), record.points
            by_points.setdefault(before, {})[player_id] = record
        for before in sorted(by_points, reverse=True):
            level = by_points[before]
            columns = [decider.values(level, self._records) for _, decider in self._deciders]
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
        for (_, tie_break), (own, others) in zip(self._deciders, scores, strict=True):
            if own != others:
                place = f"{'ahead of' if own > others else 'behind'} {self._named(other_id)}"
                shown = [_shown(tie_break.sign * each, tie_break.parts) for each in (own, others)]
                return f"{place} by {tie_break.words} ({' to '.join(shown)})"
        return None


def _shown(value: int, parts: int) -> str:
    whole, rest = divmod(value, parts)
    return f"{whole}.5" if rest else str(whole)


def drawn_champion(seed: bytes, league_id: str, first: Sequence[Standing]) -> Standing:
    """The one champion that the documents know, among those who share rank 1."""
    bounds, moves = (1, len(first)), champion_moves(first)
    number = draws.number(seed, league_id, draws.CHAMPION, index=0, moves=moves, bounds=bounds)
    return first[number - 1]


def champion_moves(first: Sequence[Standing]) -> list[tuple[int, str, int]]:
    """Those among whom the champion is drawn, in the form of a match's moves: rank, id, points."""
    return [(row.rank, row.player_id, row.points) for row in first]


def _by_number(player_id: str) -> tuple[str, int, str, str]:
    """Sorts P2 before P10, and ids without a number as text; a journal may have endless numbers."""
    letters = player_id.rstrip(digits)
    number = player_id[len(letters) :].lstrip("0")
    return letters, len(number), number, player_id
