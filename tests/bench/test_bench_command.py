"""`league bench --profile` as it is typed."""

import json

import pytest

from commands import league


@pytest.mark.slow
def test_a_profile_names_functions_of_manager_and_referees():
    done = league("bench", "--profile", "--players", "10", "--seconds", "4", "--json")

    hottest = json.loads(done.stdout)["hottest"]
    assert set(hottest) == {"manager", "referee"}
    assert any(row["function"].startswith("agentleague.") for row in hottest["referee"])
