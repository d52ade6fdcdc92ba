"""Knockout: who meets whom in a bracket, who goes on, and what ends a tie."""

import random
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from agentleague.league.formats.format import Done
from agentleague.league.formats.knockout import KNOCKOUT, bracket, round_name, slots
from league.formats.played import DOUBLE_FORFEIT, DRAW, NO_CONTEST, Stage, better

ONE, TWO = "P01", "P04"
RESULTS = [DRAW, DOUBLE_FORFEIT, NO_CONTEST, 0, 0, 0, 1, 1]


def cup(number, **options):
    return Stage(KNOCKOUT, number, **options)


def drawn(stage):
    return bracket(stage.played, stage.entrants, stage.options)


def champion(stage):
    merits = stage.merits
    (best,) = [each for each in merits if merits[each] == max(merits.values())]
    return best


def tie_of(results, **options):
    """The tie of seeds 1 and 4 of four if its games end so, and the stage after the round."""
    stage, results = cup(4, **options), iter(results)
    while (tie := drawn(stage)[0].ties[0]).is_over is False:
        stage.play(lambda players: next(results) if ONE in players else "P02")
    assert next(results, None) is None
    return tie, stage


def test_the_seeds_have_their_slots():
    assert slots(2) == [1, 2]
    assert slots(8) == [1, 8, 4, 5, 2, 7, 3, 6]
    for size in (16, 256):
        order = slots(size)
        assert sorted(order) == list(range(1, size + 1))
        assert {a + b for a, b in zip(order[::2], order[1::2], strict=True)} == {size + 1}


def test_eight_players_meet_in_three_rounds_and_the_better_seed_begins():
    assert [each.pairings for each in cup(8).rounds()] == [
        (("P01", "P08"), ("P04", "P05"), ("P02", "P07"), ("P03", "P06")),
        (("P01", "P04"), ("P02", "P03")),
        (("P01", "P02"),),
    ]


def test_of_six_players_the_two_best_rest_first():
    stage = cup(6)

    first, second, _ = stage.rounds(max)

    assert (first.pairings, first.byes) == ((("P04", "P05"), ("P03", "P06")), ("P01", "P02"))
    assert (second.pairings, second.byes) == ((("P01", "P05"), ("P02", "P06")), ())
    assert champion(stage) == "P06"


@pytest.mark.parametrize("number", [*range(2, 34), 100, 256])
def test_if_the_better_seed_wins_the_best_seeds_come_furthest(number):
    stage = cup(number)

    rounds = stage.rounds()

    assert len(rounds) == (number - 1).bit_length()
    assert sum(len(each.pairings) for each in rounds) == number - 1
    merits = stage.merits
    by_seed = [merits[each.player_id] for each in stage.entrants]
    assert by_seed == sorted(by_seed, reverse=True)


@pytest.mark.parametrize(
    ("options", "results", "winner", "wins"),
    [
        ({}, [ONE], ONE, (1, 0)),
        ({}, [TWO + "!"], TWO, (0, 1)),  # a technical loss is a loss
        ({}, [DRAW, DRAW, TWO], TWO, (0, 1)),  # a draw is played again
        ({}, [DRAW, DRAW, DRAW, DRAW], ONE, (0, 0)),  # three times; then the better seed goes on
        ({"replays": 0}, [DRAW], ONE, (0, 0)),
        ({"replays": 1}, [NO_CONTEST, TWO], TWO, (0, 1)),
        ({"replays": 1}, [NO_CONTEST, DRAW], ONE, (0, 0)),  # in all one replay
        ({"replays": 1}, [NO_CONTEST, NO_CONTEST], ONE, (0, 0)),
        ({"best_of": 3}, [TWO, TWO], TWO, (0, 2)),
        ({"best_of": 3}, [TWO, ONE, TWO], TWO, (1, 2)),
        ({"best_of": 3}, [TWO, DRAW, DRAW], TWO, (0, 1)),  # who leads after three has won
        ({"best_of": 3}, [TWO, DRAW, ONE, TWO], TWO, (1, 2)),  # level: the next win decides
        ({"best_of": 3}, [DRAW, DRAW, DRAW, DRAW, TWO], TWO, (0, 1)),
        ({"best_of": 3}, [NO_CONTEST, TWO, NO_CONTEST, ONE, TWO], TWO, (1, 2)),
        ({"best_of": 3, "replays": 0}, [NO_CONTEST, TWO, DRAW], TWO, (0, 1)),  # no game is left
        ({"best_of": 5}, [TWO, DRAW, TWO, DRAW], TWO, (0, 2)),  # cannot be level any more
        ({"best_of": 5}, [TWO, DRAW, DRAW, ONE, DRAW, DRAW, ONE], ONE, (2, 1)),
    ],
)
def test_a_tie_is_decided_by_its_games(options, results, winner, wins):
    tie, _ = tie_of(results, **options)

    assert (tie.winner, tie.wins, tie.is_over) == (winner, wins, True)


