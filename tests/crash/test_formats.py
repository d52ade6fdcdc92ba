"""A manager of real processes is killed in a league of stages; the same is decided as ever."""

import json
from random import Random
from threading import Event

import pytest

from agentleague.league.events import LeagueEnded, RoundScheduled, StageStarted
from commands import league
from crash.cup import Cup, until

PATIENT = {"retries": 20, "join_retries": 20, "retry_delay_seconds": 0.5}
KNOCKOUT = {"format": "knockout", "best_of": 3}
STAGES = {
    "groups": [{"format": "groups", "groups": 2, "cycles": 2}, KNOCKOUT],
    "swiss": [{"format": "swiss", "rounds": 3}, {"format": "swiss", "rounds": 3}],
    "knockout": [KNOCKOUT, KNOCKOUT],
    "ladder": [{"format": "ladder", "rounds": 4}, {"format": "ladder", "seconds": 5}],
    "round_robin": [{"format": "round_robin", "advance": 4}, {"format": "round_robin"}],
}


def a_league_survives(home, name, kills):
    """The manager is killed in the first stage, and so often at instants of chance."""
    rules = {"stages": STAGES[name], "seeding": "random", **PATIENT}
    cup = Cup(home, players=6, referees=2, rules=rules, run=0.02).open()
    until(cup.is_playing, "the first result is told")
    chance = Random(name)
    for _ in range(kills):
        assert cup.kill("manager"), cup.said("manager")
        cup.start("manager")
        Event().wait(chance.uniform(0.0, 0.3))  # The instant is what is drawn.
    events = cup.ends().events()

    rounds = [event.round_id for event in events if isinstance(event, RoundScheduled)]
    assert rounds == list(range(1, len(rounds) + 1))
    assert [event.stage for event in events if isinstance(event, StageStarted)] == [2]
    assert [event.aborted for event in events if isinstance(event, LeagueEnded)] == [False]
    found = json.loads(league("verify", cup.disk.directory, "--json").stdout)
    assert (found["ok"], found["complete"], found["forfeited"]) == (True, True, 0)


def test_groups_and_a_knockout_survive_three_kills_of_the_manager(tmp_path):
    a_league_survives(tmp_path, "groups", kills=3)


@pytest.mark.slow
@pytest.mark.parametrize("name", STAGES)
def test_stages_of_every_format_survive_eight_kills_of_the_manager(name, tmp_path):
    a_league_survives(tmp_path, name, kills=8)
