"""Groups: who is in which, what they play, and who meets whom in the knockout after them."""

import random
from itertools import combinations

import pytest

from agentleague.league.formats.format import Done, Played, Round, Totals
from agentleague.league.formats.groups import GROUPS, groups_of
from agentleague.league.formats.knockout import KNOCKOUT, slots
from agentleague.league.formats.round_robin import ROUND_ROBIN
from league.formats.played import Stage, entrants


def stage(number, groups, **options):
    return Stage(GROUPS, number, groups=groups, **options)


def names(groups):
    return [[each.player_id for each in group] for group in groups]


def groups_by_player(number, groups):
    parts = groups_of(entrants(number), {"groups": groups})
    return {each.player_id: n for n, part in enumerate(parts) for each in part}


def first_round(number, groups, advance, ranked=None):
    """Who goes on, by seed, and who meets whom first, if the table is in the order of seeds."""
    own = stage(number, groups, advance=advance)
    ranked = ranked or [each.player_id for each in own.entrants]
    seeded = GROUPS.advancing(ranked, own.entrants, own.options)
    by_seed = [each for name in seeded for each in own.entrants if each.player_id == name]
    return seeded, Stage(KNOCKOUT, by_seed).next().pairings


def test_the_seeds_go_along_the_groups_and_back():
    own = stage(10, 3)

    assert names(groups_of(own.entrants, own.options)) == [
        ["P01", "P06", "P07"],
        ["P02", "P05", "P08"],
        ["P03", "P04", "P09", "P10"],
    ]


def test_each_group_is_a_round_robin_and_all_are_played_at_the_same_time():
    own = stage(8, 2, cycles=2)
    assert not GROUPS.pairs_by_results(own.options)

    rounds = own.rounds()

    groups = groups_of(own.entrants, own.options)
    assert len(rounds) == 6
    for each in rounds:
        parts = [ROUND_ROBIN.planned(each.round_id, group, own.options) for group in groups]
        assert each.pairings == parts[0].pairings + parts[1].pairings


@pytest.mark.parametrize(
    ("number", "groups", "cycles"),
    [(4, 2, 1), (5, 2, 1), (7, 3, 2), (9, 2, 1), (11, 3, 1), (6, 1, 1), (30, 4, 1)],
)
def test_everybody_meets_everybody_of_its_group_and_nobody_else(number, groups, cycles):
    own = stage(number, groups, cycles=cycles)

    rounds = own.rounds()

    met = sorted(tuple(sorted(pairing)) for each in rounds for pairing in each.pairings)
    parts = names(groups_of(own.entrants, own.options))
    assert met == sorted(cycles * [pair for part in parts for pair in combinations(part, 2)])
    assert GROUPS.begin(own.entrants, own.options) == Totals(len(rounds), len(met))
    for each in rounds:
        busy = [player for pairing in each.pairings for player in pairing] + [*each.byes]
        assert len(busy) == len(set(busy))
        assert each == GROUPS.planned(each.round_id, own.entrants, own.options)


def test_a_smaller_group_is_ready_before_the_others():
    own = stage(5, 2)

    assert own.rounds()[1:] == [
        Round(2, (("P05", "P01"),), ("P04",)),
        Round(3, (("P01", "P04"),), ("P05",)),
    ]


def test_the_best_of_two_groups_meet_the_second_of_the_other():
    seeded, pairings = first_round(8, 2, 2)

    # Group A has P01, P04, P05, P08; group B has P02, P03, P06, P07.
    assert seeded == ["P01", "P02", "P04", "P03"]
    assert pairings == (("P01", "P03"), ("P02", "P04"))


def test_the_table_orders_those_of_the_same_rank():
    ranked = ["P06", "P08", "P07", "P05", "P01", "P02", "P03", "P04"]

    assert first_round(8, 2, 2, ranked) == (
        ["P06", "P08", "P07", "P05"],
        (("P06", "P05"), ("P08", "P07")),
    )
    assert first_round(8, 2, 0, ranked)[0][:4] == ["P06", "P08", "P07", "P05"]


