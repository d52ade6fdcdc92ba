"""Ratings from results: one strength a player, by Bradley and Terry, on the scale of Elo.

A player of strength a beats one of strength b with the chance 1 / (1 + 10 ** ((b - a) / 400)); a
draw is half a win. The ratings are those that make all results together most likely, so they do not
depend on the order of the matches: an agent is the same program from the first match to the last,
and what it did first tells as much as what it did last (Elo and Glicko follow the last results). To
this comes one draw, which nobody played, of each player against strength 0. It keeps the rating of
who won every match finite, and joins players who never met, not even through others.

How sure a rating is follows from the curvature of the likelihood at its peak: errors are about
normally distributed, with its inverse as their covariance. They are errors against the mean of all,
since the results say nothing about all players together. Drawn games scatter less than won and lost
ones, so games weigh more, the more of them are drawn; but those of a pair that draws less often
than all do weigh less: who alone always chooses odd never draws, while the others do all the time.
The covariance is computed whole for up to EXACT_MAX players. For more, errors are drawn from the
same distribution by solving a sparse system for each draw, and only what opponents add to the
variance of a player is estimated from the draws (Papandreou and Yuille 2011).
"""

import math
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter, mul
from random import Random
from typing import NamedTuple

ELO = 400 / math.log(10)  # one unit of the logistic curve
EXACT_MAX = 250  # players whose covariance is computed whole
DRAWS = 50  # from which the deviations of more players are estimated
SWEEPS_MAX = 2_000
PRECISION = 1e-9  # of a strength, when nothing changes any more
STEP_MAX = 2.0  # of a strength at once: far from its peak a curve is nearly straight
USUAL = 2  # games that every pair is given besides, drawn as often as all are
SOLVED = 1e-3  # of a draw: far less than it differs from the next one
Z50, Z95 = 0.674490, 1.959964  # deviations to both sides that hold 50 % and 95 %


class Game(NamedTuple):
    """One match: who had the first and the second seat, and 1, 0.5 or 0 for the first."""

    first: str
    second: str
    score: float


class Rating(NamedTuple):
    """The strength of a player, in Elo; 0 is the middle of all."""

    player: str
    elo: float
    deviation: float
    matches: int

    def within(self, z: float) -> tuple[float, float]:
        """The interval of that many deviations to both sides."""
        return self.elo - z * self.deviation, self.elo + z * self.deviation


class Strengths:
    """What some games say of the strengths of who played them; of no games, nothing.

    With a `spread`, in Elo, what is known before is not a draw against strength 0, but that
    strengths are normally distributed, with this deviation.
    """

    def __init__(self, games: Iterable[Game], spread: float | None = None) -> None:
        met = defaultdict[str, dict[str, int]](lambda: defaultdict(int))
        decided = Counter[tuple[str, str]]()
        scores = defaultdict[str, float](float)
        for first, second, score in games:
            decided[min(first, second), max(first, second)] += score != 0.5
            met[first][second] += 1
            met[second][first] += 1
            scores[first] += score
            scores[second] += 1 - score
        self.players = sorted(met)  # So that sums do not depend on the order of the games.
        place = {player: n for n, player in enumerate(self.players)}
        self._met = [sorted((place[each], n) for each, n in met[one].items()) for one in place]
        self.matches = [sum(n for _, n in row) for row in self._met]
        prior = _drawn_against_0 if spread is None else _normal((ELO / spread) ** 2)
        strengths = _fitted(self._met, [scores[each] for each in self.players], prior)
        by_place = {(place[a], place[b]): n for (a, b), n in decided.items()}
        self._curvature = _Curvature(_telling(self._met, by_place), strengths, prior)
        self.elos = [ELO * it for it in strengths]

    def errors(self, rng: Random) -> list[float]:
        """By how much all ratings may be wrong, in the order of `players`, in Elo: one draw."""
        drawn = self._curvature.drawn(rng)
        mean = sum(drawn) / max(1, len(drawn))
        return [ELO * (it - mean) for it in drawn]

    def ratings(self, rng: Random) -> list[Rating]:
        """All ratings in the order of `players`; chance matters for very many players alone."""
        is_exact = len(self.players) <= EXACT_MAX
        errors = [] if is_exact else [self.errors(rng) for _ in range(DRAWS)]
        deviations = [ELO * it for it in self._curvature.deviations(errors)]
        rows = zip(self.players, self.elos, deviations, self.matches, strict=True)
        return [Rating(*row) for row in rows]

    @property
    def effort(self) -> int:
        """About how many multiplications one draw takes."""
        return self._curvature.effort


