"""Simulated leagues for tests, with faults, and what does not hold then."""

from collections.abc import Callable, Iterable
from functools import partial
from random import Random

from agentleague.league.league import Phase
from agentleague.simulation.agents import Agents
from agentleague.simulation.invariants import LeagueHistory, Violation, check
from agentleague.simulation.league import SimulatedLeague

AGENTS = Agents()
REFEREES_AWAY = LeagueHistory(referees_away=True)
SECONDS_MAX = 300.0

Make = Callable[[], SimulatedLeague]
Fault = Callable[[SimulatedLeague, int], None]


def a_league(**more):
    return SimulatedLeague(**{"agents": AGENTS, **more})


def crash(*names, restart):
    """The fault: these processes crash after that event."""

    def fault(league, number):
        for name in names:
            league.after_event(number, partial(league.crash, name, restart))

    return fault


def stall(name, seconds):
    """The fault: this process stands still after that event."""

    def fault(league, number):
        league.after_event(number, lambda: league.processes[name].stall(seconds))

    return fault


def running(**more):
    """A league whose first round is announced."""
    league = a_league(**more)

    def is_running():
        league.observer.catch_up()
        return league.observer.league.phase is Phase.RUNNING

    league.run_until(is_running)
    return league


def commanded(league, command, **params):
    """The answer to a command of the organiser."""
    answers = []
    league.command(command, answers.append, **params)
    league.run_until(lambda: bool(answers))
    assert answers[0].error is None, answers[0].error
    return answers[0].message.said


def events_of(make: Make) -> int:
    """How many events there are when nothing goes wrong."""
    league = make().run()
    check(league)
    return league.events


def some(number: int, of: int) -> list[int]:
    """Always the same events, all over the league."""
    return sorted(Random(f"{number} of {of}").sample(range(1, of + 1), number))


def run_with(make: Make, fault: Fault, number: int) -> SimulatedLeague:
    league = make()
    fault(league, number)
    return league.run(SECONDS_MAX)


def failures(
    make: Make, fault: Fault, points: Iterable[int], history: LeagueHistory = REFEREES_AWAY
) -> dict[int, str]:
    """Event -> what did not hold when the fault came right after it."""
    found = {}
    for number in points:
        try:
            check(run_with(make, fault, number), history)
        except Violation as violation:
            found[number] = str(violation)
        except Exception as bug:  # A planted one may break anything.
            found[number] = f"{type(bug).__name__}: {bug}"
    return found
