"""Our Swiss beside py4swiss, which pairs by the Dutch system of chess; ours does not claim to."""

import sys
from random import Random

import pytest

from agentleague.league.formats.format import Done, PlayedMatch, PlayedRound
from agentleague.league.formats.swiss import SWISS
from league.formats.test_swiss import Tournament

if sys.platform != "linux":
    pytest.skip("there is no py4swiss for this system", allow_module_level=True)
from py4swiss.engines import DutchEngine
from py4swiss.trf import ParsedTrf
from py4swiss.trf.results import ColorToken, ResultToken, RoundResult
from py4swiss.trf.sections import PlayerSection, XSection

TENTHS = {
    ResultToken.WIN: 10,
    ResultToken.DRAW: 5,
    ResultToken.LOSS: 0,
    ResultToken.PAIRING_ALLOCATED_BYE: 10,
}


def number(player_id):
    return int(player_id[1:])


def result_of(match, player_id):
    if match.winner is None:
        return ResultToken.DRAW
    return ResultToken.WIN if match.winner == player_id else ResultToken.LOSS


def rows(tournament):
    """What was played, as a chess tournament writes it down."""
    found = {number(each.player_id): [] for each in tournament.entrants}
    bye = ColorToken.BYE_OR_NOT_PAIRED, ResultToken.PAIRING_ALLOCATED_BYE
    for each in tournament.results:
        for match in each.matches:
            colors = (ColorToken.WHITE, ColorToken.BLACK)
            for own, other, color in zip(match.players, match.players[::-1], colors, strict=True):
                line = RoundResult(id=number(other), color=color, result=result_of(match, own))
                found[number(own)].append(line)
        for player_id in each.byes:
            found[number(player_id)].append(RoundResult(id=0, color=bye[0], result=bye[1]))
    return found


def dutch(tournament):
    """The pairs, in seat order, and the byes that py4swiss has for the next round."""
    sections = [
        PlayerSection(
            code="001",
            starting_number=each,
            points_times_ten=sum(TENTHS[line.result] for line in lines),
            rank=each,
            results=lines,
        )
        for each, lines in rows(tournament).items()
    ]
    rounds = tournament.options["rounds"]
    trf = ParsedTrf(player_sections=sections, x_section=XSection(number_of_rounds=rounds))
    trf.validate_contents()
    found = DutchEngine.generate_pairings(trf)
    name = "P{:02}".format
    pairs = {(name(each.white), name(each.black)) for each in found if each.black}
    return pairs, [name(each.white) for each in found if not each.black]


def tournaments(seeds):
    """Random tournaments, with each round as it is paired next."""
    for seed in seeds:
        chance = Random(seed)
        players = chance.randint(8, 40)
        usual = SWISS.begin(Tournament(players).entrants, Tournament(players).options).rounds
        tournament = Tournament(players, rounds=usual + chance.randint(0, 1))
        draws = chance.choice([1, 2, 10])
        while (found := tournament.next_round()) != Done():
            yield tournament, found
            winners = [chance.choice([*each, *[None] * draws]) for each in found.pairings]
            matches = map(PlayedMatch, found.pairings, winners)
            tournament.results.append(PlayedRound([*matches], found.byes))


def compare(seeds):
    """How many rounds there were, how many were the same, and in how many ours is further apart."""
    same = further = total = 0
    for tournament, ours in tournaments(seeds):
        pairs, byes = dutch(tournament)
        scores = {each.player_id: tournament.score(each.player_id) for each in tournament.entrants}
        apart = [
            sum(abs(scores[one] - scores[other]) for one, other in each)
            for each in (ours.pairings, pairs)
        ]

        # The bye goes to no more points, and groups are mixed by three wins more at most.
        assert [scores[each] for each in ours.byes] <= [scores[each] for each in byes]
        assert apart[0] - apart[1] <= 3 * tournament.points.win
        total, same = total + 1, same + (set(ours.pairings) == pairs)
        further += apart[0] > apart[1]
    return total, same, further


def test_rounds_are_as_close_in_points_as_those_of_the_dutch_system():
    assert compare(range(6)) == (31, 15, 0)


@pytest.mark.slow
def test_so_are_those_of_two_hundred_tournaments():
    total, same, further = compare(range(200))

    assert (total, same) == (1_081, 395)
    assert further == 20
