"""`benchmarks/scale.py`: what is made of the figures, and the script itself."""

import json
import subprocess
import sys

import pytest

from commands import ROOT
from scale import SizeFigures, growth, sizes, verdicts


def figures(players, cpu):
    return SizeFigures(
        players, 1, 1, 0.0, 0.0, 1.0, 1.0, 1.0, 1.0, {"manager": cpu}, {"manager": 1.0}
    )


def test_the_usual_sizes_lead_up_to_the_largest():
    assert list(sizes(10_000)) == [10, 100, 1_000, 10_000]
    assert list(sizes(300)) == [10, 100, 300]


def test_a_match_may_cost_three_tenths_more_in_a_large_league():
    for cpu, word in [(130.0, "passed"), (131.0, "failed")]:
        measured = [figures(10, 100.0), figures(1_000, cpu)]

        assert growth(measured) == cpu / 100.0
        assert word in next(verdicts(measured))
        assert list(verdicts(measured[:1])) == []


@pytest.mark.slow
def test_the_script_compares_leagues_up_to_the_largest():
    script = ROOT / "benchmarks" / "scale.py"
    command = [sys.executable, script, "--players", "20", "--seconds", "0", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    small, large = json.loads(done.stdout)["steps"]
    assert (small["players"], large["players"]) == (10, 20)
    assert (large["rounds"], large["matches"]) == (1, 10)
    assert large["cpu_us"] == pytest.approx(sum(large["cpu_us_per_match"].values()), rel=0.01)
    assert min(large["peak_mb"].values()) > 10
