"""The table counted a second time, from the events alone, to check the table that a league keeps.

It has no code in common with standings.py, and is simple on purpose: `league verify` and the
simulator compare the two.
"""

from collections import Counter
from collections.abc import Callable, Mapping
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
        self._byes: dict[int, tuple[list[str], int]] = {}  # by round: whose, and their points
        self._ended: set[int] = set()  # rounds
        self._stage_byes = [0]  # what a bye is worth in each stage
        self._stage = 0
        self._told: set[str] = set()  # matches whose players know: they count, and at the end all

    def take(self, event: Event) -> None:
        """Take in the next event."""
        take = self._TAKE.get(type(event))
        if take:
            take(self, event)

    def counts(self, since: int = 0) -> dict[str, Row]:
        """What every player has done after this round, without ranks."""
        return self._count({player_id: {} for player_id in self._players}, since)

    def table(self, ranked_first: Mapping[str, tuple[int, int]]) -> list[Row]:
        """The rows of the table, rank 1 first; merits, if there are any, rank before points."""
        taken: dict[str, dict[str, int]] = {player_id: {} for player_id in self._players}
        rows = self._count(taken)
        before = {
            each: [*ranked_first.get(each, (0, 0)), row["points"]] for each, row in rows.items()
        }
        columns = [self._tie_break_of(name, rows, before, taken) for name in self._deciding]
        found = {
            each: [*before[each], *(column[each] for column in columns)]
            for each in sorted(rows, key=_number)
        }
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

    @property
    def _deciding(self) -> list[str]:
        """The tie-breaks before the player id, which nobody is level in."""
        ends = [*self._tie_breaks, "player_id"].index("player_id")
        return self._tie_breaks[:ends]

    def _tie_break_of(
        self,
        name: str,
        rows: dict[str, Row],
        before: dict[str, list[int]],
        taken: dict[str, dict[str, int]],
    ) -> dict[str, int]:
        """What each player has in a tie-break; more is better."""
        if name in ("buchholz", "sonneborn_berger"):
            return self._by_opponents(rows, only_what_was_won=name == "sonneborn_berger")
        if name != "head_to_head":
            sign = -1 if name == "technical_losses" else 1
            return {each: sign * row[name] for each, row in rows.items()}
        return {
            each: sum(won for other, won in taken[each].items() if before[other] == before[each])
            for each in rows
        }

    def _by_opponents(self, rows: dict[str, Row], only_what_was_won: bool) -> dict[str, int]:
        """The points of everybody's opponents; of what was won two for a win, one for a draw."""
        found = dict.fromkeys(rows, 0)
        for match_id, score in self._counting.items():
            if score and match_id in self._told:
                a, b = self.matches[match_id]
                drawn = score.winner is None and not score.technical
                for one, other in ((a, b), (b, a)):
                    times = 2 * (score.winner == one) + drawn if only_what_was_won else 1
                    found[one] += times * rows[other]["points"]
        for round_id in self._ended:
            resting, worth = self._byes[round_id]
            for player_id in resting if worth else ():  # as if against itself
                times = 1 + (worth == self._points[0]) if only_what_was_won else 1
                found[player_id] += times * rows[player_id]["points"]
        return found

    def _tie_break(self, above: list[int], own: list[int]) -> Row:
        """What put a row behind the one above, if they are level on points."""
        differ = [more != less for more, less in zip(above, own, strict=True)]
        names = ["", "", "", *self._tie_breaks, "player_id"]  # before them merits and points
        return {} if any(differ[:3]) else {"tie_break": names[[*differ, True].index(True)]}

    def _count(self, taken: dict[str, dict[str, int]], since: int = 0) -> dict[str, Row]:
        """Count all matches after a round; `taken` gets everybody's points by opponent."""
        none = dict.fromkeys(COUNTS, 0)
        rows: dict[str, Row] = {each: {"player_id": each, **none} for each in self._players}
        for match_id, score in self._counting.items():
            is_after = int(match_id[1:].partition("M")[0]) > since
            if score and match_id in self._told and is_after:
                a, b = self.matches[match_id]
                for one, other in ((a, b), (b, a)):
                    points = self._count_one(rows[one], score)
                    taken[one][other] = taken[one].get(other, 0) + points
        for round_id in (each for each in self._ended if each > since):
            resting, worth = self._byes[round_id]
            for player_id in resting:
                rows[player_id]["points"] += worth
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
        worth = {"win": event.points[0], "draw": event.points[1]}
        stages = event.stages or []
        self._stage_byes = [worth.get(str(each.options.get("bye")), 0) for each in stages] or [0]

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
        self._byes[event.round_id] = event.byes, self._stage_byes[self._stage]

    def _stage_started(self, event: events.StageStarted) -> None:
        self._stage = event.stage - 1
        self._players = sorted({*self._players, *event.players})

    def _joined(self, event: events.PlayerJoined) -> None:
        self._players = sorted([*self._players, event.player_id])

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
        events.StageStarted: _stage_started,
        events.PlayerJoined: _joined,
        events.RoundScheduled: _scheduled,
        events.RoundEnded: lambda self, event: self._ended.add(event.round_id),
        events.MatchDecided: _match_decided,
        events.MatchClosed: lambda self, event: self._told.add(event.match_id),
        events.MatchRuled: _ruled,
        events.LeagueEnded: lambda self, event: self._told.update(self._counting),
    }


def _number(player_id: str) -> tuple[str, int, str]:
    letters = player_id.rstrip("0123456789")
    number = player_id.removeprefix(letters).lstrip("0")
    return letters, len(number), number
