"""The write-ahead log proves damage in its middle, and no crash of an honest machine looks so."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path
from random import Random

import pytest

from agentleague.errors import Lost
from agentleague.storage import wal
from agentleague.storage.directory import HEAD_NAME, open_reader
from agentleague.storage.wal import WAL_NAME, first_bad, hidden_commits, read_log
from storage import crashed
from storage.crashed import FRAME, HEADER, PAGE, append, flip, frames, open_journal, snapshot


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crashed.killed(tmp_path_factory.mktemp("killed"))


@pytest.fixture
def directory(killed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(killed, tmp_path / "cup"))


# Page, end of transaction, salt, checksum, and the page itself.
@pytest.mark.parametrize("offset", [3, 7, 9, 17, FRAME, FRAME + PAGE - 1])
def test_a_flipped_bit_in_the_middle_is_noticed_without_a_head(
    directory: Path, offset: int
) -> None:
    (directory / HEAD_NAME).unlink()
    flip(directory, frames(directory) // 2, offset)
    before = (directory / WAL_NAME).read_bytes()

    with closing(open_journal(directory)) as journal, pytest.raises(Lost) as refusal:
        journal.claim("cup")

    assert "journal.sqlite-wal is damaged behind row" in str(refusal.value)
    assert 0 < refusal.value.context["seq"] < 40
    assert (directory / WAL_NAME).read_bytes() == before
    assert "is damaged behind row" in str(open_reader(directory).damage())


def test_a_flipped_bit_is_noticed_by_the_head_which_names_the_rows(directory: Path) -> None:
    flip(directory, frames(directory) - 3, FRAME + 50)  # too near to the end for a proof

    with (
        closing(open_journal(directory)) as journal,
        pytest.raises(Lost, match=r"rows? \d+( to 40)? of league cup (was|were) committed"),
    ):
        journal.claim("cup")


def test_a_log_whose_beginning_is_damaged_is_noticed_by_the_head(directory: Path) -> None:
    with (directory / WAL_NAME).open("r+b") as file:
        file.seek(17)
        file.write(b"\x99")

    assert hidden_commits(directory) == 0
    with (
        closing(open_journal(directory)) as journal,
        pytest.raises(Lost, match="rows 1 to 40 of league cup were committed and are gone"),
    ):
        journal.claim("cup")


@pytest.mark.parametrize("has_head", [True, False])
def test_a_loss_that_was_accepted_is_not_found_again(directory: Path, has_head: bool) -> None:
    if not has_head:
        (directory / HEAD_NAME).unlink()
    flip(directory, frames(directory) // 2, FRAME + 50)

    with closing(open_journal(directory)) as journal:
        last = journal.claim("cup", accept_loss=True).seq
        undecided = snapshot(directory, directory.with_name("undecided"))
        append(journal, last)
        crashed = snapshot(directory, directory.with_name("crashed"))

    with closing(open_journal(undecided)) as journal, pytest.raises(Lost):
        journal.claim("cup")
    with closing(open_journal(crashed)) as journal:
        assert journal.claim("cup").seq == last + 1
    assert open_reader(crashed).damage() is None


# What is honest.


def test_a_log_that_was_cut_off_at_any_byte_proves_nothing(directory: Path) -> None:
    whole = (directory / WAL_NAME).read_bytes()
    rng = Random(1)

    for size in [0, 1, HEADER, *(rng.randrange(len(whole)) for _ in range(50))]:
        (directory / WAL_NAME).write_bytes(whole[:size])
        assert hidden_commits(directory) == 0


def test_an_unfinished_transaction_leaves_frames_that_prove_nothing(directory: Path) -> None:
    with closing(sqlite3.connect(directory / "journal.sqlite", isolation_level=None)) as other:
        other.execute("PRAGMA cache_size = 5")  # It spills into the log long before its end.
        other.execute("BEGIN")
        for number in range(200):
            values = ("other", number, "", "", 1, b"x" * 3000, b"")
            other.execute("INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?)", values)
        killed = snapshot(directory, directory.with_name("killed"))
    assert hidden_commits(killed) == 0

    with closing(open_journal(killed)) as journal:
        append(journal, journal.claim("cup").seq)
        later = snapshot(killed, killed.with_name("later"))

    log = read_log(later)
    assert log is not None
    left = log.frames[first_bad(log) :]
    assert sum(frame.is_current for frame in left) > 90
    assert hidden_commits(later) == 0
    with closing(open_journal(later)) as journal:
        assert journal.claim("cup").seq == 41


def test_what_was_there_before_the_log_began_anew_proves_nothing(directory: Path) -> None:
    with closing(open_journal(directory)) as journal:
        last = journal.claim("cup").seq
        with closing(sqlite3.connect(directory / "journal.sqlite")) as other:
            other.execute("PRAGMA wal_checkpoint(RESTART)")
        append(journal, last)
        copy = snapshot(directory, directory.with_name("copy"))

    log = read_log(copy)
    assert log is not None
    assert 0 < first_bad(log) < len(log.frames) - 50
    assert hidden_commits(copy) == 0


def test_a_frame_that_is_just_being_written_is_no_damage(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = read_log(directory)
    flip(directory, 20, FRAME + 50)
    half_read = read_log(directory)
    assert half_read is not None
    assert hidden_commits(directory) > 0

    looks = iter([half_read, whole])
    monkeypatch.setattr(wal, "read_log", lambda _: next(looks))

    assert hidden_commits(directory) == 0
