"""Processes, their lives, and the time they live in."""

from functools import partial

from agentleague.protocol.messages import RoundAnnouncement
from agentleague.simulation.clock import Lifetime, VirtualClock
from agentleague.simulation.invariants import LeagueHistory, check
from simulation.crashing import a_league, running


def test_the_timers_of_a_dead_process_never_ring():
    clock = VirtualClock(100.0)
    lifetime, rung = Lifetime(clock), []
    lifetime.call_at(101.0, lambda: rung.append(1))

    lifetime.end()
    clock.run()

    assert rung == []


def test_a_timer_that_was_stopped_does_not_ring():
    clock = VirtualClock(100.0)
    lifetime, rung = Lifetime(clock), []
    stop = lifetime.call_at(101.0, lambda: rung.append(1))

    stop()
    clock.run()

    assert rung == []


def test_the_timers_of_a_process_that_stalls_ring_late_and_in_order():
    clock = VirtualClock(100.0)
    lifetime, rung = Lifetime(clock), []
    lifetime.call_at(102.0, lambda: rung.append(("second", clock.now())))
    lifetime.call_at(101.0, lambda: rung.append(("first", clock.now())))

    lifetime.stall(5.0)
    clock.run()

    assert rung == [("first", 105.0), ("second", 105.0)]


def test_a_crash_ends_a_process_and_a_restart_begins_another_life():
    league = a_league().run()
    manager = league.processes["manager"]
    before, state = manager.host, league.manager.league

    league.crash("manager", restart_after=1.0)
    assert not manager.is_alive
    league.run()

    assert manager.is_alive
    assert manager.host is not before
    assert league.manager.league.seq == state.seq
    assert league.manager.league.table.rows() == state.table.rows()


def test_an_agent_whose_work_is_done_ends_and_does_not_crash_any_more():
    league = a_league().run()
    player = league.processes["player1"]
    assert (player.is_alive, player.is_done) == (False, True)

    league.crash("player1", restart_after=1.0)
    league.run(5.0)

    assert (player.is_alive, player.crashes) == (False, 0)


def test_events_are_steps_of_the_clock_and_whatever_is_sent():
    league = a_league()
    seen = []
    for number in (1, 2, 3):
        league.after_event(number, lambda number=number: seen.append((number, league.events)))

    league.run(1.0)

    assert seen == [(1, 1), (2, 2), (3, 3)]


def test_a_process_may_crash_between_two_messages_of_one_decision():
    def announced(number):
        league = a_league()
        league.after_event(number, partial(league.crash, "manager"))
        league.run(0.2)
        return sum(
            isinstance(each.message, RoundAnnouncement) for each in league.observer.deliveries
        )

    assert {announced(number) for number in range(20, 60)} >= {0, 1, 2, 3, 4}


def test_a_process_has_clocks_of_its_own():
    clock = VirtualClock(100.0)
    lifetime, rung = Lifetime(clock, ahead=-70.0), []

    lifetime.call_at(35.0, lambda: rung.append((clock.now(), lifetime.now())))
    clock.run()

    assert rung == [(105.0, 35.0)]


def test_wrong_clocks_change_nothing_but_what_is_printed():
    league = a_league()
    for process in league.processes.values():
        process.clocks = lambda: (-1_000_000.0, 86_400.0)

    league.run()

    check(league)
    assert league.seconds == a_league().run().seconds


def test_a_manager_whose_disk_fails_ends_and_is_started_again():
    league = running()
    manager = league.processes["manager"]

    league.disk.state = "failed"
    league.run()

    check(league)
    assert (manager.failures, manager.crashes) == (1, 0)


def test_a_player_that_forgot_its_token_comes_back_under_its_id():
    league = running()
    before = league.player_id("player1")

    league.crash("player1", restart_after=0.1)
    league.processes["player1"].forget()
    league.run()

    check(league, LeagueHistory(away=["player1"]))
    assert league.player_id("player1") == before
    assert [row.kind for row in league.observer.rows].count("player_returned") == 1
