"""The rules of table and schedule, one test each; test_standings and test_schedule go deeper."""

from itertools import combinations

import pytest

from league.decisions import Decisions
from rules import rule

DRAWN = [(0, "P01", "odd"), (0, "P02", "odd")]


def table(decisions):
    return [(row.player_id, row.points) for row in decisions.league.table.rows()]


@rule("R-TABLE-01")
@pytest.mark.parametrize(
    ("moves", "forfeits", "expected"),
    [
        (DRAWN, [], {"P01": 1, "P02": 1}),
        ([], ["P02"], {"P01": 3, "P02": 0}),
        ([], ["P01", "P02"], {"P01": 0, "P02": 0}),
    ],
)
def test_a_win_is_worth_3_points_and_a_draw_1(moves, forfeits, expected):
    decisions = Decisions(2).start()

    decisions.played(moves, [(who, "failed") for who in forfeits])

    assert dict(table(decisions)) == expected


@rule("R-TABLE-02")
def test_the_points_of_a_report_count_for_nothing():
    """A referee that is believed says who won; what that is worth is the league's business."""
    decisions = Decisions(2, locks=False).start()

    decisions.report("P02")

    assert table(decisions) == [("P02", 3), ("P01", 0)]


@rule("R-TABLE-03")
def test_technical_wins_are_wins_and_technical_losses_are_counted_apart_as_well():
    decisions = Decisions(2).start()

    decisions.played([], [("P01", "failed")])

    won, lost = decisions.league.table.rows()
    assert (won.wins, won.losses, won.technical_losses) == (1, 0, 0)
    assert (lost.wins, lost.losses, lost.technical_losses) == (0, 1, 1)
    assert won.played == lost.played == 1


@rule("R-TABLE-04")
def test_level_players_are_ranked_by_head_to_head_then_wins_technical_losses_and_id():
    decisions = Decisions(4).start()
    assert table(decisions) == [("P01", 0), ("P02", 0), ("P03", 0), ("P04", 0)]  # by id

    decisions.played([], [("P01", "failed"), ("P02", "failed")], match_id="R1M1")
    assert [row[0] for row in table(decisions)] == ["P03", "P04", "P01", "P02"]

    decisions.played([], [("P03", "failed")], match_id="R1M2")
    assert [row[0] for row in table(decisions)] == ["P04", "P01", "P02", "P03"]
    assert [row.rank for row in decisions.league.table.rows()] == [1, 2, 3, 4]


@rule("R-LEAGUE-31")
@pytest.mark.parametrize("players", [2, 3, 4, 7, 8])
def test_everybody_meets_everybody_once_and_nobody_twice_in_a_round(players):
    league = Decisions(players).play_to_the_end().league

    met = [frozenset(file.players) for file in league.matches.values()]
    assert len(met) == league.total_matches
    assert set(met) == {frozenset(pair) for pair in combinations(league.roster.players, 2)}
    for round_id in range(1, league.total_rounds + 1):
        busy = [p for f in league.matches.values() if f.round_id == round_id for p in f.players]
        assert sorted([*busy, *league.byes[round_id]]) == sorted(league.roster.players)
