"""The page of a stage: the bracket, the Swiss, the groups or the ladder; and the table."""

import pytest

from agentleague.dashboard.pages import PAGES
from agentleague.dashboard.report import Verified, one_file, site
from agentleague.errors import LeagueError
from dashboard.views import page_of, view_of
from league.decisions import Decisions
from league.staged import Staged

NASTY = "<img src=x onerror=alert(1)>\u202e"
KNOCKOUT = {"format": "knockout"}
STAGES = [{"format": "groups", "advance": 1}, KNOCKOUT]
facts = PAGES["stage"].facts


def shown(decisions, stage="1", **params):
    view = view_of(decisions.events)
    return page_of(view, "stage", stage=stage, **params)


def test_a_bracket_has_its_rounds_seeds_scores_and_links_to_matches():
    html = shown(Staged(5, KNOCKOUT | {"best_of": 3}).begin().play_on(1))

    assert html.count('class="level"') == 3
    assert "winner of semi-final 2" in html
    assert 'href="/match/R1M1"' in html
    assert "bye" in html
    assert "<strong>live</strong>" in html
    assert '<a href="/stage/1" aria-current="page">Bracket</a>' in html
    assert "<title>Knockout · " in html


def test_of_a_large_bracket_only_the_last_rounds_are_drawn():
    found = facts(view_of(Staged(256, KNOCKOUT).begin().events), {"stage": "1"})

    assert [len(each["ties"]) for each in found["drawn"]] == [16, 8, 4, 2, 1]
    assert [len(each["ties"]) for each in found["listed"]] == [128, 64, 32]
    assert len(shown(Staged(256, KNOCKOUT).begin())) < 300_000


@pytest.mark.parametrize(
    "stage",
    [KNOCKOUT, {"format": "swiss"}, {"format": "groups"}, {"format": "ladder", "rounds": 2}],
)
def test_names_stay_harmless(stage):
    league = Staged(6, stage, name=lambda number: f"{NASTY} {number}").begin().play_on(1)

    html = shown(league)

    assert "<img" not in html
    assert "\u202e" not in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html


def test_the_groups_are_tables_with_a_mark_for_who_goes_on_and_the_next_stage_is_linked():
    league = Staged(4, *STAGES).begin()

    assert "would go on now" in shown(league)
    assert "is known when the one before it is over" in shown(league, "2")
    assert 'href="/stage/2"' in shown(league)
    assert "goes on to the next stage</p>" in shown(league.play_on())


def test_a_swiss_says_who_goes_on_and_a_bracket_what_the_seed_decided():
    stages = {"format": "swiss", "rounds": 2, "advance": 3}, KNOCKOUT | {"replays": 0}
    league = Staged(5, *stages).begin().play_on(2)
    league.decide("R3M1")

    assert shown(league).count("<tr data-key") == 5
    assert shown(league).count('class="goes-on"') == 3
    assert shown(league).count("by Buchholz") == 2
    assert "<em>by seed</em>" in shown(league.play_on(), "2")


def test_a_swiss_of_many_is_read_in_pages():
    view = view_of(Staged(130, {"format": "swiss", "rounds": 2}).begin().play_on(1).events)

    first, second = (facts(view, {"stage": "1", "page": page}) for page in "12")

    assert (len(first["rows"]), len(second["rows"]), first["pages"]) == (100, 30, 2)
    assert len(facts(view, {"stage": "1", "page": "all"})["rows"]) == 130
    assert first["tie_breaks"][0] == ("buchholz", "Buchholz")
    assert 'href="/stage/1?page=2"' in page_of(view, "stage", stage="1")


def test_a_ladder_has_ratings_with_their_course():
    html = shown(Staged(4, {"format": "ladder", "rounds": 3}).begin().play_on(2))

    assert 'aria-label="from 1500 to ' in html
    assert ">Elo<" in html


