"""How far a table is from luck: counted by hand, and on leagues of coins."""

from random import Random

import pytest

from agentleague.statistics import luck
from agentleague.statistics.bradley_terry import Game
from agentleague.statistics.luck import Luck, compared
from results import round_robin


def test_of_two_matches_of_two_players_luck_gives_one_two_wins_in_half_of_the_leagues():
    found = compared([Game("A", "B", 1), Game("B", "A", 0)], Random(1))

    assert found.leagues == 1_000
    assert found.as_far == pytest.approx(500, abs=50)


def test_no_table_is_narrower_than_one_where_all_have_the_same():
    games = [Game("A", "B", 1), Game("B", "C", 1), Game("C", "A", 1)]

    assert compared(games, Random(1)).as_far == 1_000


def test_the_share_of_draws_stays():
    games = [Game("A", "B", 0.5)] * 8 + [Game("A", "B", 1)] * 2

    # Only two coins fall, and in half of the leagues they agree.
    assert compared(games, Random(1)).as_far == pytest.approx(500, abs=50)


def test_drawn_matches_stay_drawn():
    games = [Game("A", "B", 1)] * 2 + [Game("C", "D", 0.5)] * 8

    # C and D who choose alike draw whatever the coins say; those of A and B agree in half.
    assert compared(games, Random(1)).as_far == pytest.approx(500, abs=50)


def test_the_leagues_of_luck_are_spread_out_as_often_as_they_should_be(monkeypatch):
    monkeypatch.setattr(luck, "LEAGUES_MAX", 100)
    rng = Random(2)
    shares = [
        found.as_far / found.leagues
        for found in (compared(round_robin(rng, [0] * 8), rng) for _ in range(60))
    ]

    assert 0.4 < sum(shares) / len(shares) < 0.65
    assert sum(share < 0.05 for share in shares) <= 6


def test_players_of_different_strength_are_no_luck():
    games = round_robin(Random(3), [300, 200, 100, 0, -100, -200, -300], cycles=3)

    assert compared(games, Random(1)).as_far < 10


def test_a_large_league_is_compared_with_fewer(monkeypatch):
    monkeypatch.setattr(luck, "EFFORT_MAX", 100)

    assert compared([Game("A", "B", 1)] * 20, Random(1)).leagues == 100


def test_without_results_there_is_nothing_to_compare():
    assert compared([], Random(1)) is None


@pytest.mark.parametrize(
    ("as_far", "words"),
    [
        (430, ("This table does not show that anybody is better: luck", "43 of 100 leagues.")),
        (120, ("It may be luck: luck", "12 of 100 leagues.")),
        (20, ("Hardly luck, somebody is better or worse", "2 of 100 leagues.")),
        (2, ("Hardly luck, somebody is better or worse", "fewer than 1 of 100 leagues.")),
    ],
)
def test_it_is_said_in_a_sentence(as_far, words):
    said = Luck(as_far, 1_000).sentence()

    begins, ends = words
    assert said.startswith(begins)
    assert said.endswith(f"luck alone spreads wins minus losses at least as far in {ends}")
