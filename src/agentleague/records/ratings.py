"""What the results of leagues say of their players' strength: one function for every place that
shows it, so that commands, pages, reports and exports have the same numbers.

A technical loss counts as a loss, unless it is asked otherwise: an agent that does not answer is no
better than one that answers badly, but it says little of how well it would have played. A match
that was lost by both, or that is no contest, counts for nobody. Chance is drawn from the ids of the
leagues: the same journals give the same numbers.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from typing import Any, NamedTuple

from agentleague.games.game import Game as Rules
from agentleague.games.game import is_luck, luck_in_words
from agentleague.league.formats.round_robin import ROUND_ROBIN
from agentleague.league.league import League
from agentleague.protocol.printable import counted, one_line
from agentleague.statistics import luck, resampling
from agentleague.statistics.bradley_terry import Z50, Z95, Game, parts
from agentleague.statistics.resampling import MATCHES_MIN, MORE_MAX, Place

GRID_MAX = 30  # players whose chances of every rank are told
NAMED_MAX = 5  # in a sentence
BY_RESULTS = (
    "Where winners meet winners, as in a Swiss or a knockout, tables are spread out alike however "
    "good the players are: luck explains nearly each, and chances are careful."
)

# The one who is meant, from the ids of a league and a player in it, and the player's name.
Identity = Callable[[str, str, str], str]


class Decided(NamedTuple):
    """A decided match."""

    players: tuple[str, str]
    winner: str | None
    status: str  # WIN, DRAW, TECHNICAL_LOSS, NO_CONTEST


class RatedLeague(NamedTuple):
    """One league as ratings need it."""

    league_id: str
    game_type: str
    players: Mapping[str, tuple[str, str]]  # by id: name and version
    results: Iterable[Decided]
    is_luck: bool | None = None
    pairs_by_results: bool = False  # winners meet winners, as in a Swiss


def results_of(league: League, game: Rules | None = None) -> RatedLeague:
    """A league that was folded from all its rows."""
    decided = []
    for match in league.matches.values():
        if result := match.result:
            status = "NO_CONTEST" if result.no_contest is True else result.status
            decided.append(Decided(match.players, result.winner_player_id, status))
    return played_in(league, decided, game)


def played_in(league: League, results: Iterable[Decided], game: Rules | None) -> RatedLeague:
    """A league with these results."""
    rules, roster = league.rules, league.roster
    return RatedLeague(
        rules.league_id,
        rules.game_type,
        {
            player_id: (each.display_name, each.version)
            for player_id, each in roster.players.items()
            if player_id not in roster.displaced
        },
        results,
        is_luck(game, rules.rules.game_options) if game else None,
        any(each.format != ROUND_ROBIN.name for each in league.stages),
    )


def statistics(
    leagues: Sequence[RatedLeague], *, identity: Identity | None = None, with_forfeits: bool = True
) -> dict[str, Any]:
    """All that is shown of the strength of the players of one league or many, as plain JSON.

    Without an identity, players of several leagues are the same if they have the same name.
    """
    people = _People(leagues, identity)
    games, forfeits, kinds = _games(leagues, people, with_forfeits)
    rng = Random("|".join(sorted(each.league_id for each in leagues)))
    is_luck = _agreed([each.is_luck for each in leagues])
    rows, draws, apart = list[dict[str, Any]](), 0, _apart([*games, *forfeits])
    for number, part in enumerate(apart, 1):  # Who never met, has no rank among the others.
        places, drawn = resampling.ranked(part, rng)
        ranks, draws = sum(place.rank > 0 for place in places), max(draws, drawn)
        found = (_row(people, place, ranks, is_luck is True) for place in places)
        rows += [row | {"part": number} for row in found]
    compared = luck.compared(games, rng)
    rated = {player for game in (*games, *forfeits) for player in (game.first, game.second)}
    unrated = [name for player, name in people.names.items() if player not in rated]
    return {
        "leagues": [each.league_id for each in leagues],
        "matches": len(games) + len(forfeits),
        "forfeits": kinds["TECHNICAL_LOSS"],
        "counts_forfeits": with_forfeits,
        "draws": draws,
        "parts": len(apart),
        "rows": rows,
        "verdict": _verdict(rows, is_luck is True),
        "is_luck": is_luck,
        "luck": _luck(leagues, is_luck, compared),
        "luck_share": compared and compared.as_far / compared.leagues,
        "notes": [
            *_notes(rows, kinds, unrated, with_forfeits),
            *[BY_RESULTS] * any(each.pairs_by_results and rows for each in leagues),
            *people.notes(leagues),
        ],
    }


def _agreed(said: Sequence[bool | None]) -> bool | None:
    return said[0] if said and len(set(said)) == 1 else None


class _People:
    """Who is who in several leagues."""

    def __init__(self, leagues: Sequence[RatedLeague], identity: Identity | None) -> None:
        self.of: list[dict[str, str]] = []  # by league: player id -> one key for a person
        self.names: dict[str, str] = {}
        self.ids: dict[str, str] = {}
        self._shared: list[str] = []
        self._leagues = Counter[str]()
        self._versions = defaultdict[str, set[str]](set)
        self._is_by_name = identity is None and len(leagues) > 1
        for each in leagues:
            shared = Counter(name for name, _ in each.players.values())
            self._shared += [
                name for name, count in shared.items() if count > 1 and self._is_by_name
            ]
            keys: dict[str, str] = {}
            self.of.append(keys)
            for player_id, (name, version) in each.players.items():
                key = player_id
                if identity:
                    key = identity(each.league_id, player_id, name)
                elif self._is_by_name:
                    key = name if shared[name] == 1 else f"{name} ({player_id} of {each.league_id})"
                keys[player_id] = key
                self.names[key] = key if self._is_by_name else name
                self.ids[key] = player_id
                self._leagues[key] += 1
                self._versions[key].add(version)

    def notes(self, leagues: Sequence[RatedLeague]) -> Iterable[str]:
        """What was taken to be one, and where that may be wrong."""
        if len(leagues) == 1:
            return
        kinds = sorted({each.game_type for each in leagues})
        if len(kinds) > 1:
            yield f"The leagues play different games, {_listed(kinds)}: one rating says little."
        merged = [key for key, count in self._leagues.items() if count > 1]
        if self._is_by_name and merged:
            alike = counted(len(merged), "name is", "names are")
            yield f"Players with the same name count as one player: {alike} in several leagues."
        changed = [self.names[key] for key in merged if len(self._versions[key]) > 1]
        if changed:
            yield f"Perhaps not one player, since its version differs: {_listed(changed)}."
        if self._shared:
            yield f"A name that several of one league have counts apart: {_listed(self._shared)}."


def _games(
    leagues: Sequence[RatedLeague], people: _People, with_forfeits: bool
) -> tuple[list[Game], list[Game], Counter[str]]:
    """Matches that were played, those that were lost without a game, and how many were which."""
    games: list[Game] = []
    forfeits: list[Game] = []
    kinds = Counter[str]()
    for each, keys in zip(leagues, people.of, strict=True):
        for result in each.results:
            kinds[result.status] += 1
            first, second = (keys[player] for player in result.players)
            if result.status == "DRAW":
                games.append(Game(first, second, 0.5))
            elif result.winner and result.status in ("WIN", "TECHNICAL_LOSS"):
                wanted = games if result.status == "WIN" else forfeits
                wanted.append(Game(first, second, float(result.winner == result.players[0])))
    # In one order, whoever reads the journal: what is drawn by chance depends on it.
    return sorted(games), sorted(forfeits) if with_forfeits else [], kinds


def _row(people: _People, place: Place, ranks: int, is_luck: bool) -> dict[str, Any]:
    rating = place.rating
    row: dict[str, Any] = {
        "player_id": people.ids[rating.player],
        "name": people.names[rating.player],
        "rating": round(rating.elo),
        **dict(zip(("low_95", "high_95"), map(round, rating.within(Z95)), strict=True)),
        **dict(zip(("low_50", "high_50"), map(round, rating.within(Z50)), strict=True)),
        "matches": rating.matches,
        "rank": place.rank or None,
    }
    if not place.rank:
        return row
    best, worst = place.within()
    chances = [round(place.chance(n + 1), 4) for n in range(ranks)] if ranks <= GRID_MAX else []
    first = round(place.chance(1), 4)
    return row | {
        "best": best,
        "worst": worst,
        "first": first,
        "group": place.group,
        "more_matches": None if is_luck else place.more,  # By luck nothing tells them apart.
        "chances": chances,
    }


def in_words(row: Mapping[str, Any]) -> dict[str, str]:
    """What a table shows of a player: its rank with a range, such as 2 (1-4), its rating, and how
    likely it is the best of all; and how many more matches would tell it from the next one, for a
    game that is not luck.
    """
    more = row.get("more_matches", 0)
    first = f"{100 * row['first']:.0f} %" if row["rank"] else ""
    return {
        "range": f"{row['rank']} ({row['best']}-{row['worst']})" if row["rank"] else "too few",
        "rating": f"{row['rating']:+}",
        "interval": f"{row['low_95']:+} to {row['high_95']:+}",
        "first": "< 1 %" if first == "0 %" and row["first"] else first,
        "more": f"> {MORE_MAX:,}" if more is None else f"{more:,}" if more else "",
    }


def opens_group(row: Mapping[str, Any], before: Mapping[str, Any] | None) -> bool:
    """Whether a row is clearly weaker than the first of the group before it."""
    is_part = before and row["part"] == before["part"] and row["rank"]
    return bool(before and is_part and row["group"] != before["group"])


def _verdict(rows: Sequence[Mapping[str, Any]], is_luck: bool) -> str:
    ranked = [row for row in rows if row["rank"]]
    if not ranked:
        return (
            f"Too few matches to say anything: ranks need two players with {MATCHES_MIN} or more."
        )
    first = one_line(ranked[0]["name"])
    if rows[-1]["part"] > 1:
        other = one_line(next(row["name"] for row in rows if row["part"] == 2))
        return (
            f"These are {rows[-1]['part']} groups that never met, not even through others, like "
            f"that of {one_line(rows[0]['name'])} and that of {other}: each is ranked by itself."
        )
    together = [one_line(row["name"]) for row in ranked if row["group"] == 1]
    which = f" with {MATCHES_MIN} matches or more" if len(ranked) < len(rows) else ""
    if len(together) == 1 and is_luck:
        return f"{first} is clearly ahead of all others{which}."
    if len(together) == 1:
        return f"{first} is better than each of the others{which}, with a chance of at least 95 %."
    is_all = len(together) == len(ranked)
    close = f"All{which or ' players'}" if is_all else f"The first {len(together)}"
    if len(together) <= NAMED_MAX and not is_all:
        close = f"{', '.join(together[:-1])} and {together[-1]}"
    if ranked[0]["rating"] == ranked[1]["rating"]:
        return f"Nobody leads by rating. {close} are too close to call."
    return f"{first} leads. {close} are too close to call.{'' if is_luck else _separated(ranked)}"


def _separated(ranked: Sequence[Mapping[str, Any]]) -> str:
    names = " from ".join(one_line(row["name"]) for row in ranked[:2])
    more = ranked[0]["more_matches"]
    if more is None:
        return f" At this difference, {MORE_MAX:,} more matches of each would not tell {names}."
    if not more:
        return ""
    about = counted(more, "more match", "more matches")
    return f" To tell {names} takes about {about} of each, if they differ as their ratings do."


def _luck(leagues: Sequence[RatedLeague], is_luck: bool | None, compared: luck.Luck | None) -> str:
    said = compared.sentence(is_game_of_luck=is_luck is True) if compared else ""
    if not is_luck:
        return said
    return f"{luck_in_words(leagues[0].game_type)} {said}".strip()


def _notes(
    rows: Sequence[Mapping[str, Any]],
    kinds: Counter[str],
    unrated: Sequence[str],
    with_forfeits: bool,
) -> Iterable[str]:
    forfeits, void = kinds["TECHNICAL_LOSS"], kinds["NO_CONTEST"]
    if forfeits:
        lost = counted(forfeits, "technical loss", "technical losses")
        counts = "as lost, which says little of strength" if with_forfeits else "not at all"
        yield f"{lost} {'counts' if forfeits == 1 else 'count'} {counts}; for luck none counts."
    if void:
        yield f"{counted(void, 'match', 'matches')} without a contest: for nobody."
    few = sum(not row["rank"] for row in rows)
    if few and few < len(rows):
        yield f"{counted(few, 'player')} with fewer than {MATCHES_MIN} matches: too few for a rank."
    if rows and unrated:
        yield f"Without a match that counts, and so without a rating: {_listed(unrated)}."


def _apart(games: Sequence[Game]) -> list[list[Game]]:
    """The games of each group that met, directly or through others, the largest group first."""
    members = sorted(parts(games), key=len, reverse=True)
    part_of = {player: n for n, part in enumerate(members) for player in part}
    found: list[list[Game]] = [[] for _ in members]
    for game in games:
        found[part_of[game.first]].append(game)
    return found


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - NAMED_MAX} more" if len(names) > NAMED_MAX else ""
    return ", ".join(map(one_line, names[:NAMED_MAX])) + more
