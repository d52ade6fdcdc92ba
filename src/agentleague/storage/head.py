"""`DIR/journal.head`: the last row of each league, kept outside the journal.

It is written after the commit of a row and before anybody is told of it. So it is never ahead of
an honest journal, and a journal that ends before it has lost rows.

Each league has two blocks of the file that are written in turn, so a write that is cut off leaves
the other one. A block is a line of text: its digest, then the league, the row and its hash as JSON.
The blocks are there from the claim on: a full disk takes nothing but what is already its own.

It is synced within about a second, not at each commit. What a power cut undoes of it makes it lag
behind: that hides a loss of the last second, and never accuses a journal that is whole.
"""

import os
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import NamedTuple

import msgspec

from agentleague.roles.ports import Head, Row
from agentleague.storage.directory import HEAD_NAME
from agentleague.storage.durable import sync_directory

BLOCK = 4096  # bytes that a disk may write as one, at most
_DIGITS = 16  # of the digest


class _Block(NamedTuple):
    league_id: str
    seq: int
    hash: str


def read_heads(directory: Path) -> dict[str, Head]:
    """The last row of each league as it was noted; none where there is no such file."""
    heads: dict[str, Head] = {}
    for block in _blocks(directory / HEAD_NAME):
        if block and block.seq > heads.get(block.league_id, Head(-1, b"")).seq:
            heads[block.league_id] = Head(block.seq, bytes.fromhex(block.hash))
    return heads


class HeadFile:
    """The file of the one who writes the journal."""

    def __init__(self, directory: Path) -> None:
        self._path = directory / HEAD_NAME
        flags = os.O_RDWR | os.O_CREAT | getattr(os, "O_BINARY", 0)
        self._descriptor = os.open(self._path, flags, 0o600)
        self._places: dict[str, int] = {}  # the first of each league's two blocks
        self._seqs: dict[int, int] = {}  # of each block; less than any row if it holds none
        self._moving = Lock()  # Leagues are claimed while the writer notes rows of others.
        self.is_synced = True

    def add(self, league_id: str) -> None:
        """Have room for a league, on disk."""
        blocks = _blocks(self._path)
        blocks += [None] * (len(blocks) % 2)
        leagues = [block.league_id if block else None for block in blocks]
        if league_id in leagues:
            place = leagues.index(league_id) // 2 * 2
        else:
            taken = self._places.values()
            pairs = [place for place in range(0, len(leagues), 2) if place not in taken]
            free = (place for place in pairs if leagues[place : place + 2] == [None, None])
            place = next(free, len(leagues))
            blocks += [None, None]
            self._put(place, bytes(2 * BLOCK))
            self.sync()
            sync_directory(self._path.parent)
        self._places[league_id] = place
        for number in (place, place + 1):
            block = blocks[number]
            self._seqs[number] = block.seq if block else -1

    def seq(self, league_id: str) -> int:
        """The last row that was noted; -1 if none was."""
        place = self._places[league_id]
        return max(self._seqs[place], self._seqs[place + 1])

    def write(self, league_id: str, head: Head | Row) -> None:
        """Note the last row of a league; not synced yet."""
        seqs, place = self._seqs, self._places[league_id]
        older, newer = sorted((place, place + 1), key=seqs.__getitem__)
        text = msgspec.json.encode(_Block(league_id, head.seq, head.hash.hex()))
        line = f"{_digest(text)} {text.decode()}\n".encode()
        if head.seq <= seqs[newer]:  # Rows were lost, and that was accepted: neither block counts.
            self._put(newer, line)
            self.sync()
            seqs[newer] = head.seq
        self._put(older, line)
        seqs[older] = head.seq

    def sync(self) -> None:
        """Put it on disk."""
        os.fsync(self._descriptor)
        self.is_synced = True

    def close(self) -> None:
        """Put it on disk, and let it go."""
        try:
            self.sync()
        finally:
            os.close(self._descriptor)

    def _put(self, block: int, text: bytes) -> None:
        self.is_synced = False
        with self._moving:
            os.lseek(self._descriptor, block * BLOCK, os.SEEK_SET)
            os.write(self._descriptor, text)


def _blocks(path: Path) -> list[_Block | None]:
    """What the blocks hold; None for one that was never written, or not to its end."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return []
    return [_read(data[start : start + BLOCK]) for start in range(0, len(data), BLOCK)]


def _read(data: bytes) -> _Block | None:
    digest, _, text = data.partition(b"\n")[0].partition(b" ")
    if digest.decode(errors="replace") != _digest(text):
        return None
    return msgspec.json.decode(text, type=_Block)


def _digest(text: bytes) -> str:
    return sha256(text).hexdigest()[:_DIGITS]
