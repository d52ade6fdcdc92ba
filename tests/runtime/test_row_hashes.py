"""Receipts name rows by their hashes: the newest are at hand, older ones are on disk."""

from agentleague.runtime.host import RowHashes


def hash_of(seq):
    return seq.to_bytes(32, "big")


def test_every_row_has_its_hash_and_only_old_ones_are_looked_up():
    for rows in (1, 9, 10, 11, 15, 16, 40):
        looked_up = []
        hashes = RowHashes(lambda seq, seen=looked_up: seen.append(seq) or hash_of(seq), limit=10)
        for seq in range(1, rows + 1):
            hashes.add(hash_of(seq))

        assert [hashes.of(seq) for seq in range(1, rows + 1)] == [*map(hash_of, range(1, rows + 1))]
        assert looked_up == list(range(1, len(looked_up) + 1)), rows
        assert 5 <= rows - len(looked_up) <= 10 or not looked_up, rows
