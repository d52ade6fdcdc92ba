"""`league report`: a file or linked pages with all of a league, and nothing from elsewhere."""

import json
import os
import re
import shutil
from html.parser import HTMLParser

import pytest
from click.testing import CliRunner
from msgspec.structs import replace

from agentleague.cli.app import app
from agentleague.dashboard import report, standings
from agentleague.games import tic_tac_toe
from agentleague.league.events import MatchDecided, MatchLocked, RoundEnded, RoundScheduled
from agentleague.storage.directory import open_reader
from dashboard.views import view_of
from league.decisions import LEAGUE_ID, Decisions
from records.journals import otherwise, place, played, written

NASTY = """<img src=x onerror='alert(1)' data-key="1"> data-live"""
LEAGUE = played(name=lambda number: f"{NASTY} {number}")


def run(*arguments):
    done = CliRunner().invoke(app, ["report", *map(str, arguments)])
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


class Page(HTMLParser):
    """What a browser would make of a page: ids, links, what it would load, and its text."""

    def __init__(self, text):
        super().__init__()
        self.ids, self.links, self.loads, self.tags, self.text = [], [], [], set(), ""
        self.feed(text)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.tags.add(tag)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given["href"]] if tag == "a" and "href" in given else []
        loaded = {"src", "srcset", "data", "poster", "action", "xlink:href", "background"}
        self.loads += [given[name] for name in loaded & given.keys()]
        self.loads += [given["href"]] if tag != "a" and "href" in given else []
        assert not [
            name for name in given if name.startswith("on") or name in ("style", "data-live")
        ]

    def handle_data(self, data):
        self.text += data


@pytest.fixture(scope="module")
def cup(tmp_path_factory):
    return written(tmp_path_factory.mktemp("cup") / "cup", LEAGUE)


