"""`league sweep`, as a person types it."""

import csv
import json
import os
import re
import signal
import time

import pytest

from cli.in_process import league
from commands import BIN, SECONDS, killed_when_late, started
from pages import Page
from sweeps.plans import SMALL, InProcess
from tables import each_row

SLOW = "import time\n\ndef choose(turn):\n    time.sleep(0.01)\n    return 'even'\n"
RAISES = "def choose(turn):\n    print('it prints')\n    raise ValueError('no luck')\n"


@pytest.fixture
def here(tmp_path, monkeypatch):
    """A folder with a plan, whose leagues are played in this process."""
    (tmp_path / "plan.toml").write_text(SMALL)
    engine = "agentleague.cli.commands.sweep.open_engine"
    monkeypatch.setattr(engine, lambda where, work: InProcess(work.plan))
    return tmp_path


def test_the_page_says_what_works(here):
    page = Page("docs", "how-to", "sweep.md")
    (text,) = page.fences("toml")
    (here / "my_player.py").write_text("def choose(turn):\n    return turn.legal_moves[0]\n")

    (here / "plan.toml").unlink()
    for words in [line.split() for line in page.commands]:
        assert words[:2] == ["league", "sweep"]
        told = league(*words[1:], cwd=here)
        assert "Error" not in told.stderr
        (here / "plan.toml").write_text(text.replace("seeds = 50", "seeds = 2"))

    assert len(rows(here / "second.csv")) == 6 * 3 * 2 * 2


def rows(path):
    return list(csv.DictReader(path.read_text(encoding="utf-8").splitlines()))


def test_an_example_is_written_and_then_played(here):
    told = league("sweep", "--new", "mine.toml", cwd=here)
    again = league("sweep", "--new", "mine.toml", cwd=here, check=False)
    done = league("sweep", "mine.toml", "--json", cwd=here)

    assert told.stderr.splitlines()[-1] == "  league sweep mine.toml"
    assert again.returncode == 1
    assert "exists already" in again.stderr
    assert len(rows(here / "mine.csv")) == 80 * 4
    assert json.loads(done.stdout)[0]["leagues"] == 20


def test_the_summary_is_printed_and_the_files_are_named(here):
    done = league("sweep", "plan.toml", cwd=here)

    assert 'even_odd, round_robin {"cycles":2}' in done.stdout
    shown = [line.partition(" to ") for line in done.stdout.splitlines()]
    assert "o" in next(line for line in done.stdout.splitlines() if " to " in line)[80:]
    assert done.stderr.count("is a game of luck") == done.stderr.count("even_odd is a game of") == 1
    ratings = [before.split()[-2] for before, to, _ in shown if to]
    assert {rating[0] for rating in ratings} == {"+", "-"}
    assert "8 leagues by the plan." in done.stderr
    assert "8 leagues, 36 matches in " in done.stderr
    assert "Written: plan.csv, plan.summary.csv" in done.stderr
    assert "For Parquet too, type: python -m pip install pyarrow" in done.stderr


def test_what_is_there_is_not_played_again_unless_asked(here):
    first = league("sweep", "plan.toml", cwd=here)
    second = league("sweep", "plan.toml", cwd=here)
    third = league("sweep", "plan.toml", "--again", cwd=here)

    assert first.stdout == second.stdout == third.stdout
    assert "8 leagues by the plan, 8 of them are there already.\no the" in second.stderr
    assert "8 leagues by the plan.\n" in third.stderr


def test_a_slip_in_the_engine_is_told_also_where_nothing_is_left_to_play(here):
    league("sweep", "plan.toml", cwd=here)
    told = league("sweep", "plan.toml", "--on", "rey", cwd=here, check=False)

    assert (told.returncode, told.stdout) == (2, "")
    assert "--on must be cores, cores:2, ray or ray:ADDRESS, not 'rey'" in told.stderr


def test_on_a_terminal_a_bar_shows_the_rate_and_the_time_left(here, monkeypatch):
    monkeypatch.setattr("agentleague.cli.output.is_plain", lambda stream: False)

    shown, quiet = (league("sweep", "plan.toml", "--again", *q, cwd=here) for q in ([], ["-q"]))

    assert "8/8 leagues" in shown.stderr
    assert "matches/s" in shown.stderr
    assert "0:00:00 left" in shown.stderr
    assert quiet.stderr == ""


def test_one_league_is_repeated_by_its_number(here):
    league("sweep", "plan.toml", cwd=here)

    shown = league("sweep", "plan.toml", "--only", "7", "--json", cwd=here)
    table = league("sweep", "plan.toml", "--only", "7", cwd=here).stdout

    kept = [row for row in rows(here / "plan.csv") if row["league"] == "7"]
    found = [(row["display_name"], str(row["points"])) for row in json.loads(shown.stdout)]
    assert found == [(row["player"], row["points"]) for row in kept]
    assert table.startswith('League 7: rock_paper_scissors, round_robin {"cycles":2}, seed 5\n')


