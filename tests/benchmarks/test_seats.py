"""`benchmarks/seats.py`: the script itself."""

import json
import subprocess
import sys

import pytest

from commands import ROOT


@pytest.mark.thorough
def test_both_kinds_of_players_are_measured_in_one_run():
    script = [sys.executable, str(ROOT / "benchmarks" / "seats.py"), "--json"]
    small = ["--players", "4", "--seconds", "0.1", "--pairs", "1"]

    run = subprocess.run([*script, *small], capture_output=True, text=True, timeout=60, check=True)

    kinds = json.loads(run.stdout)["kinds"]
    assert [each["players"] for each in kinds] == ["ordinary", "seated"]
    assert all(each["manager"] != "0" for each in kinds)
