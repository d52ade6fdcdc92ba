"""The standings page: the league's table, how rounds went, who rose; also on a projector."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agentleague.dashboard.pages import PAGES
from agentleague.errors import WrongType
from agentleague.league.events import MatchRuled, RoundEnded
from dashboard.views import page_of, view_of
from league.decisions import Decisions

facts = PAGES["standings"].facts


@pytest.fixture(scope="module")
def many():
    """A league of 250 in its first round."""
    league = Decisions(250).start()
    for match_id in sorted(league.league.open_matches):
        league.play(match_id, forfeits=[max(league.league.matches[match_id].players)])
    return view_of(league.events)


def outcomes(view, **params):
    """Each player's cells, in words."""
    rows = facts(view, params)["rows"]
    return {row["player_id"]: [cell["outcome"] for cell in row["cells"]] for row in rows}


def test_a_cell_says_how_each_round_went_also_by_default_without_a_match_and_now():
    league = Decisions(3).start()  # In round 1 P01 has a bye, in 2 P02 or P03.
    ((match_id,), byes) = league.league.open_matches, league.league.byes[1]
    loser, winner = league.league.matches[match_id].players
    league.play(match_id, forfeits=[loser])
    league.record(RoundEnded(1))
    league.schedule(2)

    cells = outcomes(view_of(league.events))

    assert cells[loser][0] == "forfeited"
    assert cells[winner][0] == "won"
    assert cells[byes[0]][0] == "bye"
    assert sorted(each[1] for each in cells.values()) == ["bye", "live", "live"]


def test_the_legend_explains_the_marks_that_are_there_and_no_other():
    ended = page_of(view_of(Decisions(4).play_to_the_end().events), "standings")
    legend = ended.partition('legend">')[2].partition("</p>")[0]

    assert "won" in legend
    assert "no result yet" not in legend
    assert "technical loss" not in legend


def test_the_organisers_ruling_counts_in_cells_as_in_points():
    league = Decisions(2).play_to_the_end()
    league.record(MatchRuled("R1M1", "no_contest", None, "both agree"))

    view = view_of(league.events)

    assert outcomes(view) == {"P01": ["void"], "P02": ["void"]}
    assert [row["points"] for row in facts(view, {})["rows"]] == [0, 0]


def test_who_rose_or_fell_since_the_round_before_is_marked():
    league, ranks, moves = Decisions(6).start(), [], []
    for round_id in range(1, 6):
        for match_id in sorted(league.league.open_matches):
            league.play(match_id, forfeits=[max(league.league.matches[match_id].players)])
        shown = facts(view_of(league.events), {})["rows"]
        ranks.append({row["player_id"]: row["rank"] for row in shown})
        moves.append({row["player_id"]: row["moved"] for row in shown})
        league.record(RoundEnded(round_id))
        after = facts(view_of(league.events), {})["rows"]
        assert {row["player_id"]: row["moved"] for row in after} == moves[-1]
        if round_id < 5:
            league.schedule(round_id + 1)

    assert set(moves[0].values()) == {0}
    for before, now, moved in zip(ranks, ranks[1:], moves[1:], strict=False):
        assert moved == {each: before[each] - now[each] for each in now}
    assert any(any(moved.values()) for moved in moves)


def test_of_a_long_table_a_page_has_a_hundred_rows_and_a_file_has_all(many):
    pages = [facts(many, {"page": page}) for page in ("1", "2", "3")]
    found = facts(many, {"q": "agent 15"})  # 15 and 150 to 159
    html, second = page_of(many, "standings"), page_of(many, "standings", page="2", q="agent")
    own = {row["player_id"]: row["page"] for row in found["rows"]}

    table = [row.player_id for row in many.league.table.rows()]
    assert [len(each["rows"]) for each in pages] == [100, 100, 50]
    assert [row["player_id"] for each in pages for row in each["rows"]] == table
    assert [row["player_id"] for row in facts(many, {"page": "all"})["rows"]] == table
    assert (found["found"], found["pages"]) == (11, 1)
    assert own == {each: table.index(each) // 100 + 1 for each in own}
    assert 'href="/standings?page=3">3</a>' in html
    assert 'href="/standings?q=agent&amp;page=2" aria-current="page">2</a>' in second
    assert f'href="/standings?page={own["P150"]}#P150"' in page_of(many, "standings", q="P150")


@pytest.mark.parametrize("typed", ["0", "4", "-1", "x", "ALL"])
def test_a_page_of_the_table_that_is_not_there_is_an_error_with_those_that_are(many, typed):
    with pytest.raises(WrongType, match="page must be a number from 1 to 3"):
        facts(many, {"page": typed})


@pytest.mark.parametrize("wanted", ["AGENT 11", "p11", " agent 11 "])
def test_players_are_found_by_name_or_id(wanted):
    view = view_of(Decisions(12).play_to_the_end().events)

    shown = facts(view, {"q": wanted})

    assert [row["player_id"] for row in shown["rows"]] == ["P11"]
    assert shown["total"] == 12


def test_a_wall_shows_eight_rows_and_turns_its_pages_back_to_the_overview():
    view = view_of(Decisions(12).play_to_the_end().events)
    seen, turn = [], PAGES["overview"].facts(view, {"projector": ""})["turn"]

    while turn["page"] == "standings":
        shown = facts(view, {"projector": turn["projector"]})
        seen.append([row["player_id"] for row in shown["rows"]])
        turn = shown["turn"]

    assert [len(rows) for rows in seen] == [8, 4]
    assert len({*seen[0], *seen[1]}) == 12
    assert turn == {"page": "overview", "projector": ""}


@pytest.mark.parametrize("typed", ["", "0", "99", "-1", "x", "²"])
def test_a_page_of_the_wall_that_is_not_there_is_the_first_or_the_last(typed):
    view = view_of(Decisions(12).play_to_the_end().events)

    assert facts(view, {"projector": typed})["projector"] in (1, 2)


def test_before_the_start_the_page_says_what_will_appear_and_how_to_join():
    html = page_of(view_of(Decisions(2).events), "standings")

    assert "The table appears with the first round" in html
    assert "league player FILE.py --manager URL" in html


forfeiting = st.lists(st.sampled_from(["first", "second", "both", "nobody"]), max_size=12)


@settings(max_examples=30, deadline=None)
@given(players=st.integers(2, 6), ends=forfeiting)
def test_points_are_those_of_the_leagues_table_wherever_a_league_stands(players, ends):
    league = Decisions(players).start()
    for end in ends:
        if not league.league.open_matches:
            if league.league.round_id == league.league.total_rounds:
                break
            league.record(RoundEnded(league.league.round_id))
            league.schedule(league.league.round_id + 1)
        match_id = min(league.league.open_matches)
        a, b = league.league.matches[match_id].players
        losers = {"first": [a], "second": [b], "both": [a, b], "nobody": []}[end]
        league.play(match_id, forfeits=losers)

    shown = facts(view_of(league.events), {})["rows"]

    table = league.league.table.rows()
    assert [(r["player_id"], r["rank"], r["points"]) for r in shown] == [
        (row.player_id, row.rank, row.points) for row in table
    ]
    for row in shown:
        played = [each for each in row["cells"] if each["outcome"] not in ("bye", "live")]
        assert len(played) == row["played"]