def test_a_player_that_raises_is_named_with_the_command_that_repeats_its_league(here):
    (here / "raises.py").write_text(RAISES)
    text = 'players = ["random", "fixed", "raises.py"]\ngames = ["even_odd"]\n'
    (here / "plan.toml").write_text(f"{text}seeds = [7]\nplayers_per_league = 2\n")

    done = league("sweep", "plan.toml", cwd=here, check=False)
    again = league("sweep", "plan.toml", "--only", "2", cwd=here, check=False)

    assert done.returncode == again.returncode == 1
    assert (
        "League 2 (even_odd, round_robin, seed 7) failed: ValueError: no luck; raises (P01) was "
        "to move in R1M1.\n  repeat it with: league sweep plan.toml --only 2\n"
    ) in done.stderr
    assert "Error: 2 leagues of 3 are missing in the table; the same command" in done.stderr
    assert {row["league"] for row in rows(here / "plan.csv")} == {"1"}
    assert "it prints" not in done.stdout + done.stderr
    assert "raises.py" in again.stderr
    assert "ValueError: no luck" in again.stderr


@each_row(
    "typed, code, said",
    [
        ("plan.toml --only 9", 2, "--only must be from 1 to 8"),
        ("plan.toml --out .", 2, "is a directory"),
        ("plan.toml --only 0", 2, "--only must be a whole number of 1 or more"),
        ("none.toml", 2, "league sweep --new none.toml"),
        ("", 2, "PLAN.toml is missing"),
    ],
)
def test_a_slip_of_who_types_it_is_told(typed, code, said, here):
    done = league("sweep", *typed.split(), cwd=here, check=False)

    assert done.returncode == code
    assert said in done.stderr


def test_a_plan_with_more_seeds_keeps_what_was_played(here):
    league("sweep", "plan.toml", cwd=here)
    (here / "plan.toml").write_text(SMALL.replace("[5, 3]", "[5, 3, 4, 9]"))

    more = league("sweep", "plan.toml", cwd=here)
    whole = league("sweep", "plan.toml", "--out", "whole", cwd=here)

    assert "16 leagues by the plan, 8 of them are there already." in more.stderr
    assert more.stdout == whole.stdout
    for ending in (".csv", ".summary.csv"):
        assert (here / f"plan{ending}").read_bytes() == (here / f"whole{ending}").read_bytes()


def test_a_changed_file_is_refused_with_what_to_type(here):
    (here / "mine.py").write_text("def choose(turn):\n    return turn.legal_moves[0]\n")
    (here / "plan.toml").write_text(SMALL.replace('"fixed"', '"mine.py"'))
    league("sweep", "plan.toml", cwd=here)
    (here / "mine.py").write_text("def choose(turn):\n    return turn.legal_moves[1]\n")

    refused = league("sweep", "plan.toml", cwd=here, check=False)
    elsewhere = league("sweep", "plan.toml", "--out", "other", cwd=here)

    assert refused.returncode == 1
    assert "--out NAME" in refused.stderr
    assert "--again" in refused.stderr
    assert "Written: other.csv" in elsewhere.stderr


def test_a_table_of_somebody_else_is_refused_with_what_to_type(here):
    (here / "plan.csv").write_text("mine")

    refused = league("sweep", "plan.toml", cwd=here, check=False)

    assert (refused.returncode, refused.stdout) == (2, "")
    assert "plan.csv is there, and nothing says that a sweep wrote it; choose" in refused.stderr
    assert "--out NAME" in refused.stderr
    assert [file.name for file in sorted(here.iterdir())] == ["plan.csv", "plan.toml"]
    assert (here / "plan.csv").read_text() == "mine"


def begun(folder, *options):
    """A sweep in a process of its own that has kept a few leagues."""
    process = started(BIN / "league", "sweep", "plan.toml", *options, cwd=folder)
    parts = folder / "plan.parts"
    with killed_when_late(process):
        while not (parts.exists() and parts.read_bytes().count(b"\n") > 3):
            assert process.poll() is None, process.stderr.read()
            time.sleep(0.01)
    return process


@pytest.mark.process
def test_after_a_kill_the_same_command_goes_on_to_the_same_table(here):
    (here / "slow.py").write_text(SLOW)
    (here / "plan.toml").write_text(
        'players = ["random", "frequency", "slow.py"]\ngames = ["even_odd"]\nseeds = 40\n'
    )
    parts = here / "plan.parts"
    league("sweep", "plan.toml", "--out", "whole", cwd=here)

    process = begun(here, "--on", "cores:2")
    process.kill()
    process.wait()
    kept = parts.read_bytes()
    done = league("sweep", "plan.toml", cwd=here)

    assert 3 < kept.count(b"\n") < 41
    assert "of them are there already" in done.stderr
    assert parts.read_bytes().startswith(kept[: kept.rindex(b"\n") + 1])
    for ending in (".csv", ".summary.csv"):
        assert (here / f"plan{ending}").read_bytes() == (here / f"whole{ending}").read_bytes()


@pytest.mark.process
def test_ctrl_c_keeps_what_was_played_and_says_how_to_go_on(here):
    (here / "slow.py").write_text(SLOW)
    (here / "plan.toml").write_text(
        'players = ["random", "slow.py"]\ngames = ["even_odd"]\nseeds = 100_000\n'
    )

    process = begun(here, "--on", "cores:1")
    os.kill(process.pid, signal.SIGINT)
    _, said = process.communicate(timeout=SECONDS)
    words = r"(\d+) of 100,000 leagues are kept; the same command goes on with league (\d+)\n"
    kept, first = map(int, re.search(words, said).groups())

    assert process.returncode == 130
    assert first == kept + 1