@pytest.mark.parametrize(
    ("options", "results", "winner"),
    [
        ({}, [DOUBLE_FORFEIT], None),  # is not played again
        ({}, [DRAW, DOUBLE_FORFEIT], None),
        ({}, [NO_CONTEST, DOUBLE_FORFEIT], None),
        ({"best_of": 3}, [DOUBLE_FORFEIT, DRAW, DRAW], None),
        ({"best_of": 3}, [DOUBLE_FORFEIT, DOUBLE_FORFEIT, TWO], TWO),
        ({"best_of": 3}, [ONE, DOUBLE_FORFEIT, TWO, TWO], TWO),  # both have won: played again
        ({"best_of": 3, "replays": 1}, [ONE, TWO, DOUBLE_FORFEIT, DOUBLE_FORFEIT], ONE),
        ({"best_of": 3, "replays": 0}, [NO_CONTEST, DOUBLE_FORFEIT, NO_CONTEST], None),
    ],
)
def test_nobody_goes_on_from_a_tie_with_a_double_forfeit_and_no_win(options, results, winner):
    tie, stage = tie_of(results, **options)
    stage.rounds()

    assert (tie.winner, tie.is_over) == (winner, True)
    assert champion(stage) == ("P01" if winner == ONE else "P02")  # perhaps without a match


def test_games_of_a_tie_swap_seats_and_ties_that_are_over_wait():
    stage = cup(5, best_of=3)

    rounds = stage.rounds(lambda players: "P05" if "P05" in players else better(players))

    assert [(each.pairings, each.byes) for each in rounds] == [
        ((("P04", "P05"),), ("P01", "P02", "P03")),
        ((("P05", "P04"),), ()),
        ((("P01", "P05"), ("P02", "P03")), ()),
        ((("P05", "P01"), ("P03", "P02")), ()),
        ((("P02", "P05"),), ()),
        ((("P05", "P02"),), ()),
    ]


def test_who_is_ready_waits_and_has_no_bye():
    stage = cup(4, best_of=3)
    results = iter([ONE, "P02", TWO, "P02", ONE])

    first, second, third, fourth, *_ = stage.rounds(lambda players: next(results, ONE))

    assert first.pairings == (("P01", "P04"), ("P02", "P03"))
    assert second.pairings == (("P04", "P01"), ("P03", "P02"))
    assert (third.pairings, third.byes) == ((("P01", "P04"),), ())
    assert fourth.pairings == (("P01", "P02"),)


def test_the_losers_of_the_semi_finals_play_for_third_place():
    stage = cup(4, third_place=1)
    stage.play()
    assert stage.merits == {"P01": 2, "P02": 2, "P03": 0, "P04": 0}

    (last,) = stage.rounds()

    assert last.pairings == (("P01", "P02"), ("P03", "P04"))
    assert stage.merits == {"P01": 4, "P02": 2, "P03": 1, "P04": 0}
    assert [(each.name, len(each.ties)) for each in drawn(stage)] == [
        ("Semi-finals", 2),
        ("Final", 1),
        ("Match for third place", 1),
    ]


