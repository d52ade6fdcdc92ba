"""One round of a Swiss: who meets whom, in which seat, and who has a bye.

The candidates come by rank: more points first, then the better seed. What must hold, the most
important first:

1. Nobody meets anybody twice, and nobody has a second bye.
2. Nobody sits in one seat three times running, or three times more often than in the other; if
   no pairing of all keeps to that, this rule is left out for the round.
3. The bye goes to the lowest of those whom the others can do without.
4. From the top, as many as possible of each score group are paired in it; as few as possible, and
   the lowest, float down to the next group, where they are paired first, with the best there.
5. As many as possible get the seat that they want.
6. The upper half of a group meets the lower half, in order.

Rules 1 to 3 hold exactly: before any pair is fixed it is certain that all who are left can be
paired. Rules 4 and 5 do without a search among all pairings of a group, and so may miss the best
one in groups in which most have met.
"""

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence, Set
from itertools import chain, groupby, islice, product
from typing import NamedTuple

from agentleague.league.formats.format import Players
from agentleague.league.formats.matching import Mates, bits, bits_from_above, match

FIRST, SECOND = 1, -1
TRIES = 200  # to let somebody lower float down instead
_MUST = 3  # Who wants a seat that much must have it.


class Candidate(NamedTuple):
    """A player of the next round, and what matters of its past."""

    player_id: str
    seed: int  # counts from 1
    score: int
    seats: Sequence[int] = ()  # FIRST or SECOND, match by match
    met: Set[str] = frozenset()
    may_rest: bool = True  # had no bye
    is_late: bool = False  # came after the first round: it has a bye only if nobody else can

    @property
    def want(self) -> int:
        """Positive for the first seat, negative for the second; the further from 0, the more."""
        balance, last = sum(self.seats), sum(self.seats[-1:])
        if abs(balance) > 1:
            return -balance * _MUST
        if abs(sum(self.seats[-2:])) > 1:
            return -last * _MUST
        return -balance * 2 or -last


class Paired(NamedTuple):
    """The pairs by rank, each in seat order, and who has a bye."""

    pairs: tuple[Players, ...]
    byes: Players


def pair(candidates: Sequence[Candidate]) -> Paired | None:
    """Pair all, or all but one; None if there is no way without a pair that has met."""
    everybody = (1 << len(candidates)) - 1
    resting: Iterable[int] = (len(candidates),)  # nobody
    if len(candidates) % 2:
        lowest_first = [*enumerate(candidates)][::-1]
        lowest_first.sort(key=lambda each: each[1].is_late)
        resting = [rank for rank, each in lowest_first if each.may_rest]
    for keeps_seats in (True, False):
        pairing = _Pairing(candidates, keeps_seats)
        for rank in resting:
            playing = everybody & ~(1 << rank)
            if pairing.is_possible(playing):
                byes = tuple(each.player_id for each in candidates[rank : rank + 1])
                return Paired(tuple(pairing.of_all(playing)), byes)
    return None


