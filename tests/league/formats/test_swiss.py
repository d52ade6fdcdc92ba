"""Swiss: who meets whom, in which seat, who has a bye; checked against all ways to pair."""

from functools import cache
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
    Totals,
)
from agentleague.league.formats.swiss import SWISS, Swiss
from agentleague.league.formats.swiss_pairing import FIRST, SECOND, Candidate, pair
from agentleague.league.standings import Points
from bench.cost import Calls
from league.formats.played import entrants

CHESS = Points(2, 1, 0)


class Unlimited(Swiss):
    """It goes on while anybody can be paired."""

    def most_rounds(self, players):
        return 100


class Tournament:
    """A Swiss that is played round by round."""

    swiss = SWISS

    def __init__(self, number, rounds=0, bye="win", points=CHESS):
        self.entrants, self.points = entrants(number), points
        self.options = {"rounds": rounds, "bye": bye, "advance": 0}
        self.results, self.removed = [], set()

    @property
    def played(self):
        return Played(len(self.results), self.results, frozenset(self.removed), self.points)

    def next_round(self):
        return self.swiss.next_round(self.played, self.entrants, self.options)

    def play(self, decide):
        """Play one round; `decide` names the winner of each pairing."""
        found = self.next_round()
        if isinstance(found, Round):
            matches = [PlayedMatch(each, decide(each)) for each in found.pairings]
            self.results.append(PlayedRound(matches, found.byes))
        return found

    def join(self, player_id):
        self.entrants.append(Entrant(player_id, len(self.results) + 1))

    @property
    def present(self):
        return [each.player_id for each in self.entrants if each.player_id not in self.removed]

    def met(self):
        return {frozenset(match.players) for each in self.results for match in each.matches}

    def rested(self):
        return [player_id for each in self.results for player_id in each.byes]

    def seats(self, player_id):
        matches = [match for each in self.results for match in each.matches]
        return "".join(
            "AB"[match.players.index(player_id)] for match in matches if player_id in match.players
        )

    def score(self, player_id):
        worth = {"win": self.points.win, "draw": self.points.draw, "none": 0}
        score = self.rested().count(player_id) * worth[self.options["bye"]]
        for each in self.results:
            for match in each.matches:
                if player_id in match.players:
                    won = {player_id: self.points.win, None: self.points.draw}
                    score += won.get(match.winner, self.points.loss)
        return score


def first_wins(pairing):
    return pairing[0]


def favourite_wins(pairing):
    return min(pairing)


def nobody_wins(pairing):
    return None


def by_chance(seed):
    chance = Random(seed)
    return lambda pairing: chance.choice([*pairing, None])


def must(seats):
    """The seat that a player must have: never three running, never three more than the other."""
    balance = seats.count("A") - seats.count("B")
    if balance >= 2 or (balance > -2 and seats.endswith("AA")):
        return "B"
    return "A" if balance <= -2 or seats.endswith("BB") else ""


def can_be_paired(tournament, players, keeps_seats):
    """By trying everything."""
    met = tournament.met()
    wants = {each: must(tournament.seats(each)) if keeps_seats else "" for each in players}

    @cache
    def can(left):
        if not left:
            return True
        one = min(left)
        others = [
            each
            for each in left - {one}
            if frozenset((one, each)) not in met and not (wants[one] and wants[one] == wants[each])
        ]
        return any(can(left - {one, each}) for each in others)

    return len(players) % 2 == 0 and can(frozenset(players))


def who_can_rest(tournament, keeps_seats):
    """Each player without whom all others can be paired; an empty text where nobody has to."""
    present = tournament.present
    if len(present) % 2 == 0:
        return [""] if present and can_be_paired(tournament, present, keeps_seats) else []
    eligible = [each for each in present if each not in tournament.rested()]
    return [
        each
        for each in eligible
        if len(present) > 1
        and can_be_paired(tournament, [p for p in present if p != each], keeps_seats)
    ]


