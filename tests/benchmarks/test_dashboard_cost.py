"""`benchmarks/dashboard_cost.py`: the script itself."""

import json
import subprocess
import sys

import pytest

from commands import ROOT


@pytest.mark.thorough
def test_leagues_without_pages_and_with_open_ones_are_measured_in_one_run():
    script = [sys.executable, str(ROOT / "benchmarks" / "dashboard_cost.py"), "--json"]
    small = ["--players", "4", "--matches", "200", "--rounds", "1", "--pages", "5"]

    run = subprocess.run([*script, *small], capture_output=True, text=True, timeout=60, check=True)

    figures = json.loads(run.stdout)
    assert [each["pages"] for each in figures["kinds"]] == ["no dashboard", "none", "many"]
    assert [each["kilobytes"] != "0" for each in figures["kinds"]] == [False, False, True]
    assert figures["import_milliseconds"] > 0
