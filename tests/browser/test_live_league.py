"""The pages of a league that runs: real processes, and tabs that nobody loads again."""

import pytest

from commands import BIN, environment, free_port, read_until, started

pytestmark = pytest.mark.process

# Waits until a file says how many matches it may play, and loses each by default.
WAITS = """
import time
from pathlib import Path

from agentleague import Player

player = Player("Waits")
played = set()

@player.plays("even_odd")
def choose(turn):
    played.add(turn.match_id)
    while int(Path("allowed").read_text()) < len(played):
        time.sleep(0.02)
    return "neither"
"""
DECIDED = "#happenings [data-kind=match_decided]"
ORDER = "rows => rows.map(row => row.dataset.key)"


@pytest.fixture
def running(tmp_path):
    """Four players, with pages beside them; `allow(n)` lets the first one lose n matches."""
    league = Running(tmp_path)
    league.start_manager()
    league.allow(0)
    (tmp_path / "waits.py").write_text(WAITS)
    read_until(league.start("player", "waits.py"), "Registered as P01")
    for role in ("referee", "player", "player", "player"):
        league.start(role)
    return league


class Running:
    """A league as somebody would start it in terminals."""

    def __init__(self, directory):
        self.directory = directory
        self.ports = {name: str(free_port()) for name in ("--port", "--dashboard-port")}
        self.url = f"http://127.0.0.1:{self.ports['--dashboard-port']}"
        self.manager = None

    def start_manager(self):
        ports = [word for pair in self.ports.items() for word in pair]
        self.manager = self._start("manager", "--players", "4", "--dir", "cup", *ports)
        read_until(self.manager, "See it in a browser: ")

    def start(self, role, *words):
        at = ["--manager", self.ports["--port"], "--port", str(free_port())]
        return self._start(role, *words, *at)

    def _start(self, *words):
        env = {**environment(), "LEAGUE_DASHBOARD": "true", "LEAGUE_STATE": "state"}
        return started(BIN / "league", *words, cwd=self.directory, env=env)

    def allow(self, matches):
        new = self.directory / "allowed.new"
        new.write_text(str(matches))
        new.replace(self.directory / "allowed")


def marked(page):
    """The page, with a mark that goes when it is loaded again."""
    page.evaluate("window.__mark = 1")
    return page


def test_pages_follow_a_league_without_being_loaded_again(running, tab):
    overview, standings, schedule = (
        marked(tab(running.url + path)) for path in ("/", "/standings", "/schedule")
    )
    overview.wait_for_selector("#waiting :text('Waits')")
    overview.wait_for_selector(f"{DECIDED} >> nth=0")  # The others have played.
    standings.wait_for_selector("tr[data-key=P01] .mark.live")
    before = standings.eval_on_selector_all("tr[data-key]", ORDER)
    standings.evaluate("window.__row = document.querySelector('tr[data-key=P01]')")
    pair = schedule.locator("tr:has(:text('live')) a[href^='/player/']")
    (opponent,) = {pair.nth(n).get_attribute("href")[-3:] for n in (0, 1)} - {"P01"}

    running.allow(1)

    overview.wait_for_selector(f"{DECIDED} >> text=Waits")
    standings.wait_for_selector("tr[data-key=P01] .mark.forfeited")
    schedule.wait_for_selector("h1 >> text=Round 2")
    after = standings.eval_on_selector_all("tr[data-key]", ORDER)
    assert before.index("P01") < before.index(opponent)
    assert after.index("P01") > after.index(opponent)
    assert standings.evaluate("__row.isConnected && __row.cells[2].textContent") == "0"
    assert [page.evaluate("__mark") for page in (overview, standings, schedule)] == [1, 1, 1]


def test_a_page_outlives_its_dashboard_and_goes_on_with_the_next_one(running, tab):
    page = marked(tab(running.url, may_fail=True))
    page.wait_for_selector("#waiting :text('Waits')")
    assert page.locator("#connection").is_hidden()

    running.manager.kill()

    page.wait_for_selector(
        "#connection >> text=The dashboard does not answer. This is how it stood at"
    )
    assert page.locator("#waiting :text('Waits')").count() == 1
    running.start_manager()
    page.wait_for_selector("#connection", state="hidden")
    running.allow(9)
    page.wait_for_selector("h1 >> text=champion")
    assert page.evaluate("__mark") == 1
