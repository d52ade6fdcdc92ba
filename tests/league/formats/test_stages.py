"""Stages: how they are asked for, found again, and follow one another."""

import re

import pytest

from agentleague.errors import Damaged
from agentleague.league.formats.format import Done, Entrant, PlayedMatch, Round, Stage
from agentleague.league.formats.stages import (
    FORMATS,
    NextStage,
    StageProgress,
    find_format,
    misfit,
    plan,
    planned_by,
    seeded,
    usual_stages,
    usual_tie_breaks,
)
from agentleague.league.standings import Points
from agentleague.roles.settings import ManagerSettings

TWO = [{"format": "round_robin", "advance": 2}, {"format": "round_robin", "cycles": 2}]


def won(planned):
    """Who is named first wins."""
    return [PlayedMatch(players, players[0]) for players in planned.pairings]


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        ([{"format": "round-robin"}], "no format 'round-robin'; did you mean 'round_robin'?"),
        ([{}], "it names no format; write format = one of round_robin, swiss"),
        ([{"format": ["swiss"]}], "there is no format \"['swiss']\""),
        ([{"format": "swiss"}, {"format": "swiss", "bye": ["win"]}], "stage 2: the option 'bye'"),
        ([{"format": "swiss"}] * 101, "there are 101 stages, and 100 at most"),
        ([{"format": "knockout", "bestof": 3}], "'bestof'; did you mean 'best_of'? It has best_of"),
        ([{"format": "round_robin", "rounds": 2}], "has no option 'rounds'; it has cycles, "),
        ([{"format": "swiss", "cycles": 2}], "has no option 'cycles'; it has rounds, "),
        ([{"format": "knockout", "players": 8}], "'players' is a setting of the league, not an "),
        ([{"format": "round_robin", "cycles": 0}], "a whole number from 1 to 100,000, not '0'"),
        ([{"format": "round_robin", "cycles": True}], "must be a whole number"),
        ([{"format": "round_robin", "cycles": "2"}], "must be a whole number"),
    ],
)
def test_what_is_no_stage_is_refused_with_what_would_be_right(asked, sentence):
    with pytest.raises(ValueError, match=re.escape(sentence)):
        plan(asked)


def test_stages_that_do_not_fit_the_number_of_players_are_named():
    stages = plan([{"format": "round_robin", "advance": 1}, {"format": "round_robin"}])

    assert misfit(stages, 8) == (
        "stage 2 (round_robin): A round robin needs at least 2 players, not 1."
    )
    assert misfit(plan(TWO), 8) is None
    assert misfit(plan(TWO[1:]), 1) == "A round robin needs at least 2 players, not 1."


def test_what_is_too_much_for_the_players_is_named_if_it_is_known_how_many_come():
    stages = plan([{"format": "swiss", "rounds": 2, "advance": 8}, {"format": "knockout"}])

    assert misfit(stages, 8) is None
    assert misfit(stages, 7) == "stage 1 (swiss): Of 7 players 8 cannot go on: lower advance."
    assert misfit(stages, 7, is_known=False) is None


def test_settings_ask_for_one_format_or_for_stages_and_not_for_both():
    assert planned_by(ManagerSettings(cycles=3)) == usual_stages(3)
    assert planned_by(ManagerSettings(stages=TWO)) == plan(TWO)
    with pytest.raises(ValueError, match="put the format into the stages"):
        planned_by(ManagerSettings(stages=TWO, format_options={"cycles": 2}))
    with pytest.raises(ValueError, match="do not name one"):
        planned_by(ManagerSettings(format="knockout", format_options={"format": "swiss"}))


def test_tie_breaks_are_those_of_all_stages_in_order_each_once():
    swiss = ["buchholz", "sonneborn_berger", "wins", "technical_losses"]

    assert usual_tie_breaks(usual_stages(1)) == ["head_to_head", "wins", "technical_losses"]
    both = plan([{"format": "swiss", "advance": 4}, {"format": "knockout"}])
    assert usual_tie_breaks(both) == [*swiss, "head_to_head"]
    assert usual_tie_breaks(both[:1]) == swiss


@pytest.mark.parametrize(
    "stage",
    [
        Stage("round_robin", 2, {"cycles": 1, "advance": 0}),
        Stage("os.system", 1, {}),
        Stage("round_robin", 1, {"cycles": 0, "advance": 0}),
        Stage("round_robin", 1, {"cycles": 1, "speed": 2}),
    ],
)
def test_a_journal_whose_format_is_not_known_or_cannot_be_is_refused(stage):
    with pytest.raises(Damaged, match=r"known here|cannot be"):
        find_format(stage)


def test_nobody_is_in_a_stage_twice():
    with pytest.raises(ValueError, match="a player is named twice"):
        StageProgress(plan(TWO), Points()).begin(["P01", "P02", "P01"], {})


@pytest.mark.parametrize("name", FORMATS)
def test_a_format_knows_its_rounds_before_unless_it_pairs_by_results(name):
    stage, *_ = plan([{"format": name}])
    field = [Entrant(f"P{n:02}") for n in range(1, 9)]

    planned = FORMATS[name].planned(1, field, stage.options)

    assert (planned is None) == FORMATS[name].pairs_by_results(stage.options)


def test_after_the_last_round_of_a_stage_the_best_go_on_and_rounds_count_on():
    progress = StageProgress(plan(TWO), Points())
    progress.begin(["P01", "P02", "P03"], {"P03": 1700})
    for _ in range(3):
        planned = progress.next_round(set())
        progress.end_round(won(planned), planned.byes)

    assert progress.next_round(set()) == Done()
    assert progress.totals is None  # The last stage may be longer than anybody knows.
    following = progress.next_stage(["P03", "P01", "P02"], {"P01"}, ["P04"])
    assert following == NextStage(2, ["P03", "P02", "P04"])
    progress.begin(["P03", "P02"], {})

    assert progress.field[0].elo == 1700
    assert progress.next_round(set()) == Round(4, (("P03", "P02"),))
    assert progress.totals == (5, 5)
    assert progress.merits() == {"P02": (2, 0), "P03": (2, 0)}  # P01 is in no later stage.
    assert progress.next_stage(["P03", "P02"], set(), ()) == Done()


def test_a_stage_for_which_too_few_are_left_ends_the_league():
    progress = StageProgress(plan(TWO), Points())
    progress.begin(["P01", "P02"], {})

    assert progress.next_stage(["P01", "P02"], {"P02"}, ()) == Done()


def test_seeds_follow_from_the_order_a_sealed_draw_or_ratings():
    players = ["P01", "P02", "P03"]

    assert seeded(players, "", "league", b"", {}) == players
    assert seeded(players, "rating", "league", b"", {"P03": 1600}) == ["P03", "P01", "P02"]
    drawn = seeded(players, "random", "league", b"seed", {})
    assert sorted(drawn) == players
    assert drawn == seeded(players[::-1], "random", "league", b"seed", {})
    others = {tuple(seeded(players, "random", "league", bytes([n]), {})) for n in range(60)}
    assert len(others) == 6


def test_a_journal_that_is_older_than_an_option_has_its_default():
    progress = StageProgress([Stage("round_robin", 1, {"cycles": 2})], Points())

    assert progress.options == plan([{"format": "round_robin", "cycles": 2}])[0].options
