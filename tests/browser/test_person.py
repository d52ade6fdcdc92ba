"""A person at the table: one link, and a whole match of each game."""

import re

import pytest

from browser.looks import PHONE, looked_at
from commands import BIN, read_until, started

pytestmark = pytest.mark.process

GAMES = ("even_odd", "rock_paper_scissors", "tic_tac_toe")


@pytest.fixture
def link(tmp_path):
    """Starts a demo of a game that waits for a person; returns the link of the seat."""

    def start(game):
        words = ("--human", "Ann", "--players", "2", "--game", game)
        said = read_until(started(BIN / "league", "demo", *words, cwd=tmp_path), "/play/seat_")
        return said.split()[-1]

    return start


def changed(page):
    """What the page waits for: another turn, or the end."""
    known = page.get_attribute("#table", "data-version")
    return f"#table:not([data-version='{known}'])"


@pytest.mark.parametrize("game", GAMES)
def test_a_person_plays_a_whole_match_on_the_board(game, link, tab):
    page = tab(link(game))
    (cookie,) = page.context.cookies()
    assert (cookie["httpOnly"], cookie["sameSite"]) == (True, "Strict")
    assert "seat_" not in page.url + page.content() + page.evaluate("document.cookie")
    assert page.input_value("input[name=name]") == "Ann"

    page.click("text=Sit down")
    moves = 0
    page.wait_for_selector("#table[data-status=your_turn]")
    assert looked_at(page) == []
    while page.get_attribute("#table", "data-status") != "over":
        if page.locator("#clock").count():
            assert re.fullmatch(r"(\d:\d\d|\d+ s) left", page.inner_text("#clock"))
            after, move = changed(page), page.locator("#table [data-move]").first
            move.press("Enter") if moves % 2 else move.click()
            moves += 1
            page.wait_for_selector(after)
        else:
            page.wait_for_selector("#table[data-status=your_turn], #table[data-status=over]")

    assert moves >= 1
    assert page.inner_text("h1") == "The league is over"
    assert re.search("(You won|You lost|A draw) against", page.inner_text(".results"))
    assert "Ann (you)" in page.inner_text("#table table")
    assert looked_at(page) == []


def test_without_a_connection_the_clock_stops_and_comes_back_by_itself(link, tab):
    page = tab(link("tic_tac_toe"), may_fail=True)
    page.click("text=Sit down")
    page.wait_for_selector("#table[data-status=your_turn]")

    page.route("**/play/state*", lambda route: route.abort())
    page.reload()
    page.wait_for_selector("#connection:not([hidden])")
    gone = page.inner_text("#connection"), page.inner_text("#clock")
    page.unroute("**/play/state*")
    page.wait_for_selector("#connection", state="hidden")
    page.wait_for_selector("#clock >> text=/^\\d.* left/")

    assert re.match(r"No connection to the league since \d.*\. This page comes back by it", gone[0])
    assert gone[1] == "unknown time left"


def test_what_a_person_has_typed_stays_when_somebody_else_joins(link, tab):
    page = tab(link("even_odd"), may_fail=True)
    page.route("**/play/state*", lambda route: route.abort())
    page.reload()

    page.fill("input[name=name]", "Ann of th")
    page.evaluate("document.getElementById('table').dataset.version = 'of before'")
    page.unroute("**/play/state*")
    page.wait_for_selector("#table:not([data-version='of before'])")

    assert page.input_value("input[name=name]") == "Ann of th"
    assert page.evaluate("document.activeElement.name") == "name"


def test_a_person_plays_by_buttons_without_javascript(link, tab):
    page = tab(link("tic_tac_toe"), java_script_enabled=False, viewport=PHONE)
    assert "seat_" not in page.url + page.content()
    page.click("text=Sit down")
    while page.locator("#table[data-status=over]").count() == 0:
        button = page.locator("form.moves button").first
        if button.count():
            button.click()
        else:
            page.wait_for_selector("form.moves, #table[data-status=over]")

    assert re.search("(You won|You lost|A draw) against", page.inner_text(".results"))
