"""How sure a ranking is: chances of ranks, groups too close to call, matches that are missing.

Strengths are drawn many times as they may be in truth, given the results, and each draw is ranked.
It is not the matches that are drawn anew (a bootstrap): who won all of three matches wins all of
them in each such sample, so it calls equal players different more than twice as often as this.

The players of a league are compared after the fact, the first with the last: by luck alone these
are far apart. So for the draws strengths are taken to be as far apart as the results suggest, and
no more (empirical Bayes): where luck explains the table, all are nearly equal. Of 8 equal players
who met four times, the ratings and their intervals alone would call 22 of 100 differences from the
first clear; this calls 4 of 100 clear.
"""

import math
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from agentleague.statistics.bradley_terry import ELO, Game, Rating, Strengths

MATCHES_MIN = 3  # of a player; with fewer it has a rating, and no rank
DRAWS_MIN, DRAWS_MAX = 100, 2_000
EFFORT_MAX = 12_000_000  # multiplications of all draws, unless DRAWS_MIN take more
CLEAR = 0.95  # the chance from which on somebody is called better
CLEAR_Z = 1.644854  # deviations that a difference of this chance has
TAIL = 0.05  # on both sides of a range of ranks
USUAL = 100.0  # deviation of strengths, in Elo, that counts like one player of the league
SPREAD_MIN = 10.0  # Nobody's players are all equally strong.
MORE_MAX = 10_000  # matches; more than these are never


class Place(NamedTuple):
    """Where a player stands by its rating, and how sure that is."""

    rating: Rating
    rank: int = 0  # 0: it played too few matches
    drawn: Sequence[int] = ()  # the ranks that it had in all draws, sorted
    group: int = 0  # 1, 2, ...: all of later groups are clearly weaker than its first
    # How many more matches of both would tell it from the next; None: never at this difference.
    more: int | None = 0

    def chance(self, rank: int) -> float:
        """How likely it is that it has this rank in truth."""
        return (bisect_right(self.drawn, rank) - bisect_left(self.drawn, rank)) / len(self.drawn)

    def within(self) -> tuple[int, int]:
        """The best and the worst rank that are likely: with 90 % it is from one to the other."""
        tail = int(TAIL * len(self.drawn))
        return min(self.rank, self.drawn[tail]), max(self.rank, self.drawn[-1 - tail])


class Ranking(NamedTuple):
    """All players by rating, those with too few matches last, and how many draws were ranked."""

    places: list[Place]
    draws: int


def ranked(games: Sequence[Game], rng: Random) -> Ranking:
    """The ranking that these games give, and how sure each rank is."""
    ratings = Strengths(games).ratings(rng)
    best_first = sorted(ratings, key=lambda each: (-round(each.elo, 6), each.player))
    enough = [each for each in best_first if each.matches >= MATCHES_MIN]
    few = [Place(each) for each in best_first if each.matches < MATCHES_MIN]
    if len(enough) < 2:  # One who is compared with nobody would be first with certainty.
        return Ranking([Place(each) for each in best_first], 0)
    spread = spread_of(games)
    likely = Strengths(games, spread)
    place = {player: n for n, player in enumerate(likely.players)}
    order = [place[each.player] for each in enough]
    count = max(DRAWS_MIN, min(DRAWS_MAX, EFFORT_MAX // likely.effort))
    draws = [
        [likely.elos[n] + errors[n] for n in order]
        for errors in (likely.errors(rng) for _ in range(count))
    ]
    ranks = _ranks(draws, len(order))
    groups = _groups(draws, len(order))
    places = []
    for n, (rating, below) in enumerate(zip(enough, [*enough[1:], None], strict=True)):
        more: int | None = 0
        if below and not _is_clear(draws, n, n + 1):
            more = _more(rating, below, len(ratings), spread)
        places.append(Place(rating, n + 1, ranks[n], groups[n], more))
    return Ranking([*places, *few], count)


def spread_of(games: Sequence[Game]) -> float:
    """How far apart strengths seem to be: their standard deviation, in Elo.

    From how much farther scores lie from the half than chance would bring them.
    """
    matches, scores = Counter[str](), Counter[str]()
    met = Counter[tuple[str, str]]()
    for first, second, score in games:
        met[min(first, second), max(first, second)] += 1
        matches.update((first, second))
        scores[first] += round(2 * score) - 1  # Twice as far from the half.
        scores[second] -= round(2 * score) - 1
    decided = sum(score != 0.5 for *_, score in games) / len(games)
    far = sum(it * it for it in scores.values()) / 4
    by_chance = decided * sum(matches.values()) / 4
    by_strength = sum(n * n for n in matches.values()) + 2 * sum(n * n for n in met.values())
    found = (far - by_chance) / (by_strength / 16) * ELO**2
    size = len(matches)
    return math.sqrt(max(SPREAD_MIN**2, (USUAL**2 + (size - 1) * found) / size))


def _ranks(draws: Sequence[Sequence[float]], size: int) -> list[list[int]]:
    """By player, its rank in each draw, sorted."""
    ranks: list[list[int]] = [[] for _ in range(size)]
    for drawn in draws:
        order = sorted(range(size), key=drawn.__getitem__, reverse=True)
        for rank, one in enumerate(order, 1):
            ranks[one].append(rank)
    return [sorted(row) for row in ranks]


def _groups(draws: Sequence[Sequence[float]], size: int) -> list[int]:
    """The first opens a group; from where all are clearly weaker than its first the next begins."""
    groups, leader = [1] * size, 0
    while leader < size:
        end = size
        while end > leader + 1 and _is_clear(draws, leader, end - 1):
            end -= 1
        groups[end:] = [groups[leader] + 1] * (size - end)
        leader = end
    return groups


def _is_clear(draws: Sequence[Sequence[float]], one: int, other: int) -> bool:
    return sum(drawn[one] > drawn[other] for drawn in draws) >= CLEAR * len(draws)


def _more(above: Rating, below: Rating, players: int, spread: float) -> int | None:
    """How many more matches of both, against the same players, would make their difference clear,
    if in truth they are as far apart as their ratings.

    After m matches, each of which tells i of a difference, what is drawn has the mean
    apart * m i / (m i + s) and the deviation 1 / sqrt(m i + s), where s is what the spread tells:
    it draws them together. That is clear from the root of a square equation on. The spread would be
    found to be no smaller than if only these two differed.
    """
    apart, matches = above.elo - below.elo, min(above.matches, below.matches)
    # Deviations are those from the mean of all; two of few differ more from each other.
    variance = (above.deviation**2 + below.deviation**2) * players / (players - 1)
    of_matches = 1 / (variance * matches)
    least = 1 / (2 * max(spread**2, (USUAL**2 + apart**2 / 2) / players))
    square = (CLEAR_Z / apart) ** 2 if apart > 0 else math.inf
    needed = (square + math.sqrt(square * (square + 4 * least))) / 2
    if needed > of_matches * (matches + MORE_MAX):
        return None
    return max(1, math.ceil(needed / of_matches) - matches)
