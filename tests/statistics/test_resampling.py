"""How sure a ranking is: nobody is called better without a reason, and seldom wrongly."""

from random import Random

import pytest
from hypothesis import given

from agentleague.statistics import resampling
from agentleague.statistics.bradley_terry import Game
from agentleague.statistics.resampling import CLEAR_Z, MORE_MAX, ranked, spread_of
from results import any_games, played, round_robin


@pytest.fixture(autouse=True, scope="module")
def few_draws():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(resampling, "DRAWS_MAX", 200)
        yield


def ranking(games, seed=1):
    return ranked(games, Random(seed))


def met(first, second, *, won, lost, drawn=0):
    return (
        [Game(first, second, 1)] * won
        + [Game(second, first, 1)] * lost
        + [Game(first, second, 0.5)] * drawn
    )


@given(any_games)
def test_chances_add_up_and_ranges_hold_the_rank(games):
    places, draws = ranking(games)
    of_rank = [place for place in places if place.rank]

    assert sorted(place.rating.player for place in places) == sorted(
        {n for g in games for n in g[:2]}
    )
    assert [place.rank for place in of_rank] == list(range(1, len(of_rank) + 1))
    assert all(place.rating.matches >= 3 for place in of_rank)
    assert draws == (200 if of_rank else 0)
    for place in of_rank:
        best, worst = place.within()
        assert 1 <= best <= place.rank <= worst <= len(of_rank)
        assert sum(place.chance(n + 1) for n in range(len(of_rank))) == pytest.approx(1)


def test_the_same_seed_gives_the_same_numbers_in_any_order():
    games = round_robin(Random(1), [200, 100, 0, -100], cycles=2)

    assert ranking(games) == ranking(games[::-1])
    assert ranking(games).places[0].drawn != ranking(games, seed=2).places[0].drawn


def test_one_win_tells_hardly_who_is_better_and_many_do():
    few, many = met("A", "B", won=3, lost=0), met("A", "B", won=40, lost=10)

    assert 0.6 < ranking(few).places[0].chance(1) < 0.95
    assert [place.group for place in ranking(few).places] == [1, 1]
    assert ranking(many).places[0].chance(1) > 0.99
    assert [place.group for place in ranking(many).places] == [1, 2]


def test_a_group_is_measured_from_its_first_so_neighbours_do_not_chain():
    strengths = [300, 230, 160, 90, 20, -50]
    places = ranking(round_robin(Random(2), strengths, cycles=20)).places
    groups = [place.group for place in places]

    assert groups == sorted(groups)
    assert 1 < max(groups) < len(strengths)
    assert groups.count(1) < len(strengths) - 2


def test_who_played_little_may_be_the_best_also_below_one_who_clearly_is_not():
    games = [*met("A", "B", won=100, lost=60), *met("C", "B", won=2, lost=3)]
    best, weaker, unknown = ranking(games).places

    assert best.rating.player + weaker.rating.player + unknown.rating.player == "ABC"
    assert (weaker.chance(1) < 0.05, unknown.chance(1) > 0.1) == (True, True)
    assert [each.group for each in (best, weaker, unknown)] == [1, 1, 1]


def test_equal_players_are_seldom_called_different():
    rng = Random(11)
    called = [
        place.group > 1
        for _ in range(30)
        for place in ranking(round_robin(rng, [0] * 8, cycles=2)).places
    ]

    assert sum(called) / len(called) < 0.08


def test_who_is_called_weaker_than_the_first_is_so_nearly_always():
    rng, wrong, called = Random(12), 0, 0
    for _ in range(30):
        strengths = [rng.gauss(0, 150) for _ in range(8)]
        first, *rest = ranking(round_robin(rng, strengths, cycles=3)).places
        weaker = [place for place in rest if place.group > 1]
        called += len(weaker)
        best = strengths[int(first.rating.player)]
        wrong += sum(strengths[int(place.rating.player)] > best for place in weaker)

    assert called > 60
    assert wrong / called < 0.05


