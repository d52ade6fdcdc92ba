"""Any process is killed at any instant, again and again; each is started again at once."""

from random import Random
from threading import Event

import pytest

from crash.cup import Cup, until

PATIENT = {"retries": 20, "join_retries": 20, "retry_delay_seconds": 0.5}  # while one comes back


def kill_and_restart(cup, rng, kills):
    """So many kills at instants of chance, while the league runs."""
    for _ in range(kills):
        Event().wait(rng.uniform(0.0, 0.6))  # The instant is what is drawn; no race is hidden.
        name = rng.choice(["manager", "manager", "manager", *cup.referees, *cup.players])
        assert cup.kill(name), f"{name} has ended before it could be killed: {cup.said(name)}"
        cup.start(name)


def a_league_survives(home, seed, kills):
    cup = Cup(home, players=6, referees=2, rules={"cycles": 8, **PATIENT}, run=0.02).open()
    until(cup.is_playing, "the first result is told")

    kill_and_restart(cup, Random(seed), kills)

    cup.ends().check()


def test_a_league_survives_eight_kills(tmp_path):
    a_league_survives(tmp_path, seed=1, kills=8)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [2, 3, 4, 5, 6])
def test_a_league_survives_ten_kills(seed, tmp_path):
    a_league_survives(tmp_path, seed, kills=10)
