"""Ladder: near in rating, nobody against the same one at once, until a limit."""

import random
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentleague.league.formats.format import Done, Entrant, Totals
from agentleague.league.formats.ladder import LADDER, change, elos
from agentleague.league.formats.stages import StageProgress, plan
from agentleague.league.standings import Points
from league.formats.played import DOUBLE_FORFEIT, DRAW, NO_CONTEST, Stage, entrants, match


def ladder(number, **options):
    return Stage(LADDER, number, **(options or {"rounds": 10}))


def rated(*ratings):
    return [Entrant(f"P{n:02}", elo=elo) for n, elo in enumerate(ratings, start=1)]


def pairs(following):
    return sorted(tuple(sorted(pairing)) for pairing in following.pairings)


def test_the_expected_score_is_that_of_elo_to_a_thousandth():
    for gap in range(-800, 801):
        expected = 1000 - change(gap, 1000, 1000)
        assert abs(expected - 1000 / (1 + 10 ** (-gap / 400))) < 1.5
        assert change(gap, 0, 1000) == -expected
    assert change(5_000, 1000, 1000) == change(800, 1000, 1000) == 10


@pytest.mark.parametrize(
    ("gap", "score", "k", "gain"),
    [
        (0, 1000, 32, 16),
        (0, 500, 32, 0),
        (0, 0, 32, -16),
        (200, 1000, 32, 8),  # 0.760 was expected: 32 x 0.240 = 7.68
        (-200, 1000, 32, 24),
        (-200, 500, 32, 8),
        (0, 1000, 5, 3),  # half is rounded away from 0, so that both seats are the same
        (0, 0, 5, -3),
        (800, 1000, 32, 0),
    ],
)
def test_what_one_gains_the_other_loses(gap, score, k, gain):
    assert change(gap, score, k) == gain == -change(-gap, 1000 - score, k)


@pytest.mark.parametrize(
    ("result", "ratings"),
    [
        ("P01", (1508, 1292)),
        ("P02", (1476, 1324)),
        ("P02!", (1476, 1324)),  # a technical loss is a loss
        (DRAW, (1492, 1308)),
        (DOUBLE_FORFEIT, (1500, 1300)),
        (NO_CONTEST, (1500, 1300)),
    ],
)
def test_the_rating_follows_the_result(result, ratings):
    stage = ladder(rated(1500, 1300), rounds=1)

    stage.rounds(lambda players: result)

    assert tuple(stage.merits.values()) == ratings


def test_neighbours_in_rating_meet():
    stage = ladder(rated(1400, 1700, 1410, 1710, 1500, 1490))

    assert stage.next().pairings == (("P04", "P02"), ("P05", "P06"), ("P03", "P01"))


@pytest.mark.parametrize("number", range(3, 15))
def test_nobody_meets_the_same_player_twice_running_if_that_can_be_avoided(number):
    stage = ladder(number, rounds=30)
    chance = random.Random(number)

    rounds = stage.rounds(lambda players: chance.choice([DRAW, *players]))

    for before, after in pairwise(rounds):
        assert not set(pairs(before)) & set(pairs(after))


def test_who_exchanges_partners_stays_as_near_as_can_be():
    stage = ladder(rated(2000, 1990, 1900, 1890, 1000, 990), k=1, rounds=2)

    first, second = stage.rounds(lambda players: DRAW)

    assert pairs(first) == [("P01", "P02"), ("P03", "P04"), ("P05", "P06")]
    assert pairs(second) == [("P01", "P03"), ("P02", "P05"), ("P04", "P06")]


def test_who_rested_does_not_meet_its_last_opponent_again():
    stage = ladder(5, rounds=4)

    *_, third, fourth = stage.rounds(lambda players: DRAW)

    assert third.byes == ("P03",)  # It had met P01 before.
    assert (pairs(fourth), fourth.byes) == ([("P01", "P04"), ("P03", "P05")], ("P02",))


def test_of_two_who_are_left_the_same_meet_again_with_seats_swapped():
    assert [each.pairings for each in ladder(2, rounds=3).rounds()] == [
        (("P01", "P02"),),
        (("P02", "P01"),),
        (("P01", "P02"),),
    ]


@pytest.mark.parametrize("number", [3, 5, 9])
def test_byes_go_round_and_seats_are_shared(number):
    stage = ladder(number, rounds=4 * number)
    chance = random.Random(number)

    rounds = stage.rounds(chance.choice)

    byes = [each.byes for each in rounds]
    assert set(Counter(byes).values()) == {4}
    assert all(one != other for one, other in pairwise(byes))
    first = Counter(pairing[0] for each in rounds for pairing in each.pairings)
    second = Counter(pairing[1] for each in rounds for pairing in each.pairings)
    assert all(abs(first[each.player_id] - second[each.player_id]) <= 3 for each in stage.entrants)


def test_the_lowest_rated_rests_first():
    assert ladder(rated(1500, 1400, 1600)).next().byes == ("P02",)
    assert ladder(3).next().byes == ("P03",)


