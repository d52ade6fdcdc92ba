"""The only referee of a league is killed again and again in one slow match."""

from agentleague.league.events import MatchAssigned
from crash.cup import Cup, until
from rules import rule

KILLS = 6  # If each counted, the fourth would be the end of the match.


@rule("R-LEASE-05")
def test_a_slow_match_outlives_six_kills_of_its_only_referee(tmp_path):
    rules = {"move_seconds": 300.0, "join_retries": 20, "lease_seconds": 60.0}
    cup = Cup(tmp_path, players=2, rules=rules)
    cup.held.touch()
    cup.open()
    until((tmp_path / "asked").exists, "a player is asked for its move")

    for kill in range(1, KILLS + 1):
        assert cup.kill("referee-1")
        cup.start("referee-1")
        until(lambda kill=kill: times_given(cup) == kill, "it has its match again")
    cup.held.unlink()

    cup.ends().check()


def times_given(cup):
    return sum(isinstance(event, MatchAssigned) for event in cup.events())