def parts(games: Iterable[Game]) -> list[list[str]]:
    """Players who met, directly or through others; several parts cannot be compared."""
    met = defaultdict[str, set[str]](set)
    for first, second, _ in games:
        met[first].add(second)
        met[second].add(first)
    left, found = dict.fromkeys(sorted(met)), []
    while left:
        part = [next(iter(left))]
        del left[part[0]]
        for one in part:
            new = [other for other in met[one] if other in left]
            part += new
            for other in new:
                del left[other]
        found.append(sorted(part))
    return found


Met = Sequence[Sequence[tuple[int, int]]]  # by player: opponents, and how often they met
Telling = Sequence[Sequence[tuple[int, float]]]  # by player: opponents, and what their games weigh
Prior = Callable[[float], tuple[float, float]]  # what a strength adds to slope and curvature


def _drawn_against_0(strength: float) -> tuple[float, float]:
    chance = 1 / (1 + math.exp(-strength))
    return 0.5 - chance, chance * (1 - chance)


def _normal(weight: float) -> Prior:
    return lambda strength: (-weight * strength, weight)


def _fitted(met: Met, scores: Sequence[float], prior: Prior) -> list[float]:
    """The likeliest strengths: one player after the other to its peak, until nothing changes."""
    strengths, powers = [0.0] * len(met), [1.0] * len(met)
    for _ in range(SWEEPS_MAX if met else 0):
        change = 0.0
        for one, row in enumerate(met):
            own = powers[one]
            chances = [(own / (own + powers[other]), n) for other, n in row]
            slope, bend = prior(strengths[one])
            slope += scores[one] - sum(n * p for p, n in chances)
            bend += sum(n * p * (1 - p) for p, n in chances)
            step = max(-STEP_MAX, min(STEP_MAX, slope / bend))
            strengths[one] += step
            powers[one] = math.exp(strengths[one])
            change = max(change, abs(step))
        # No step moves all players together, which takes the longest; only the prior speaks of it.
        slopes, bends = zip(*map(prior, strengths), strict=True)
        shift = max(-STEP_MAX, min(STEP_MAX, sum(slopes) / sum(bends)))
        strengths = [it + shift for it in strengths]
        powers = [math.exp(it) for it in strengths]
        if max(change, abs(shift)) < PRECISION:
            break
    return strengths


def _telling(met: Met, decided: Mapping[tuple[int, int], int]) -> Telling:
    """As much as how many decided games the games of each pair tell.

    As if two more of all had been decided: drawn games alone prove little.
    """
    share = (sum(decided.values()) + 2) / (sum(n for row in met for _, n in row) / 2 + 2)
    rows: list[list[tuple[int, float]]] = []
    for one, row in enumerate(met):
        own = [(n, decided[min(one, other), max(one, other)]) for other, n in row]
        least = [max(share, (won + USUAL * share) / (n + USUAL)) for n, won in own]
        rows.append([(other, n / it) for (other, n), it in zip(row, least, strict=True)])
    return rows


