"""`league export`, as a person types it."""

import json
import subprocess
import sys

import pytest
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
        f"20 files: {LEAGUE_ID}, 6 matches decided.\n"
        f"The table is in {csv}; what else there is says {out / 'README.txt'}.\n"
        f"To look at, in one file: league report {cup}\n"
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


SLOW = """
import sys, threading
from agentleague.cli.app import app
from agentleague.records import export_files

files = export_files.files

def slow(*arguments):
    for number, file in enumerate(files(*arguments)):
        yield file
        if number == 5:
            print("half", flush=True)
            threading.Event().wait()

export_files.files = slow
app(sys.argv[1:])
"""


@pytest.mark.process
def test_what_an_export_that_was_killed_left_is_removed_by_the_next_one(tmp_path):
    cup, out = written(tmp_path / "cup", LEAGUE), tmp_path / "place" / "out"
    command = [sys.executable, "-c", SLOW, "export", cup, "--out", out]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as slow:
        try:
            assert slow.stdout.readline() == "half\n"
            assert run("export", cup, "--out", out).exit_code == 0
            (unfinished,) = set(out.parent.iterdir()) - {out}  # Somebody is still at work there.
        finally:
            slow.kill()

    other = unfinished.with_name(unfinished.name.replace("out", "another"))
    other.mkdir()
    assert run("export", cup, "--out", out).exit_code == 0
    assert sorted(out.parent.iterdir()) == [other, out]
    assert run("verify", cup).exit_code == 0


def test_an_export_that_was_killed_while_it_replaced_another_loses_neither(tmp_path):
    cup, out = written(tmp_path / "cup", LEAGUE), tmp_path / "place" / "out"
    run("export", cup, "--out", out)
    old = out.with_name(".out.0123abcd.old")
    out.rename(old)
    (old / "mine.txt").touch()

    done = run("export", cup, "--out", out)

    assert done.exit_code == 1
    assert "out holds mine.txt, which no export wrote" in done.stderr
    (out / "mine.txt").unlink()
    assert run("export", cup, "--out", out).exit_code == 0
    assert list(out.parent.iterdir()) == [out]


def test_what_no_export_wrote_is_not_removed(tmp_path):
    cup, out = written(tmp_path / "cup", LEAGUE), tmp_path / "place" / "out"
    for name in (".out.0123abcd", ".out.0123456", ".out.0123abcd.old.x"):
        (out.parent / name).mkdir(parents=True)
        (out.parent / name / "mine.txt").touch()
    before = set(out.parent.iterdir())

    assert run("export", cup, "--out", out).exit_code == 0
    assert set(out.parent.iterdir()) == before | {out}
