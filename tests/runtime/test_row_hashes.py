"""Receipts name rows by their hashes: the newest are at hand, older ones are on disk."""

import pytest

from agentleague.runtime import host
from agentleague.runtime.host import RowHashes


def hash_of(seq):
    return seq.to_bytes(32, "big")


@pytest.mark.parametrize("rows", [1, 9, 10, 11, 15, 16, 40])
def test_every_row_has_its_hash_and_only_old_ones_are_looked_up(rows, monkeypatch):
    monkeypatch.setattr(host, "ROWS_MAX", 10)
    looked_up = []
    hashes = RowHashes(lambda seq: looked_up.append(seq) or hash_of(seq))
    for seq in range(1, rows + 1):
        hashes.add(hash_of(seq))

    assert [hashes.of(seq) for seq in range(1, rows + 1)] == [hash_of(n + 1) for n in range(rows)]
    assert looked_up == list(range(1, len(looked_up) + 1))
    assert 5 <= rows - len(looked_up) <= 10 or not looked_up
