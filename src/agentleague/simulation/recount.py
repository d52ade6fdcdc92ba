"""The table counted anew from the rows alone, in another way than the league counts it."""

from collections import Counter
from collections.abc import Callable
from typing import ClassVar

from agentleague.league.events import (
    LeagueEnded,
    LeagueOpened,
    LeagueStarted,
    MatchDecided,
    MatchRuled,
    RoundEnded,
    RoundScheduled,
)
from agentleague.roles.effects import Event

Counts = tuple[int, int, int, int, int]  # matches, wins, draws, losses and points of a player
Fold = tuple[tuple[str, Counts], ...]  # of all players, by their ids

WON, DRAWN, LOST = range(3)


class Recount:
    """Takes in row after row; keeps every table that there ever was, to know one that is shown."""

    def __init__(self) -> None:
        self.rows = 0
        self.matches: dict[str, tuple[str, str]] = {}  # match -> its players
        self.results: Counter[str] = Counter()  # match -> rows that decide it
        self.fold: Fold = ()
        self.folds: dict[Fold, int] = {(): 0}  # each table -> the row that last led to it
        self.counted = 0  # the row that led to the present table
        self.rounds: dict[int, int] = {}  # round that is over -> the row of its last result
        self.end: int | None = None  # the row of the last result when the league ended
        self._points = (0, 0, 0)
        self._players: list[str] = []
        self._counting: dict[str, dict[str, int]] = {}  # match -> how each player fared
        self._first: dict[str, dict[str, int]] = {}  # the same, without any ruling

    def take(self, event: Event) -> None:
        """The next row."""
        self.rows += 1
        count = self._COUNTS.get(type(event))
        if count:
            count(self, event)

    def _opened(self, event: LeagueOpened) -> None:
        self._points = event.points

    def _started(self, event: LeagueStarted) -> None:
        self._players = sorted(event.players)
        self._fold_up()

    def _scheduled(self, event: RoundScheduled) -> None:
        for match in event.matches:
            self.matches[match.match_id] = (match.player_a, match.player_b)

    def _decided(self, event: MatchDecided) -> None:
        self.results[event.match_id] += 1
        result = event.result
        fared: dict[str, int] = {}
        if result.no_contest is not True:
            is_draw = result.status == "DRAW"
            otherwise = DRAWN if is_draw else LOST
            fared = dict.fromkeys(self.matches[event.match_id], otherwise)
            if result.winner_player_id:
                fared[result.winner_player_id] = WON
        self._first[event.match_id] = self._counting[event.match_id] = fared
        self._fold_up()

    def _ruled(self, event: MatchRuled) -> None:
        players = self.matches[event.match_id]
        self._counting[event.match_id] = {
            "win": {each: WON if each == event.winner else LOST for each in players},
            "draw": dict.fromkeys(players, DRAWN),
            "no_contest": {},
            "stand": self._first[event.match_id],
        }[event.verdict]
        self._fold_up()

    def _round_ended(self, event: RoundEnded) -> None:
        self.rounds[event.round_id] = self.counted

    def _ended(self, event: LeagueEnded) -> None:
        self.end = self.counted

    def _fold_up(self) -> None:
        fared = {player_id: [0, 0, 0] for player_id in self._players}
        for match in self._counting.values():
            for player_id, how in match.items():
                fared[player_id][how] += 1
        self.fold = tuple(
            (player_id, (sum(how), *how, sum(map(int.__mul__, how, self._points))))  # type: ignore[misc]
            for player_id, how in fared.items()
        )
        self.folds[self.fold] = self.counted = self.rows

    _COUNTS: ClassVar[dict[type[Event], Callable[..., None]]] = {
        LeagueOpened: _opened,
        LeagueStarted: _started,
        RoundScheduled: _scheduled,
        MatchDecided: _decided,
        MatchRuled: _ruled,
        RoundEnded: _round_ended,
        LeagueEnded: _ended,
    }