class _Pairing:
    """The graph of those who may meet. Players are known by rank, from 0; sets of them are bits."""

    def __init__(self, candidates: Sequence[Candidate], keeps_seats: bool) -> None:
        self._candidates = candidates
        ranks = {each.player_id: rank for rank, each in enumerate(candidates)}
        self._wants = [each.want for each in candidates]
        self._want_first = _those(rank for rank, want in enumerate(self._wants) if want > 0)
        self._want_second = _those(rank for rank, want in enumerate(self._wants) if want < 0)
        self._must_first = self._must_second = 0
        if keeps_seats:
            self._must_first = _those(r for r, want in enumerate(self._wants) if want >= _MUST)
            self._must_second = _those(r for r, want in enumerate(self._wants) if want <= -_MUST)
        self._most_met = max(len(each.met) for each in candidates)
        self._may_meet = []
        everybody = (1 << len(candidates)) - 1
        for rank, each in enumerate(candidates):
            not_these = 1 << rank | _those(ranks[other] for other in each.met if other in ranks)
            for must in (self._must_first, self._must_second):
                if must >> rank & 1:
                    not_these |= must
            self._may_meet.append(everybody & ~not_these)

    def is_possible(self, players: int) -> bool:
        """Whether all these, an even number, can be paired with one another."""
        number = players.bit_count()
        for must in (self._must_first, self._must_second):
            if (players & must).bit_count() > number // 2:
                return False
        # Seat them in two halves, as they must be: each may meet at least half of the other side,
        # and where that holds, all can be paired (Hall).
        return number >= 4 * self._most_met or not match(self._may_meet, players, {})

    def of_all(self, players: int) -> Iterator[Players]:
        """The pairs of all these, for whom it is possible."""
        pairs: list[tuple[int, int]] = []
        floating, below = 0, players
        for _, group in groupby(bits(players), key=lambda rank: self._candidates[rank].score):
            residents = [*group]
            below &= -1 << residents[-1] + 1
            bracket = floating | _those(residents)
            down = self._floating_down(bracket, below)
            pairs += self._in_bracket(bracket & ~down, residents[0])
            floating = down
        for upper, lower in sorted(pairs):
            yield self._seated(upper, lower)

    def _floating_down(self, bracket: int, below: int) -> int:
        """Who of a bracket is to be paired with those below: as few and as low as possible."""
        for down in self._lowest(bracket) if bracket.bit_count() % 2 else (0,):
            if self._may_float(down, bracket, below):
                return down
        mates: Mates = {}
        down = match(self._may_meet, bracket, mates)
        if not self.is_possible(below | down):
            match(self._may_meet, bracket | below, mates)
            down = _those(rank for rank in bits(bracket) if below >> mates[rank] & 1)
        for upper, lower in islice(product(bits(down), bits_from_above(bracket)), TRIES):
            if upper < lower and down >> upper & 1 and not down >> lower & 1:
                instead = down ^ 1 << upper ^ 1 << lower
                down = instead if self._may_float(instead, bracket, below) else down
        return down

    def _lowest(self, bracket: int) -> list[int]:
        """The lowest of those who want each seat, first without whom most others get theirs."""
        lowest = [1 << those.bit_length() - 1 for those in self._by_want(bracket) if those]
        return sorted(lowest, key=lambda each: (self._missing(bracket ^ each), -each))

    def _may_float(self, down: int, bracket: int, below: int) -> bool:
        return self.is_possible(bracket & ~down) and self.is_possible(below | down)

    def _in_bracket(self, players: int, first_resident: int) -> Iterator[tuple[int, int]]:
        """Pair all of a bracket, for whom it is possible."""
        left = [*bits(players)]
        while left:
            lower_half = left[len(left) // 2]
            upper = left.pop(0)
            players ^= 1 << upper
            start = lower_half if upper >= first_resident else first_resident
            lower = self._partner(upper, players, start)
            left.pop(bisect_left(left, lower))
            players ^= 1 << lower
            yield upper, lower

    def _partner(self, upper: int, others: int, start: int) -> int:
        """The best one for a player of all with whom the others can still be paired."""
        may_meet, friendly = self._may_meet[upper], self._seat_friendly(upper, others)
        ordered = (_around(start, may_meet & each) for each in (friendly, others & ~friendly))
        found = chain.from_iterable(ordered)
        return next(lower for lower in found if self.is_possible(others ^ 1 << lower))

    def _seat_friendly(self, upper: int, others: int) -> int:
        """With whom as few as possible do not get the seat that they want, in all the bracket."""
        least = self._missing(others | 1 << upper)
        friendly = 0
        for those, seat in zip(self._by_want(others), (FIRST, SECOND, 0), strict=True):
            misses = self._wants[upper] * seat > 0
            if those and misses + self._missing(others ^ (those & -those)) <= least:
                friendly |= those
        return friendly

    def _by_want(self, players: int) -> tuple[int, int, int]:
        """Those who want the first seat, the second, and neither more."""
        first, second = self._want_first & players, self._want_second & players
        return first, second, players & ~first & ~second

    def _missing(self, players: int) -> int:
        """How many at least do not get the seat that they want."""
        first, second, _ = self._by_want(players)
        return max(0, max(first.bit_count(), second.bit_count()) - players.bit_count() // 2)

    def _seated(self, upper: int, lower: int) -> Players:
        pairing = self._candidates[upper].player_id, self._candidates[lower].player_id
        return pairing[:: self._seat(upper, lower)]

    def _seat(self, upper: int, lower: int) -> int:
        """Where the upper one of a pair sits."""
        one, other = self._candidates[upper], self._candidates[lower]
        want, other_want = self._wants[upper], self._wants[lower]
        if want * other_want > 0:  # Both want the same seat.
            stronger = abs(want) - abs(other_want)
            if stronger == 0:
                seats = zip(reversed(one.seats), reversed(other.seats), strict=False)
                return next((there for here, there in seats if here != there), _sign(want))
            return _sign(want * stronger)
        if want == other_want:
            return FIRST if one.seed % 2 else SECOND
        return _sign(want - other_want)


def _around(start: int, ranks: int) -> Iterator[int]:
    """Those from the start on downwards, then those above it, upwards."""
    below = ranks & -1 << start
    return chain(bits(below), bits_from_above(ranks ^ below))


def _sign(want: int) -> int:
    return FIRST if want > 0 else SECOND


def _those(ranks: Iterable[int]) -> int:
    found = 0
    for rank in ranks:
        found |= 1 << rank
    return found
