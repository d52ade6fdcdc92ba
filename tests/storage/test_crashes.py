"""Crashes and damage by chance: an honest crash is no alarm, and damage is never silent.

In the slow suite: 200 kills, 100 flipped bits, 100 power cuts, full disks.
"""

import shutil
import subprocess
from contextlib import closing, suppress
from pathlib import Path
from random import Random
from threading import Timer

import pytest

from agentleague.errors import StorageError
from agentleague.roles.ports import Row
from agentleague.storage.directory import FILE_NAME, HEAD_NAME, open_reader
from agentleague.storage.head import read_heads
from agentleague.storage.repair import repair
from agentleague.storage.sqlite_reader import find_lost
from agentleague.storage.wal import WAL_NAME, hidden_commits
from storage.crashed import append, child, flip_byte, open_journal, rows_of, snapshot


def killed_again_and_again(directory: Path, kills: int, seed: int) -> None:
    """A writer under load is killed at instants of chance; its successor goes on at once."""
    rng, told = Random(seed), 0
    for _ in range(kills):
        with child(directory, "write") as process:  # It has claimed: no alarm.
            assert process.stdout is not None
            lines = [process.stdout.readline()] if rng.random() < 0.5 else []
            timer = Timer(rng.uniform(0, 0.1), process.kill)  # The instant is what is drawn.
            timer.start()
            lines += process.stdout.readlines()
            timer.join()
        told = max([told, *(int(line) for line in lines if line.endswith("\n"))])
        assert told == 0 or read_heads(directory)["cup"].seq >= told
    assert find_lost(directory) is None
    assert len(rows_of(directory)) >= told > 0


def test_ten_kills_raise_no_alarm_and_lose_nothing(tmp_path: Path) -> None:
    killed_again_and_again(tmp_path / "cup", kills=10, seed=1)


@pytest.mark.slow
def test_two_hundred_kills_raise_no_alarm_and_lose_nothing(tmp_path: Path) -> None:
    killed_again_and_again(tmp_path / "cup", kills=200, seed=2)


