"""The seed is everything: the same seed gives the same league, message by message."""

import subprocess
import sys

from simulation.crashing import a_league, crash, run_with

FAULT = crash("manager", "referee1", restart=0.5)
PRINT_TRACE = """
from simulation.test_determinism import trace
print(trace())
"""


def trace(seed=0):
    league = run_with(lambda: a_league(seed=seed), FAULT, 200)
    return f"{league.witness.trace} {[row.hash.hex() for row in league.rows()][-1]}"


def test_the_same_seed_gives_the_same_trace():
    assert trace() == trace()


def test_another_seed_gives_another_trace():
    assert trace(0) != trace(1)


def test_the_trace_does_not_depend_on_the_process_or_its_hash_seed():
    here = trace()

    for hash_seed in ("1", "2"):
        environment = {"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", PRINT_TRACE]
        there = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert there.stdout.strip() == here
