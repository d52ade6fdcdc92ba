"""As many pairs as a graph allows, checked against all ways to pair."""

from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentleague.league.formats.matching import bits, bits_from_above, match


def graph_of(size, edges):
    graph = [0] * size
    for one, other in edges:
        if one != other:
            graph[one] |= 1 << other
            graph[other] |= 1 << one
    return graph


def most_pairs(graph, vertices):
    """By trying everything."""

    @cache
    def most(left):
        if not left:
            return 0
        first = left & -left
        mates = graph[first.bit_length() - 1] & left
        rest = left ^ first
        return max([most(rest), *(1 + most(rest ^ 1 << mate) for mate in bits(mates))])

    return most(vertices)


def check(graph, vertices, mates):
    for one, other in mates.items():
        assert mates[other] == one
        assert graph[one] >> other & 1
        assert vertices >> one & 1


def test_sets_are_read_from_both_ends():
    assert [*bits(0b101001)] == [0, 3, 5]
    assert [*bits_from_above(0b101001)] == [5, 3, 0]
    assert [*bits(0)] == [*bits_from_above(0)] == []


vertex = st.integers(0, 11)


@given(st.lists(st.tuples(vertex, vertex), max_size=40), st.integers(0, (1 << 12) - 1))
def test_there_are_as_many_pairs_as_can_be(edges, vertices):
    graph, mates = graph_of(12, edges), {}

    free = match(graph, vertices, mates)

    check(graph, vertices, mates)
    assert len(mates) == 2 * most_pairs(graph, vertices)
    assert sorted([*mates, *bits(free)]) == [*bits(vertices)]


@given(st.lists(st.tuples(vertex, vertex), max_size=30))
def test_who_has_a_mate_keeps_one_when_others_come(edges):
    graph, mates = graph_of(12, edges), {}
    match(graph, 0b111111, mates)
    before = set(mates)

    match(graph, (1 << 12) - 1, mates)

    check(graph, (1 << 12) - 1, mates)
    assert before <= set(mates)
    assert len(mates) == 2 * most_pairs(graph, (1 << 12) - 1)


@pytest.mark.parametrize(
    ("edges", "pairs"),
    [
        # Two odd cycles, and a bridge that must be found through both.
        ([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3), (2, 3)], 3),
        # The same without the bridge: one of each is left.
        ([(0, 1), (1, 2), (2, 0), (3, 4), (4, 5), (5, 3)], 2),
        # A star: one pair.
        ([(5, each) for each in range(5)], 1),
        # An odd cycle within an odd cycle, each with a tail.
        ([(0, 1), (1, 2), (2, 3), (3, 4), (4, 0), (2, 4), (3, 6), (0, 7), (1, 5), (5, 8)], 4),
    ],
)
def test_odd_cycles_are_no_obstacle(edges, pairs):
    size = 1 + max(max(each) for each in edges)
    for turn in range(size):  # wherever it begins
        turned = [((one + turn) % size, (other + turn) % size) for one, other in edges]
        mates = {}
        match(graph_of(size, turned), (1 << size) - 1, mates)
        assert len(mates) == 2 * pairs


@pytest.mark.parametrize("length", [3, 5, 7, 9])
def test_a_way_out_of_an_odd_cycle_is_found_wherever_it_is(length):
    cycle = [(each, (each + 1) % length) for each in range(length)]
    for exit_ in range(1, length):
        graph = graph_of(length + 1, [*cycle, (exit_, length)])
        mates = {}
        for one in range(1, length, 2):
            mates[one], mates[one + 1] = one + 1, one

        assert match(graph, (2 << length) - 1, mates) == 0
        check(graph, (2 << length) - 1, mates)
