"""How sure the standings are: the numbers of `league ratings`, computed once for all who look."""

import asyncio
import re
from concurrent.futures import Future
from threading import Event
from xml.etree import ElementTree

import pytest

from agentleague.dashboard import plots, strength
from agentleague.games import even_odd
from agentleague.league.events import MatchRuled, RoundEnded
from agentleague.records.ratings import in_words, results_of, statistics
from agentleague.records.reading import folded
from dashboard.served import SECONDS, served
from dashboard.views import page_of, view_of
from league.decisions import Decisions
from records.journals import played, rows_of, written

EVENTS = played(players=4, cycles=4)


def one_sided(matches=12):
    """A league of two in which one never answers."""
    league = Decisions(2, cycles=matches).start()
    for round_id in range(1, matches + 1):
        league.play(f"R{round_id}M1", forfeits=["P02"])
        league.record(RoundEnded(round_id))
        if round_id < matches:
            league.schedule(round_id + 1)
    return league


def test_the_page_has_the_numbers_of_the_command():
    view = view_of(EVENTS)
    facts = statistics([results_of(folded(rows_of(EVENTS)), even_odd)])
    html = page_of(view, "standings")

    for row in facts["rows"]:
        assert f"{row['low_95']:+} to {row['high_95']:+}" in html
        assert f"{row['rank']} ({row['best']}-{row['worst']})" in html
    assert facts["luck"].split(":")[0] in html
    assert facts["verdict"] in html
    assert "Chance of every rank" in html


def test_a_column_has_the_matches_that_would_tell_neighbours_apart_unless_it_is_luck():
    of_luck, view = page_of(view_of(EVENTS), "standings"), view_of(EVENTS)
    view.game = None
    html = page_of(view, "standings")

    facts = statistics([results_of(folded(rows_of(EVENTS)))])
    assert ">More</th>" in html
    assert ">More</th>" not in of_luck
    for row in facts["rows"]:
        assert f'<td class="n wide">{in_words(row)["more"]}</td>'.replace(">>", ">&gt;") in html


def test_a_strong_line_is_where_a_clear_gap_is():
    html = page_of(view_of(one_sided().events), "standings")

    assert html.count('<tr class="gap">') == 1
    assert html.index("Agent 1", html.index("How sure")) < html.index('<tr class="gap">')
    assert "Below a strong line" in html
    assert "Below a strong line" not in page_of(view_of(EVENTS), "standings")
    assert "12 technical losses count as lost" in html


def test_it_is_computed_anew_after_a_result_and_a_ruling_and_not_before():
    league = Decisions(4).start()
    league.play("R1M1")
    view = view_of(league.events)
    first = strength.facts(view)
    assert strength.facts(view) is first

    view.take(rows_of([*league.events, MatchRuled("R1M1", "no_contest", None, "so")])[-1])
    assert (first["matches"], strength.facts(view)["matches"]) == (1, 0)


def test_of_many_players_it_is_computed_after_each_round(monkeypatch):
    monkeypatch.setattr(strength, "OFTEN_MAX", 3)
    league = Decisions(4).start()
    league.play("R1M1")
    view = view_of(league.events)
    assert strength.facts(view)["matches"] == 1
    before = len(league.events)
    league.play_round()
    rows = rows_of(league.events)[before:]

    for row in rows[:-1]:
        view.take(row)
        assert strength.facts(view)["matches"] == 1
    view.take(rows[-1])
    assert strength.facts(view)["matches"] == 2


def test_a_page_does_not_wait_long_for_it_and_shows_what_was_known_before(monkeypatch):
    monkeypatch.setattr(strength, "AT_ONCE_SECONDS", 0)
    league = Decisions(4).start()
    league.play("R1M1")
    view, asked = view_of(league.events), []
    view.aside = lambda work: asked.append((work, Future())) or asked[-1][1]

    def compute():
        work, found = asked[-1]
        found.set_result(work())

    assert "This is being computed" in page_of(view, "standings")
    assert "This is being computed" not in page_of(view, "standings", q="Agent")
    compute()
    assert "Strength by" not in page_of(view, "standings")
    assert "Too few matches to say anything" in page_of(view, "standings")
    assert len(asked) == 1

    view.take(rows_of([*league.events, MatchRuled("R1M1", "no_contest", None, "so")])[-1])
    assert [strength.facts(view)["matches"] for _ in range(2)] == [1, 1]
    compute()
    assert (strength.facts(view)["matches"], len(asked)) == (0, 2)