def test_the_match_for_third_place_may_take_longer_than_the_final():
    stage = cup(4, third_place=1)
    games = Counter()

    def result_of(players):
        games[min(players)] += 1
        return DRAW if min(players) == "P03" and games["P03"] < 3 else better(players)

    rounds = stage.rounds(result_of)

    assert [each.pairings for each in rounds[2:]] == [(("P04", "P03"),), (("P03", "P04"),)]
    assert drawn(stage)[-1].ties[0].match_ids == ("R2M2", "R3M1", "R4M1")


def test_third_place_is_played_for_also_if_both_forfeit_the_final():
    stage = cup(4, third_place=1)
    stage.play()
    stage.play(lambda players: DOUBLE_FORFEIT if "P01" in players else DRAW)

    (last,) = stage.rounds()

    assert last.pairings == (("P04", "P03"),)
    assert stage.merits == {"P01": 4, "P02": 2, "P03": 1, "P04": 0}


def test_without_an_opponent_a_finalist_has_a_bye_beside_the_match_for_third_place():
    stage = cup(4, third_place=1)
    stage.play()
    stage.removed.add("P01")

    (last,) = stage.rounds()
    assert drawn(stage)[0].ties[0].winner == "P01"
    stage.rule(1, 1, "P04")  # Too late: P04 played for third place.

    assert (last.pairings, last.byes) == ((("P03", "P04"),), ("P02",))
    assert stage.merits == {"P02": 4, "P03": 1, "P04": 0, "P01": 0}
    assert drawn(stage)[0].ties[0].winner is None


@pytest.mark.parametrize(
    ("removed", "merits"),
    [
        ({"P01", "P02"}, {"P03": 4, "P01": 2, "P02": 2, "P04": 0}),  # no final: nobody is third
        ({"P04"}, {"P01": 4, "P02": 2, "P03": 1, "P04": 0}),  # the only one left is third
        ({"P01", "P02", "P03", "P04"}, {"P01": 4, "P02": 2, "P03": 0, "P04": 0}),
    ],
)
def test_there_is_one_champion_whoever_is_removed_before_the_final(removed, merits):
    stage = cup(4, third_place=1)
    stage.play()
    stage.removed |= removed

    stage.rounds()

    assert stage.merits == merits


def test_without_a_loser_of_one_semi_final_the_other_is_third():
    stage = cup(4, third_place=1)
    stage.rounds(lambda players: DOUBLE_FORFEIT if "P01" in players else better(players))

    assert stage.merits == {"P02": 4, "P03": 1, "P01": 0, "P04": 0}
    assert len(stage.results) == 1


def test_if_both_forfeit_the_final_the_better_seed_is_the_champion():
    stage = cup(4)
    stage.rounds(lambda players: DOUBLE_FORFEIT if players == ("P01", "P02") else better(players))

    assert champion(stage) == drawn(stage)[-1].ties[0].winner == "P01"


def test_the_opponent_of_a_removed_player_goes_on_without_a_match():
    stage = cup(8)
    stage.removed.add("P08")
    first = stage.play()
    stage.removed |= {"P04", "P05"}
    second = stage.play()

    assert (first.pairings[0], first.byes) == (("P04", "P05"), ("P01",))
    assert (second.pairings, second.byes) == ((("P02", "P03"),), ("P01",))


def test_a_round_in_which_nobody_has_an_opponent_is_left_out():
    stage = cup(8)
    stage.play()
    stage.removed |= {"P04", "P02"}

    (last,) = stage.rounds()
    stage.rule(1, 2, "P05")  # Too late: P01 was in the final without meeting anybody.

    assert (last.round_id, last.pairings, last.byes) == (2, (("P01", "P03"),), ())
    assert [tie.winner for tie in drawn(stage)[1].ties] == ["P01", "P03"]
    assert [tie.players for tie in drawn(stage)[1].ties] == [("P01", None), (None, "P03")]


