"""What is left of a damaged journal is saved elsewhere; nothing in it is ever changed."""

import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

import agentleague.storage.repair
from agentleague.errors import Claimed, Lost, StorageError
from agentleague.storage.directory import FILE_NAME, HEAD_NAME, open_reader
from agentleague.storage.repair import Repaired, repair
from agentleague.storage.wal import WAL_NAME
from storage import crashed
from storage.crashed import FRAME, PAGE, append, contents, flip, frames, open_journal, rows_of

ROWS = 40


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return crashed.killed(tmp_path_factory.mktemp("killed"), ROWS)


@pytest.fixture
def directory(killed: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(killed, tmp_path / "cup"))


def repaired(directory: Path, *files: str) -> tuple[Repaired, Path]:
    """Repair it, and see that nothing in it was changed and nothing is left over."""
    before, to = contents(directory), directory.with_name("new")
    made = repair(directory, to, files, lambda row: None)
    assert contents(directory) == before
    assert [path.name for path in to.parent.iterdir() if path.name.startswith(".")] == []
    return made, to


def checkpointed(directory: Path) -> None:
    """Move all from the log into the file."""
    with closing(sqlite3.connect(directory / FILE_NAME)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


# Page, end of transaction, salt, checksum, and the page itself.
@pytest.mark.parametrize("offset", [3, 7, 9, 17, FRAME, FRAME + PAGE - 9])
def test_what_one_wrong_frame_hides_is_all_saved(
    directory: Path, killed: Path, offset: int
) -> None:
    flip(directory, frames(directory) // 2, offset)
    with closing(open_journal(directory)) as journal, pytest.raises(Lost):
        journal.claim("cup")

    made, to = repaired(directory)

    assert made == Repaired("cup", ROWS, ROWS, [])
    assert rows_of(to) == rows_of(killed)
    with closing(open_journal(to)) as journal:
        assert journal.claim("cup").seq == ROWS


@pytest.mark.parametrize("damage", ["the head of the log", "no file but the log"])
def test_a_log_is_enough(directory: Path, killed: Path, damage: str) -> None:
    if damage == "the head of the log":
        crashed.flip_byte(directory / WAL_NAME, 17)
    else:
        (directory / FILE_NAME).unlink()

    made, to = repaired(directory)

    assert made == Repaired("cup", ROWS, ROWS, [])
    assert rows_of(to) == rows_of(killed)


def test_a_journal_that_is_whole_is_copied(directory: Path, killed: Path) -> None:
    (directory / "secret.key").write_text("x")
    (directory / "secret.key").chmod(0o644)

    made, to = repaired(directory, "secret.key", "admin.token")

    assert made == Repaired("cup", ROWS, ROWS, [])
    assert rows_of(to) == rows_of(killed)
    assert (to / "secret.key").read_text() == "x"
    assert (to / "secret.key").stat().st_mode & 0o777 == 0o600
    assert to.stat().st_mode & 0o777 == 0o700


@pytest.mark.parametrize("has_head", [True, False])
def test_of_a_changed_row_all_before_it_is_saved_and_what_is_left_is_told(
    directory: Path, killed: Path, has_head: bool
) -> None:
    checkpointed(directory)
    if not has_head:
        (directory / HEAD_NAME).unlink()
    with closing(sqlite3.connect(directory / FILE_NAME)) as connection, connection:
        connection.execute("UPDATE rows SET body = x'00' WHERE seq = 25")

    made, to = repaired(directory)

    assert made[:3] == ("cup", 24, ROWS)
    assert [row.seq for row in made.unproved] == [*range(25, ROWS + 1)]
    assert rows_of(to) == rows_of(killed)[:24]
    with closing(open_journal(to)) as journal, pytest.raises(Lost, match=f"rows 25 to {ROWS}"):
        journal.claim("cup")
    with closing(open_journal(to)) as journal:
        append(journal, journal.claim("cup", accept_loss=True).seq)
    with closing(open_journal(to)) as journal:
        assert journal.claim("cup").seq == 25


def test_of_a_page_that_is_gone_all_before_it_is_saved(directory: Path, killed: Path) -> None:
    checkpointed(directory)
    size = (directory / FILE_NAME).stat().st_size
    with (directory / FILE_NAME).open("r+b") as file:
        file.seek(size - PAGE)
        file.write(bytes(PAGE))

    made, to = repaired(directory)

    assert 0 < made.last < ROWS == made.lost_until
    assert rows_of(to) == rows_of(killed)[: made.last]


def test_rows_that_no_index_finds_are_saved(directory: Path, killed: Path) -> None:
    checkpointed(directory)
    with closing(sqlite3.connect(directory / FILE_NAME, isolation_level=None)) as connection:
        query = "SELECT rootpage FROM sqlite_master WHERE type = 'index'"
        (page,) = connection.execute(query).fetchone()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    with (directory / FILE_NAME).open("r+b") as file:
        file.seek((page - 1) * PAGE)
        file.write(bytes(PAGE))

    made, to = repaired(directory)

    assert made == Repaired("cup", ROWS, ROWS, [])
    assert rows_of(to) == rows_of(killed)
    assert open_reader(to).damage() is None


def test_what_only_the_log_proves_and_nobody_can_read_is_lost(
    directory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (directory / HEAD_NAME).unlink()
    flip(directory, frames(directory) // 2, FRAME)
    monkeypatch.setattr(agentleague.storage.repair, "salvaged", lambda directory: [])

    made, to = repaired(directory)

    assert made.lost_until == made.last + 1 < ROWS
    with closing(open_journal(to)) as journal, pytest.raises(Lost):
        journal.claim("cup")


def test_a_league_that_runs_is_left_alone(tmp_path: Path) -> None:
    with closing(open_journal(tmp_path / "cup")) as journal:
        journal.claim("cup")
        with pytest.raises(Claimed, match="a manager runs in"):
            repair(tmp_path / "cup", tmp_path / "new", (), lambda row: None)


def test_where_no_row_is_left_nothing_is_written(directory: Path) -> None:
    (directory / WAL_NAME).unlink()
    (directory / FILE_NAME).write_bytes(b"no database" * 1000)

    with pytest.raises(StorageError, match="not one row of"):
        repair(directory, directory.with_name("new"), (), lambda row: None)

    assert [path.name for path in directory.parent.iterdir()] == ["cup"]
