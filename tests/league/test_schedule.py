"""Round robin: who meets whom, when, and in which seat."""

from collections import Counter
from itertools import combinations, groupby

import pytest

from agentleague.league.schedule import Pairing, Round, Schedule

SIZES = range(2, 101)


def players(number):
    return [f"P{n:02}" for n in range(1, number + 1)]


def rounds(schedule):
    return [schedule.round(round_id) for round_id in range(1, schedule.rounds_total + 1)]


def pairings(schedule):
    return [pairing for each in rounds(schedule) for pairing in each.pairings]


def seats(played):
    """Each player's seats in the order they are taken."""
    taken = {}
    for _, player_a, player_b in played:
        taken.setdefault(player_a, []).append("A")
        taken.setdefault(player_b, []).append("B")
    return taken


def test_four_players_meet_in_three_rounds():
    schedule = Schedule(players(4))

    assert rounds(schedule) == [
        Round(1, (Pairing("R1M1", "P01", "P02"), Pairing("R1M2", "P03", "P04")), ()),
        Round(2, (Pairing("R2M1", "P03", "P01"), Pairing("R2M2", "P04", "P02")), ()),
        Round(3, (Pairing("R3M1", "P01", "P04"), Pairing("R3M2", "P02", "P03")), ()),
    ]


def test_of_three_players_one_rests_in_each_round():
    schedule = Schedule(players(3))

    assert rounds(schedule) == [
        Round(1, (Pairing("R1M1", "P02", "P03"),), ("P01",)),
        Round(2, (Pairing("R2M1", "P03", "P01"),), ("P02",)),
        Round(3, (Pairing("R3M1", "P01", "P02"),), ("P03",)),
    ]


def test_round_one_pairs_the_players_as_they_come():
    even, odd = Schedule(players(6)).round(1), Schedule(players(7)).round(1)

    assert [sorted(pairing[1:]) for pairing in even.pairings] == [
        ["P01", "P02"],
        ["P03", "P04"],
        ["P05", "P06"],
    ]
    assert odd.byes == ("P01",)
    assert [sorted(pairing[1:]) for pairing in odd.pairings] == [
        ["P02", "P03"],
        ["P04", "P05"],
        ["P06", "P07"],
    ]


@pytest.mark.parametrize(
    ("number", "cycles", "rounds_total", "matches_total"),
    [
        (2, 1, 1, 1),
        (3, 1, 3, 3),  # an odd number needs a round for each bye
        (4, 1, 3, 6),
        (4, 3, 9, 18),
        (5, 2, 10, 20),
        (10_000, 1, 9_999, 49_995_000),
    ],
)
def test_the_totals_are_known_before_any_round(number, cycles, rounds_total, matches_total):
    schedule = Schedule(players(number), cycles)

    assert schedule.rounds_total == rounds_total
    assert schedule.matches_total == matches_total


@pytest.mark.parametrize("number", SIZES)
def test_every_pair_meets_exactly_once(number):
    schedule = Schedule(players(number))

    met = [frozenset(pairing[1:]) for pairing in pairings(schedule)]

    assert len(met) == schedule.matches_total
    assert set(met) == {frozenset(pair) for pair in combinations(players(number), 2)}


@pytest.mark.parametrize("number", SIZES)
def test_in_each_round_everybody_plays_once_or_has_the_only_bye(number):
    for each in rounds(Schedule(players(number))):
        busy = [player for pairing in each.pairings for player in pairing[1:]]

        assert sorted([*busy, *each.byes]) == sorted(players(number))
        assert len(each.byes) == number % 2


@pytest.mark.parametrize("number", range(3, 101, 2))
def test_everybody_of_an_odd_number_has_one_bye_per_cycle(number):
    byes = [player for each in rounds(Schedule(players(number))) for player in each.byes]

    assert sorted(byes) == sorted(players(number))


