"""Crashes after every single event: each has a number, so that a seed names one of them.

The league of one seed is run again and again. First each process crashes after each event, by
itself and in other ways; then come some pairs of crashes, close together and far apart.
"""

from collections.abc import Sequence
from functools import lru_cache
from random import Random
from typing import NamedTuple

from agentleague.simulation.agents import Agents
from agentleague.simulation.faults import Fault
from agentleague.simulation.invariants import Course
from agentleague.simulation.league import MANAGER, SimulatedLeague
from agentleague.simulation.scenarios import Scenario

PAIRS = 1_000  # of crashes, in the league of one seed
SECONDS_MAX = 300.0
GAPS = (1, 2, 5, 20, 80)


class Way(NamedTuple):
    """One way to crash: what happens after an event, and what may come of it."""

    kind: str
    who: tuple[str, ...]
    seconds: float | None
    course: Course = Course()
    keeps_state: bool = False


AWAY = Course(referees_away=True)
WAYS: Sequence[Way] = (
    Way("crash", (MANAGER,), 0.5),
    Way("crash", ("referee1",), 0.5, AWAY),
    Way("crash", ("referee2",), 0.5, AWAY),
    *(Way("crash", (f"player{n}",), 0.5, Course(brief=[f"player{n}"])) for n in range(1, 5)),
    Way("crash", (MANAGER,), 30.0),
    Way("crash", ("referee1",), 0.5, AWAY, keeps_state=True),
    Way("crash", ("referee1",), None, AWAY),
    Way("crash", ("referee2",), None, AWAY),
    Way("crash", ("player1",), None, Course(away=["player1"])),
    Way("amnesia", ("player1",), 0.5, Course(away=["player1"])),
    Way("crash", ("referee1", "referee2"), 0.5, AWAY),
    Way("crash", (MANAGER, "referee1"), 0.5, AWAY),
    Way("sleep", ("referee1",), 15.0, AWAY),
    Way("sleep", (MANAGER,), 30.0, AWAY),
    Way("failing disk", (MANAGER,), 1.0),
)


def scenario(number: int) -> Scenario:
    """The crash of that number."""
    league_seed = 0
    while number >= size(league_seed):
        number -= size(league_seed)
        league_seed += 1
    total = events(league_seed)
    if number >= len(WAYS) * total:
        return _pair(league_seed, number - len(WAYS) * total)
    event, way = divmod(number, len(WAYS))
    return _single(league_seed, event + 1, WAYS[way])


def size(league_seed: int = 0) -> int:
    """How many crashes there are in the league of one seed."""
    return len(WAYS) * events(league_seed) + PAIRS


@lru_cache(maxsize=100)
def events(league_seed: int) -> int:
    """How many events a league has when nothing goes wrong."""
    return SimulatedLeague(seed=league_seed).run().events


def _single(league_seed: int, event: int, way: Way) -> Scenario:
    return Scenario(
        "exhaustive",
        league_seed,
        agents=Agents(referees_keep_state=way.keeps_state),
        faults=[Fault(event, way.kind, way.who, way.seconds)],
        trouble_seconds=SECONDS_MAX,
        course=way.course,
    )


def _pair(league_seed: int, number: int) -> Scenario:
    """Two crashes of manager and referees; the second often soon after the first."""
    chance = Random(f"pair|{league_seed}|{number}")
    first = chance.randint(1, events(league_seed))
    names = [MANAGER, MANAGER, "referee1", "referee2"]
    faults = [
        Fault(event, "crash", (chance.choice(names),), chance.choice((0.01, 0.2, 1.0, 20.0)))
        for event in (first, first + chance.choice(GAPS))
    ]
    are_referees = any(fault.who != (MANAGER,) for fault in faults)
    return Scenario(
        "exhaustive",
        league_seed,
        faults=faults,
        trouble_seconds=SECONDS_MAX,
        course=AWAY if are_referees else Course(),
    )
