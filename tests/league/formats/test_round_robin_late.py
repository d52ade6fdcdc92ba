"""Round robin: who comes late is in the cycles that begin after that."""

from collections import Counter
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentleague.league.formats.format import Entrant, Totals
from agentleague.league.formats.round_robin import ROUND_ROBIN
from league.formats.played import Stage, entrants


def late(*from_rounds):
    return [Entrant(f"L{n}", from_round) for n, from_round in enumerate(from_rounds, start=1)]


def rounds(players, cycles):
    return Stage(ROUND_ROBIN, players, cycles=cycles).rounds(min)


def test_rounds_of_cycles_that_began_before_stay_as_they_were():
    own = entrants(4)

    # A cycle of four has three rounds: who comes in round 2 or 4 is in the cycle from round 4 on.
    for from_round in (2, 3, 4):
        found = rounds([*own, *late(from_round)], cycles=2)
        assert found[:3] == rounds(own, cycles=1)
        assert len(found) == 3 + 5
        assert {player for each in found[3:] for player in each.byes} == {
            *(each.player_id for each in own),
            "L1",
        }


def test_every_second_cycle_has_the_seats_swapped_also_of_others_than_before():
    found = rounds([*entrants(4), *late(2)], cycles=2)[3:]

    cycle = rounds([*entrants(4), *late(1)], cycles=1)
    assert [each.pairings for each in found] == [
        tuple((b, a) for a, b in each.pairings) for each in cycle
    ]


def test_who_comes_after_the_last_cycle_began_does_not_play():
    own = entrants(4)

    assert rounds([*own, *late(5, 6)], cycles=2) == rounds(own, cycles=2)


def test_several_come_at_different_times():
    players = [*entrants(3), *late(2, 5, 5, 100)]

    # Three rounds of three players, three of four, then five of six; from round 102 on of seven.
    assert ROUND_ROBIN.begin(players, {"cycles": 3}) == Totals(3 + 3 + 5, 3 + 6 + 15)
    assert ROUND_ROBIN.begin(players, {"cycles": 100_000}) == Totals(
        3 + 3 + 19 * 5 + 99_979 * 7, 3 + 6 + 19 * 15 + 99_979 * 21
    )


def test_there_is_no_round_outside_the_league():
    for round_id in (-1, 0, 9):
        players = [*entrants(4), *late(2)]
        assert ROUND_ROBIN.planned(round_id, players, {"cycles": 2}) is None


def test_two_must_be_there_from_the_start():
    with pytest.raises(ValueError, match="at least 2 players, not 1"):
        ROUND_ROBIN.begin([*entrants(1), *late(2, 2)], {"cycles": 5})


@given(st.integers(2, 7), st.lists(st.integers(1, 40), max_size=4).map(sorted), st.integers(1, 5))
def test_in_each_cycle_every_pair_of_those_who_are_there_meets_once(number, from_rounds, cycles):
    players = [*entrants(number), *late(*from_rounds)]
    found = rounds(players, cycles)

    assert ROUND_ROBIN.begin(players, {"cycles": cycles}) == Totals(
        len(found), sum(len(each.pairings) for each in found)
    )
    start = 0
    for _ in range(cycles):
        there = sorted(each.player_id for each in players if each.from_round <= start + 1)
        cycle = found[start : start + len(there) - 1 + len(there) % 2]
        met = Counter(tuple(sorted(pairing)) for each in cycle for pairing in each.pairings)
        assert met == Counter(combinations(there, 2))
        start += len(cycle)
    assert start == len(found)
