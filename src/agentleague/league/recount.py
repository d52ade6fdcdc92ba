"""The table counted a second time, from the events alone, to check the table that a league keeps.

It has no code in common with standings.py, and is simple on purpose: `league verify` and the
simulator compare the two.
"""

import re
from collections import Counter
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

from msgspec import UNSET

from agentleague.league import events
from agentleague.roles.effects import Event

COUNTS = ("played", "wins", "draws", "losses", "technical_losses", "points")
Row = dict[str, Any]


class Score(NamedTuple):
    """A match that counts: who won it, and whether it was lost without a game."""

    winner: str | None
    technical: bool


class Recount:
    """Takes in the events of one league in their order."""

    def __init__(self) -> None:
        self.matches: dict[str, tuple[str, str]] = {}  # match -> its players
        self.decisions: Counter[str] = Counter()  # match -> how many events decide it
        self._points = (0, 0, 0)
        self._tie_breaks: list[str] = []
        self._shares_ranks = False
        self._names: dict[str, str] = {}
        self._players: list[str] = []  # that the league started with
        self._decided: dict[str, Score | None] = {}  # by its result; None: it does not count
        self._counting: dict[str, Score | None] = {}  # the same, or as the organiser ruled
        self._told: set[str] = set()  # matches whose players know: they count, and at the end all

    def take(self, event: Event) -> None:
        """Take in the next event."""
        take = self._TAKE.get(type(event))
        if take:
            take(self, event)

    def counts(self) -> dict[str, Row]:
        """What every player has done so far, without ranks."""
        return self._count({player_id: {} for player_id in self._players})

    def table(self) -> list[Row]:
        """The rows of the table, rank 1 first."""
        taken: dict[str, dict[str, int]] = {player_id: {} for player_id in self._players}
        rows = self._count(taken)

        def head_to_head(player_id: str) -> int:
            level = rows[player_id]["points"]
            won = taken[player_id].items()
            return sum(points for other, points in won if rows[other]["points"] == level)

        def merits(player_id: str) -> list[int]:
            row = rows[player_id]
            found = [row["points"]]
            for name in self._tie_breaks:
                if name == "player_id":
                    break
                if name == "head_to_head":
                    found.append(head_to_head(player_id))
                else:
                    found.append(-row[name] if name == "technical_losses" else row[name])
            return found

        found = {player_id: merits(player_id) for player_id in sorted(rows, key=_number)}
        order = sorted(found, key=found.__getitem__, reverse=True)
        table: list[Row] = []
        rank, behind_by = 0, Row()
        for place, player_id in enumerate(order, start=1):
            above, own = found[order[max(place - 2, 0)]], found[player_id]
            if place == 1 or above != own or not self._shares_ranks:
                rank, behind_by = place, self._tie_break(above, own) if place > 1 else {}
            name = self._names[player_id]
            table.append({"rank": rank, "display_name": name, **rows[player_id], **behind_by})
        return table

    def _tie_break(self, above: list[int], own: list[int]) -> Row:
        """What put a row behind the one above, if they are level on points."""
        differ = [more != less for more, less in zip(above, own, strict=True)]
        names = ["points", *self._tie_breaks, "player_id"]
        return {} if differ[0] else {"tie_break": names[[*differ, True].index(True)]}

    def _count(self, taken: dict[str, dict[str, int]]) -> dict[str, Row]:
        """Count all matches; `taken` gets everybody's points by opponent."""
        rows = {each: {"player_id": each, **dict.fromkeys(COUNTS, 0)} for each in self._players}
        for match_id, score in self._counting.items():
            if score and match_id in self._told:
                a, b = self.matches[match_id]
                for one, other in ((a, b), (b, a)):
                    points = self._count_one(rows[one], score)
                    taken[one][other] = taken[one].get(other, 0) + points
        return rows

    def _count_one(self, row: Row, score: Score) -> int:
        """Count a match for one of its players; returns the points it brought."""
        win, draw, loss = self._points
        row["played"] += 1
        if score.winner == row["player_id"]:
            row["wins"] += 1
            points = win
        elif score.winner is None and not score.technical:
            row["draws"] += 1
            points = draw
        else:
            row["losses"] += 1
            row["technical_losses"] += score.technical
            points = loss
        row["points"] += points
        return points

    def _opened(self, event: events.LeagueOpened) -> None:
        self._points, self._tie_breaks = event.points, event.tie_breaks

    def _registered(self, event: events.PlayerRegistered) -> None:
        self._names[event.player_id] = event.display_name

    def _displaced(self, event: events.RegistrationDisplaced) -> None:
        if event.name:
            self._names[event.by] = event.name

    def _started(self, event: events.LeagueStarted) -> None:
        self._players = sorted(event.players)
        is_sealed = event.champion_commitment is not UNSET
        self._shares_ranks = is_sealed and "player_id" not in self._tie_breaks

    def _scheduled(self, event: events.RoundScheduled) -> None:
        for match in event.matches:
            self.matches[match.match_id] = (match.player_a, match.player_b)

    def _match_decided(self, event: events.MatchDecided) -> None:
        result, score = event.result, None
        if result.no_contest is not True:
            score = Score(result.winner_player_id, result.status == "TECHNICAL_LOSS")
        self.decisions[event.match_id] += 1
        self._decided[event.match_id] = self._counting[event.match_id] = score

    def _ruled(self, event: events.MatchRuled) -> None:
        self._counting[event.match_id] = {
            "win": Score(event.winner, False),
            "draw": Score(None, False),
            "no_contest": None,
            "stand": self._decided[event.match_id],
        }[event.verdict]

    _TAKE: ClassVar[dict[type[Event], Callable[..., None]]] = {
        events.LeagueOpened: _opened,
        events.PlayerRegistered: _registered,
        events.RegistrationDisplaced: _displaced,
        events.LeagueStarted: _started,
        events.RoundScheduled: _scheduled,
        events.MatchDecided: _match_decided,
        events.MatchClosed: lambda self, event: self._told.add(event.match_id),
        events.MatchRuled: _ruled,
        events.LeagueEnded: lambda self, event: self._told.update(self._counting),
    }


def _number(player_id: str) -> tuple[str, int]:
    letters, number = re.fullmatch(r"(.*?)(\d*)", player_id, re.DOTALL).groups()  # type: ignore[union-attr]
    return letters, int(number or 0)
