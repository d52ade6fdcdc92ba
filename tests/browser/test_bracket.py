"""The pages of formats in a browser: a bracket that follows its league, and on a phone a list."""

import pytest

from agentleague.storage.sqlite import SqliteJournal
from browser.leagues import shown
from browser.looks import looked_at, wrong
from cli.two_sources import keep
from league.decisions import LEAGUE_ID
from league.staged import Staged

pytestmark = pytest.mark.process

NAMES = ["<b>bold</b>", "שלום עולם", "W" * 50, "🦊" * 20]


def named(number):
    return f"{NAMES[number % 4][:46]} {number}"


def test_a_bracket_follows_its_league_without_being_loaded_again(tmp_path, tab):
    league = Staged(8, {"format": "knockout", "third_place": 1}, name=named).begin()
    keep(league, tmp_path)
    before = len(league.events)

    with shown(tmp_path) as root:
        page = tab(f"{root}/stage/1")
        page.evaluate("window.__mark = 1")
        assert page.locator(".tie.live").count() == 4
        assert looked_at(page) == []

        league.play_on()
        journal = SqliteJournal(tmp_path, lambda: 1_700_000_000.0, lambda call: call())
        journal.claim(LEAGUE_ID)
        journal.append(LEAGUE_ID, before, league.events[before:], lambda heads: None)
        journal.close()

        page.wait_for_selector(".bracket .level:last-child .slot.winner")
        assert page.evaluate("window.__mark") == 1
        assert page.locator(".tie.live").count() == 0
        assert looked_at(page) == []


@pytest.mark.parametrize(
    "stage",
    [{"format": "swiss", "rounds": 5}, {"format": "groups"}, {"format": "ladder", "rounds": 9}],
)
def test_the_page_of_a_format_fits_on_every_screen(stage, tmp_path, tab):
    keep(Staged(11, stage, name=named).begin().play_on(4), tmp_path)

    with shown(tmp_path) as root:
        page = tab(f"{root}/stage/1")
        assert looked_at(page) == []
        for width in (360, 600, 1024, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            assert wrong(page, "cramped") == []


def test_long_names_make_no_page_wide(tmp_path, tab):
    stage = {"format": "knockout", "best_of": 3}
    keep(Staged(12, stage, name=named).begin().play_on(), tmp_path)

    with shown(tmp_path) as root:
        for path in ("", "standings", "stage/1", "schedule"):
            page = tab(f"{root}/{path}")
            for width in (360, 1280):
                page.set_viewport_size({"width": width, "height": 900})
                assert wrong(page, "cramped") == []