def test_a_fault_in_it_is_told_once_for_each_try(monkeypatch):
    view, tries = view_of(EVENTS), []
    view.aside = lambda work: tries.append(Future()) or tries[-1]
    monkeypatch.setattr(strength, "AT_ONCE_SECONDS", 0)
    assert strength.facts(view) is None
    tries[0].set_exception(ValueError("no"))

    with pytest.raises(ValueError, match="no"):
        strength.facts(view)
    assert strength.facts(view) is None
    assert len(tries) == 2


def test_while_it_is_computed_other_pages_are_there_and_then_it_appears_by_itself(
    tmp_path, monkeypatch
):
    may_end, compute = Event(), strength.ratings.statistics
    monkeypatch.setattr(strength, "AT_ONCE_SECONDS", 0.01)
    monkeypatch.setattr(
        strength.ratings, "statistics", lambda *about: may_end.wait(SECONDS) and compute(*about)
    )

    async def look():
        cup = written(tmp_path / "cup", EVENTS)
        async with asyncio.timeout(2 * SECONDS), served(cup) as pages:
            assert "This is being computed" in (await pages.get("/standings")).text
            assert "R1M1" in (await pages.get("/match/R1M1")).text
            async with pages.events("/standings") as events:
                while "This is being computed" not in (await anext(events))[1]:
                    pass
                may_end.set()
                while "Strength by" not in (await anext(events))[1]:
                    pass

    asyncio.run(look())


def test_before_the_first_result_and_for_far_too_many_players_there_is_none(monkeypatch):
    assert "How sure" not in page_of(view_of(Decisions(4).start().events), "standings")
    monkeypatch.setattr(strength, "PLAYERS_MAX", 3)
    assert "How sure" not in page_of(view_of(EVENTS), "standings")


@pytest.mark.parametrize("params", [{"q": "Agent"}, {"projector": "1"}])
def test_it_is_on_the_whole_table_alone(params):
    assert "How sure" not in page_of(view_of(EVENTS), "standings", **params)


def test_more_players_than_fit_are_named_with_the_command_that_shows_all(monkeypatch):
    monkeypatch.setattr(strength, "ROWS_MAX", 3)
    html = page_of(view_of(EVENTS), "standings")

    assert re.search(r"1 more: <code>league ratings DIR</code>", html)


def test_too_few_matches_are_said_without_a_table():
    league = Decisions(2).start()
    league.play("R1M1")

    assert "Too few matches to say anything" in page_of(view_of(league.events), "standings")


# A rating in the middle, one at each end, and one without any width.
@pytest.mark.parametrize(
    ("row", "scale"),
    [
        ((-100, -30, 0, 30, 100), (-300, 300)),
        ((-300, -290, 300, 300, 300), (-300, 300)),
        ((0,) * 5, (0, 0)),
    ],
)
def test_an_interval_stays_in_its_cell_and_is_told_to_who_cannot_see_it(row, scale):
    names = ("low_95", "low_50", "rating", "high_50", "high_95")
    svg = ElementTree.fromstring(str(plots.interval(dict(zip(names, row, strict=True)), scale)))

    xs = [
        float(x) for path in svg.iter("path") for x in re.findall(r"[MH](-?[\d.]+)", path.get("d"))
    ]
    assert all(0 <= x <= plots.INTERVAL_WIDTH for x in [*xs, float(svg.find("circle").get("cx"))])
    assert svg.get("aria-label") == f"{row[2]:+}, with 95 % from {row[0]:+} to {row[4]:+}"
