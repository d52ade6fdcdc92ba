"""A journal as a crash leaves it: its files copied while it is open, and damaged afterwards."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from queue import SimpleQueue

import agentleague.errors
from agentleague.errors import StorageError
from agentleague.roles.effects import Event
from agentleague.roles.ports import Row
from agentleague.storage.directory import FILE_NAME, open_reader
from agentleague.storage.sqlite import JournalLimits, SqliteJournal
from agentleague.storage.wal import WAL_NAME, read_log

QUICK = JournalLimits(retry_seconds=0.01, sync_seconds=0.01)
HEADER, FRAME, PAGE = 32, 24, 4096  # bytes of the parts of a log

CHILD = """
import os
import sys
from pathlib import Path
from threading import Semaphore
from agentleague.roles.effects import Event
from agentleague.storage.sqlite import SqliteJournal

class Noted(Event, frozen=True, kw_only=True, tag="noted"):
    text: str

journal = SqliteJournal(Path(sys.argv[1]), lambda: 0.0, lambda run: run())
seq = journal.claim("cup").seq
print("claimed", flush=True)
outstanding = Semaphore(50)

def done(heads):
    outstanding.release()
    for head in heads:
        print(head.seq, flush=True)

if sys.argv[2].startswith("die"):
    def die(connection):
        connection.create_function("die", 0, lambda: os._exit(9))
        connection.execute(
            "CREATE TEMP TRIGGER t BEFORE INSERT ON rows WHEN NEW.seq = 100 "
            "BEGIN SELECT die(); END"
        )
        commit(connection)

    commit, journal._commit = journal._commit, die
    journal.append("cup", seq, [Noted(text="x")] * 200, done)

while sys.argv[2] == "write":
    outstanding.acquire()
    journal.append("cup", seq, [Noted(text="x" * 500)], done)
    seq += 1
sys.stdin.read()
"""


class Noted(Event, frozen=True, kw_only=True, tag="noted"):
    text: str


def open_journal(directory: Path) -> SqliteJournal:
    return SqliteJournal(directory, lambda: 0.0, lambda run: run(), limits=QUICK)


def append(journal: SqliteJournal, after: int, count: int = 1, size: int = 300) -> int:
    """Write so many rows; the number of the last one."""
    answers: SimpleQueue[Sequence[Row] | StorageError] = SimpleQueue()
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


@contextmanager
def child(directory: Path, task: str) -> Iterator[subprocess.Popen[str]]:
    """A real manager process that has claimed the directory."""
    source = Path(agentleague.errors.__file__).parents[1]
    with subprocess.Popen(
        [sys.executable, "-c", CHILD, str(directory), task],
        env=os.environ | {"PYTHONPATH": str(source)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == "claimed\n"
            yield process
        finally:
            process.kill()
