"""A season, a series of leagues: who is who in them, how strong, and one table over all of them.

A player is known again by a token or a claim of an earlier league, which nobody else has. A foreign
agent has no claim, and often keeps no token: it is taken for the same one if it registers with its
name and its end point from where it did before. That proves nothing, so it is marked, and who ever
made a claim is never known so. Names alone say nothing.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Literal, NamedTuple

from agentleague.league.formats.format import ELO
from agentleague.league.formats.ladder import change
from agentleague.league.league import League
from agentleague.league.roster import Member, Roster, folded
from agentleague.protocol.hosts import Place
from agentleague.protocol.tokens import digest

Rule = Literal["sum", "best", "rating"]
KnownBy = Literal["token", "claim", "place"]
K = 32  # of Elo: what a match may change


class Known(NamedTuple):
    """A player of earlier leagues, as its last one had it."""

    member: Member
    digests: frozenset[str]  # of its tokens and claims in all of them
    has_claimed: bool  # in any of them


class Season:
    """Who took part in the leagues so far, by player id."""

    def __init__(self, leagues: Iterable[League] = ()) -> None:
        self.players: dict[str, Known] = {}
        self.elo: dict[str, int] = {}  # after all their matches, in order
        self._ids: set[str] = set()  # that were given to anybody
        self._by_digest: dict[str, str] = {}
        self._names: set[str] = set()
        for league in leagues:
            self.take(league)

    def take(self, league: League) -> None:
        """Add the league after those so far."""
        roster = league.roster
        self._ids.update(roster.players)
        for player_id, member in roster.players.items():
            if player_id not in roster.displaced:
                before = self.players.get(player_id)
                own = {*roster.digests_of(member), member.claim_digest} - {""}
                digests = own | (before.digests if before else set())
                has_claimed = bool(member.claim_digest or (before and before.has_claimed))
                self.players[player_id] = Known(member, frozenset(digests), has_claimed)
                self._names.add(folded(member.display_name))
                self._by_digest |= dict.fromkeys(digests, player_id)
        for record in league.matches.values():
            result = record.result
            is_draw = result and result.status == "DRAW"
            if result and result.no_contest is not True and (result.winner_player_id or is_draw):
                self._rate(*record.players, result.winner_player_id)

    def _rate(self, one: str, other: str, winner: str | None) -> None:
        own, others = self.elo.get(one, ELO), self.elo.get(other, ELO)
        gain = change(own - others, 500 if winner is None else 1000 * (winner == one), K)
        self.elo[one], self.elo[other] = own + gain, others - gain

    def returning(
        self,
        roster: Roster,
        secrets: tuple[str, str],
        like: tuple[str, frozenset[Place]],
        is_back: Callable[[Member], bool],
    ) -> tuple[Member, KnownBy] | None:
        """Who shows this token or this claim, or else comes back with its name to its end point.

        Who is in the roster has come already: nobody is it a second time.
        """
        kinds: tuple[KnownBy, KnownBy] = ("token", "claim")
        for kind, shown in zip(kinds, secrets, strict=True):
            player_id = self._by_digest.get(digest(shown)) if shown else None
            if player_id and player_id not in roster.players:
                return self.players[player_id].member, kind
        name, where = like
        for player_id, (member, _, has_claimed) in self.players.items():
            is_same = member.display_name == name and bool(where & member.places)
            is_free = player_id not in roster.players and not has_claimed
            if is_same and is_free and not secrets[1] and is_back(member):
                return member, "place"
        return None

    def next_player_id(self, roster: Roster) -> str:
        """An id that nobody has or had."""
        return roster.next_player_id(self._ids)

    def is_taken(self, name: str) -> bool:
        """Whether somebody who may come back is shown under this name, or one that looks so."""
        return folded(name) in self._names


def season_table(leagues: Sequence[League], rule: Rule, best: int = 0) -> list[dict[str, Any]]:
    """All who ever played, the best first: points and rank in each league, and their total.

    Who has the same total shares a rank, which `tied` says.
    """
    elo, rows = Season(leagues).elo, dict[str, dict[str, Any]]()
    for number, league in enumerate(leagues):
        unproved = {each for each, how in league.roster.known_by.items() if how == "place"}
        for row in league.table.rows():
            player_id = row.player_id
            own = rows.setdefault(player_id, _empty(player_id, len(leagues)))
            own["display_name"] = row.display_name
            own["leagues"][number] = {"points": row.points, "rank": row.rank}
            own["unproved"] = own["unproved"] or player_id in unproved
    for player_id, own in rows.items():
        own["rating"] = elo.get(player_id, ELO)
        own["total"] = own["rating"] if rule == "rating" else _total(own, rule, best)
    return _ranked(rows)


def _empty(player_id: str, leagues: int) -> dict[str, Any]:
    return {"player_id": player_id, "leagues": [None] * leagues, "unproved": False}


def _total(row: Mapping[str, Any], rule: Rule, best: int) -> int:
    points = sorted((each["points"] for each in row["leagues"] if each), reverse=True)
    return sum(points[:best] if rule == "best" else points)


def _ranked(rows: Mapping[str, dict[str, Any]]) -> list[dict[str, Any]]:
    totals = [row["total"] for row in rows.values()]
    found = [
        {
            **row,
            "rank": 1 + sum(total > row["total"] for total in totals),
            "tied": totals.count(row["total"]) > 1,
        }
        for row in rows.values()
    ]
    return sorted(found, key=lambda row: (row["rank"], len(row["player_id"]), row["player_id"]))