def test_the_legend_has_the_marks_that_are_on_the_page():
    league = Staged(4, {"format": "swiss", "rounds": 2}).begin()
    league.decide("R1M1")
    legend = shown(league).partition("legend")[2]

    assert "½" in legend
    assert "lost without a game" not in legend
    assert "lost without a game" in shown(league.play_on(1)).partition("legend")[2]


def test_of_a_long_ladder_the_newest_rounds_come_first_and_older_ones_are_folded():
    view = view_of(Staged(4, {"format": "ladder", "rounds": 15}).begin().play_on().events)

    found, html = facts(view, {"stage": "1"}), page_of(view, "stage", stage="1")

    assert (found["rounds"], found["older"]) == ([*range(15, 3, -1)], [3, 2, 1])
    assert found["rows"][0]["cells"][0]["match_id"].startswith("R15M")
    assert "<summary>Rounds 1 to 3</summary>" in html
    assert "Course: Elo after" in html


def test_before_the_start_the_page_says_what_will_be_there():
    assert "league start" in shown(Staged(4, *STAGES))


@pytest.mark.parametrize("stage", ["0", "3", "x"])
def test_there_is_no_page_of_a_stage_that_is_not(stage):
    with pytest.raises(LeagueError, match="no such stage"):
        facts(view_of(Staged(4, *STAGES).events), {"stage": stage})


def test_a_round_robin_has_no_tab_because_its_table_says_it_all():
    assert "/stage/" not in page_of(view_of(Decisions(4).start().events), "standings")


def test_the_standings_say_what_ranks_before_points_and_who_is_out_has_no_byes():
    league = Staged(4, KNOCKOUT).begin().play_on(1)
    view = view_of(league.events)

    html, rows = page_of(view, "standings"), PAGES["standings"].facts(view, {})["rows"]

    assert "How far somebody came ranks before points." in html
    assert [row["reached"] for row in rows] == ["Final", "Final", "Semi-finals", "Semi-finals"]
    assert rows[3]["cells"][1]["outcome"] == "absent"
    assert ">2 of 2" not in html
    assert "2 of 3 matches so far" in html
    assert "round 2, final" in html
    assert page_of(view, "overview").count("share the lead") == 1


def test_the_head_of_the_overview_says_who_leads_by_what():
    view = view_of(Staged(3, KNOCKOUT).begin().events)
    assert "no match is decided yet" in page_of(view, "overview")

    ladder = view_of(Staged(2, {"format": "ladder", "rounds": 3}).begin().play_on(1).events)
    assert "Agent 1 leads with 3 points in round 2 of 3: Elo 1516" in page_of(ladder, "overview")


def test_the_head_of_the_overview_names_the_round_of_a_knockout_once():
    league = Staged(6, {"format": "swiss", "rounds": 3, "advance": 4}, KNOCKOUT).begin().play_on(3)

    said = PAGES["overview"].facts(view_of(league.events), {})["verdict"]

    assert said == "Agent 1 leads with 9 points in round 4, semi-finals"


def test_the_overview_of_a_knockout_says_who_reached_what_and_who_won_the_final():
    view = view_of(Staged(4, KNOCKOUT).begin().play_on().events)

    html, wall = page_of(view, "overview"), page_of(view, "standings", projector="1")

    assert "Agent 1 is the champion with 6 points, winner of the final" in html
    assert "<td>Semi-finals</td>" in html
    assert "<td>Semi-finals</td>" in wall


def test_every_stage_is_in_the_report():
    league = Staged(4, *STAGES).begin().play_on()
    view = view_of(league.events)
    verified = Verified(True, ["All is well."])

    html = one_file(view, verified, lambda: None)
    files = dict(site(view, verified, lambda: None))

    assert 'id="stage-1"' in html
    assert 'id="stage-2"' in html
    assert '<a href="#in-stage">Stages</a>' in html
    assert html.count("<details open>") == 2  # A bracket is what people look for.
    assert {"stage-1.html", "stage-2.html"} <= files.keys()
    assert 'href="stage-2.html"' in files["index.html"]
