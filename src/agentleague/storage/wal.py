"""SQLite's write-ahead log, read before SQLite opens it: is it damaged in the middle?

SQLite takes the log up to the first frame that is wrong and says nothing of those behind it. After
a crash such frames are normal: the rest of a transaction that was not finished, and what was there
before the log began anew (with other salts). But each commit is on disk before the next one begins.
So where frames that follow each other, by their checksums, hold two commits, the first of them was
on disk with all before it; a wrong frame before it is damage, whenever the machine stopped.

The format is described in https://www.sqlite.org/fileformat2.html#walformat
"""

import sys
from collections.abc import Iterator
from pathlib import Path
from struct import Struct, iter_unpack
from typing import NamedTuple

from agentleague.storage.directory import FILE_NAME

WAL_NAME = f"{FILE_NAME}-wal"
_HEADER, _FRAME = Struct(">8I"), Struct(">6I")
_MAGIC, _IS_BIG_ENDIAN = 0x377F0682, 1  # The last bit says how checksums read the pages.
_BITS = 0xFFFFFFFF
_PAGE_SIZE = 4096  # of a journal

Sums = tuple[int, int]


class Frame(NamedTuple):
    """A page as a transaction wrote it."""

    number: int
    page: int
    size_after: int  # pages of the database if this ends a transaction, else 0
    content: bytes
    is_current: bool  # written since the log began anew
    follows: bool  # its checksum is right for the frame before


class Log(NamedTuple):
    """What stands in a log, whether it is true or not."""

    header: bytes
    frames: list[Frame]


def read_log(directory: Path, *, salvage: bool = False) -> Log | None:
    """The log of a journal, if there is one; SQLite takes nothing of one whose header is wrong."""
    try:
        data = (directory / WAL_NAME).read_bytes()
    except FileNotFoundError:
        return None
    if len(data) < _HEADER.size + _FRAME.size:
        return None
    magic, _, page_size, _, *salts, sum_1, sum_2 = _HEADER.unpack_from(data)
    order = ">" if magic & _IS_BIG_ENDIAN else "<"
    start = _checksum(order, data[: _HEADER.size - 8])
    if magic & ~_IS_BIG_ENDIAN != _MAGIC or start != (sum_1, sum_2):
        if not salvage:
            return None
        page_size, order = _PAGE_SIZE, ">" if sys.byteorder == "big" else "<"
        salts = list(_FRAME.unpack_from(data, _HEADER.size)[2:4])
    return Log(data[: _HEADER.size], list(_frames(data, order, page_size, (*salts, *start))))


def _frames(
    data: bytes, order: str, page_size: int, begin: tuple[int, int, int, int]
) -> Iterator[Frame]:
    *salts, sum_1, sum_2 = begin
    before, size = (sum_1, sum_2), _FRAME.size + page_size
    for number, start in enumerate(range(_HEADER.size, len(data) - size + 1, size)):
        page, size_after, *salt, sum_1, sum_2 = _FRAME.unpack_from(data, start)
        content = data[start + _FRAME.size : start + size]
        follows = False
        if salt == salts:  # Else it is of no interest what its checksum is.
            follows = _checksum(order, data[start : start + 8] + content, before) == (sum_1, sum_2)
        before = sum_1, sum_2
        yield Frame(number, page, size_after, content, salt == salts, follows)


def hidden_commits(directory: Path) -> int:
    """The commits that were on disk behind a damaged place; also while somebody writes."""
    places: list[tuple[bytes, int]] = []
    for _ in range(2):  # A frame that was just being written is there at the second look.
        log = read_log(directory)
        if log is None or not (commits := commits_behind_damage(log)):
            return 0
        places.append((log.header, first_bad(log)))
    return commits if places[0] == places[1] else 0


def first_bad(log: Log) -> int:
    """How many frames SQLite takes."""
    return next((frame.number for frame in log.frames if not frame.follows), len(log.frames))


def commits_behind_damage(log: Log) -> int:
    """The commits that were on disk and that SQLite does not take; 0 unless that is proved."""
    most = commits = 0
    for frame in log.frames[first_bad(log) :]:
        commits = commits + bool(frame.size_after) if frame.follows else 0
        most = max(most, commits)
    return most - 1 if most > 1 else 0  # The last one may not have been on disk to its end.


def salvaged(directory: Path) -> list[list[Frame]]:
    """What may be true of the log, also behind a wrong frame: without the wrong ones, and with."""
    log = read_log(directory, salvage=True)
    if log is None:
        return []
    commits = [frame for frame in log.frames if frame.follows and frame.size_after]
    if not commits:
        return []
    pages, last = max(frame.size_after for frame in commits), commits[-1].number
    frames = [frame for frame in log.frames[: last + 1] if 0 < frame.page <= pages]
    return [[frame for frame in frames if frame.follows], frames]


def _checksum(order: str, data: bytes, before: Sums = (0, 0)) -> Sums:
    one, two = before
    for first, second in iter_unpack(f"{order}II", data):
        one = (one + first + two) & _BITS
        two += second + one  # It grows so slowly that it is cut off at the end.
    return one, two & _BITS