def check_round(tournament, found):
    """What holds in every round, before it is played."""
    in_it = [each for pairing in found.pairings for each in pairing]
    assert sorted([*in_it, *found.byes]) == sorted(tournament.present)
    assert not tournament.met() & {frozenset(each) for each in found.pairings}
    assert len(found.byes) == len(tournament.present) % 2
    assert not set(found.byes) & set(tournament.rested())


def breaks_seats(tournament, found):
    return any(
        must(tournament.seats(player_id)) == "BA"[seat]
        for pairing in found.pairings
        for seat, player_id in enumerate(pairing)
    )


def test_eight_players_are_paired_as_chess_players_know_it():
    winners = iter([*("P01", "P02", None, "P04"), *(None, "P04", "P07", None)])
    tournament = Tournament(8)

    rounds = [tournament.play(lambda pairing: next(winners)).pairings for _ in range(2)]
    rounds.append(tournament.next_round().pairings)

    shown = [[f"{a[-1]}-{b[-1]}" for a, b in pairings] for pairings in rounds]
    assert shown == [
        ["1-5", "6-2", "3-7", "8-4"],
        ["2-1", "4-3", "7-6", "5-8"],
        ["1-4", "7-2", "3-5", "8-6"],
    ]


def test_of_seven_the_lowest_has_the_bye_and_then_has_a_point_more():
    tournament = Tournament(7)

    assert [tournament.play(favourite_wins).byes for _ in range(3)] == [
        ("P07",),
        ("P06",),
        ("P05",),
    ]
    assert tournament.next_round() == Done()


@given(st.data())
def test_every_round_is_legal_whoever_wins_comes_or_goes(data):
    tournament = Tournament(data.draw(st.integers(2, 40)), rounds=100)
    tournament.swiss = Unlimited()
    for number in range(data.draw(st.integers(1, 12))):
        change = data.draw(st.sampled_from(["", "", "", "leaves", "comes"]))
        if change == "leaves":
            tournament.removed.add(data.draw(st.sampled_from(tournament.entrants)).player_id)
        if change == "comes":
            tournament.join(f"L{number:02}")
        found = tournament.next_round()
        if found == Done():
            break
        check_round(tournament, found)
        tournament.play(by_chance(data.draw(st.integers(0, 1_000_000))))


@given(st.integers(2, 9), st.sets(st.integers(0, 5)), st.integers(0, 1_000_000))
def test_it_ends_early_only_if_no_pairing_is_left_and_breaks_the_seats_only_then(n, leaving, seed):
    tournament, decide = Tournament(n, rounds=100), by_chance(seed)
    tournament.swiss = Unlimited()
    while True:
        if len(tournament.results) in leaving:
            tournament.removed.add(tournament.entrants[seed % n].player_id)
        found = tournament.next_round()
        keeping, any_ = (who_can_rest(tournament, keeps_seats) for keeps_seats in (True, False))
        if found == Done():
            assert any_ == []
            break
        check_round(tournament, found)
        assert breaks_seats(tournament, found) <= (keeping == [])
        scores = {each: tournament.score(each) for each in tournament.present}
        for player_id in found.byes:
            assert scores[player_id] == min(scores[each] for each in keeping or any_)
        tournament.play(decide)


def test_seats_are_balanced_in_every_tournament_of_usual_length():
    for number in range(10, 41):
        for decide in (by_chance(number), first_wins, favourite_wins, nobody_wins):
            tournament = Tournament(number)
            while (found := tournament.next_round()) != Done():
                assert not breaks_seats(tournament, found)
                tournament.play(decide)


def test_of_players_who_are_level_the_upper_half_meets_the_lower():
    tournament = Tournament(64)
    for decide in (favourite_wins, first_wins):
        tournament.play(decide)
        groups = [tournament.score(a) == tournament.score(b) for a, b in tournament.next_round()[1]]
        assert groups == [True] * 32


