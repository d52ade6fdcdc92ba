"""The interval of a score and the Elo difference, by tables that others have published."""

import pytest

from agentleague.cli.commands.play import elo, wilson


@pytest.mark.parametrize(
    ("share", "matches", "low", "high"),
    [
        (0.5, 100, 0.4038, 0.5962),
        (0.5, 10, 0.2366, 0.7634),
        (81 / 263, 263, 0.2553, 0.3662),  # Newcombe 1998, table I.
        (15 / 148, 148, 0.0624, 0.1605),  # Newcombe 1998, table I.
        (0.0, 20, 0.0, 0.1611),  # Newcombe 1998, table I.
        (1 / 29, 29, 0.0061, 0.1718),  # Newcombe 1998, table I.
        (1.0, 20, 0.8389, 1.0),
        (1.0, 1, 0.2065, 1.0),
    ],
)
def test_the_interval_of_a_share_is_that_of_wilson(share, matches, low, high):
    assert wilson(share, matches) == pytest.approx((low, high), abs=0.0001)


@pytest.mark.parametrize(
    ("share", "difference"),
    [
        (0.5, 0),
        (0.64, 100),  # the table of the chess federation: a score of 64 % is +100, nearly
        (0.76, 200),
        (0.24, -200),
        (10 / 11, 400),  # ten times the chance
        (0.99, 798),
        (1.0, None),
        (0.0, None),
    ],
)
def test_the_elo_difference_is_where_the_share_is_expected(share, difference):
    assert elo(share) == pytest.approx(difference, abs=1)
