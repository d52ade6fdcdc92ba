"""How long a referee may be silent about a match."""

from agentleague.manager.leases import Leases
from rules import rule


def leases(longest=100.0):
    held = Leases(0.25)
    held.begin("R1M1", 0.0, 10.0, longest)
    return held


def test_a_lease_runs_out_when_its_referee_is_silent():
    held = leases()

    assert held.expired(9.9) == []
    assert held.expired(10.0) == ["R1M1"]


def test_a_word_renews_a_lease():
    held = leases()
    held.renew("R1M1", 8.0)

    assert held.expired(17.9) == []
    assert held.expired(18.0) == ["R1M1"]


@rule("R-LEASE-01")
def test_no_word_renews_a_lease_beyond_the_longest_legal_match_and_one_lease():
    held = leases(longest=25.0)
    for now in range(5, 35, 5):
        held.renew("R1M1", float(now))

    assert held.expired(34.9) == []
    assert held.expired(35.0) == ["R1M1"]


def test_a_decided_match_has_the_time_to_tell_its_players_and_one_lease():
    held = leases()
    held.decide("R1M1", 8.0, 5.0)
    for now in (12.0, 17.0, 22.0):
        held.renew("R1M1", now)

    assert held.expired(22.9) == []
    assert held.expired(23.0) == ["R1M1"]


def test_a_match_that_is_handed_out_twice_keeps_its_first_lease():
    held = leases()
    held.begin("R1M1", 9.0, 10.0, 100.0)

    assert held.expired(10.0) == ["R1M1"]


def test_a_look_that_comes_too_late_extends_every_lease_by_the_delay():
    held = leases()
    assert held.next_check(5.0, 2.5) == 7.5

    assert held.expired(60.0) == []  # 52.5 s late: the machine slept
    assert held.next_check(60.0, 2.5) == 62.5
    assert held.expired(62.5) == ["R1M1"]


def test_a_look_that_is_hardly_late_extends_nothing():
    held = leases()
    held.next_check(9.9, 0.0)

    assert held.expired(10.1) == ["R1M1"]


def test_after_a_pause_all_leases_begin_anew():
    held = leases(longest=25.0)
    held.restart_all(1000.0)

    assert held.expired(1009.9) == []
    assert held.expired(1010.0) == ["R1M1"]
    for now in range(1001, 1040):
        held.renew("R1M1", float(now))
    assert held.expired(1035.0) == ["R1M1"]  # the pause does not count against the match


def test_nobody_looks_when_nothing_is_handed_out():
    held = leases()
    held.end("R1M1")

    assert held.next_check(0.0, 1.0) is None
    assert held.expired(99.0) == []
    held.renew("R1M1", 0.0)
    held.decide("R1M1", 0.0, 5.0)
    assert "R1M1" not in held