@pytest.mark.parametrize("number", SIZES)
def test_over_one_cycle_the_seats_of_a_player_differ_by_at_most_one(number):
    for own in seats(pairings(Schedule(players(number)))).values():
        assert abs(own.count("A") - own.count("B")) <= 1


@pytest.mark.parametrize("number", SIZES)
def test_within_a_cycle_nobody_has_the_same_seat_three_times_in_a_row(number):
    for own in seats(pairings(Schedule(players(number)))).values():
        assert max(len(list(run)) for _, run in groupby(own)) <= 2


@pytest.mark.parametrize("number", SIZES)
def test_the_second_cycle_repeats_the_first_with_seats_swapped(number):
    once = pairings(Schedule(players(number)))
    twice = pairings(Schedule(players(number), cycles=2))

    assert twice[: len(once)] == once
    assert [(b, a) for _, a, b in twice[len(once) :]] == [(a, b) for _, a, b in once]
    assert all(own.count("A") == own.count("B") for own in seats(twice).values())


@pytest.mark.parametrize("number", [2, 3, 4, 7, 8])
def test_the_third_cycle_is_the_first_again_and_the_fourth_the_second(number):
    cycle = number * (number - 1) // 2
    met = [pairing[1:] for pairing in pairings(Schedule(players(number), cycles=4))]

    assert met[: 2 * cycle] == met[2 * cycle :]


@pytest.mark.parametrize("number", [2, 5, 12])
def test_match_ids_count_from_one_in_each_round_and_never_repeat(number):
    schedule = Schedule(players(number), cycles=3)

    for each in rounds(schedule):
        assert [pairing.match_id for pairing in each.pairings] == [
            f"R{each.round_id}M{n}" for n in range(1, number // 2 + 1)
        ]
    assert max(Counter(pairing.match_id for pairing in pairings(schedule)).values()) == 1


@pytest.mark.parametrize("number", [499, 500])
def test_five_hundred_players_all_meet(number):
    played = pairings(Schedule(players(number)))

    met = {frozenset(pairing[1:]) for pairing in played}

    assert len(met) == len(played) == number * (number - 1) // 2
    assert {abs(own.count("A") - own.count("B")) for own in seats(played).values()} <= {0, 1}


def test_one_round_of_ten_thousand_players_is_computed_alone():
    each = Schedule(players(10_000)).round(7_777)

    assert len({player for pairing in each.pairings for player in pairing[1:]}) == 10_000
    assert each.byes == ()


def test_the_same_players_always_get_the_same_rounds_in_any_order_of_asking():
    forwards = [Schedule(players(9)).round(round_id) for round_id in range(1, 10)]
    schedule = Schedule(tuple(players(9)))
    backwards = [schedule.round(round_id) for round_id in range(9, 0, -1)]

    assert forwards == backwards[::-1]


def test_the_schedule_keeps_its_players_when_the_callers_list_changes():
    names = players(4)
    schedule = Schedule(names)
    before = rounds(schedule)

    names.reverse()

    assert rounds(schedule) == before


@pytest.mark.parametrize(
    ("names", "cycles", "complaint"),
    [
        ([], 1, "A round robin needs at least 2 players, not 0."),
        (["P01"], 1, "A round robin needs at least 2 players, not 1."),
        (["P01", "P02", "P01"], 1, "A round robin needs distinct players; one is named twice."),
        (["P01", "P02"], 0, "A round robin needs at least 1 cycle, not 0."),
    ],
)
def test_what_cannot_be_scheduled_is_refused_in_a_sentence(names, cycles, complaint):
    with pytest.raises(ValueError, match=complaint):
        Schedule(names, cycles)


@pytest.mark.parametrize("round_id", [-1, 0, 7])
def test_there_is_no_round_outside_the_schedule(round_id):
    schedule = Schedule(players(4), cycles=2)

    with pytest.raises(IndexError, match=f"There is no round {round_id}, only 1 to 6"):
        schedule.round(round_id)
