"""How far a table is from what luck alone would give.

Who met whom stays, and so do the drawn matches; who won the others is drawn anew, each by a coin.
How often such a table is as spread out as the real one says how well luck alone explains it. Which
matches are drawn is no luck: in even/odd two that choose alike always draw, and who alone chooses
otherwise never does, so coins alone spread it farther. A table is as spread out as its wins minus
losses are, not its points: who draws less often has more of those, and is no better. Nothing is
assumed about strengths.
"""

from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from agentleague.statistics.bradley_terry import Game

LEAGUES_MIN, LEAGUES_MAX = 100, 1_000
EFFORT_MAX = 1_000_000  # matches of all leagues, unless LEAGUES_MIN have more
OFTEN, SELDOM = 0.20, 0.05


class Luck(NamedTuple):
    """In how many of some leagues of luck alone the table was as spread out as the real one."""

    as_far: int
    leagues: int

    def sentence(self, *, is_game_of_luck: bool = False) -> str:
        """What that says, in words; where all is luck, no table shows more."""
        share = self.as_far / self.leagues
        per_cent = round(100 * share)
        often = f"in {per_cent} of 100 leagues" if per_cent else "in fewer than 1 of 100 leagues"
        spread = f"luck alone spreads wins minus losses at least as far {often}."
        if share >= OFTEN:
            return f"This table does not show that anybody is better: {spread}"
        if is_game_of_luck:
            return spread[:1].upper() + spread[1:]
        if share >= SELDOM:
            return f"It may be luck: {spread}"
        return f"Hardly luck, somebody is better or worse than the others: {spread}"


def compared(games: Sequence[Game], rng: Random) -> Luck | None:
    """Real results beside those of luck alone; None if there is no result."""
    if not games:
        return None
    place: dict[str, int] = {}
    for game in games:
        place.setdefault(game.first, len(place))
        place.setdefault(game.second, len(place))
    decided = [game for game in games if game.score != 0.5]
    pairs = [(place[game.first], place[game.second]) for game in decided]
    real = _spread(len(place), pairs, [round(2 * game.score) - 1 for game in decided])
    leagues = max(LEAGUES_MIN, min(LEAGUES_MAX, EFFORT_MAX // len(games)))
    as_far = 0
    for _ in range(leagues):
        as_far += _spread(len(place), pairs, rng.choices((1, -1), k=len(pairs))) >= real
    return Luck(as_far, leagues)


def _spread(size: int, pairs: Sequence[tuple[int, int]], results: Sequence[int]) -> int:
    """The sum of squares of wins minus losses."""
    balance = [0] * size
    for (first, second), result in zip(pairs, results, strict=True):
        balance[first] += result
        balance[second] -= result
    return sum(it * it for it in balance)