def test_nobody_meets_its_own_group_first_if_that_can_be_avoided():
    chance = random.Random(1)
    for groups in (*range(2, 13), 16, 32):
        for advance in range(1, 6):
            number = groups * max(2, advance)
            group_of = groups_by_player(number, groups)
            ranked = chance.sample([*group_of], number)

            seeded, pairings = first_round(number, groups, advance, ranked)

            assert len(set(seeded)) == len(seeded) == groups * advance
            assert [pair for pair in pairings if group_of[pair[0]] == group_of[pair[1]]] == []
            for rank in range(advance):
                block = seeded[rank * groups : (rank + 1) * groups]
                assert len({group_of[each] for each in block}) == groups


@pytest.mark.parametrize("groups", [2, 4, 8, 16])
def test_the_two_best_of_a_group_meet_in_the_final_at_the_earliest(groups):
    number, group_of = 4 * groups, groups_by_player(4 * groups, groups)
    for seed in range(5):
        seeded, _ = first_round(number, groups, 2, random.Random(seed).sample([*group_of], number))
        slot_of = {seeded[n - 1]: slot for slot, n in enumerate(slots(2 * groups))}
        halves = {(group_of[each], slot_of[each] // groups) for each in seeded}
        assert len(halves) == 2 * groups


def test_who_was_removed_is_not_in_the_table_and_leaves_its_place_to_the_next():
    ranked = ["P04", "P02", "P08", "P03", "P06", "P07"]  # Of group A only P04 and P08 are left.

    assert first_round(8, 2, 0, ranked)[0] == ["P04", "P02", "P08", "P03", "P06", "P07"]
    assert first_round(8, 2, 2, ranked[1:])[0] == ["P02", "P08", "P03"]
    assert first_round(8, 2, 4, ["P02", "P03"])[0] == ["P02", "P03"]


def test_all_go_on_also_from_groups_of_different_sizes():
    own = stage(7, 3, advance=0)
    ranked = [each.player_id for each in own.entrants]

    seeded = GROUPS.advancing(ranked, own.entrants, own.options)

    assert (seeded[:3], sorted(seeded[3:6]), seeded[6:]) == (ranked[:3], ranked[3:6], ranked[6:])


def test_one_group_may_send_on_one_or_all():
    assert first_round(4, 1, 4)[0] == ["P01", "P02", "P03", "P04"]
    own = stage(4, 1, advance=1)
    assert GROUPS.advancing(["P03", "P01", "P02", "P04"], own.entrants, own.options) == ["P03"]


def test_no_round_follows_after_the_last():
    own = stage(4, 2)

    assert GROUPS.next_round(Played(1), own.entrants, own.options) == Done()


@pytest.mark.parametrize(
    ("number", "options", "complaint"),
    [
        (5, {"groups": 3}, "3 groups need at least 6 players, not 5."),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(number, options, complaint):
    with pytest.raises(ValueError, match=complaint):
        stage(number, **options)


def test_all_of_two_groups_of_two_thousand_go_on_at_once():
    players = entrants(4_000)
    ranked = [each.player_id for each in players]

    seeded = GROUPS.advancing(ranked, players, {"groups": 2, "advance": 0})

    assert sorted(seeded) == sorted(ranked)


def test_of_a_group_that_is_smaller_than_those_who_go_on_all_go_on():
    own = stage(11, 3, advance=4)

    (excess,) = GROUPS.excess(11, own.options)
    assert excess.fault == (
        "Of 11 players in 3 groups 4 of each cannot go on, because the smallest group has 3"
    )
    assert not GROUPS.excess(12, own.options)
    ranked = [each.player_id for each in own.entrants]
    assert sorted(GROUPS.advancing(ranked, own.entrants, own.options)) == ranked
