"""Each fault by itself, and what becomes of the league."""

import pytest

from agentleague.league.events import LeagueEnded
from agentleague.simulation.faults import Fault, Faults
from agentleague.simulation.invariants import LeagueHistory, check
from simulation.crashing import a_league, running

LOSSY = LeagueHistory(lossy=True, referees_away=True, no_contests=True)


def struck(fault, history, **more):
    league = running(**more)
    faults = Faults(league, seed=0)
    faults.end_at(200.0)
    faults.happen(fault)
    league.run(2000.0)
    check(league, history)
    return league


def test_a_partition_heals_way_by_way():
    league = running()
    faults = Faults(league, seed=0)
    everybody = [("manager", "player1"), ("player1", "manager"), ("player1", "referee1")]

    faults.happen(Fault(0, "partition", ("player1",), 30.0))
    cut_at = {}
    while league.clock.step():
        whole = [way for way in everybody if not league.links.loses(*way)]
        cut_at.update({way: league.clock.now() for way in whole if way not in cut_at})
        if league.links.is_reliable:
            break

    assert len(set(cut_at.values())) == 3


def test_a_player_that_nobody_hears_loses_and_nobody_else_does():
    history = LeagueHistory(away=["player1"], lossy=False, referees_away=True)
    for referee in ("referee1", "referee2"):
        league = running()
        Faults(league, seed=0).happen(Fault(0, "one-way cut", ("player1", referee), 500.0))
        league.run(2000.0)
        check(league, history)
        rows = league.observer.league.table.rows()
        assert {row.display_name for row in rows if row.technical_losses} == {"Player 1"}


@pytest.mark.parametrize("kind", ["cut", "one-way cut"])
def test_a_manager_and_a_referee_that_do_not_hear_each_other_lose_no_match(kind):
    league = struck(Fault(0, kind, ("manager", "referee1"), 30.0), LOSSY)

    rows = league.observer.league.table.rows()
    assert [(row.played, row.technical_losses) for row in rows] == [(3, 0)] * 4


def test_a_manager_with_a_full_disk_waits_and_nothing_is_lost():
    league = struck(Fault(0, "full disk", seconds=6.0), LeagueHistory(referees_away=True))

    assert league.seconds > 5.0


def test_a_slow_disk_only_takes_longer():
    league = struck(Fault(0, "slow disk", seconds=30.0), LeagueHistory())

    assert league.seconds > a_league().run().seconds


def test_a_league_that_is_paused_goes_on_though_its_manager_was_away_then():
    league = running()
    faults = Faults(league, seed=0)

    faults.happen(Fault(0, "pause", seconds=5.0))
    league.run(3.0)
    assert league.observer.league.paused
    league.crash("manager", restart_after=20.0)
    league.run()

    check(league)
    assert league.seconds > 20.0


def test_a_player_that_the_organiser_removes_loses_what_it_has_not_begun():
    league = struck(Fault(0, "remove", ("player1",)), LeagueHistory(away=["player1"]))

    assert list(league.observer.league.roster.removed) == [league.player_id("player1")]


def test_a_player_is_removed_before_the_league_begins_and_it_begins_without_it():
    league = a_league(settings={"referees": 3})  # It waits for one that never comes.
    faults = Faults(league, seed=0)
    league.run_until(lambda: all(map(league.is_known, league.players)))
    faults.happen(Fault(0, "remove", ("player1",)))

    league.run()

    check(league, LeagueHistory(away=["player1"]))
    assert len(league.observer.tables.recount.counts()) == 3


def test_what_the_organiser_rules_is_in_every_table_from_then_on():
    league = running()
    faults = Faults(league, seed=0)
    for event in range(150, 400, 25):
        faults.plan([Fault(event, "rule")])

    league.run()

    check(league)
    assert len(league.observer.league.ruled) > 1


def test_a_league_that_the_organiser_aborts_ends_at_once():
    league = struck(Fault(0, "abort"), LeagueHistory(aborted=True))

    assert league.observer.league.aborted
    assert league.seconds < 1.0


def test_after_the_end_of_the_trouble_nothing_goes_wrong():
    league = a_league()
    faults = Faults(league, seed=0)
    faults.plan([Fault(10, "crash", ("manager",), None)])

    faults.end()
    league.run()

    check(league)


def test_the_manager_may_die_when_the_end_is_on_disk_and_all_are_told_when_it_is_back():
    league = running()
    Faults(league, seed=0).end_with_a_crash(20.0)

    league.run()

    check(league)
    assert league.seconds > 20.0
    assert league.processes["manager"].crashes == 1


def test_with_the_end_of_the_trouble_everybody_is_back_but_who_is_gone_for_good():
    league = running()
    faults = Faults(league, seed=0)
    faults.happen(Fault(0, "crash", ("referee1",), None))
    faults.happen(Fault(0, "crash", ("referee2",), 1_000_000.0))
    faults.happen(Fault(0, "cut", ("manager", "player1"), 1_000_000.0))

    faults.end()

    assert not league.processes["referee1"].is_alive
    assert league.processes["referee2"].is_alive
    assert league.links.is_reliable


def test_nobody_dies_for_good_before_the_league_has_begun():
    league = a_league()
    faults = Faults(league, seed=0)
    faults.plan([Fault(1, "crash", ("player1",), None)])

    league.run()

    check(league, LeagueHistory(away=["player1"]))
    assert league.has_begun


def test_a_fault_as_text_says_when_what_to_whom_for_how_long():
    assert str(Fault(7, "crash", ("manager",), 0.5)) == "after event 7: crash of manager for 0.5 s"
    assert str(Fault(7, "crash", ("player1",), None)) == "after event 7: crash of player1 for good"
    assert str(Fault(7, "abort", seconds=0.0)) == "after event 7: abort of manager"


def test_when_the_trouble_is_over_the_last_crash_brings_no_other():
    # Found by liveness, seed 912338: a player was killed again, and the league ended without it.
    league = a_league()
    faults = Faults(league, seed=0)
    faults.end_with_a_crash(20.0)
    faults.end()
    later = Fault(0, "crash", ("player1",), 500.0)
    strike = league.disk.on_commit

    def on_commit(events):
        strike(events)
        if any(isinstance(event, LeagueEnded) for event in events):
            now = league.clock.now()
            league.clock.call_at(now + 0.001, lambda: faults.happen(later))

    league.disk.on_commit = on_commit
    league.run()

    assert league.processes["manager"].crashes == 1
    assert league.processes["player1"].crashes == 0
    assert league.healed_at >= league.processes["manager"].born_at
