"""Without JavaScript every page has all that it has with it."""

import pytest

from browser.leagues import IMAGE

pytestmark = pytest.mark.process

PATHS = ("/", "/standings", "/schedule", "/cross-table", "/disputes", "/match/R1M1?turn=1")
PATHS += ("/player/P02", "/referee/REF01")


def test_every_page_says_the_same_without_javascript(faults, tab):
    plain, scripted = tab(faults, java_script_enabled=False), tab(faults)

    for path in PATHS:
        plain.goto(faults + path)
        scripted.goto(faults + path)
        words = plain.inner_text("main")
        assert words == scripted.inner_text("main").replace(faults, ""), path  # whole addresses
        assert IMAGE in words, path


def test_links_and_turns_work_without_javascript(boards, tab):
    page = tab(boards, java_script_enabled=False)

    page.click("nav >> text=Standings")
    page.click("tbody th a >> nth=0")
    page.click("a[href^='/match/'] >> nth=0")
    page.click("#board >> text=« first")
    page.click("#board >> text=next →")

    assert page.inner_text("#board figcaption").startswith("After turn 1 of ")