class _Curvature:
    """The negative second derivatives of the likelihood: a sparse, positive matrix."""

    def __init__(self, telling: Telling, strengths: Sequence[float], prior: Prior) -> None:
        powers = [math.exp(it) for it in strengths]
        self._known = [prior(it)[1] for it in strengths]
        self._weights = [
            [
                n * powers[one] * powers[other] / (powers[one] + powers[other]) ** 2
                for other, n in row
            ]
            for one, row in enumerate(telling)
        ]
        self._others = [[other for other, _ in row] for row in telling]
        self._diagonal = [it + sum(row) for it, row in zip(self._known, self._weights, strict=True)]
        self._roots = self._inverted() if len(telling) <= EXACT_MAX else []

    def _inverted(self) -> list[list[float]]:
        """Columns of the inverse of the matrix's lower root: their products are the covariance."""
        lower: list[list[float]] = []
        for one, (others, weights) in enumerate(zip(self._others, self._weights, strict=True)):
            row = [0.0] * one
            for other, weight in zip(others, weights, strict=True):
                if other < one:
                    row[other] = -weight
            for other, above in enumerate(lower):
                row[other] = (row[other] - sum(map(mul, above, row[:other]))) / above[other]
            row.append(math.sqrt(self._diagonal[one] - sum(map(mul, row, row))))
            lower.append(row)
        columns = []
        for one in range(len(lower)):
            column = [1 / lower[one][one]]
            for row in lower[one + 1 :]:
                column.append(-sum(map(mul, row[one:], column)) / row[-1])
            columns.append(column)
        return columns

    @property
    def effort(self) -> int:
        """About how many multiplications `drawn` takes."""
        size = len(self._diagonal)
        return size * size // 2 + 5 * size if self._roots else 40 * sum(map(len, self._others))

    def deviations(self, errors: Sequence[Sequence[float]]) -> list[float]:
        """The standard deviation of each strength against the mean of all."""
        size = len(self._diagonal)
        if self._roots:
            mean = [0.0] * size
            for one, column in enumerate(self._roots):
                for other, it in enumerate(column, one):
                    mean[other] += it / size
            of_mean = sum(map(mul, mean, mean))
            return [
                math.sqrt(
                    sum(map(mul, column, column)) - 2 * sum(map(mul, column, mean[n:])) + of_mean
                )
                for n, column in enumerate(self._roots)
            ]
        squares = [0.0] * size
        for drawn in errors:
            for one, pull in enumerate(self._pulls(drawn)):
                squares[one] += (pull / ELO / self._diagonal[one]) ** 2
        return [
            math.sqrt(1 / it + square / len(errors))
            for it, square in zip(self._diagonal, squares, strict=True)
        ]

    def drawn(self, rng: Random) -> list[float]:
        """Errors of all strengths, one draw of their common distribution."""
        if self._roots:
            noise = [rng.gauss(0, 1) for _ in self._roots]
            return [sum(map(mul, column, noise[n:])) for n, column in enumerate(self._roots)]
        pushed = [math.sqrt(it) * rng.gauss(0, 1) for it in self._known]
        for one, (others, weights) in enumerate(zip(self._others, self._weights, strict=True)):
            for other, weight in zip(others, weights, strict=True):
                if other < one:
                    push = math.sqrt(weight) * rng.gauss(0, 1)
                    pushed[one] += push
                    pushed[other] -= push
        return self._solved(pushed)

    def _pulls(self, strengths: Sequence[float]) -> list[float]:
        """What the opponents of each player add up to."""
        padded = [*strengths, 0.0, 0.0]
        end = len(strengths)
        return [
            sum(map(mul, weights, itemgetter(*others, end, end)(padded)))
            for others, weights in zip(self._others, self._weights, strict=True)
        ]

    def _solved(self, right: Sequence[float]) -> list[float]:
        """The solution x of (matrix) x = right, by conjugate gradients."""
        diagonal = self._diagonal
        found, residual = [0.0] * len(right), [*right]
        scaled = [it / d for it, d in zip(residual, diagonal, strict=True)]
        direction, size = scaled, sum(map(mul, residual, scaled))
        enough = SOLVED**2 * size
        while size > enough:
            pulls = self._pulls(direction)
            moved = [d * it - pull for d, it, pull in zip(diagonal, direction, pulls, strict=True)]
            step = size / sum(map(mul, direction, moved))
            found = [it + step * to for it, to in zip(found, direction, strict=True)]
            residual = [it - step * by for it, by in zip(residual, moved, strict=True)]
            scaled = [it / d for it, d in zip(residual, diagonal, strict=True)]
            before, size = size, sum(map(mul, residual, scaled))
            direction = [it + size / before * to for it, to in zip(scaled, direction, strict=True)]
        return found
