"""`league export`, as a person types it."""

import json

from click.testing import CliRunner

from agentleague.cli.app import app
from agentleague.league.events import MatchDecided, RoundEnded
from league.decisions import LEAGUE_ID
from records.journals import place, played, twice, written

LEAGUE = played()


def run(*arguments):
    done = CliRunner().invoke(app, list(map(str, arguments)))
    assert done.exception is None or isinstance(done.exception, SystemExit), done.exception
    return done


def test_it_prints_where_the_files_are(tmp_path):
    cup, out = written(tmp_path / "cup", LEAGUE), tmp_path / "out"

    done = run("export", cup, "--out", out)

    assert (done.exit_code, done.stdout) == (0, f"{out}\n")
    csv = out / "data" / "leagues" / LEAGUE_ID / "standings.csv"
    assert done.stderr == (
        f"18 files: {LEAGUE_ID}, 6 matches decided.\n"
        f"The table is in {csv}; what else there is says {out / 'README.txt'}.\n"
    )
    for line in (out / "README.txt").read_text().splitlines()[2::2]:
        assert (out / line).is_file()
    table = json.loads((out / "data" / "leagues" / LEAGUE_ID / "standings.json").read_text())
    assert table["standings"] == [
        {**row, "why": table["standings"][n]["why"]}
        for n, row in enumerate(json.loads(run("standings", "--dir", cup, "--json").stdout))
    ]


def test_a_running_league_is_exported_so_far(tmp_path):
    cup = written(tmp_path / "cup", LEAGUE[: place(LEAGUE, RoundEnded)])

    done = run("export", cup, "--out", tmp_path / "out")

    assert done.exit_code == 0
    assert "so far, 2 matches decided" in done.stderr


def test_where_no_league_is_it_is_misuse(tmp_path):
    done = run("export", tmp_path, "--out", tmp_path / "out")

    assert done.exit_code == 2
    assert f"there is no league in {tmp_path}" in done.stderr
    assert run("export", tmp_path).exit_code == 2


def test_a_place_that_is_taken_is_an_error_that_says_what_to_do(tmp_path):
    cup = written(tmp_path / "cup", LEAGUE)

    done = run("export", cup, "--out", cup)

    assert done.exit_code == 1
    assert f"{cup} is not empty and no export; choose another --out" in done.stderr


def test_a_journal_that_contradicts_itself_is_an_error(tmp_path):
    cup = written(tmp_path / "cup", twice(LEAGUE, MatchDecided))

    done = run("export", cup, "--out", tmp_path / "out")

    assert done.exit_code == 1
    assert "cannot follow those before it; `league verify` says more" in done.stderr