def test_a_range_of_ranks_holds_the_true_rank_in_at_least_90_of_100():
    rng, inside, total = Random(13), 0, 0
    for _ in range(30):
        strengths = [rng.gauss(0, 150) for _ in range(8)]
        order = sorted(range(8), key=lambda n: -strengths[n])
        for place in ranking(round_robin(rng, strengths)).places:
            best, worst = place.within()
            inside += best <= 1 + order.index(int(place.rating.player)) <= worst
            total += 1

    assert inside / total > 0.9


def test_it_says_how_many_more_matches_would_separate_two():
    places = ranking(met("A", "B", won=12, lost=8)).places
    more = places[0].more

    assert 0 < more < MORE_MAX
    factor = (20 + more) / 20  # With so many more, won as often as those before, it is clear,
    enough = ranking(met("A", "B", won=round(12 * factor), lost=round(8 * factor)))
    assert [place.group for place in enough.places] == [1, 2]
    assert places[1].more == 0  # and after the last there is nobody.


def test_with_so_many_more_about_half_of_those_who_differ_so_are_separated():
    places = ranking(met("A", "B", won=12, lost=8)).places
    apart, matches = places[0].rating.elo - places[1].rating.elo, 20 + places[0].more
    rng, clear = Random(3), 0
    for _ in range(60):
        pairs = [(0, 1)] * matches
        first, second = ranking([*played(rng, [apart, 0], pairs)]).places
        clear += first.group < second.group and first.rating.player == "0"

    assert 0.3 < clear / 60 < 0.7


def test_how_many_more_does_not_depend_on_chance_where_players_seem_equal():
    games = [*met("A", "B", won=5, lost=4), *met("B", "C", won=5, lost=4)]
    games += [*met("C", "D", won=5, lost=4), *met("A", "D", won=5, lost=4)]

    counts = {tuple(place.more for place in ranking(games, seed).places) for seed in range(5)}

    ((first, _, _, last),) = counts
    assert (spread_of(games), last) == (10, 0)
    assert 200 < first < 2_000


def test_players_who_are_180_elo_apart_are_separated_by_few_matches():
    first, second = ranking(met("A", "B", won=11, lost=4)).places[:2]

    assert 150 < first.rating.elo - second.rating.elo < 200
    assert first.more < 15


def test_who_is_clear_needs_no_more_and_equals_are_never_separated():
    assert ranking(met("A", "B", won=40, lost=10)).places[0].more == 0
    assert ranking(met("A", "B", won=10, lost=10)).places[0].more is None


def test_who_played_too_little_has_a_rating_and_comes_last_without_a_rank():
    games = [*met("A", "B", won=0, lost=5), Game("New", "B", 1)]
    *_, last = ranking(games).places

    assert (last.rating.player, last.rank, last.rating.matches) == ("New", 0, 1)
    assert last.rating.elo > 0


def test_of_nothing_but_short_records_nothing_is_drawn():
    assert ranking([Game("A", "B", 1)]).draws == 0
    assert ranking([]).places == []


def test_a_large_league_is_drawn_less_often(monkeypatch):
    monkeypatch.setattr(resampling, "EFFORT_MAX", 200)
    rng = Random(1)
    games = [*played(rng, [0] * 20, [rng.sample(range(20), 2) for _ in range(60)])]

    assert ranking(games).draws == 100


# Deviation of true strengths, how often 12 met; of few matches much of the spread is chance.
@pytest.mark.parametrize(
    ("truth", "cycles", "low", "high"),
    [(0, 2, 10, 50), (0, 20, 10, 45), (60, 20, 35, 85), (150, 20, 100, 180)],
)
def test_how_far_apart_players_are_is_seen_from_their_scores(truth, cycles, low, high):
    rng = Random(5)
    found = [
        spread_of(round_robin(rng, [rng.gauss(0, truth) for _ in range(12)], cycles=cycles))
        for _ in range(4)
    ]

    assert low <= sum(found) / len(found) <= high


def test_the_bound_of_a_clear_difference_is_that_of_95_percent():
    assert pytest.approx(1.6449, abs=1e-4) == CLEAR_Z