def test_a_ruling_counts_until_the_winner_was_paired_again():
    stage = cup(8)
    stage.play()
    stage.rule(1, 1, "P08")
    second = stage.play()
    stage.rule(1, 1, "P01")
    stage.rule(1, 3, DRAW)
    third = stage.play()

    assert second.pairings == (("P04", "P08"), ("P02", "P03"))
    assert third.pairings == (("P02", "P04"),)
    tie = drawn(stage)[0].ties[0]
    assert (tie.winner, tie.wins) == ("P08", (1, 0))  # Its result is another, and P08 was paired.


def test_a_ruling_may_open_a_tie_again_or_end_it_earlier():
    stage = cup(4)
    stage.play()
    stage.rule(1, 1, DRAW)
    again = stage.play(lambda players: "P04")
    stage.rule(1, 1, "P01!")
    final = stage.play()

    assert again.pairings == (("P04", "P01"),)
    assert final.pairings == (("P01", "P02"),)  # What was played after it was not needed.


@pytest.mark.parametrize(
    ("wins", "last_is_ruled", "winner"),
    [
        (["P02", "P01", "P02"], DRAW, "P01"),  # level: the better seed
        (["P02", "P02"], NO_CONTEST, "P02"),  # It leads by a game.
    ],
)
def test_a_ruling_on_a_stage_that_is_over_opens_no_tie(wins, last_is_ruled, winner):
    stage, results = cup(2, best_of=3), iter(wins)
    stage.rounds(lambda players: next(results))
    stage.is_time_up = True

    stage.rule(len(wins), 1, last_is_ruled)

    assert drawn(stage)[0].ties[0].is_over
    assert (stage.next(), champion(stage)) == (Done(), winner)


def test_who_led_and_was_removed_has_not_won_when_the_stage_is_over():
    stage = cup(2, best_of=3)
    stage.play()
    stage.removed.add("P01")
    assert (stage.next(), champion(stage)) == (Done(), "P02")

    stage.is_time_up = True

    assert champion(stage) == "P02"


def test_a_final_that_a_late_ruling_made_is_for_the_better_seed():
    stage = cup(4)
    stage.rounds(lambda players: DOUBLE_FORFEIT)
    stage.is_time_up = True
    stage.rule(1, 1, "P04")
    stage.rule(1, 2, "P02")

    assert drawn(stage)[-1].ties[0].players == ("P04", "P02")
    assert (stage.next(), champion(stage)) == (Done(), "P02")


def test_a_bracket_shows_what_is_known_and_what_is_not():
    stage = cup(6)
    stage.play(lambda players: DRAW if players == ("P04", "P05") else better(players))

    first, second, final = drawn(stage)

    assert [tie.players for tie in first.ties] == [
        ("P01", None),
        ("P04", "P05"),
        ("P02", None),
        ("P03", "P06"),
    ]
    assert [tie.winner for tie in first.ties] == ["P01", None, "P02", "P03"]
    assert [tie.is_over for tie in first.ties] == [True, False, True, True]
    assert [tie.match_ids for tie in first.ties] == [(), ("R1M1",), (), ("R1M2",)]
    assert first.ties[1].seeds == (4, 5)
    assert [(tie.players, tie.is_over) for tie in second.ties] == [
        (("P01", None), False),
        (("P02", "P03"), False),
    ]
    assert final.ties[0].players == (None, None)
    assert stage.merits == {"P01": 2, "P02": 2, "P03": 2, "P04": 0, "P05": 0, "P06": 0}


def test_ids_of_matches_count_the_rounds_of_stages_before():
    stage = cup(2)
    stage.rounds()

    ((tie,),) = [each.ties for each in bracket(stage.played, stage.entrants, stage.options, 5)]

    assert tie.match_ids == ("R6M1",)


def test_the_rounds_have_the_names_that_people_know():
    names = ["Final", "Semi-finals", "Quarter-finals", "Round of 16", "Round of 32"]

    assert [round_name(1 << n) for n in range(5)] == names


