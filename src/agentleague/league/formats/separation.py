"""Whether the neighbours in a table are separated: is it clear which of two is the better one?

Somebody bets at fair odds that one of two players is better. He begins with 1, and stakes a fixed
part of what he has again and again: on the difference D of the points that both took from the same
opponent in the same seat, and of those that they took from each other. D is at most C, so with the
part L he has 1 + L D / C times as much afterwards. If that player is not better, the means of D add
up to 0 or less after two cycles, in which everybody had both seats. Then he does not win on
average: the mean of a product of independent factors is the product of their means, and that is
largest where all are the same, which here is at most 1. So he ever has F times his money with a
chance of at most 1 / F, how often and whenever one looks (Ville's inequality).

He does not know the best part, and divides his money between several. With a bet on either of two
players and F = 2 / (1 - confidence), two that are equal are separated with a chance of at most
1 - confidence. That holds for any two. Of n players who all are equal some two may be separated
more often, up to n (n - 1) / 2 times. Everything is counted in whole numbers.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from math import prod

from agentleague.league.formats.format import PlayedMatch
from agentleague.league.standings import Points

SEATS = 2  # cycles after which everybody had both
PARTS = (6, 20)  # of what there is, in 32nds: what is staked each time
WHOLE = 32

Taken = Mapping[tuple[str, str, int], Sequence[int | None]]  # by whom from whom in which seat


def neighbours_are_separated(
    matches: Iterable[PlayedMatch], players: Iterable[str], points: Points, percent: int
) -> bool:
    """Whether each of the players is better than the next one in the table, with so many percent.

    `matches` are those of cycles after which everybody had both seats, in their order.
    """
    taken = _taken(matches, points)
    totals: Counter[str] = Counter()
    for (player, _, _), meetings in taken.items():
        totals[player] += sum(each or 0 for each in meetings)
    most = max(points) - min(points)
    return all(
        _is_better(Counter(_differences(taken, totals, above, below)), most, percent)
        for above, below in pairwise(sorted(players, key=lambda each: (-totals[each], each)))
    )


def _taken(matches: Iterable[PlayedMatch], points: Points) -> Taken:
    """The points of all meetings, in their order; None: it does not count."""
    taken: dict[tuple[str, str, int], list[int | None]] = {}
    for match in matches:
        is_drawn = match.winner is None and not match.technical
        for seat, player in enumerate(match.players):
            worth = points.win if match.winner == player else points.loss
            counted = (points.draw if is_drawn else worth) if match.counts else None
            taken.setdefault((player, match.players[1 - seat], seat), []).append(counted)
    return taken


def _differences(taken: Taken, everybody: Iterable[str], one: str, other: str) -> Iterator[int]:
    """Of the points of both in the same seat against the same opponent, or against each other."""
    seats = range(SEATS)
    # Who came late may have met the other in one seat once more, which may be the better one.
    both = min(len(taken.get((one, other, seat), ())) for seat in seats)
    met = [(taken[one, other, seat][:both], taken[other, one, 1 - seat]) for seat in seats if both]
    for each in everybody:
        if each not in (one, other):
            met += [(taken.get((one, each, s), ()), taken.get((other, each, s), ())) for s in seats]
    for own, theirs in met:
        for points, against in zip(own, theirs, strict=False):
            if points is not None and against is not None:
                yield points - against


def _is_better(differences: Mapping[int, int], most: int, percent: int) -> bool:
    """Whether a bet on a player with these differences, each so many times, has won enough."""
    stakes: list[int] = [
        prod((WHOLE * most + part * each) ** times for each, times in differences.items())
        for part in PARTS
    ]
    at_first: int = len(PARTS) * prod((WHOLE * most) ** times for times in differences.values())
    return sum(stakes) * (100 - percent) > at_first * 2 * 100
