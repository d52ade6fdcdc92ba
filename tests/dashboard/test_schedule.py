"""The schedule round by round, and the cross-table."""

import pytest

from agentleague.dashboard.pages import PAGES
from agentleague.dashboard.schedule import HEAT_MAP_MAX
from agentleague.errors import WrongType
from agentleague.league.events import RoundEnded
from dashboard.views import page_of, view_of
from league.decisions import Decisions

schedule, cross_table = PAGES["schedule"].facts, PAGES["cross_table"].facts


def test_a_round_shows_each_match_with_its_state_referee_and_result():
    league = Decisions(5, referees=2).start()
    loser, winner = league.league.matches["R1M1"].players
    league.play("R1M1", forfeits=[loser])

    shown = schedule(view_of(league.events), {})
    later = schedule(view_of(league.events), {"round": "2"})

    assert (shown["round"], shown["rounds"], len(shown["byes"])) == (1, 5, 1)
    first, second = shown["matches"]
    assert (first["state"], first["outcomes"]) == ("decided", ["forfeited", "won"])
    assert first["names"][1] == f"Agent {int(winner[1:])}"
    assert (first["referee_id"], second["referee_id"]) == ("REF01", "REF02")
    assert second["state"] == "live"
    assert {each["state"] for each in later["matches"]} == {"planned"}


@pytest.mark.parametrize("typed", ["0", "6", "-1", "x", "1.0", "²", "9" * 5000])
def test_a_round_that_is_not_there_is_refused_by_name(typed):
    view = view_of(Decisions(5).start().events)

    with pytest.raises(WrongType, match="round must be a number from 1 to 5"):
        schedule(view, {"round": typed})


@pytest.mark.parametrize(("name", "command"), [("schedule", "start"), ("cross_table", "start")])
def test_before_the_start_the_page_says_what_will_appear_and_what_to_type(name, command):
    assert f"league {command}" in page_of(view_of(Decisions(2).events), name)


def test_every_round_can_be_reached():
    view = view_of(Decisions(40).start().events)

    html = page_of(view, "schedule", round="20")

    for round_id in (1, 19, 20, 21, 39):
        assert f'href="/schedule?round={round_id}"' in html


def test_the_cross_table_counts_each_pair_from_both_sides():
    league = Decisions(2, cycles=3).start()
    league.play("R1M1", forfeits=["P01"])
    league.record(RoundEnded(1))
    league.schedule(2).play("R2M1", forfeits=["P02"])
    league.record(RoundEnded(2))
    league.schedule(3).play("R3M1", forfeits=["P02"])

    shown = cross_table(view_of(league.events), {})

    mine, other = shown["cells"]["P01|P02"], shown["cells"]["P02|P01"]
    assert (mine["won"], mine["drawn"], mine["lost"], mine["score"]) == (2, 0, 1, "2")
    assert (other["won"], other["lost"], other["outcome"], other["n"]) == (1, 2, "lost", 3)
    assert mine["match_id"] == "R3M1"
    assert [each["player_id"] for each in shown["players"]] == ["P01", "P02"]


def test_a_technical_loss_has_its_mark_in_the_cross_table():
    league = Decisions(2).start()
    league.play("R1M1", forfeits=["P01"])

    shown = cross_table(view_of(league.events), {})

    assert (shown["cells"]["P01|P02"]["score"], shown["outcomes"]) == ("0t", ["forfeited", "won"])


def test_many_players_are_a_heat_map_of_the_first():
    league = Decisions(70).start()
    league.play_round()

    shown = cross_table(view_of(league.events), {})

    assert not shown["as_table"]
    assert shown["total"] == 70
    ids = {each["player_id"] for each in shown["players"]}
    assert len(ids) == HEAT_MAP_MAX
    assert {each for key in shown["cells"] for each in key.split("|")} <= ids
    html = page_of(view_of(league.events), "cross_table")
    assert html.count("<li><a href=") == HEAT_MAP_MAX  # Who the rows are.
