"""Kill anything after any event: no match is lost, doubled or half-counted, and the league ends."""

from random import Random

import pytest

from agentleague.simulation.invariants import CALM, Course
from simulation.crashing import (
    AGENTS,
    REFEREES_AWAY,
    a_league,
    crash,
    events_of,
    failures,
    some,
    stall,
)

AWAY = Course(away=["player1"])
KEPT = {"agents": AGENTS._replace(referees_keep_state=True)}
FIVE = {"players": 5}

MODES = {
    # name: (fault, what may come of it, the league)
    "manager, back at once": (crash("manager", restart=0.5), CALM, {}),
    "manager, back later": (crash("manager", restart=30.0), CALM, {}),
    "manager, five players": (crash("manager", restart=0.5), CALM, FIVE),
    "referee1, back as another": (crash("referee1", restart=0.5), REFEREES_AWAY, {}),
    "referee2, back as another": (crash("referee2", restart=0.5), REFEREES_AWAY, {}),
    "referee1, back as itself": (crash("referee1", restart=0.5), REFEREES_AWAY, KEPT),
    "referee1, gone": (crash("referee1", restart=None), REFEREES_AWAY, {}),
    "referee2, gone": (crash("referee2", restart=None), REFEREES_AWAY, {}),
    "both referees": (crash("referee1", "referee2", restart=0.5), REFEREES_AWAY, {}),
    "manager and referee1": (crash("manager", "referee1", restart=0.5), REFEREES_AWAY, {}),
    "player1, back at once": (crash("player1", restart=0.5), AWAY, {}),
    "player1, gone": (crash("player1", restart=None), AWAY, {}),
    "referee1 sleeps": (stall("referee1", 15.0), REFEREES_AWAY, {}),
    "manager sleeps": (stall("manager", 30.0), REFEREES_AWAY, {}),
}


@pytest.mark.parametrize("mode", MODES)
def test_a_league_survives_a_fault_after_some_events(mode):
    fault, course, terms = MODES[mode]
    points = some(8, of=events_of(lambda: a_league(**terms)))

    assert failures(lambda: a_league(**terms), fault, points, course) == {}
    print(f"{mode}: {len(points)} leagues")


@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("mode", MODES)
def test_a_league_survives_a_fault_after_every_event(mode, seed):
    fault, course, terms = MODES[mode]
    terms = {"seed": seed, **terms}
    points = range(1, events_of(lambda: a_league(**terms)) + 1)

    assert failures(lambda: a_league(**terms), fault, points, course) == {}
    print(f"{mode}, seed {seed}: {len(points)} leagues")


@pytest.mark.slow
def test_a_league_survives_two_crashes_of_the_manager():
    total, runs = events_of(a_league), 0
    for first in some(40, of=total):
        points = [first + gap for gap in (1, 2, 5, 20, 80)]
        runs += len(points)

        def both(league, number, first=first):
            league.crash_after(first, "manager", 0.2)
            league.crash_after(number, "manager", 0.2)

        assert failures(a_league, both, points, CALM) == {}, first
    print(f"two crashes: {runs} leagues")


@pytest.mark.slow
@pytest.mark.parametrize(("delay", "seconds"), [(0.01, 1.5), (1.0, 60.0)])
def test_a_league_survives_many_faults_of_manager_and_referees(delay, seconds):
    def faults(league, seed):
        chance = Random(f"faults|{seed}")
        league.network.delay = lambda: chance.uniform(0.0005, delay)
        for _ in range(3):
            name = chance.choice(["manager", "referee1", "referee2"])
            when = league.clock.now() + chance.uniform(0.0, seconds)
            pause = chance.choice([0.01, 0.2, 1.0, 5.0, 20.0])
            league.clock.call_at(when, lambda name=name, pause=pause: league.crash(name, pause))

    assert failures(a_league, faults, range(200)) == {}
    print("many faults: 200 leagues")