@pytest.mark.parametrize(
    ("number", "rounds", "totals"),
    [
        (2, 0, Totals(1, 1)),
        (3, 0, Totals(2, 2)),
        (4, 0, Totals(2, 4)),
        (5, 0, Totals(3, 6)),
        (8, 0, Totals(3, 12)),
        (9, 0, Totals(4, 16)),
        (1_000, 0, Totals(10, 5_000)),
        (4, 3, Totals(3, 6)),
        (6, 3, Totals(3, 9)),
        (8, 5, Totals(5, 20)),
    ],
)
def test_without_a_number_there_are_as_many_rounds_as_in_a_knockout(number, rounds, totals):
    assert SWISS.begin(entrants(number), Tournament(number, rounds).options) == totals


@pytest.mark.parametrize(
    ("number", "rounds", "complaint"),
    [
        (0, 0, "A Swiss needs at least 2 players, not 0."),
        (1, 5, "A Swiss needs at least 2 players, not 1."),
    ],
)
def test_what_cannot_be_a_swiss_is_refused_in_a_sentence(number, rounds, complaint):
    with pytest.raises(ValueError, match=complaint):
        SWISS.begin(entrants(number), Tournament(number, rounds).options)


@pytest.mark.parametrize(
    ("number", "rounds", "fault", "instead"),
    [
        (2, 2, "A Swiss of 2 players has at most 1 round, not 2", "it plays 1"),
        (5, 4, "A Swiss of 5 players has at most 3 rounds, not 4", "it plays 3"),
        (8, 6, "A Swiss of 8 players has at most 5 rounds, not 6", "it plays 5"),
    ],
)
def test_of_too_many_rounds_as_many_are_played_as_can_be(number, rounds, fault, instead):
    tournament = Tournament(number, rounds)

    assert SWISS.excess(number, tournament.options) == (("rounds", fault, instead),)
    most = SWISS.begin(tournament.entrants, tournament.options).rounds
    while tournament.play(by_chance(1)) != Done():
        pass
    assert len(tournament.results) == most == int(instead.split()[-1])


@pytest.mark.parametrize("number", range(2, 17))
def test_as_many_rounds_as_are_allowed_can_always_be_played(number):
    most = next(rounds - 1 for rounds in range(1, 20) if not is_allowed(Tournament(number, rounds)))

    assert most >= SWISS.begin(entrants(number), Tournament(number).options).rounds
    for seed in range(10):
        tournament = Tournament(number, most)
        while tournament.play(by_chance(seed)) != Done():
            pass
        assert len(tournament.results) == most


def is_allowed(tournament):
    return not SWISS.excess(len(tournament.entrants), tournament.options)


def test_one_player_who_is_left_ends_it():
    tournament = Tournament(4)
    tournament.removed |= {"P01", "P02", "P03"}

    assert tournament.next_round() == Done()


def test_who_comes_late_has_no_points_and_a_bye_only_if_nobody_else_can():
    tournament = Tournament(4)
    tournament.play(favourite_wins)
    tournament.join("L01")

    found = tournament.next_round()

    assert found.byes == ("P04",)  # level with P03 and L01, and of the two who did not come late
    assert {frozenset(each) for each in found.pairings} == {
        frozenset(("P01", "P02")),
        frozenset(("P03", "L01")),
    }


def test_who_goes_and_comes_again_has_no_second_bye():
    tournament = Tournament(5, rounds=3)
    tournament.play(favourite_wins)
    tournament.removed.add("P05")
    tournament.play(favourite_wins)
    tournament.removed.clear()

    assert tournament.rested() == ["P05"]
    assert tournament.next_round().byes != ("P05",)


def test_a_late_comer_does_not_make_the_tournament_longer():
    tournament = Tournament(4)
    tournament.play(favourite_wins)
    tournament.join("L01")
    tournament.play(favourite_wins)

    assert tournament.next_round() == Done()


