"""`league bench --scale` and `--endurance` as they are typed; slow, for they play real leagues."""

import json

import pytest

from agentleague.bench.league_run import Plan, measure_league
from commands import league


@pytest.mark.slow
def test_scale_compares_leagues_up_to_the_largest():
    done = league("bench", "--scale", "--players", "20", "--seconds", "0", "--json")

    small, large = json.loads(done.stdout)["steps"]
    assert (small["players"], large["players"]) == (10, 20)
    assert (large["rounds"], large["matches"]) == (1, 10)
    assert large["cpu_us"] == pytest.approx(sum(large["cpu_us_per_match"].values()), rel=0.01)
    assert min(large["peak_mb"].values()) > 10


@pytest.mark.slow
def test_a_long_run_says_what_it_found_and_exits_accordingly():
    done = league("bench", "--endurance", "--players", "4", "--seconds", "5", "--json", check=False)

    found = json.loads(done.stdout)
    assert found["matches"] > 0
    assert len(found["glances"]) >= 10
    assert set(found["grown_mb"]) == {"manager", "referee", "player"}
    assert done.returncode == (0 if found["is_flat"] and found["is_steady"] else 1)


@pytest.mark.slow
def test_a_profile_names_functions_of_manager_and_referees():
    done = league("bench", "--profile", "--players", "10", "--seconds", "4", "--json")

    hottest = json.loads(done.stdout)["hottest"]
    assert set(hottest) == {"manager", "referee"}
    assert any(row["function"].startswith("agentleague.") for row in hottest["referee"])


@pytest.mark.slow
def test_a_long_run_for_which_there_are_too_few_matches_fails():
    done = league("bench", "--endurance", "--players", "2", "--seconds", "120", check=False)

    assert done.returncode == 1
    assert "it has no more matches" in done.stderr


@pytest.mark.slow
def test_messages_are_counted_from_the_start_of_the_league_on(tmp_path):
    outcome = measure_league(Plan(4, 1, 2, 2, directory=tmp_path))

    calls = {tally.role: tally.calls for tally in outcome.tallies[:2]}
    players = sum(tally.calls for tally in outcome.tallies[2:])
    assert players == 4  # Each asks its manager whether the league is over; none registers.
    assert calls["manager"] >= 3 * 4 + 1  # Each is told of the round, its end and the league's.
    assert list(tmp_path.iterdir()) == []
