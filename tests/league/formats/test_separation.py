"""Further cycles until neighbours are separated: when it is enough, and how often that is wrong."""

from itertools import combinations
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentleague.league.formats.format import (
    Done,
    Entrant,
    Played,
    PlayedMatch,
    PlayedRound,
    Round,
)
from agentleague.league.formats.round_robin import ROUND_ROBIN
from agentleague.league.formats.separation import neighbours_are_separated
from agentleague.league.formats.stages import misfit, plan
from agentleague.league.standings import Points

OPTIONS = {"cycles": 1, "until": 95, "cycles_max": 40, "advance": 0}


def cycle(number, rng, strengths, drawn=0.0, seat=0.0):
    """Everybody meets everybody; `seat` is what the first one gains by chance."""
    for one, other in combinations(strengths, 2):
        players = (other, one) if number % 2 else (one, other)
        first, second = (strengths[each] for each in players)
        won = (1 - drawn) * min(1.0, max(0.0, first / (first + second) + seat))
        chance = rng.random()
        winner = players[0] if chance < won else None if chance < won + drawn else players[1]
        yield PlayedMatch(players, winner)


def league(rng, strengths, asked=None, cycles=20, **more):
    """After how many cycles those who are asked for are separated; None: not until the end."""
    matches = []
    for number in range(cycles):
        matches += cycle(number, rng, strengths, **more)
        if number % 2 and neighbours_are_separated(matches, asked or strengths, Points(), 95):
            return number + 1
    return None


# The strengths of all, the two of whom it is asked, and how matches go.
EQUALS = [
    ({"A": 1, "B": 1}, "AB", {}),
    ({"A": 1, "B": 1}, "AB", {"drawn": 0.4, "seat": 0.3}),  # the first seat is worth much
    ({"A": 1, "B": 1, "C": 5, "D": 0.2}, "AB", {}),
    ({"A": 1, "B": 1, "C": 1, "D": 1}, "AB", {"drawn": 0.2}),
]


@pytest.mark.parametrize(("strengths", "asked", "more"), EQUALS)
def test_two_who_are_equal_are_seldom_separated(strengths, asked, more):
    rng, leagues = Random("equal"), 100

    wrong = sum(league(rng, strengths, asked, **more) is not None for _ in range(leagues))

    assert wrong / leagues <= 0.05


@pytest.mark.slow
@pytest.mark.parametrize(("strengths", "asked", "more"), EQUALS)
def test_two_who_are_equal_are_seldom_separated_in_many_long_leagues(strengths, asked, more):
    rng, leagues = Random("many"), 1_000

    wrong = sum(
        league(rng, strengths, asked, cycles=100, **more) is not None for _ in range(leagues)
    )

    print(f"{strengths} {more}: {wrong / leagues:.3f}")
    assert wrong / leagues <= 0.05


def test_a_league_of_equals_hardly_ever_separates_all_its_neighbours():
    rng, equals = Random("all"), dict.fromkeys("ABCD", 1)

    assert [league(rng, equals) for _ in range(50)] == [None] * 50


def test_players_who_differ_much_are_separated_soon():
    rng, strengths = Random("differ"), {"A": 1, "B": 20, "C": 400, "D": 8_000}

    found = [league(rng, strengths, cycles=40) for _ in range(20)]

    assert None not in found
    assert sum(found) / len(found) < 20


def test_one_who_beats_only_some_is_not_better_where_all_take_the_same():
    """A beats B, B beats C, C beats A: nobody is better."""
    matches = []
    for number in range(100):
        for players, winner in (("AB", "A"), ("BC", "B"), ("CA", "C")):
            seats = tuple(players[::-1] if number % 2 else players)
            matches.append(PlayedMatch(seats, winner))

    assert not neighbours_are_separated(matches, "ABC", Points(), 60)


def won(times, **more):
    """So many matches, in either seat by turns."""
    return [PlayedMatch(("A", "B") if n % 2 else ("B", "A"), "A", **more) for n in range(times)]


def test_how_many_wins_in_a_row_are_enough():
    """By hand: (1.1875 ** n + 1.625 ** n) / 2 must be more than 5, 20, 40 and 200."""
    for percent, wins in ((60, 6), (90, 8), (95, 10), (99, 14)):  # of pairs of matches
        assert not neighbours_are_separated(won(wins - 2), "AB", Points(), percent)
        assert neighbours_are_separated(won(wins), "AB", Points(), percent)


def test_matches_that_do_not_count_say_nothing_and_neither_do_points_that_are_all_the_same():
    assert neighbours_are_separated(won(40), "AB", Points(), 95)
    assert not neighbours_are_separated(won(40, counts=False), "AB", Points(), 95)
    assert not neighbours_are_separated(won(40), "AB", Points(1, 1, 1), 95)