def test_who_comes_late_plays_from_its_round_on_and_who_is_removed_no_more():
    stage = ladder([*entrants(4), Entrant("P05", from_round=2), Entrant("P06", from_round=2)])
    first = stage.play()
    stage.removed.add("P01")
    second = stage.play()

    assert {player for pair in first.pairings for player in pair} == {"P01", "P02", "P03", "P04"}
    everybody = {*second.byes, *(player for pair in second.pairings for player in pair)}
    assert everybody == {"P02", "P03", "P04", "P05", "P06"}


@pytest.mark.parametrize(
    ("options", "rounds"),
    [
        ({"rounds": 3}, 3),
        ({"matches": 5}, 3),
        ({"matches": 6}, 3),
        ({"rounds": 2, "matches": 99}, 2),
    ],
)
def test_a_limit_ends_it_after_a_whole_round(options, rounds):
    assert len(ladder(4, **options).rounds()) == rounds


def test_no_round_begins_when_the_time_is_up():
    stage = ladder(4, seconds=60)
    stage.play()
    stage.is_time_up = True

    assert stage.next() == Done()


def test_it_ends_when_fewer_than_two_are_left():
    stage = ladder(3)
    stage.removed |= {"P01", "P03"}

    assert stage.next() == Done()


@pytest.mark.parametrize(
    ("players", "options", "totals"),
    [
        (5, {"rounds": 10}, Totals(10, 20)),
        (5, {"seconds": 10, "rounds": 10}, None),
        (5, {"matches": 10}, None),
        ([*entrants(3), Entrant("P04", 5), Entrant("P05", 99)], {"rounds": 10}, Totals(10, 16)),
    ],
)
def test_the_totals_are_known_if_only_the_rounds_are_limited(players, options, totals):
    stage = ladder(players, **options)

    assert LADDER.begin(stage.entrants, stage.options) == totals
    if totals:
        assert sum(len(each.pairings) for each in stage.rounds()) == totals.matches


@pytest.mark.parametrize(
    ("number", "options", "complaint"),
    [
        (1, {"rounds": 1}, "A ladder needs at least 2 players, not 1."),
        (2, {"k": 10}, "A ladder without a limit never ends: set rounds, matches or seconds."),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(number, options, complaint):
    with pytest.raises(ValueError, match=complaint):
        ladder(number, **options)


def test_a_view_shows_how_each_rating_went():
    stage = ladder(rated(1500, 1500, 1200), rounds=2)
    stage.rounds()

    trail = elos(stage.played, stage.entrants, stage.options)

    assert trail == {
        "P01": [1500, 1516, 1520],
        "P02": [1500, 1484, 1484],
        "P03": [1200, 1200, 1196],
    }
    assert stage.merits == {player_id: ratings[-1] for player_id, ratings in trail.items()}


@given(st.integers(2, 13), st.integers(0, 2**32), st.booleans())
def test_whatever_happens_everybody_who_is_free_plays_or_one_rests(number, seed, has_late):
    chance = random.Random(seed)
    players = [
        Entrant(
            f"P{n:02}", chance.randint(1, 9) if has_late and n > 2 else 1, chance.randint(0, 3000)
        )
        for n in range(1, number + 1)
    ]
    stage = ladder(players, rounds=12, k=chance.choice([1, 32, 400]))
    total = sum(each.elo for each in players)

    def result_of(pair):
        return chance.choice([DRAW, DOUBLE_FORFEIT, NO_CONTEST, *pair, f"{pair[0]}!"])

    while following := stage.play(result_of):
        free = {each.player_id for each in players if each.from_round <= len(stage.results)}
        busy = [player for pair in following.pairings for player in pair] + [*following.byes]
        assert sorted(busy) == sorted(free - stage.removed)
        assert len(following.byes) <= 1
        assert sum(stage.merits.values()) == total
        round_id = chance.randint(1, len(stage.results))
        stage.rule(round_id, 1, result_of(stage.results[round_id - 1].matches[0].players))
        if chance.random() < 0.1:
            stage.removed.add(chance.choice(players).player_id)


def test_a_round_is_counted_once_and_all_again_after_a_ruling():
    league = StageProgress(plan([{"format": "ladder", "rounds": 9}]), Points())
    league.begin(["P01", "P02", "P03"], {})
    for _ in range(3):
        following = league.next_round(set())
        league.end_round([match(each, each[0]) for each in following.pairings], following.byes)
    before, first = league.merits(), league.results[0]

    league.results[0] = None  # Who looks at it again fails.
    league.join("P04")
    following = league.next_round(set())
    assert len(following.pairings) == 2
    assert league.merits() == before | {"P04": (1, 1500)}

    league.results[0] = first
    league.replace(1, 0, match(first.matches[0].players, NO_CONTEST))
    played = league.played(set())._replace(counted=None)
    again = LADDER.merits(played, league.field, league.options)
    assert league.merits() == {each: (1, elo) for each, elo in again.items()} != before
