"""Two managers, one of which stands by: it takes the league over, and nobody suffers for it."""

import pytest

from agentleague.simulation.database import DATABASE, LEASE_SECONDS
from agentleague.simulation.faults import OWNER, Fault, Faults
from agentleague.simulation.invariants import LeagueHistory, check
from agentleague.simulation.league import LEAGUE_ID, SimulatedLeague
from agentleague.simulation.modes import MODES
from agentleague.storage.ownership import renewal_seconds

TAKE_OVER_SECONDS = 5.0
DEAF = LeagueHistory(referees_away=True)  # A manager that hears nobody takes referees for dead.


def in_its_first_round():
    league = SimulatedLeague(standby=True)
    league.run_until(lambda: league.has_begun)
    return league


@pytest.mark.parametrize(
    "fault",
    [
        Fault(0, "crash", (OWNER,), 60.0),
        Fault(0, "sleep", (OWNER,), 20.0),
        Fault(0, "cut", (OWNER, DATABASE), 20.0),
        Fault(0, "one-way cut", (OWNER, DATABASE), 20.0),
        Fault(0, "one-way cut", (DATABASE, OWNER), 20.0),  # One renewal more arrives there.
    ],
    ids=str,
)
def test_the_other_takes_over_and_the_league_ends(fault):
    league = in_its_first_round()
    former, when = league.owner, league.clock.now()

    Faults(league, seed=0).happen(fault)
    league.run_until(lambda: league.owner is not former)
    waited = league.clock.now() - when
    league.run_until(lambda: league.is_over and league.clock.now() > when + 30.0)

    is_renewed = fault.who[0] == DATABASE
    assert waited < TAKE_OVER_SECONDS + is_renewed * renewal_seconds(LEASE_SECONDS)
    assert league.disk.owners[LEAGUE_ID].epoch == 2
    assert former.host is None  # It was woken or reached the database again, and let go.
    check(league, DEAF)


@pytest.mark.parametrize("kind", ["database restart", "full disk", "slow disk"])
def test_nobody_takes_over_while_the_database_fails_for_a_moment(kind):
    league = in_its_first_round()

    Faults(league, seed=0).happen(Fault(0, kind, (DATABASE,), 1.0))
    league.run()

    assert league.disk.owners[LEAGUE_ID].epoch == 1
    check(league, DEAF)


def test_a_stand_by_that_is_cut_off_changes_nothing():
    league = in_its_first_round()
    stand_by = next(name for name in league.managers if name != league.owner.name)

    Faults(league, seed=0).happen(Fault(0, "cut", (stand_by, DATABASE), 20.0))
    league.run()

    check(league)


def test_the_seeds_have_every_kind_of_trouble():
    scenarios = [MODES["standby"](seed) for seed in range(200)]

    kinds = {fault.kind for scenario in scenarios for fault in scenario.faults}
    assert kinds >= {
        *("crash", "sleep", "cut", "one-way cut", "lost connection"),
        *("database restart", "full disk", "slow disk"),
    }
    assert any(scenario.wrong_clocks for scenario in scenarios)
    assert any(scenario.conditions.loss for scenario in scenarios)
