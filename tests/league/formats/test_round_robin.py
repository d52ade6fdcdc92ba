"""Round robin: who meets whom, when, and in which seat."""

from itertools import combinations, groupby

import pytest

from agentleague.league.formats.format import Done, Entrant, Played, Round, Totals
from agentleague.league.formats.round_robin import ROUND_ROBIN

SIZES = range(2, 101)


def players(number):
    return [f"P{n:02}" for n in range(1, number + 1)]


def field(number):
    return [Entrant(player_id) for player_id in players(number)]


def rounds(number, cycles=1):
    """A whole league, round by round, as a manager asks for it."""
    entrants, options, found = field(number), {"cycles": cycles}, []
    while True:
        played = Played(len(found))
        following = ROUND_ROBIN.next_round(played, entrants, options)
        if isinstance(following, Done):
            return found
        found.append(following)


def pairings(number, cycles=1):
    return [pairing for each in rounds(number, cycles) for pairing in each.pairings]


def seats(played):
    """Each player's seats in the order they are taken."""
    taken = {}
    for player_a, player_b in played:
        taken.setdefault(player_a, []).append("A")
        taken.setdefault(player_b, []).append("B")
    return taken


def test_four_players_meet_in_three_rounds():
    assert rounds(4) == [
        Round(1, (("P01", "P02"), ("P03", "P04"))),
        Round(2, (("P03", "P01"), ("P04", "P02"))),
        Round(3, (("P01", "P04"), ("P02", "P03"))),
    ]


def test_of_three_players_one_rests_in_each_round():
    assert rounds(3) == [
        Round(1, (("P02", "P03"),), ("P01",)),
        Round(2, (("P03", "P01"),), ("P02",)),
        Round(3, (("P01", "P02"),), ("P03",)),
    ]


def test_round_one_pairs_the_players_as_they_come():
    even, odd = rounds(6)[0], rounds(7)[0]

    assert [sorted(each) for each in even.pairings] == [
        ["P01", "P02"],
        ["P03", "P04"],
        ["P05", "P06"],
    ]
    assert odd.byes == ("P01",)
    assert [sorted(each) for each in odd.pairings] == [
        ["P02", "P03"],
        ["P04", "P05"],
        ["P06", "P07"],
    ]


@pytest.mark.parametrize(
    ("number", "cycles", "totals"),
    [
        (2, 1, Totals(1, 1)),
        (3, 1, Totals(3, 3)),  # an odd number needs a round for each bye
        (4, 3, Totals(9, 18)),
        (5, 2, Totals(10, 20)),
        (10_000, 1, Totals(9_999, 49_995_000)),
    ],
)
def test_the_totals_are_known_before_any_round(number, cycles, totals):
    assert ROUND_ROBIN.begin(field(number), {"cycles": cycles}) == totals


def test_every_pair_meets_exactly_once_and_everybody_plays_or_rests_in_each_round():
    for number in (*SIZES, 499, 500):
        league = rounds(number)
        met = [frozenset(pairing) for each in league for pairing in each.pairings]

        assert len(met) == number * (number - 1) // 2
        assert set(met) == set(map(frozenset, combinations(players(number), 2)))
        for each in league:
            busy = [player for pairing in each.pairings for player in pairing]
            assert sorted([*busy, *each.byes]) == sorted(players(number))
        byes = [player for each in league for player in each.byes]
        assert sorted(byes) == (sorted(players(number)) if number % 2 else [])


def test_over_one_cycle_seats_are_shared_fairly_and_never_the_same_three_times_in_a_row():
    for number in SIZES:
        for own in seats(pairings(number)).values():
            assert abs(own.count("A") - own.count("B")) <= 1
            assert max(len(list(run)) for _, run in groupby(own)) <= 2


def test_the_second_cycle_repeats_the_first_with_seats_swapped():
    for number in SIZES:
        once, twice = pairings(number), pairings(number, cycles=2)

        assert twice[: len(once)] == once
        assert twice[len(once) :] == [(b, a) for a, b in once]


def test_the_third_cycle_is_the_first_again_and_the_fourth_the_second():
    for number in (2, 3, 4, 7, 8):
        met = pairings(number, cycles=4)

        assert met[: len(met) // 2] == met[len(met) // 2 :]


def test_match_ids_count_from_one_in_each_round():
    for each in rounds(5, cycles=3):
        assert each.matches == [
            (f"R{each.round_id}M1", each.pairings[0]),
            (f"R{each.round_id}M2", each.pairings[1]),
        ]


def test_one_round_of_ten_thousand_players_is_computed_alone():
    each = ROUND_ROBIN.planned(7_777, field(10_000), {"cycles": 1})

    assert len({player for pairing in each.pairings for player in pairing}) == 10_000
    assert each.byes == ()


def test_a_planned_round_is_the_one_that_comes():
    planned = [ROUND_ROBIN.planned(n, field(9), {"cycles": 2}) for n in range(18, 0, -1)]

    assert planned[::-1] == rounds(9, cycles=2)


def test_fewer_than_two_players_are_refused_in_a_sentence():
    for number in (0, 1):
        with pytest.raises(ValueError, match=f"needs at least 2 players, not {number}"):
            ROUND_ROBIN.begin(field(number), {"cycles": 1})


def test_there_is_no_round_outside_the_league():
    for round_id in (-1, 0, 7):
        assert ROUND_ROBIN.planned(round_id, field(4), {"cycles": 2}) is None
