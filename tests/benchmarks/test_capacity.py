"""What the page about capacity computes is what the simulator plays."""

from math import ceil

import pytest

from capacity import measure


@pytest.mark.parametrize(("players", "referees", "at_once"), [(12, 1, 64), (40, 2, 5)])
def test_a_round_of_players_that_think_takes_as_long_as_the_page_says(players, referees, at_once):
    found = measure(players, referees, 5.0, at_once, 2)

    waiting = ceil(players / 2 / (referees * at_once)) * 5.1
    assert found["round_seconds"] == pytest.approx(waiting, rel=0.03)
    assert found["forfeits"] == 0
