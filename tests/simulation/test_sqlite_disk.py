"""A simulated league whose journal also lies in real files: copied, cut off and damaged."""

import sqlite3

import pytest

from agentleague.errors import StorageError
from agentleague.league.events import RoundEnded
from agentleague.simulation import sqlite_disk
from agentleague.simulation.clock import VirtualClock
from agentleague.simulation.modes import MODES, attempt
from agentleague.simulation.sqlite_disk import SqliteDisk
from agentleague.storage.directory import FILE_NAME


@pytest.fixture
def disk():
    disk = SqliteDisk(VirtualClock(100.0), seed=1)
    disk.claim("cup")
    yield disk
    disk.dispose()


def write(disk, rounds):
    told = []
    for round_id in rounds:
        disk.append("cup", round_id - 1, [RoundEnded(round_id)], told.append)
    disk._clock.run()
    return told


def seqs(disk):
    return [row.seq for row in disk._journal.read("cup")]


@pytest.mark.parametrize("mode", ["chaos", "exhaustive", "hostile"])
def test_a_seed_is_the_same_league_in_files_and_in_memory(mode):
    seen = []
    for is_in_files in (True, False, True):
        league, violation = attempt(MODES[mode](7)._replace(sqlite=is_in_files))
        assert violation == ""
        seen.append((league.observer.trace, [row.hash for row in league.observer.rows]))

    assert seen[0] == seen[1] == seen[2]


def test_a_crash_in_a_commit_leaves_the_rows_before_it(disk):
    write(disk, [1, 2])
    for _ in range(20):
        disk.append("cup", 2, [RoundEnded(3), RoundEnded(4)], lambda heads: None)
        disk._unsafe = [*disk._unsafe, disk._unsafe[0]._replace(after=4)]
        disk.crash()
        disk.claim("cup")
        assert seqs(disk) == [1, 2]


def test_a_write_that_fails_is_refused_and_leaves_nothing(disk):
    write(disk, [1])
    disk.state = "failed"

    (outcome,) = write(disk, [2])

    assert isinstance(outcome, StorageError)
    disk.crash()
    disk.claim("cup")
    assert seqs(disk) == [1]


def test_rows_that_are_missing_in_the_files_are_found(disk):
    write(disk, [1, 2])
    (disk._directory / "journal.head").unlink()
    with sqlite3.connect(disk._directory / FILE_NAME) as connection:
        connection.execute("DELETE FROM rows WHERE seq = 2")
    disk.crash()

    with pytest.raises(AssertionError, match="hold 1 rows, and 2 were safe"):
        disk.claim("cup")


def test_flipped_bits_are_noticed_or_do_no_harm(disk, monkeypatch):
    monkeypatch.setattr(sqlite_disk, "FLIPS", 40)
    write(disk, range(1, 30))

    assert disk.flip_bits() is None


def test_a_journal_that_loses_rows_in_silence_is_found(disk, monkeypatch):
    monkeypatch.setattr(sqlite_disk, "FLIPS", 40)
    monkeypatch.setattr(sqlite_disk, "_rows_or_error", lambda directory, league_id: [])
    write(disk, [1])

    assert "0 of 1 rows, and nobody noticed" in disk.flip_bits()