@pytest.mark.parametrize(
    ("number", "options", "complaint"),
    [
        (1, {}, "A knockout needs at least 2 players, not 1."),
        (4, {"best_of": 2}, "best_of must be an odd number such as 3, not 2."),
    ],
)
def test_what_does_not_fit_is_refused_in_a_sentence(number, options, complaint):
    with pytest.raises(ValueError, match=complaint):
        cup(number, **options)


def test_of_three_players_nobody_plays_for_third_place():
    stage = cup(3, third_place=1)

    fault = "A match for third place needs at least 4 players, not 3"
    assert KNOCKOUT.excess(3, stage.options) == (("third_place", fault, "there is none"),)
    assert not KNOCKOUT.excess(4, stage.options)
    assert len(stage.rounds(lambda players: players[0])) == 2


def test_256_players_of_whose_matches_half_are_drawn_need_four_games_a_tie_at_most():
    for seed in range(5):
        chance = random.Random(seed)
        stage = cup(256)

        rounds = stage.rounds(lambda players, chance=chance: chance.choice([DRAW, DRAW, *players]))

        assert 16 <= len(rounds) <= 8 * 4
        assert champion(stage)


def after_any_results(data):
    """A cup with random results, removals and rulings, checked after every round."""
    number = data.draw(st.integers(2, 20), "players")
    stage = cup(
        number,
        best_of=data.draw(st.sampled_from([1, 1, 3, 5]), "best_of"),
        replays=data.draw(st.integers(0, 3), "replays"),
        third_place=int(number >= 4 and data.draw(st.booleans(), "third place")),
    )
    chance = random.Random(data.draw(st.integers(0, 2**32), "seed"))

    def result_of(players):
        result = chance.choice(RESULTS)
        return players[result] + chance.choice(["", "!"]) if isinstance(result, int) else result

    while following := stage.play(result_of):
        busy = [player for pairing in following.pairings for player in pairing] + [*following.byes]
        assert len(busy) == len(set(busy))
        assert following.pairings
        assert not stage.removed & set(busy)
        for _ in range(chance.choice([0, 0, 1, 3])):
            round_id = chance.randint(1, len(stage.results))
            place = chance.randrange(len(stage.results[round_id - 1].matches))
            players = stage.results[round_id - 1].matches[place].players
            stage.rule(round_id, place + 1, result_of(players))
        if chance.random() < 0.2:
            stage.removed.add(chance.choice(stage.entrants).player_id)
        yield stage
    yield stage


@given(st.data())
def test_whatever_happens_a_cup_ends_with_one_champion_and_every_tie_is_consistent(data):
    for stage in after_any_results(data):
        everything = drawn(stage)
        rounds = [each for each in everything if each.name != "Match for third place"]
        ties = [tie for each in everything for tie in each.ties if each is not rounds[-1]]
        for before, after in pairwise(rounds):
            came = [player for tie in after.ties for player in tie.players]
            for tie, player in zip(before.ties, came, strict=True):
                assert player == tie.winner or (player is None and tie.winner in stage.removed)
        limit = stage.options["best_of"] + stage.options["replays"]
        for tie in ties:
            assert tie.winner in (None, *tie.players)
            assert len(tie.match_ids) <= (0 if None in tie.players else limit)
    assert isinstance(stage.next(), Done)
    assert champion(stage) == rounds[-1].ties[0].winner
    games = [each for tie in (*ties, *rounds[-1].ties) for each in tie.match_ids]
    assert sorted(games) == sorted(
        f"R{n}M{place}"
        for n, each in enumerate(stage.results, start=1)
        for place in range(1, len(each.matches) + 1)
    )


@pytest.mark.parametrize("number", [2, 3])
def test_fewer_than_four_do_not_play_for_third_place(number):
    stage = cup(number, third_place=1)

    assert [len(each.pairings) for each in stage.rounds()] == [1] * (number - 1)
    assert [each.name for each in bracket(stage.played, stage.entrants, stage.options)][
        -1
    ] == "Final"
