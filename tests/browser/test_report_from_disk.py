"""The report opens from disk, without a server: as one file, and as pages that lead to another."""

from urllib.parse import urldefrag

import pytest

from browser.leagues import IMAGE
from browser.looks import looked_at
from commands import league

pytestmark = pytest.mark.process

HREFS = "all => all.map(each => each.href)"


def test_one_file_holds_all_of_a_league_and_every_anchor_leads_somewhere(
    faults_directory, tab, tmp_path
):
    file = tmp_path / "report.html"
    league("report", faults_directory, "--out", file)
    page = tab(file.as_uri())
    targets = page.eval_on_selector_all("a[href]", HREFS)

    assert {urldefrag(each)[0] for each in targets} == {file.as_uri()}
    lost = [each for each in targets if not page.locator(f"[id='{urldefrag(each)[1]}']").count()]
    assert lost == []
    assert looked_at(page) == []
    assert IMAGE in page.inner_text("main")


def test_a_link_to_a_folded_match_unfolds_it_and_what_is_unfolded_prints(
    boards_directory, tab, tmp_path
):
    file = tmp_path / "report.html"
    league("report", boards_directory, "--out", file)
    page = tab(file.as_uri())
    assert page.locator("#match-R1M1").is_hidden()

    page.click("a[href='#match-R1M1'] >> visible=true >> nth=0")

    page.wait_for_selector("#match-R1M1 .boards", state="visible")
    printed = page.pdf()
    assert printed.startswith(b"%PDF")
    assert printed.count(b"/Type /Page\n") >= 2
    page.emulate_media(media="print")
    assert page.locator(".boards >> visible=true").count() == 1
    assert page.locator("#in-player .lead >> visible=true").count() > 1


def test_on_paper_are_the_stories_of_matches_that_were_not_played_to_their_end(
    faults_directory, tab, tmp_path
):
    file = tmp_path / "report.html"
    league("report", faults_directory, "--out", file)
    page = tab(file.as_uri())
    results = page.locator("#in-schedule tbody tr")
    assert page.locator(".story >> visible=true").count() == 0

    page.emulate_media(media="print")

    told = page.locator("#in-matches details >> visible=true")
    by_default = told.filter(has=page.locator("summary .forfeited"))
    assert 0 < by_default.count() <= told.count() < page.locator("#in-matches details").count()
    assert page.locator(".story >> visible=true").count() == told.count()
    assert page.locator(".loss-story >> visible=true").count() == by_default.count()
    assert results.locator("visible=true").count() == results.count()
    page.set_viewport_size({"width": 718, "height": 1000})  # as wide as the text on A4
    assert page.locator("#in-standings th", has_text="Technical").is_visible()


def test_pages_to_publish_lead_to_one_another(faults_directory, tab, tmp_path):
    league("report", faults_directory, "--site", tmp_path / "public")
    files = {each.as_uri() for each in (tmp_path / "public").glob("*.html")}
    page = tab((tmp_path / "public" / "index.html").as_uri())
    waiting, seen, found = [page.url], set(), {}
    while waiting:
        seen.add(url := waiting.pop())
        page.goto(url)
        if "turn" not in url:
            found[url] = looked_at(page)
        links = {urldefrag(each)[0] for each in page.eval_on_selector_all("a[href]", HREFS)}
        waiting += links - seen - {*waiting}

    assert seen == files
    assert {url: faults for url, faults in found.items() if faults} == {}
