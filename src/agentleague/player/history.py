"""The matches that a player remembers: plain mappings to whoever looks, packed while nobody does.

A thousand of them as mappings take more than 1 MB. They are nearly alike, so packed they take some
30 KB: then a process can host a hundred players that play for ever.
"""

import zlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Any

import msgspec

HISTORY_MAX = 1000
BLOCK = 50  # matches that are packed together

Match = Mapping[str, Any]


class History(Sequence[Match]):
    """The last matches, at most a thousand, oldest first."""

    def __init__(self, packed: Sequence[bytes] = (), newest: Sequence[Match] = ()) -> None:
        self._packed = list(packed)  # a block each
        self._newest = list(newest)

    def append(self, match: Match) -> None:
        """Remember one more; a block that is not needed any more is forgotten."""
        self._newest.append(match)
        if len(self._newest) > BLOCK:
            self._packed.append(zlib.compress(msgspec.json.encode(self._newest[:BLOCK])))
            del self._newest[:BLOCK]
        if self._too_old >= BLOCK:
            del self._packed[0]

    def copy(self) -> "History":
        """As it is now: what is appended later is not in it."""
        return History(self._packed, self._newest)

    def __len__(self) -> int:
        return min(self._kept, HISTORY_MAX)

    def __iter__(self) -> Iterator[Match]:
        blocks = map(_unpacked, self._packed)
        return islice(chain.from_iterable(chain(blocks, [self._newest])), self._too_old, None)

    def __getitem__(self, number: Any) -> Any:
        if isinstance(number, slice):
            return [self[each] for each in range(len(self))[number]]
        place = range(len(self))[number] + self._too_old
        block = place // BLOCK
        is_packed = block < len(self._packed)
        return (_unpacked(self._packed[block]) if is_packed else self._newest)[place % BLOCK]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    @property
    def _kept(self) -> int:
        return len(self._packed) * BLOCK + len(self._newest)

    @property
    def _too_old(self) -> int:
        """How many at the beginning of the first block are shown to nobody."""
        return max(0, self._kept - HISTORY_MAX)


def _unpacked(block: bytes) -> list[Match]:
    matches: list[Match] = msgspec.json.decode(zlib.decompress(block))
    return matches