def test_a_meeting_in_one_seat_alone_says_nothing():
    assert not neighbours_are_separated(won(9), "AB", Points(), 95)
    assert not neighbours_are_separated(won(2) + won(1) * 40, "AB", Points(), 95)


def test_lost_by_both_is_lost_and_not_drawn():
    both = [PlayedMatch(("A", "C"), None, technical=True)] * 40
    drawn = [PlayedMatch(("B", "C"), None)] * 40

    assert neighbours_are_separated(both + drawn, "AB", Points(3, 3, 0), 95)
    assert not neighbours_are_separated(both + drawn, "AB", Points(3, 0, 0), 95)


def test_who_is_alone_or_was_removed_needs_no_neighbour():
    assert neighbours_are_separated(won(2), "A", Points(), 95)
    assert neighbours_are_separated([], "", Points(), 95)


@given(st.lists(st.sampled_from([*"ABC", None]), max_size=60), st.integers(60, 99))
def test_more_confidence_never_separates_earlier(winners, percent):
    pairs = [("A", "B"), ("B", "C"), ("C", "A")]
    matches = []
    for number, winner in enumerate(winners):
        seats = pairs[number % 3][:: -1 if number // 3 % 2 else 1]
        matches.append(PlayedMatch(seats, winner if winner in seats else None))

    is_sure = neighbours_are_separated(matches, "ABC", Points(), percent)
    is_less_sure = neighbours_are_separated(matches, "ABC", Points(), 60)
    assert is_less_sure or not is_sure


# In a round robin


def field(names):
    return [Entrant(each) for each in names]


def rounds(names, options, winner_of, removed=frozenset()):
    """A whole league, as a manager asks for it."""
    results, entrants = [], names if isinstance(names, list) else field(names)
    while True:
        played = Played(len(results), results, removed)
        following = ROUND_ROBIN.next_round(played, entrants, options)
        if isinstance(following, Done):
            return len(results)
        assert isinstance(following, Round)
        assert following.round_id == len(results) + 1
        pairings = following.pairings
        matches = [PlayedMatch(players, winner_of(players)) for players in pairings]
        results.append(PlayedRound(matches, following.byes))


def test_a_round_robin_goes_on_for_two_cycles_each_until_it_is_clear():
    for names in ("AB", "ABC", "ABCD"):
        turns = len(names) - 1 + len(names) % 2
        played = rounds(names, OPTIONS, min)

        assert played % (2 * turns) == 0
        assert 2 * turns < played < OPTIONS["cycles_max"] * turns


def test_a_round_robin_that_is_not_clear_ends_after_its_maximum():
    for most in (2, 3, 8):
        options = {**OPTIONS, "cycles_max": most}

        assert rounds("ABCD", options, lambda players: None) == 3 * most


def test_what_was_asked_for_is_played_even_if_it_is_clear_before():
    assert rounds("ABC", {**OPTIONS, "cycles": 30}, min) == 3 * 30
    assert rounds("ABC", {**OPTIONS, "cycles": 29}, min) == 3 * 30  # Both seats for everybody.


def test_a_player_who_was_removed_is_not_waited_for():
    def draws_of_last(players):
        return None if "D" in players and "C" in players else min(players)

    options = {**OPTIONS, "cycles_max": 30}
    assert rounds("ABCD", options, draws_of_last, frozenset("D")) < 3 * 30


def test_who_comes_late_is_taken_in_and_it_is_asked_when_cycles_end():
    late = [*field("ABC"), Entrant("D", from_round=4)]  # Three rounds of three, then of four.
    lengths = {ROUND_ROBIN.length(late, cycles).rounds for cycles in range(2, 41, 2)}

    assert rounds(late, OPTIONS, min) in lengths - {max(lengths)}


def test_such_a_round_robin_pairs_by_results_and_nobody_knows_its_length():
    off = {**OPTIONS, "until": 0}

    assert ROUND_ROBIN.pairs_by_results(OPTIONS)
    assert not ROUND_ROBIN.pairs_by_results(off)
    assert ROUND_ROBIN.begin(field("ABC"), OPTIONS) is None
    assert ROUND_ROBIN.begin(field("ABC"), off) == (3, 3)


def test_a_maximum_below_what_is_asked_for_is_said_before_anything_starts():
    stages = plan([{"format": "round_robin", "until": 95, "cycles": 30}])

    assert "at most 20; give more cycles_max" in misfit(stages, 4)
    assert misfit(plan([{"format": "round_robin", "until": 95}]), 4) is None
    assert "at least 2 players" in misfit(plan([{"format": "round_robin", "until": 95}]), 1)
    with pytest.raises(ValueError, match="must be a whole number from 0 to 99"):
        plan([{"format": "round_robin", "until": 100}])