@pytest.fixture(scope="module")
def crashed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A journal with rows in its file and in its log, as a killed manager leaves it."""
    home = tmp_path_factory.mktemp("crashed")
    with closing(open_journal(home / "cup")) as journal:
        journal.claim("cup")
        last = append(journal, 0, 300)
    with closing(open_journal(home / "cup")) as journal:
        journal.claim("cup")
        for _ in range(60):
            last = append(journal, last, 2)
        return snapshot(home / "cup", home / "copy")


def is_noticed(directory: Path, rows: list[Row]) -> bool:
    """Whether somebody is told; if not, everything must be as it was, and go on."""
    try:
        with closing(open_journal(directory)) as journal:
            last = journal.claim("cup").seq
            assert rows_of(directory) == rows, "rows are gone or changed, and nobody was told"
            append(journal, last)
    except StorageError:
        return True
    assert len(rows_of(directory)) == len(rows) + 1
    return False


def flipped(crashed: Path, tmp_path: Path, flips: int, seed: int) -> int:
    """Flip a bit of a file, so many times, each time of a fresh copy; how many were noticed."""
    rng, rows, noticed = Random(seed), rows_of(crashed), 0
    for number in range(flips):
        copy = Path(shutil.copytree(crashed, tmp_path / str(number)))
        name = rng.choice([FILE_NAME, WAL_NAME, WAL_NAME, HEAD_NAME])
        size = (copy / name).stat().st_size
        flip_byte(copy / name, rng.randrange(size), rng.randrange(8))
        was = is_noticed(copy, rows)
        assert not was or name != HEAD_NAME, "a damaged head accuses a journal that is whole"
        noticed += was
        shutil.rmtree(copy)
    return noticed


def test_ten_flipped_bits_are_noticed_or_harmless(crashed: Path, tmp_path: Path) -> None:
    assert flipped(crashed, tmp_path, flips=10, seed=1) > 0


@pytest.mark.slow
def test_a_hundred_flipped_bits_are_noticed_or_harmless(crashed: Path, tmp_path: Path) -> None:
    assert flipped(crashed, tmp_path, flips=100, seed=2) > 30


@pytest.mark.slow
def test_what_a_flipped_bit_of_the_log_hides_is_saved(crashed: Path, tmp_path: Path) -> None:
    rng, rows = Random(3), rows_of(crashed)
    for number in range(30):
        copy = Path(shutil.copytree(crashed, tmp_path / str(number)))
        flip_byte(copy / WAL_NAME, rng.randrange((copy / WAL_NAME).stat().st_size))

        made = repair(copy, tmp_path / f"{number}-new", (), lambda row: None)

        saved = rows_of(tmp_path / f"{number}-new")
        assert saved == rows[: len(saved)]
        assert made.lost_until == len(rows)
        # The last two commits hold pages that nothing behind them repeats.
        assert len(saved) >= len(rows) - 4


def torn(old: bytes, new: bytes, rng: Random) -> bytes:
    """The new file, but one sector that was not written yet, or some, or all."""
    mixed = bytearray(new)
    old += bytes(max(0, len(new) - len(old)))
    written = [start for start in range(0, len(new), 512) if old[start:][:512] != new[start:][:512]]
    for start in rng.sample(written, rng.choice([1, 1, 2, len(written) // 2, len(written)])):
        mixed[start : start + 512] = old[start : start + 512]
    return bytes(mixed)


def cut_off_again_and_again(directory: Path, cuts: int, seed: int) -> None:
    """Of the transaction that nobody was told of any sectors are on disk; the rest is lost."""
    rng, home = Random(seed), directory.parent
    last = len(rows_of(directory))
    for cut in range(cuts):
        told = last
        with closing(open_journal(directory)) as journal:
            last = journal.claim("cup").seq
            assert last >= told
            for _ in range(rng.randrange(3)):
                last = append(journal, last, rng.randrange(1, 9))
            before = snapshot(directory, home / f"{seed}-{cut}")
            append(journal, last, rng.randrange(1, 60))
            after = snapshot(directory, home / "after")
        old, new = ((each / WAL_NAME).read_bytes() for each in (before, after))
        (before / WAL_NAME).write_bytes(torn(old, new, rng))
        directory = before  # Its head is the one before the commit, too.
        assert hidden_commits(directory) == 0
        assert open_reader(directory).damage() is None


@pytest.mark.parametrize("seed", [1, 2])
def test_power_cuts_in_the_middle_of_commits_lose_nothing_and_raise_no_alarm(
    crashed: Path, tmp_path: Path, seed: int
) -> None:
    directory = Path(shutil.copytree(crashed, tmp_path / "cup"))
    cut_off_again_and_again(directory, cuts=6, seed=seed)


@pytest.mark.slow
def test_a_hundred_power_cuts_lose_nothing_and_raise_no_alarm(
    crashed: Path, tmp_path: Path
) -> None:
    for seed in range(10, 27):
        directory = Path(shutil.copytree(crashed, tmp_path / str(seed) / "cup"))
        cut_off_again_and_again(directory, cuts=6, seed=seed)
        shutil.rmtree(tmp_path / str(seed))


@pytest.fixture
def small_disk(tmp_path: Path):  # type: ignore[no-untyped-def]
    mount = ["mount", "-t", "tmpfs", "-o", "size=2m", "tmpfs", str(tmp_path)]
    with suppress(FileNotFoundError):
        if subprocess.run(mount, capture_output=True, check=False).returncode == 0:
            try:
                yield tmp_path
            finally:
                subprocess.run(["umount", str(tmp_path)], check=True)
            return
    pytest.skip("only root can mount a small disk")


@pytest.mark.slow
def test_kills_on_a_disk_that_fills_up_raise_no_alarm(small_disk: Path) -> None:
    rng, told, directory = Random(4), 0, small_disk / "cup"
    for turn in range(20):
        with child(directory, "write") as process:
            assert process.stdout is not None
            ballast = small_disk / "ballast"
            with ballast.open("wb", buffering=0) as file, suppress(OSError):
                while True:
                    file.write(bytes(4096))
            timer = Timer(rng.uniform(0, 0.2), process.kill)
            timer.start()
            confirmed = [int(line) for line in process.stdout.readlines() if line.endswith("\n")]
            timer.join()
        told = max([told, *confirmed])
        if turn % 2:
            ballast.unlink()  # Else the successor begins on a full disk.
        assert find_lost(directory) is None
        assert len(rows_of(directory)) >= told
        ballast.unlink(missing_ok=True)
        if told > 1500:
            shutil.rmtree(directory)
            told = 0
