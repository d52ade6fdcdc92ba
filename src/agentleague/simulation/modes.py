"""Runs the leagues of a mode, one a seed, and says what did not hold."""

from collections.abc import Callable
from typing import NamedTuple

from agentleague.games.game import turns_max
from agentleague.manager.assignments import EPOCHS_MAX
from agentleague.manager.leases import longest_match
from agentleague.protocol.messages import Rules
from agentleague.roles.settings import ManagerSettings
from agentleague.simulation import exhaustive, scenarios
from agentleague.simulation.faults import Faults
from agentleague.simulation.invariants import Violation, check
from agentleague.simulation.league import SimulatedLeague
from agentleague.simulation.scenarios import Scenario

MODES: dict[str, Callable[[int], Scenario]] = {
    "chaos": scenarios.chaos,
    "exhaustive": exhaustive.scenario,
    "calm": scenarios.calm,
    "liveness": scenarios.liveness,
}


class Outcome(NamedTuple):
    """How one simulated league went."""

    mode: str
    seed: int
    violation: str  # in words; nothing where everything held
    seconds: float  # of virtual time
    messages: int


def outcome(mode: str, seed: int) -> Outcome:
    """Run one league, and look at it."""
    scenario = MODES[mode](seed)
    league, violation = attempt(scenario)
    return Outcome(mode, seed, violation, league.seconds, league.network.calls)


def attempt(scenario: Scenario) -> tuple[SimulatedLeague, str]:
    """The league after it ran, and what did not hold."""
    league = prepare(scenario)
    try:
        run(scenario, league)
        check(league, scenario.course)
    except Violation as violation:
        return league, str(violation)
    except Exception as bug:  # Whatever it is, it is found, and has a seed.
        return league, f"{type(bug).__name__}: {bug}"
    return league, ""


def prepare(scenario: Scenario) -> SimulatedLeague:
    """The league before anything has happened; its fate is planned."""
    league = SimulatedLeague(
        scenario.players, scenario.referees, scenario.seed, scenario.settings, scenario.agents
    )
    league.links.weather = scenario.weather
    faults = Faults(league, scenario.seed)
    faults.plan(scenario.faults)
    if scenario.wrong_clocks:
        faults.confuse_clocks()
    if scenario.trouble_seconds:
        faults.end_at(scenario.trouble_seconds)
    if scenario.last_blow_seconds is not None:
        faults.end_with_a_crash(scenario.last_blow_seconds)
    return league


def run(scenario: Scenario, league: SimulatedLeague) -> None:
    """Until it is over; it has as long as the rules allow after the trouble."""
    if scenario.dead:
        league.run_until(lambda: league.has_begun)
        league.crash(scenario.dead)
    league.run(scenario.trouble_seconds + patience(scenario))


def patience(scenario: Scenario) -> float:
    """How long a league can take in which nothing goes wrong any more.

    Each round: everybody hears of it, or not; its matches change hands as often as there are
    referees that are gone, and then take as long as players may take; everybody hears of its end.
    One of another make that registers again and again is there as often, until a match is given up.
    """
    settings = ManagerSettings(players=scenario.players, **scenario.settings)
    rules: Rules = settings.rules
    rounds = (scenario.players - 1 + scenario.players % 2) * settings.cycles
    match = longest_match(rules, turns_max(scenario.agents.game, rules.game_options))
    changes = scenario.referees * 2 * settings.lease_seconds
    if scenario.has_foreign:
        changes = EPOCHS_MAX * match
    return rounds * (match + changes + 4 * settings.reply_seconds) + settings.reply_seconds
