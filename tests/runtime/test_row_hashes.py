"""Receipts name rows by their hashes: the newest are at hand, older ones are on disk."""

from agentleague.roles.ports import Head
from agentleague.runtime.host import RowHashes


def hash_of(seq):
    return seq.to_bytes(32, "big")


def test_every_row_has_its_hash_and_only_old_ones_are_looked_up():
    for rows in (1, 9, 10, 11, 15, 16, 40):
        looked_up = []
        hashes = RowHashes(lambda seq, seen=looked_up: seen.append(seq) or hash_of(seq), limit=10)
        for seq in range(1, rows + 1):
            hashes.add([Head(seq, hash_of(seq))])

        assert [hashes.of(seq) for seq in range(1, rows + 1)] == [*map(hash_of, range(1, rows + 1))]
        assert looked_up == list(range(1, len(looked_up) + 1)), rows
        assert 5 <= rows - len(looked_up) <= 10 or not looked_up, rows


def test_more_rows_at_once_than_are_kept_leave_the_newest():
    hashes = RowHashes(lambda seq: b"on disk", limit=10)

    hashes.add([Head(seq, hash_of(seq)) for seq in range(1, 41)])

    assert hashes.of(35) == b"on disk"
    assert hashes.of(36) == hash_of(36)
    assert hashes.of(40) == hash_of(40)
