"""`benchmarks/alternatives.py`: our league beside one on other libraries."""

import json
import subprocess
import sys

import pytest

from commands import ROOT


@pytest.mark.slow
def test_both_leagues_exchange_as_many_messages_a_match():
    """It installs the libraries of the other league, if they are not there."""
    script = [sys.executable, ROOT / "benchmarks" / "alternatives.py"]
    options = ["--players", "10", "--matches", "45", "--pairs", "1", "--json"]
    done = subprocess.run([*script, *options], capture_output=True, text=True, check=True)

    found = json.loads(done.stdout)
    theirs, ours = found["messages_per_match"]
    assert theirs == pytest.approx(ours, abs=1.0)
    assert found["figures"]["cpu_us"]["second"] > 0
