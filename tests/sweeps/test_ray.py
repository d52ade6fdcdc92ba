"""A sweep on a Ray of this machine, and its table as Parquet, in an environment that has both."""

import csv
import os
import subprocess

import pytest

from commands import ROOT
from sweeps.plans import SMALL

BIN = ROOT / ".venv-sweep" / "bin"
SECONDS = 200
READ = """
import sys
from pyarrow import csv, parquet
table = parquet.read_table(sys.argv[1])
csv.write_csv(table, sys.stdout.buffer)
"""
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        not (BIN / "league").exists() and not os.environ.get("CI"),
        reason="Ray and pyarrow are not installed; type: make .venv-sweep/ready",
    ),
]


def sweep(folder, where):
    words = [BIN / "league", "sweep", "plan.toml", "--on", where, "--out", where]
    return subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=SECONDS)


def test_the_tables_are_the_same_on_one_core_on_two_and_on_ray(tmp_path):
    (tmp_path / "plan.toml").write_text(SMALL.replace('"fixed"', '"mine.py"'))
    (tmp_path / "habits.py").write_text("moves = 0\n")
    (tmp_path / "mine.py").write_text(
        "import habits\ndef choose(turn):\n    habits.moves += 1\n"
        "    return turn.legal_moves[habits.moves % 7 % 2]\n"
    )

    ended = [sweep(tmp_path, where) for where in ("cores:1", "cores:2", "ray")]

    assert [done.returncode for done in ended] == [0, 0, 0], ended
    assert len({done.stdout for done in ended}) == 1
    for ending in (".csv", ".parquet", ".summary.csv"):
        files = [tmp_path / f"{name}{ending}" for name in ("cores:1", "cores:2", "ray")]
        assert len({file.read_bytes() for file in files}) == 1, ending
    words = [BIN / "python", "-c", READ, tmp_path / "ray.parquet"]
    read = subprocess.run(words, capture_output=True, text=True, check=True).stdout
    rows, kept = csv.DictReader(read.splitlines()), (tmp_path / "ray.csv").read_text()
    assert [{**row, "champion": row["champion"].capitalize(), **numbers(row)} for row in rows] == [
        {**row, **numbers(row)} for row in csv.DictReader(kept.splitlines())
    ]


def numbers(row):
    return {name: float(row[name]) for name in ("rating", "low", "high")}


def test_a_player_that_ends_its_process_is_named_by_ray_too(tmp_path):
    (tmp_path / "dies.py").write_text(
        "import os, random\nDIES = random.random() < 0.2\n"  # with seed 1
        "def choose(turn):\n    os._exit(3) if DIES else None\n    return 'even'\n"
    )
    text = 'players = ["random", "dies.py"]\ngames = ["even_odd"]\nseeds = [2, 1, 4, 5]\n'
    (tmp_path / "plan.toml").write_text(text)

    done = sweep(tmp_path, "ray")

    assert done.returncode == 1
    assert "League 2 (even_odd, round_robin, seed 1) failed: its process died twice" in done.stderr
    assert "1 league of 4 is missing in the table" in done.stderr


def test_a_ray_that_is_not_there_is_an_error_in_words(tmp_path):
    (tmp_path / "plan.toml").write_text(SMALL)

    done = sweep(tmp_path, "ray:127.0.0.1:9")

    assert done.returncode == 1
    assert "Error: Ray cannot be used: " in done.stderr
