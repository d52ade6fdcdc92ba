"""The same seed gives the same league, message by message."""

import subprocess
import sys

from agentleague.simulation.modes import MODES, attempt

SEEDS = {
    "chaos": (1, 3, 7),
    "calm": (1,),
    "liveness": (1,),
    "exhaustive": (300, 9000),
    "hostile": (7,),
    "standby": (8,),
}
PRINT_TRACES = """
from simulation.test_determinism import traces
print(traces())
"""


def trace(mode, seed):
    league, violation = attempt(MODES[mode](seed))
    assert not violation
    return f"{league.observer.trace} {[row.hash.hex() for row in league.observer.rows][-1]}"


def traces():
    return " ".join(trace(mode, seed) for mode, seeds in SEEDS.items() for seed in seeds)


def test_the_same_seed_gives_the_same_trace_and_another_another():
    for mode in SEEDS:
        assert trace(mode, 1) == trace(mode, 1) != trace(mode, 2)


def test_the_trace_does_not_depend_on_the_process_or_its_hash_seed():
    here = traces()

    for hash_seed in ("1", "2"):
        environment = {"PYTHONPATH": ":".join(sys.path), "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-c", PRINT_TRACES]
        there = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert there.stdout.strip() == here
