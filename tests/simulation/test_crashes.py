"""Crashes in leagues of other sizes than the exhaustive set has (test_modes.py)."""

from functools import partial

import pytest

from agentleague.simulation.invariants import CALM
from simulation.crashing import a_league, crash, events_of, failures, some

FIVE = {"players": 5}
MANAGER = crash("manager", restart=0.5)


def test_a_league_with_byes_survives_a_crash_of_its_manager_after_some_events():
    points = some(8, of=events_of(lambda: a_league(**FIVE)))

    assert failures(lambda: a_league(**FIVE), MANAGER, points, CALM) == {}


@pytest.mark.slow
def test_a_league_with_byes_survives_a_crash_of_its_manager_after_every_event():
    points = range(1, events_of(lambda: a_league(**FIVE)) + 1)

    assert failures(lambda: a_league(**FIVE), MANAGER, points, CALM) == {}


@pytest.mark.slow
def test_a_league_survives_two_crashes_of_the_manager():
    for first in some(40, of=events_of(a_league)):
        points = [first + gap for gap in (1, 2, 5, 20, 80)]

        def both(league, number, first=first):
            league.after_event(first, partial(league.crash, "manager", 0.2))
            league.after_event(number, partial(league.crash, "manager", 0.2))

        assert failures(a_league, both, points, CALM) == {}, first
