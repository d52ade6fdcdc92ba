"""Leagues in several processes: as in one, only sooner."""

import multiprocessing

import pytest

from agentleague.errors import LeagueError
from agentleague.runtime.local_league import cores
from agentleague.simulation.modes import processes_for, simulate_all


def test_what_comes_of_leagues_is_the_same_and_in_the_same_order_in_several_processes():
    with simulate_all("chaos", range(3, 8), processes=1) as alone:
        expected = list(alone)

    with simulate_all("chaos", range(3, 8), processes=2) as together:
        assert list(together) == expected

    assert [each.seed for each in expected] == [3, 4, 5, 6, 7]
    assert multiprocessing.active_children() == []


def test_a_caller_that_has_seen_enough_leaves_no_process_behind():
    with simulate_all("calm", range(10_000), processes=2) as together:
        assert next(together).seed == 0
        assert len(multiprocessing.active_children()) == 2

    assert multiprocessing.active_children() == []


def test_a_process_that_is_killed_ends_the_run():
    with simulate_all("calm", range(10_000), processes=2) as together:
        for process in multiprocessing.active_children():
            process.kill()

        with pytest.raises(LeagueError, match="ended from outside"):
            list(together)


def test_there_are_as_many_processes_as_are_worth_it():
    for leagues, jobs, processes in [
        (1, None, 1),  # Nothing is gained by another.
        (1, 8, 1),
        (30, 8, 1),
        (40, 8, 2),
        (10_000, 3, 3),
        (10_000, None, cores()),
    ]:
        assert processes_for(leagues, jobs) == processes
