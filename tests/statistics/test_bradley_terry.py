"""Ratings: known values, independent of order, with intervals that hold what they promise."""

import math
from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentleague.statistics import bradley_terry
from agentleague.statistics.bradley_terry import ELO, Z50, Z95, Game, Strengths, parts
from results import any_games, played, round_robin

THREE = [Game("A", "B", 1), Game("B", "C", 1), Game("A", "C", 0.5)]


def rated(games, **options):
    return {each.player: each for each in Strengths(games, **options).ratings(Random(1))}


# A beats B, B beats C, A and C draw: solved by hand, with one draw each against strength 0.
@pytest.mark.parametrize("games", [THREE, THREE[::-1], [THREE[1], THREE[2], THREE[0]]])
def test_three_games_give_the_ratings_of_the_book_in_any_order(games):
    found = {player: round(each.elo, 2) for player, each in rated(games).items()}

    assert found == {"A": 91.73, "B": 0, "C": -91.73}


@given(any_games, st.randoms(use_true_random=False))
def test_the_order_of_games_and_seats_does_not_change_a_rating(games, rng):
    turned = [
        Game(b, a, 1 - score) if rng.random() < 0.5 else Game(a, b, score) for a, b, score in games
    ]
    rng.shuffle(turned)

    assert rated(turned) == rated(games)


@given(any_games)
def test_at_the_ratings_everybody_scored_what_was_to_be_expected(games):
    found = rated(games)

    for player, each in found.items():
        # The draw that nobody played is among what was expected, and among what was scored.
        opponents = [
            0.0,
            *(found[game[game[0] == player]].elo for game in games if player in game[:2]),
        ]
        scored = 0.5 + sum(s if a == player else 1 - s for a, b, s in games if player in (a, b))
        expected = sum(1 / (1 + 10 ** ((other - each.elo) / 400)) for other in opponents)
        assert math.isclose(scored, expected, abs_tol=1e-5)
        assert each.matches == len(opponents) - 1


def test_who_won_every_match_has_a_rating_that_is_far_and_finite():
    found = rated([Game("A", "B", 1)] * 100)

    assert 400 < found["A"].elo < 1000
    assert found["A"].elo == pytest.approx(-found["B"].elo)


def test_the_interval_of_two_who_met_is_that_of_their_difference():
    even = rated([Game("A", "B", 1), Game("A", "B", 0)] * 50)["A"]

    # The difference has the variance 1 / (n p q) and a little less by the prior; a half of it each.
    assert even.deviation == pytest.approx(ELO * math.sqrt(1 / 25.125) / 2, rel=1e-6)
    assert even.within(Z95) == pytest.approx(
        (-1.96 * even.deviation, 1.96 * even.deviation), rel=1e-4
    )
    assert even.within(Z50)[1] == pytest.approx(0.6745 * even.deviation, rel=1e-4)


def test_drawn_games_tell_more_than_as_many_won_and_lost():
    decided = rated([Game("A", "B", 1), Game("A", "B", 0)] * 20)
    drawn = rated([Game("A", "B", 1), Game("A", "B", 0)] * 5 + [Game("A", "B", 0.5)] * 30)

    assert drawn["A"].elo == pytest.approx(decided["A"].elo, abs=1e-6)
    assert drawn["A"].deviation < 0.6 * decided["A"].deviation


def test_draws_of_others_do_not_make_a_player_surer_who_never_draws():
    alike = ["B", "C", "D", "E", "F"]
    decided = [Game("A", each, score) for each in alike for score in (0, 1)]
    pairs = [*combinations(alike, 2)]
    drawn = [Game(*pair, 0.5) for pair in pairs * 2]
    none_drawn = [Game(*pair, score) for pair in pairs for score in (0, 1)]

    lone, usual = rated([*decided, *drawn])["A"], rated([*decided, *none_drawn])["A"]

    assert lone.deviation > 0.8 * usual.deviation


def test_an_interval_of_95_percent_holds_the_truth_about_so_often():
    rng, inside, total = Random(5), 0, 0
    for _ in range(60):
        strengths = [rng.gauss(0, 150) for _ in range(8)]
        mean = sum(strengths) / 8
        found = rated(round_robin(rng, strengths, cycles=3))
        middle = sum(each.elo for each in found.values()) / 8
        for player, each in found.items():
            low, high = each.within(Z95)
            inside += low < strengths[int(player)] - mean + middle < high
            total += 1

    assert 0.92 <= inside / total <= 0.99


def test_with_a_known_spread_ratings_lie_nearer_together_and_are_surer():
    free, near = rated(THREE), rated(THREE, spread=50)

    assert 0 < near["A"].elo < 30 < free["A"].elo
    assert near["A"].deviation < 50 < free["A"].deviation


def test_deviations_of_very_many_players_are_the_exact_ones_but_for_a_little(monkeypatch):
    rng = Random(3)
    strengths = [rng.gauss(0, 200) for _ in range(60)]
    games = [*played(rng, strengths, [rng.sample(range(60), 2) for _ in range(400)])]
    exact = rated(games)
    monkeypatch.setattr(bradley_terry, "EXACT_MAX", 10)
    drawn = rated(games)

    for player, each in exact.items():
        assert drawn[player].elo == each.elo
        assert drawn[player].deviation == pytest.approx(each.deviation, rel=0.06)


@pytest.mark.parametrize("exact_max", [250, 2])
def test_errors_are_drawn_with_the_deviations_and_sum_to_nothing(monkeypatch, exact_max):
    monkeypatch.setattr(bradley_terry, "EXACT_MAX", exact_max)
    strengths, rng = Strengths(THREE * 2), Random(4)
    errors = [strengths.errors(rng) for _ in range(2_000)]

    assert abs(sum(errors[0])) < 1e-9
    for n, exact in enumerate((87.0, 82.0, 87.0)):
        deviation = math.sqrt(sum(drawn[n] ** 2 for drawn in errors) / len(errors))
        assert deviation == pytest.approx(exact * math.sqrt(1.5), rel=0.1)
    assert strengths.effort > 0


def test_players_who_never_met_are_in_different_parts():
    games = [Game("A", "B", 1), Game("C", "D", 1), Game("B", "E", 0)]

    assert parts(games) == [["A", "B", "E"], ["C", "D"]]


def test_without_games_there_is_nothing():
    assert (rated([]), parts([]), Strengths([]).errors(Random(1))) == ({}, [], [])
