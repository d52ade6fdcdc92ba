"""What holds for every page of a league: walked from `/` by its links, and measured in each."""

from urllib.parse import urldefrag

import pytest

from browser.looks import WALL, looked_at, wrong

pytestmark = pytest.mark.process

POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
ALL = {"/", "/standings", "/schedule", "/cross-table", "/disputes"}
ALL |= {"/match/R1M1", "/player/P01", "/referee/REF01"}


def walk(page, root):
    """Every page that links lead to; of the turns of matches, those of one match."""
    waiting, seen = [f"{root}/"], set()
    while waiting:
        url = waiting.pop(0)
        seen.add(url)
        answer = page.goto(url)
        assert (answer.status, url) == (200, url)
        assert answer.headers["content-security-policy"].startswith(POLICY), url
        yield url.removeprefix(root)
        for link in page.eval_on_selector_all("a[href]", "all => all.map(each => each.href)"):
            link = urldefrag(link)[0]
            if ".json" in link or ("turn=" in link and "/R1M1?" not in link):
                assert link in seen or page.request.get(link).ok, link
                seen.add(link)
            elif link.startswith(root) and link not in seen and link not in waiting:
                waiting.append(link)


@pytest.mark.parametrize("league", ["faults", "boards"])
def test_every_page_can_be_read_and_understood_in_both_themes_and_on_a_phone(league, tab, request):
    root = request.getfixturevalue(league)
    page = tab(root)

    found = {path: looked_at(page) for path in walk(page, root)}

    assert found.keys() >= ALL
    assert {path: faults for path, faults in found.items() if faults} == {}


def test_the_pages_of_a_large_league_fit_on_every_screen(many, tab):
    page, found = tab(many), {}

    for path in ("/", "/standings", "/schedule", "/cross-table", "/player/P01", "/referee/REF01"):
        page.goto(many + path)
        for width in (360, 600, 768, 1024, 1280):
            page.set_viewport_size({"width": width, "height": 900})
            found[path, width] = wrong(page, "cramped")

    assert {where: faults for where, faults in found.items() if faults} == {}


def test_the_focus_is_seen_wherever_the_tab_key_leads(faults, tab):
    page = tab(f"{faults}/standings")

    for theme in ("light", "dark"):
        page.emulate_media(color_scheme=theme)
        for _ in range(12):
            page.keyboard.press("Tab")
            assert wrong(page, "unfocused") == []


@pytest.mark.parametrize("path", ["/?projector", "/standings?projector"])
@pytest.mark.parametrize("league", ["faults", "many"])
def test_a_wall_shows_all_of_a_page_in_large_type(league, path, request, tab):
    page = tab(request.getfixturevalue(league) + path, viewport=WALL)

    assert wrong(page, "unreadable") == []