@pytest.fixture(scope="module")
def page(cup):
    done = run(cup)

    file = cup.with_name("cup-report.html")
    assert (done.exit_code, done.stdout) == (0, f"{file}\n")
    return Page(file.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def site(cup):
    done = run(cup, "--site", cup.with_name("public"))

    assert (done.exit_code, done.stdout) == (0, f"{cup.with_name('public') / 'index.html'}\n")
    files = cup.with_name("public").glob("*.html")
    return {each.name: Page(each.read_text(encoding="utf-8")) for each in files}


def test_a_report_needs_no_script_and_nothing_from_elsewhere(page, site):
    for each in (page, *site.values()):
        assert not each.tags & {"script", "iframe", "object", "embed", "img", "form", "base"}
        assert {*each.loads} <= {"data:,", "style.css"}
    assert "style.css" not in page.loads
    style = report.style()
    assert "@import" not in style
    assert "url(" not in style


def test_all_links_of_a_report_lead_somewhere(page, site):
    assert len(page.ids) == len({*page.ids})
    assert {*page.links} <= {f"#{each}" for each in page.ids}
    assert {"#match-R1M1", "#schedule-round-1", "#in-verification"} <= {*page.links}
    for name, each in site.items():
        for file, _, anchor in (link.partition("#") for link in each.links):
            assert not anchor or anchor in site[file or name].ids
            assert not file or file in site
        assert len(each.ids) == len({*each.ids})
    assert site.keys() >= {"index.html", "standings.html", "schedule-round-1.html", "about.html"}
    assert site.keys() >= {"match-R1M1.html", "player-P01.html", "referee-REF01.html"}


def test_every_match_is_in_it_with_its_story(page, site):
    for match_id in (each.match_id for each in LEAGUE if isinstance(each, MatchDecided)):
        assert f"match-{match_id}" in page.ids
    assert page.text.count("was drawn from the sealed seed and these moves.") == 6


def test_names_are_text(page, site):
    assert f"{NASTY} 1" in page.text
    assert f"{NASTY} 1" in site["standings.html"].text


def test_it_says_what_verification_found_with_which_settings_and_from_which_row(page, site):
    for each in (page, site["about.html"]):
        assert (
            f"{LEAGUE_ID} (even_odd), {len(LEAGUE)} rows, 3 of 3 rounds ended: all is" in each.text
        )
        assert f"The champion is {NASTY}" in each.text
        assert "6 were recomputed, move by move and draw by draw." in each.text
        assert f"from journal row {len(LEAGUE)}" in each.text
        assert re.search(r"agentleague \S+, Python 3\.\S+, protocol league\.v2\.", each.text)
        assert "move seconds" in each.text
    assert "still runs" not in page.text


def test_a_lie_in_the_journal_is_told_by_the_report_and_by_the_exit_code(tmp_path):
    lie = otherwise(LEAGUE, "R1M1", drawn_number=11)
    cup = written(tmp_path / "cup", lie)

    done = run(cup, "--out", tmp_path / "report.html", "--site", tmp_path / "site")

    assert done.exit_code == 3
    assert "Verification found a difference. Row" in done.stderr
    for file in ("report.html", "site/about.html"):
        text = Page((tmp_path / file).read_text(encoding="utf-8")).text
        assert "Not everything is true" in text
        assert "(R1M1): " in text
    assert "could not be verified" in Page((tmp_path / "report.html").read_text()).text


def test_no_secret_of_the_directory_is_in_it(tmp_path):
    cup = written(tmp_path / "cup", LEAGUE)
    (cup / "secret.key").write_text("0123456789abcdef" * 4)
    (cup / "admin.token").write_text("adm_very-secret-token")
    (cup / "settings.json").write_text(json.dumps({"join_code": "amber-basil-cedar"}))
    bodies = b"".join(row.body for row in open_reader(cup).read(LEAGUE_ID)).decode()
    secrets = {"0123456789abcdef" * 4, "adm_very-secret-token", "amber-basil-cedar"}
    secrets |= {*re.findall(r'_digest":"([^"]+)"', bodies)}
    assert len(secrets) > 6

    run(cup, "--out", tmp_path / "report.html", "--site", tmp_path / "site")

    files = [tmp_path / "report.html", *(tmp_path / "site").iterdir()]
    assert not [each for each in secrets for file in files if each in file.read_text()]


def test_of_a_running_league_it_says_so_and_tells_nothing_of_an_undecided_match(tmp_path):
    league = Decisions(4).start()
    moves = [(0, each, "a-hidden-move") for each in league.league.matches["R1M1"].players]
    league.record(MatchLocked("R1M1", 1, 0, moves, 123_456_789))
    league.play("R1M2")
    cup = written(tmp_path / "cup", league.events)

    run(cup, "--out", tmp_path / "report.html", "--site", tmp_path / "site")

    page = Page((tmp_path / "report.html").read_text())
    assert "The league still runs: this is how it stood at journal row" in page.text
    assert "match-R1M2" in page.ids
    assert "match-R1M1" not in page.ids
    assert {*page.links} <= {f"#{each}" for each in page.ids}
    for file in (tmp_path / "report.html", *(tmp_path / "site").iterdir()):
        assert "a-hidden-move" not in file.read_text()
        assert "123456789" not in file.read_text().replace(",", "")


def test_before_the_league_begins_there_is_a_report_too(tmp_path):
    cup = written(tmp_path / "cup", Decisions(3).events)

    assert run(cup, "--site", tmp_path / "site", "--out", tmp_path / "a.html").exit_code == 0
    assert "No match is decided yet." in Page((tmp_path / "a.html").read_text()).text


def test_a_link_to_what_is_not_there_is_none():
    pages = report.Pages(view_of(LEAGUE), lambda: None)

    assert pages.link("player", player_id="P01") == "player-P01.html"
    assert pages.link("schedule", round=3) == "schedule-round-3.html"
    for name, params in (
        ("player", {"player_id": "P99"}),
        ("schedule", {"round": 4}),
        ("standings", {"q": "ann"}),
        ("nothing", {}),
    ):
        assert pages.link(name, **params) == ""


def test_the_whole_table_is_in_a_report_however_long_it_is(monkeypatch):
    monkeypatch.setattr(standings, "ROWS_A_PAGE", 1)
    view, verified = view_of(LEAGUE), report.Verified(True, ["yes"])

    shown = [
        report.one_file(view, verified, lambda: None),
        dict(report.site(view, verified, lambda: None))["standings.html"],
    ]

    for html in shown:
        assert html.split('class="standings"')[1].split("</table>")[0].count("<tr data-key") == 4


def test_boards_are_in_the_story_where_the_game_draws_itself(tmp_path):
    league = Decisions(2, game=tic_tac_toe).start()
    one, other = league.league.matches["R1M1"].players
    cells = [*zip((one, other) * 3, (0, 3, 1, 4, 2), strict=False)]
    league.lock([(turn, player_id, move) for turn, (player_id, move) in enumerate(cells)])
    cup = written(tmp_path / "cup", league.events)

    run(cup, "--out", tmp_path / "report.html")

    text = (tmp_path / "report.html").read_text()
    assert text.split('<ol class="boards"')[1].split("</ol>")[0].count("<li>") == 5


def test_of_very_many_matches_only_those_that_need_it_are_told(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "STORIES_MAX", 5)
    league = Decisions(4).start()
    league.play("R1M1", forfeits=[league.league.matches["R1M1"].players[0]])
    league.play("R1M2")
    for round_id in (2, 3):
        league.record(RoundEnded(round_id - 1))
        league.schedule(round_id)
        for match_id in [*league.league.open_matches]:
            league.play(match_id)
    cup = written(tmp_path / "cup", league.events)

    run(cup, "--out", tmp_path / "report.html")

    page = Page((tmp_path / "report.html").read_text())
    stories = [each for each in page.ids if re.fullmatch(r"match-\w+", each)]
    assert stories == ["match-R1M1", "match-R3M1", "match-R3M2"]
    assert "Told are 3 of 6 matches" in page.text
    assert "league match R1M1 --dir DIR" in page.text
    assert [each for each in page.ids if each.startswith("schedule")] == ["schedule"]
    assert {*page.links} <= {f"#{each}" for each in page.ids}


def test_an_earlier_report_is_replaced_and_nothing_else(cup, tmp_path):
    file, folder = tmp_path / "report.html", tmp_path / "site"
    for _ in range(2):
        assert run(cup, "--out", file, "--site", folder).exit_code == 0

    file.write_text("my essay")
    (folder / "mine.txt").write_text("my notes")

    refused = run(cup, "--out", file)
    assert (refused.exit_code, file.read_text()) == (2, "my essay")
    assert "is there and no report; choose another --out" in refused.stderr
    refused = run(cup, "--site", folder)
    assert refused.exit_code == 1
    assert "holds mine.txt, which no earlier report wrote" in refused.stderr
    shutil.rmtree(folder)
    folder.mkdir()
    (folder / "thesis.html").write_text("my thesis")
    assert (
        "is not empty and no earlier report; choose another --site"
        in run(cup, "--site", folder).stderr
    )
    assert "type: --out" in run(cup, "--out", tmp_path).stderr


def test_a_report_goes_where_it_was_said_and_nowhere_else(cup, tmp_path):
    mine, file, pipe = (tmp_path / name for name in ("mine.txt", "report.html", "pipe"))
    mine.write_text("my notes")
    (tmp_path / "report.html.new").symlink_to(mine)
    os.mkfifo(pipe)

    assert run(cup, "--out", file).exit_code == 0
    assert (mine.read_text(), file.is_symlink()) == ("my notes", False)
    assert "is there and no report" in run(cup, "--out", pipe).stderr


def test_a_journal_with_matches_of_other_names_is_no_league_of_ours(tmp_path):
    at = place(LEAGUE, RoundScheduled)
    scheduled = LEAGUE[at]
    first = replace(scheduled.matches[0], match_id="../../owned")
    named = replace(scheduled, matches=[first, *scheduled.matches[1:]])

    done = run(written(tmp_path / "cup", [*LEAGUE[:at], named]))

    assert done.exit_code == 1
    assert "a match of round 1 is '../../owned'" in done.stderr


def test_without_the_game_the_report_says_what_is_missing_and_how_to_bring_it(tmp_path):
    opened = replace(LEAGUE[0], game_type="chess")
    cup = written(tmp_path / "cup", [opened, *LEAGUE[1 : place(LEAGUE, MatchDecided)]])

    done = run(cup, "--out", tmp_path / "report.html")

    assert done.exit_code == 0
    assert f"name its file: league report {cup} --game FILE.py" in done.stderr
    assert "all but the results was checked" in Page((tmp_path / "report.html").read_text()).text


def test_without_the_extra_it_says_what_to_type(cup, monkeypatch):
    monkeypatch.setattr("agentleague.dashboard.process.find_spec", lambda name: None)

    done = run(cup)

    assert done.exit_code == 1
    assert "python -m pip install jinja2 starlette uvicorn" in done.stderr


def test_where_no_league_is_it_is_misuse(tmp_path):
    done = run(tmp_path)

    assert done.exit_code == 2
    assert f"there is no league in {tmp_path}" in done.stderr
