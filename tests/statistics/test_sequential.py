"""Sequential tests: worked examples, and how often they err."""

from math import inf, log
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentleague.statistics.sequential import WhoIsBetter, bounds, expected, llr

# Scores from the lowest to the highest, two Elo differences, and the LLR to four places. They were
# computed by a program that agrees with test values of fastchess.
WORKED = [
    ((30, 40, 50), (0, 50), 2.4741),  # matches: go on
    ((10, 20, 30), (0, 50), 3.4430),  # accepted
    ((0, 0, 10), (0, 50), 1.3359),  # where the usual shortcut says 2655
    ((4, 16, 40, 28, 12), (0, 20), 2.4104),  # pairs
    ((34, 104, 62), (0, 20), 2.6876),  # the same as single matches
]


@pytest.mark.parametrize(("counts", "differences", "worked"), WORKED)
def test_worked_examples_come_out(counts, differences, worked):
    assert llr(counts, *differences) == pytest.approx(worked, abs=5e-5)


def test_the_bounds_are_those_of_wald():
    assert bounds(0.05, 0.05) == pytest.approx((-2.9444, 2.9444), abs=5e-5)
    assert bounds(0.01, 0.2) == pytest.approx((log(0.2 / 0.99), log(0.8 / 0.01)))


counts = st.lists(st.integers(0, 500), min_size=5, max_size=5).filter(any)
elo = st.floats(-300, 300)


@given(counts, elo, elo)
def test_what_speaks_for_one_speaks_against_the_other(seen, low, high):
    assert llr(seen, low, high) == pytest.approx(-llr(seen, high, low), abs=1e-6)
    assert llr(seen, low, high) == pytest.approx(llr(seen[::-1], -low, -high), abs=1e-6)


@given(counts, st.integers(0, 3), st.floats(5, 200))
def test_a_better_pair_in_place_of_a_worse_one_never_speaks_against_the_first(seen, score, margin):
    worse, better = seen[:], seen[:]
    worse[score] += 1
    better[score + 1] += 1
    if all(seen):  # Where a score was never seen, it may be another one afterwards.
        assert llr(better, 0, margin) >= llr(worse, 0, margin) - 1e-9


def decide(rng, confidence, margin, difference, drawn, pairs_max=20_000):
    """A contest of two that differ so, seats even, with at most this share of drawn matches."""
    drawn = min(drawn, 2 - 2 * expected(difference))
    test, won = WhoIsBetter(confidence, margin), expected(difference) - drawn / 2
    while test.verdict is None and test.pairs < pairs_max:
        chances = (rng.random(), rng.random())
        test.count(sum(2 if u < won else u < won + drawn for u in chances))
    return test


def wrong(runs, margin, difference, drawn):
    """The share of wrong answers, that of intervals which leave out the truth, pairs on average."""
    rng, errors, missed, pairs = Random(f"{margin} {difference} {drawn}"), 0, 0, 0
    for _ in range(runs):
        test = decide(rng, 0.95, margin, difference, drawn)
        low, high = test.interval()
        errors += test.verdict != ("first" if difference >= margin else "neither")
        missed += not (low or -inf) <= difference <= (high or inf)
        pairs += test.pairs
    return errors / runs, missed / runs, pairs / runs


def allowed(runs, share=0.05):
    """What a simulation of so many runs may show of a true share: 99.5 % of them show less.

    The true shares are about as large as stated, so half of the simulations show a little more.
    """
    return share + 2.6 * (share * (1 - share) / runs) ** 0.5


def test_wrong_answers_are_no_more_than_was_said():
    for difference, drawn in ((0, 0.0), (0, 0.3), (200, 0.0), (200, 0.3)):
        errors, missed, _ = wrong(100, 200, difference, drawn)

        assert errors <= allowed(100), (difference, drawn)
        assert missed <= allowed(100), (difference, drawn)


def test_a_single_test_errs_no_more_than_alpha_and_beta():
    lower, upper = bounds(0.05, 0.05)
    rng, runs = Random("one test"), 200
    for difference, is_wrong in ((0, lambda ratio: ratio > 0), (150, lambda ratio: ratio < 0)):
        errors = 0
        for _ in range(runs):
            seen, ratio = [0] * 5, 0.0
            while lower < ratio < upper:
                seen[sum(2 * (rng.random() < expected(difference)) for _ in range(2))] += 1
                ratio = llr(seen, 0, 150)
            errors += is_wrong(ratio)

        assert errors / runs <= allowed(runs)


@pytest.mark.slow
@pytest.mark.parametrize("margin", [30, 100, 200])
@pytest.mark.parametrize("drawn", [0.0, 0.3])
@pytest.mark.parametrize("factor", [0, 1, 2])
def test_wrong_answers_are_rare_over_many_contests(margin, drawn, factor):
    runs = 20_000 // margin
    errors, missed, pairs = wrong(runs, margin, factor * margin, drawn)

    print(f"margin {margin}, {factor}x, drawn {drawn}: {errors:.3f} {missed:.3f} {pairs:.0f}")
    assert errors <= allowed(runs)
    assert missed <= allowed(runs)


def test_whoever_wins_all_pairs_is_better_and_whoever_loses_all_is_not():
    for half_points, verdict in ((4, "first"), (0, "second"), (2, "neither")):
        test = WhoIsBetter(0.95, 30)
        while test.verdict is None:
            test.count(half_points)

        assert test.verdict == verdict
        assert 10 < test.pairs < 100


def test_a_test_that_is_lost_stays_lost_and_an_answer_stays_as_it_is():
    test = WhoIsBetter(0.95, 100)
    while test.llrs[0] > test.lower:
        test.count(0)
    assert test.verdict in (None, "second")
    test.verdict = None  # Only the other test is left.

    for _ in range(300):
        test.count(4)

    assert test.llrs[0] > test.upper
    assert test.verdict == "neither"


def test_the_interval_agrees_with_the_answer():
    for difference, verdict in ((200, "first"), (-200, "second"), (0, "neither")):
        test = decide(Random("agree"), 0.95, 50, difference, 0.2)
        low, high = test.interval()

        assert test.verdict == verdict
        assert {"first": low >= 0, "second": high <= 0, "neither": low < 0 < high}[verdict]
        if verdict == "neither":
            assert -75 < low < high < 75


def test_before_much_was_played_there_is_no_interval():
    test = WhoIsBetter(0.95, 30)
    test.count(4)

    assert test.interval() == (None, None)
