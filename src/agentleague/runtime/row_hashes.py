"""The chain hashes that receipts name: the newest rows' at hand, older ones looked up."""

from collections.abc import Callable

ROWS_MAX = 20_000
_SIZE = 32


class RowHashes:
    """Hashes by row number; `look_up` gives that of a row which is not at hand any more."""

    def __init__(self, look_up: Callable[[int], bytes]) -> None:
        self._look_up = look_up
        self._first = 1  # the oldest row at hand
        self._hashes = bytearray()  # of row n at (n - first) * 32

    def add(self, row_hash: bytes) -> None:
        """The hash of the next row; now and then the older half is forgotten."""
        self._hashes += row_hash
        if len(self._hashes) > ROWS_MAX * _SIZE:
            half = ROWS_MAX // 2
            del self._hashes[: half * _SIZE]
            self._first += half

    def of(self, seq: int) -> bytes:
        """The hash of a row.

        Raises:
            StorageError: it is an old one and cannot be read.
        """
        if seq < self._first:
            return self._look_up(seq)
        start = (seq - self._first) * _SIZE
        return bytes(self._hashes[start : start + _SIZE])
