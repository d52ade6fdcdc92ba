"""The simulated disk with a real SQLite journal beside it, which is copied, cut off and damaged.

Memory says what must be safe at every instant; the files must say the same. The journal writes in a
thread of its own, and every write is waited for, so a seed still stands for one league.
"""

import logging
import os
import shutil
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from queue import SimpleQueue
from random import Random
from tempfile import TemporaryDirectory

from agentleague.errors import StorageError
from agentleague.roles.ports import Clock, Head, Journal, Row
from agentleague.simulation.disk import Disk, Write, Written
from agentleague.storage.directory import open_journal, open_reader
from agentleague.storage.wal import WAL_NAME

try:
    import resource
except ImportError:  # It is Windows: there a write fails only in memory.
    resource = None  # type: ignore[assignment]

LEFT_BEHIND = shutil.ignore_patterns("*-shm", "*.lock")  # what is gone with the process
MEMORY = "/dev/shm"  # where files need no real disk; nothing here depends on that
WAIT_SECONDS = 20.0  # for the journal's thread, in real time
FLIPS = 1  # bits of a copy, one at a time; each costs as much as half a league


class SqliteDisk(Disk):
    """Raises AssertionError where the files do not hold what memory holds."""

    def __init__(self, clock: Clock, seed: int) -> None:
        super().__init__(clock)
        self._chance = Random(f"files|{seed}")
        self._room = TemporaryDirectory(dir=MEMORY if os.path.isdir(MEMORY) else None)
        self._copies = 0
        self._directory = Path(self._room.name, "0")
        self._journal: Journal | None = None
        self._answers: SimpleQueue[tuple[Callable[[], None], list[Row]]] = SimpleQueue()
        self._league_id, self._after = "", 0  # where the write under way goes

    def claim(self, league_id: str, *, accept_loss: bool = False) -> Head:
        """Open what the last life left: all that was safe is there, and nothing else."""
        head, self._league_id = super().claim(league_id, accept_loss=accept_loss), league_id
        self._journal = open_journal(self._directory, self._clock.now, self._deliver)
        found = self._journal.claim(league_id)
        rows = list(self._journal.read(league_id)) if found.seq else []
        assert rows == self._safe, f"the files hold {len(rows)} rows, and {head.seq} were safe"
        return head

    def find(self, league_id: str, first: int, last: int, text: bytes) -> Sequence[Row]:
        """As the real journal finds them."""
        if self._journal is None:
            return super().find(league_id, first, last, text)
        return self._journal.find(league_id, first, last, text)

    def crash(self) -> None:
        """The next life gets a copy of the files, in which the commit under way is cut off."""
        unsafe = self._unsafe
        super().crash()
        if self._journal:
            copy = self._copy()
            size = _size(self._directory / WAL_NAME)
            for write in unsafe[:1]:  # Of a second one all of the first would be there.
                self._write(write)
            with_more = self._directory / WAL_NAME
            if _size(with_more) > size:  # Else SQLite began its log anew.
                cut = self._chance.randrange(size, _size(with_more))
                (copy / WAL_NAME).write_bytes(with_more.read_bytes()[:cut])
            self._journal.close()
            self._journal, self._directory = None, copy

    def dispose(self) -> None:
        """The league is over: the files are not needed any more."""
        if self._journal:
            self._journal.close()
            self._journal = None
        self._room.cleanup()

    def flip_bits(self) -> str | None:
        """Flip bits in copies of the files: that is noticed, or no row is another or missing."""
        for _ in range(FLIPS):
            copy = self._copy()
            files = [each for each in sorted(copy.iterdir()) if _size(each)]
            hurt = self._chance.choice(files)
            content = bytearray(hurt.read_bytes())
            place = self._chance.randrange(len(content) * 8)
            content[place // 8] ^= 1 << place % 8
            hurt.write_bytes(content)
            found = _rows_or_error(copy, self._league_id)
            if found is not None and found != self._safe:
                what = f"bit {place} of {hurt.name} flipped"
                return f"{what}: {len(found)} of {len(self._safe)} rows, and nobody noticed"
        return None

    def _written(self, write: Write) -> Written:
        heads, written = super()._written(write), self._write(write)
        assert written == heads, f"the journal says {written}, and memory {heads}"
        return heads

    def _refused(self, write: Write) -> StorageError:
        """No file may grow or be written to: the journal must say that it could not write."""
        if resource is None:
            return super()._refused(write)
        _, most = limits = resource.getrlimit(resource.RLIMIT_FSIZE)
        logging.disable(logging.ERROR)  # It is no news that the journal cannot go on.
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, most))
        try:
            outcome = self._write(write)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limits)
            logging.disable(logging.NOTSET)
        assert isinstance(outcome, StorageError), f"a write that failed was confirmed: {outcome}"
        return outcome

    def _write(self, write: Write) -> Written:
        assert self._journal
        outcomes: list[Written] = []
        self._after = write.after
        self._journal.append(write.league_id, write.after, write.events, outcomes.append)
        if not outcomes:
            answer, on_disk = self._answers.get(timeout=WAIT_SECONDS)
            answer()
            if not isinstance(outcomes[0], StorageError):
                assert outcomes[0] == on_disk, "confirmed before it was on disk"
        return outcomes[0]

    def _deliver(self, answer: Callable[[], None]) -> None:
        """In the journal's thread: what a crash at this instant would leave."""
        on_disk: list[Row] = []
        with suppress(StorageError):  # Nothing may be there yet.
            on_disk = [*open_reader(self._directory).read(self._league_id, self._after)]
        self._answers.put((answer, on_disk))

    @property
    def _safe(self) -> list[Row]:
        return self._rows.get(self._league_id, [])

    def _copy(self) -> Path:
        self._copies += 1
        copy = Path(self._room.name, str(self._copies))
        return Path(shutil.copytree(self._directory, copy, ignore=LEFT_BEHIND))


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _rows_or_error(directory: Path, league_id: str) -> list[Row] | None:
    """What a manager that starts with these files has; None if it does not start."""
    journal = open_journal(directory, lambda: 0.0, lambda answer: answer())
    try:
        journal.claim(league_id)
        return list(journal.read(league_id))
    except StorageError:
        return None
    finally:
        journal.close()
