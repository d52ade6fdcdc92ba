"""`benchmarks/against_commit.py`: what is made of two measurements, and what it refuses."""

import subprocess
import sys
from argparse import ArgumentTypeError
from importlib import metadata

import pytest

from against_commit import full_name, unpack
from commands import ROOT
from pairs import compared, rows, warnings

# As the commit f83ea42 prints it, but for what is not compared.
OLD = {
    "players": 100,
    "hosted": False,
    "matches_per_second": 500.0,
    "ratio_to_bare_transport": 0.08,
    "cpu_us_per_match": {"manager": 640.0, "referee": 530.0, "player": 750.0},
}


def new(factor):
    """As this tree prints it: so many times the CPU."""
    return {
        **OLD,
        "cpu_us_per_match": {role: cpu * factor for role, cpu in OLD["cpu_us_per_match"].items()},
        "matches_per_second": 1_000.0,
        "ratio_to_bare_transport": 0.16,
    }


def test_a_ratio_is_that_of_a_pair_and_has_its_spread():
    pairs = [(OLD, new(factor)) for factor in (0.5, 0.7, 0.4, 0.55, 0.45)]

    table = {row["what"]: row for row in rows(pairs)}
    assert table["CPU us a match, in all"] == {
        "what": "CPU us a match, in all",
        **{"first": "1,920", "second": "960", "ratio": "0.50", "least": "0.40", "most": "0.70"},
    }
    assert table["CPU us a match, manager"]["second"] == "320"
    assert table["matches/s, durable"]["ratio"] == "2.00"
    assert table["ratio to the bare pair"]["second"] == "0.16"
    assert compared(pairs)["cpu_us_player"]["least"] == 0.4
    assert warnings(pairs, 0.01) == warnings(pairs, None) == []


def test_few_pairs_and_a_busy_machine_are_said():
    few, busy = warnings([(OLD, new(0.5))], 0.314)

    assert "type --pairs 5" in few
    assert "took 31 %" in busy


def test_a_commit_that_is_not_there_is_refused_before_anything_is_measured():
    command = [sys.executable, ROOT / "benchmarks" / "against_commit.py"]
    for name in ("no such commit", "--output=file", "HEAD:src"):
        with pytest.raises(ArgumentTypeError, match="this clone has no commit"):
            full_name(name)

    done = subprocess.run([*command, "f83ea4z"], capture_output=True, text=True)
    assert done.returncode == 2
    assert "this clone has no commit 'f83ea4z'; `git log --oneline` lists those" in done.stderr


@pytest.mark.process
def test_an_unpacked_commit_has_its_own_plug_ins(tmp_path):
    unpack(full_name("HEAD"), tmp_path)

    (found,) = metadata.distributions(path=[str(tmp_path / "src")])
    games = {point.name for point in found.entry_points if point.group == "agentleague.games"}
    assert found.name == "agentleague"
    assert "even_odd" in games
    assert (tmp_path / "src" / "agentleague" / "errors.py").is_file()
