"""A journal as a crash leaves it: its files copied while it is open, and damaged afterwards."""

import shutil
import subprocess
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue

from agentleague.errors import StorageError
from agentleague.roles.effects import Event
from agentleague.roles.ports import Head, Row
from agentleague.storage.directory import FILE_NAME, open_reader
from agentleague.storage.sqlite import JournalLimits, SqliteJournal
from agentleague.storage.wal import WAL_NAME, read_log

QUICK = JournalLimits(retry_seconds=0.01, sync_seconds=0.01)
HEADER, FRAME, PAGE = 32, 24, 4096  # bytes of the parts of a log


class Noted(Event, frozen=True, kw_only=True, tag="noted"):
    text: str


def open_journal(directory: Path) -> SqliteJournal:
    return SqliteJournal(directory, lambda: 0.0, lambda run: run(), limits=QUICK)


def append(journal: SqliteJournal, after: int, count: int = 1, size: int = 300) -> int:
    """Write so many rows; the number of the last one."""
    answers: SimpleQueue[Sequence[Head] | StorageError] = SimpleQueue()
    journal.append("cup", after, [Noted(text="x" * size)] * count, answers.put)
    answer = answers.get(timeout=20)
    assert not isinstance(answer, StorageError), answer
    return answer[-1].seq


def snapshot(directory: Path, copy: Path) -> Path:
    """The files as they are now; by another process, since closing them here drops their locks."""
    shutil.rmtree(copy, ignore_errors=True)
    subprocess.run(["cp", "-r", directory, copy], check=True)
    (copy / "journal.sqlite-shm").unlink(missing_ok=True)
    return copy


def killed(home: Path, commits: int = 40) -> Path:
    """The directory of a manager that was killed after so many commits of a row each."""
    with closing(open_journal(home / "cup")) as journal:
        journal.claim("cup")
        for seq in range(commits):
            append(journal, seq)
        return snapshot(home / "cup", home / "copy")


def flip(directory: Path, frame: int, offset: int) -> None:
    """Change a bit of a frame of the log."""
    flip_byte(directory / WAL_NAME, HEADER + frame * (FRAME + PAGE) + offset)


def flip_byte(path: Path, place: int, bit: int = 2) -> None:
    """Change a bit of a file."""
    with path.open("r+b") as file:
        file.seek(place)
        byte = file.read(1)[0]
        file.seek(place)
        file.write(bytes([byte ^ 1 << bit]))


def frames(directory: Path) -> int:
    """How many frames the log has."""
    log = read_log(directory)
    assert log is not None
    return len(log.frames)


def rows_of(directory: Path) -> list[Row]:
    """All rows, if they are true."""
    return list(open_reader(directory).read("cup"))


def contents(directory: Path) -> dict[str, bytes]:
    """The files of a journal; what SQLite makes for readers is none."""
    names = (FILE_NAME, WAL_NAME, "journal.head")
    return {name: (directory / name).read_bytes() for name in names if (directory / name).exists()}
