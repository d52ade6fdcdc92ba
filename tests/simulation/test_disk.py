"""A disk that commits in groups, and loses in a crash what it had not committed."""

from agentleague.errors import StorageError
from agentleague.league.events import RoundEnded
from agentleague.simulation.clock import VirtualClock
from agentleague.simulation.disk import Disk


def a_disk():
    clock = VirtualClock(100.0)
    disk = Disk(clock, sync_seconds=2.0)
    disk.claim("cup")
    return clock, disk


def kept(disk):
    return [row.seq for row in disk.read("cup")]


def test_a_write_is_answered_when_it_is_safe():
    clock, disk = a_disk()
    told = []
    disk.append("cup", 0, [RoundEnded(1)], lambda heads: told.append((clock.now(), heads)))
    assert (told, kept(disk), disk.is_clean) == ([], [], False)

    clock.run()

    (when, heads), rows = told[0], list(disk.read("cup"))
    assert when == 102.0
    assert [(head.seq, head.hash) for head in heads] == [(1, rows[0].hash)]
    assert disk.is_clean


def test_what_is_written_during_a_commit_is_committed_together_afterwards():
    clock, disk = a_disk()
    told = []
    for number in range(3):
        disk.append("cup", number, [RoundEnded(1)], lambda heads: told.append(clock.now()))

    clock.run()

    assert told == [102.0, 104.0, 104.0]
    assert kept(disk) == [1, 2, 3]


def test_a_crash_loses_what_is_staged_and_nobody_is_told():
    clock, disk = a_disk()
    told = []
    disk.append("cup", 0, [RoundEnded(1)], told.append)
    disk.append("cup", 1, [RoundEnded(2)], told.append)

    disk.crash()
    clock.run()
    assert (told, kept(disk)) == ([], [])

    disk.claim("cup")
    disk.append("cup", 0, [RoundEnded(3)], lambda heads: None)
    clock.run()
    assert (told, kept(disk)) == ([], [1])


def test_a_crash_may_find_rows_that_are_safe_and_that_nobody_was_told_of():
    clock, disk = a_disk()
    told = []
    disk.append("cup", 0, [RoundEnded(1)], told.append)
    clock.step()

    disk.crash()
    clock.run()

    assert (told, kept(disk)) == ([], [1])
    assert disk.claim("cup").seq == 1


def test_nobody_is_told_after_a_crash_while_others_are_told():
    clock, disk = a_disk()
    told = []
    disk.append("cup", 0, [RoundEnded(1)], lambda heads: None)
    disk.append("cup", 1, [RoundEnded(2)], lambda heads: disk.crash())
    disk.append("cup", 2, [RoundEnded(3)], told.append)

    clock.run()

    assert (told, kept(disk)) == ([], [1, 2, 3])


def test_a_write_behind_the_wrong_row_is_refused():
    clock, disk = a_disk()
    told = []
    disk.append("cup", 7, [RoundEnded(1)], told.append)

    clock.run()

    assert isinstance(told[0], StorageError)
    assert kept(disk) == []


def test_what_is_written_to_a_full_disk_waits_until_there_is_room():
    clock, disk = a_disk()
    told = []
    disk.state = "full"
    disk.append("cup", 0, [RoundEnded(1)], lambda heads: told.append(clock.now()))

    clock.run(until=lambda: clock.now() > 110.0)
    assert (disk.state, told, kept(disk)) == ("full", [], [])
    disk.mend()
    clock.run()

    assert kept(disk) == [1]
    assert len(told) == 1


def test_a_commit_that_fails_is_refused_and_nothing_of_it_is_safe():
    clock, disk = a_disk()
    told = []
    disk.state = "failed"
    disk.append("cup", 0, [RoundEnded(1)], told.append)

    clock.run()
    assert isinstance(told[0], StorageError)
    assert kept(disk) == []
    disk.append("cup", 0, [RoundEnded(2)], told.append)
    clock.run()

    assert kept(disk) == [1]


def test_only_what_is_safe_is_found():
    clock, disk = a_disk()
    disk.append("cup", 0, [RoundEnded(7)], lambda heads: None)
    assert list(disk.find("cup", 1, 1, b"7")) == []

    clock.run()

    assert list(disk.find("cup", 1, 1, b"7")) == list(disk.read("cup"))
