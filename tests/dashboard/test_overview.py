"""The overview, and what stands on every page."""

import msgspec
import pytest

from agentleague.dashboard.heading import heading
from agentleague.dashboard.pages import PAGES
from agentleague.dashboard.rendering import live_link, twin
from agentleague.league.events import LeagueEnded, LeaguePaused, MatchLocked
from dashboard.views import page_of, view_of
from league.decisions import Decisions


def test_the_state_of_a_league_is_said_in_words():
    league = Decisions(4)
    states = [heading(view_of(league.events))["state"]]
    league.start()
    states.append(heading(view_of(league.events))["state"])
    league.record(LeaguePaused())
    states.append(heading(view_of(league.events))["state"])
    league.record(LeagueEnded("P01", aborted=True))
    states.append(heading(view_of(league.events))["state"])
    states.append(heading(view_of(Decisions(4).play_to_the_end().events))["state"])

    assert states == [
        "registering, 4 players so far",
        "round 1 of 3",
        "paused in round 1 of 3",
        "ended by the organiser",
        "over",
    ]


def test_nothing_of_an_undecided_match_is_told():
    league = Decisions(2).start()
    moves = [(0, "P01", "secret move"), (0, "P02", "other move")]
    league.record(MatchLocked("R1M1", 1, 0, moves, 7))

    facts = PAGES["overview"].facts(view_of(league.events), {})

    told = [each["kind"] for each in facts["happenings"]]
    assert told[0] == "round_scheduled"
    assert "move" not in msgspec.json.encode(facts).decode()


def test_a_name_with_html_is_text_on_every_page():
    nasty = "<img src=x onerror=alert(1)>"
    view = view_of(Decisions(4, name=lambda n: f"{nasty}{n}").play_to_the_end().events)

    html = page_of(view, "overview")

    assert nasty not in html
    assert "&lt;img src=x onerror=alert(1)&gt;" in html


@pytest.mark.parametrize(
    ("params", "href", "json"),
    [
        ({}, "/", "/index.json"),
        ({"q": "a&b"}, "/?q=a%26b", "/index.json?q=a%26b"),  # what is not of the path
    ],
)
def test_a_page_has_a_link_and_a_twin_as_json(params, href, json):
    assert live_link("overview", **params) == href
    assert twin(href) == json
    assert live_link("no_such_page") == ""