def test_pairs_follow_the_results_as_they_are_after_a_ruling():
    tournament = Tournament(4)
    tournament.play(favourite_wins)
    assert [set(each) for each in tournament.next_round().pairings] == [
        {"P01", "P02"},
        {"P03", "P04"},
    ]

    matches = tournament.results[0].matches
    matches[0] = matches[0]._replace(winner="P03")

    assert [set(each) for each in tournament.next_round().pairings] == [
        {"P02", "P03"},
        {"P01", "P04"},
    ]


@pytest.mark.parametrize(
    ("match", "lowest"),  # P01, P03 and P04 have a point each, for a loss.
    [
        (PlayedMatch(("P05", "P02"), "P05"), "P04"),
        (PlayedMatch(("P05", "P02"), "P05", technical=True), "P04"),
        (PlayedMatch(("P05", "P02"), None), "P04"),
        (PlayedMatch(("P05", "P02"), None, technical=True), "P05"),  # Both have lost.
        (PlayedMatch(("P05", "P02"), None, counts=False), "P05"),
    ],
)
def test_points_are_those_of_the_table_and_who_was_paired_has_met(match, lowest):
    tournament = Tournament(6, points=Points(3, 2, 1))
    lost = [PlayedMatch(each, None, technical=True) for each in (("P01", "P04"), ("P03", "P06"))]
    tournament.results.append(PlayedRound([*lost, match]))
    tournament.removed.add("P06")

    found = tournament.next_round()

    check_round(tournament, found)
    assert found.byes == (lowest,)


def test_who_floats_down_is_the_lowest_who_can():
    level = [Candidate(f"P{n}", n, 1) for n in range(1, 5)]
    last = [Candidate("P5", 5, 1, met={"P6"}), Candidate("P6", 6, 0, met={"P5"})]

    pairs = pair([*level, *last]).pairs

    assert [sorted(each) for each in pairs] == [["P1", "P3"], ["P2", "P5"], ["P4", "P6"]]


@pytest.mark.parametrize(
    ("upper", "lower", "seated"),
    [
        ((), (), "UL"),  # the first seat for an odd seed
        ((FIRST,), (), "LU"),
        ((), (FIRST,), "UL"),
        ((SECOND,), (FIRST,), "UL"),
        ((SECOND,), (SECOND,), "UL"),  # both want it: the upper one has it
        ((FIRST,), (FIRST,), "LU"),
        ((FIRST, SECOND), (SECOND, SECOND), "LU"),  # the other wants it more
        ((FIRST, SECOND, SECOND, FIRST), (SECOND, FIRST, SECOND, FIRST), "UL"),  # as they had not
    ],
)
def test_who_sits_where(upper, lower, seated):
    candidates = [Candidate("U", 1, 1, upper), Candidate("L", 2, 0, lower)]

    assert pair(candidates).pairs == (tuple(seated),)


@pytest.mark.parametrize(("bye", "worth"), [("win", 3), ("draw", 1), ("none", 0)])
def test_a_bye_is_worth_what_the_option_says_and_comes_once_whatever_it_is_worth(bye, worth):
    tournament = Tournament(5, bye=bye, points=Points())

    assert SWISS.bye_points(Points(), tournament.options) == worth
    assert tournament.play(favourite_wins).byes == ("P05",)
    assert tournament.play(favourite_wins).byes == ("P04",)


@pytest.mark.parametrize("decide", [first_wins, favourite_wins, nobody_wins, by_chance(1)])
def test_a_round_of_a_thousand_players_is_paired_with_a_few_steps_for_each(decide):
    tournament = Tournament(1_001)
    for _ in range(10):
        with Calls().counting() as calls:  # To look at every pair would be 500,000.
            found = tournament.next_round()
        assert calls.total < 400_000
        matches = [PlayedMatch(each, decide(each)) for each in found.pairings]
        tournament.results.append(PlayedRound(matches, found.byes))
