"""Sequential tests: how long two must play until it is clear who is better.

The generalized sequential probability ratio test compares two Elo differences after every score.
For each of them it takes the distribution of scores that fits what was seen best and has the mean
of that difference; LLR is the logarithm of how much better the second one fits. When it leaves the
bounds of Wald, one of the two is accepted. Scores lie evenly from 0 to 1: lost, drawn and won
matches, or better pairs of matches with seats swapped, 0, 1/4, 1/2, 3/4 and 1: what a seat is worth
then cancels out, and does not count as chance.

Differences are those of Elo's logistic scale alone, which is that of the ratings: on the normalized
one, in deviations of a score, a test takes as long whatever the share of draws, but nobody knows
what margin to ask for.
"""

from collections.abc import Sequence
from math import inf, log
from typing import Literal

Counts = Sequence[float]  # how often each score was seen, from the lowest to the highest
Verdict = Literal["first", "second", "neither"]
SIDES: tuple[Verdict, Verdict] = ("first", "second")
EMPTY = 0.001  # what a score that was not seen counts, so that it is not impossible
PAIR_SCORES = 5
ELO_MAX = 2_000.0  # beyond which no interval is looked for
_CLOSE = 1e-12  # when a solution is found
_STEPS_MAX = 100  # towards it
_HALVINGS = 24


def bounds(alpha: float, beta: float) -> tuple[float, float]:
    """Below which LLR the first difference is accepted, and above which the second.

    Where the first is true, the second is accepted with a chance of about `alpha`, after many
    scores at most alpha / (1 - beta); where the second is true, the first with `beta`, likewise.
    """
    return log(beta / (1 - alpha)), log((1 - beta) / alpha)


def expected(elo: float) -> float:
    """The share of the points that is expected at this Elo difference."""
    return float(1 / (1 + 10 ** (-elo / 400)))


def llr(counts: Counts, elo_0: float, elo_1: float) -> float:
    """How much better the difference `elo_1` fits than `elo_0`, as a logarithm."""
    filled, last = [count or EMPTY for count in counts], len(counts) - 1
    shares = [count / sum(filled) for count in filled]
    fit_0, fit_1 = (
        _tilted(shares, [n / last - expected(elo) for n in range(last + 1)])
        for elo in (elo_0, elo_1)
    )
    return sum(n * log(p1 / p0) for n, p0, p1 in zip(filled, fit_0, fit_1, strict=True))


def _tilted(shares: Sequence[float], values: Sequence[float]) -> list[float]:
    """The shares that fit these best and give the values a mean of 0, some of which are negative.

    They are share / (1 + theta value) with the theta that makes sum(share value / (1 + theta
    value)) zero. The sum falls as theta grows: by the method of Newton, and by halves where that
    leaves the interval in which theta must lie.
    """
    low, high = (-(1 - _CLOSE) / value for value in (max(values), min(values)))
    theta, step, left = 0.0, inf, _STEPS_MAX
    while abs(step) > _CLOSE * (1 + abs(theta)) and left:
        left -= 1
        parts = [value / (1 + theta * value) for value in values]
        total = sum(p * part for p, part in zip(shares, parts, strict=True))
        low, high = (theta, high) if total > 0 else (low, theta)
        step = total / sum(p * part * part for p, part in zip(shares, parts, strict=True))
        is_inside = low <= theta + step <= high
        theta = theta + step if is_inside else (low + high) / 2
    return [p / (1 + theta * value) for p, value in zip(shares, values, strict=True)]


class WhoIsBetter:
    """Who of two is better, asked after every pair of matches: two tests at the same time.

    One asks if the first is stronger by the margin, or not stronger at all; the other asks the same
    of the second. Whoever wins a test is better; if both are lost, neither is better by the margin.
    Each errs with half of what the confidence leaves, in either way. So with two that are equal one
    of them is called better, and with two that differ by the margin or more neither or the worse
    one is, with a chance of at most about 1 - confidence.
    """

    def __init__(self, confidence: float, margin: float) -> None:
        risk = (1 - confidence) / 2
        self.confidence, self.margin = confidence, margin
        self.lower, self.upper = bounds(risk, risk)
        self.counts = [0] * PAIR_SCORES
        self.llrs = (0.0, 0.0)  # that the first is better, and the second
        self.verdict: Verdict | None = None  # not clear yet
        self._lost: set[Verdict] = set()  # A test that is lost stays lost.

    @property
    def pairs(self) -> int:
        """How many counted."""
        return sum(self.counts)

    def count(self, half_points: int) -> None:
        """The next pair, in the order in which they were scheduled: its half points, 0 to 4."""
        self.counts[half_points] += 1
        first, second = (llr(counts, 0, self.margin) for counts in self._sides)
        self.llrs = first, second
        by_side = dict(zip(SIDES, self.llrs, strict=True))
        self._lost |= {who for who, ratio in by_side.items() if ratio <= self.lower}
        won: list[Verdict] = [who for who, ratio in by_side.items() if ratio >= self.upper]
        answers: list[Verdict] = ["neither"] if len(self._lost) == len(SIDES) else won
        self.verdict = self.verdict or next(iter(answers), None)

    def interval(self) -> tuple[float | None, float | None]:
        """Between which Elo differences the true one lies, whenever one looks; None: no bound.

        A difference is outside if a test of it against another one, further in by the margin, would
        be decided now. So the first is better where the interval begins above 0, and it is about
        as wide as twice the margin where neither is.
        """
        low, high = (self._refused(counts) for counts in self._sides)
        return low, None if high is None else -high

    @property
    def _sides(self) -> tuple[Counts, Counts]:
        return self.counts, self.counts[::-1]

    def _refused(self, counts: Counts) -> float | None:
        """The highest difference that is too low."""
        low, high = -ELO_MAX, ELO_MAX
        if llr(counts, low, low + self.margin) < self.upper:
            return None
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            is_refused = llr(counts, middle, middle + self.margin) >= self.upper
            low, high = (middle, high) if is_refused else (low, middle)
        return low
