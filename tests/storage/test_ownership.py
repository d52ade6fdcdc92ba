"""What an owner of a league in a database may believe."""

import pytest

from agentleague.roles.ports import Head
from agentleague.storage import chain
from agentleague.storage.ownership import is_trusted, renewal_seconds, rows_found

START = chain.start("L1")
ROWS = chain.extend(START, "L1", "2026-01-01T00:00:00.000Z", [("told", 1, b"{}")] * 3)
ANOTHERS = chain.extend(START, "L1", "2026-01-01T00:00:00.001Z", [("told", 1, b"{}")] * 4)


def head(row):
    return Head(row.seq, row.hash)


@pytest.mark.parametrize(
    ("tail", "found"),
    [
        (START, 0),  # The statement did not arrive.
        (head(ROWS[2]), 3),  # It did, and its answer was lost.
        (head(ROWS[0]), 1),  # A former statement did, and the repeated one had more rows.
        (head(ANOTHERS[2]), None),  # The same number, by somebody else.
        (head(ANOTHERS[3]), None),  # Longer than ours.
    ],
)
def test_the_tail_says_what_became_of_rows_whose_commit_is_unknown(tail, found):
    assert rows_found(tail, START, ROWS) == found


def test_rows_may_follow_a_row():
    assert rows_found(head(ROWS[1]), ROWS[0], ROWS[1:]) == 1


def test_an_owner_is_trusted_until_a_second_before_its_lease_ends():
    assert is_trusted(102.9, 100.0, 4.0)
    assert not is_trusted(103.0, 100.0, 4.0)


def test_a_renewal_may_fail_twice_before_the_owner_is_not_trusted_any_more():
    lease = 4.0

    assert is_trusted(100.0 + 2 * renewal_seconds(lease), 100.0, lease)
