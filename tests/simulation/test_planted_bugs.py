"""The simulator finds the bugs that are planted here, each by the mode that HUNTS names.

Without a bug the same seeds find nothing (test_modes.py).
"""

import re

import pytest

from agentleague.simulation.modes import simulate
from simulation import planted_fencing, planted_formats
from simulation.planted import HUNTS, SEEDS

OWN_FAULT = re.compile("TypeError|AttributeError|NameError")


ALL = [*HUNTS.items(), *planted_fencing.HUNTS.items(), *planted_formats.HUNTS.items()]


@pytest.mark.thorough
@pytest.mark.parametrize(("bug", "hunt"), ALL, ids=[bug.__name__ for bug, _ in ALL])
def test_a_planted_bug_is_found(bug, hunt, monkeypatch):
    bug(monkeypatch)

    for seed in range(hunt.first, hunt.first + SEEDS):
        found = simulate(hunt.mode, seed).violation
        assert not OWN_FAULT.search(found), "the planted bug does not fit the code any more"
        if hunt.words in found:
            break
    else:
        pytest.fail(f"not found by {hunt.mode}")

    print(f"{bug.__name__}: found by {hunt.mode}, seed {seed}: {found[:200]}")
