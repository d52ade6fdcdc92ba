"""Each process is really killed at each point where it could hurt, and started again."""

import pytest

from agentleague.league.events import TokenRenewed
from crash.cup import Cup
from crash.failing import TOKEN_NOT_KEPT


def came_back(cup):
    """Who registered again and showed the token of an earlier life."""
    return [event.agent_id for event in cup.events() if isinstance(event, TokenRenewed)]


@pytest.mark.parametrize(
    "point",
    [
        "registration stored",
        "referee registration stored",
        "schedule written",
        "announcement half sent",
        "locked but not answered",
        "reported but not acknowledged",
        "last result of a round",
        "standings but no ROUND_COMPLETED",
        "ROUND_COMPLETED to one",
        "LEAGUE_COMPLETED to nobody",
        "LEAGUE_COMPLETED to one",
    ],
)
def test_a_manager_that_is_killed_and_started_again_ends_the_league(point, tmp_path):
    cup = Cup(tmp_path, fails={"manager": point}).open()

    cup.dies_and_comes_back("manager")

    cup.ends().check()


@pytest.mark.parametrize("point", ["GAME_OVER to nobody", "GAME_OVER to one", "not reported"])
def test_a_referee_that_is_killed_and_started_again_finishes_its_matches(point, tmp_path):
    cup = Cup(tmp_path, fails={"referee-1": point}).open()

    cup.dies_and_comes_back("referee-1")

    cup.ends().check()
    assert came_back(cup) == ["REF01"]


@pytest.mark.parametrize(
    "point",
    [
        pytest.param("GAME_OVER to nobody", marks=pytest.mark.slow),
        "GAME_OVER to one",
        pytest.param("not reported", marks=pytest.mark.slow),
    ],
)
def test_the_matches_of_a_referee_that_stays_away_go_to_the_other(point, tmp_path):
    rules = {"lease_seconds": 3.0}
    cup = Cup(tmp_path, referees=2, fails={"referee-1": point}, rules=rules).open()

    cup.dies("referee-1")

    cup.ends(without=["referee-1"]).check()


def test_a_player_that_is_killed_and_started_again_goes_on_in_the_same_match(tmp_path):
    cup = Cup(tmp_path, fails={"player-1": "joined but not moved"}).open()

    cup.dies_and_comes_back("player-1")

    cup.ends().check()
    assert len(came_back(cup)) == 1


def test_a_player_that_is_killed_while_it_is_told_a_result_is_told_again(tmp_path):
    rules = {"cycles": 2}
    cup = Cup(tmp_path, players=2, fails={"player-1": "told but not acknowledged"}, rules=rules)
    cup.open()

    cup.dies_and_comes_back("player-1")

    cup.ends().check()
    told = [each["match_id"] for each in cup.told("player-1") if "game_result" in each]
    assert told.count("R1M1") > 1
    # The first time it did not come to say it.
    assert cup.said("player-1").count("R1M1 against ") == 1


DIES_OF_ITS_FIRST_RESULT = """
import os, signal
from pathlib import Path
from agentleague import Player

player = Player("player-1")

@player.plays("even_odd")
def choose(turn):
    return "even"

@player.on_result
def heard(result):
    notes = Path(__file__).with_name("notes")
    is_first = not notes.exists()
    with notes.open("a") as file:
        print(result["match_id"], file=file)
    if is_first:
        os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_player_whose_author_heard_a_result_and_kept_nothing_hears_it_again(tmp_path):
    (tmp_path / "mine.py").write_text(DIES_OF_ITS_FIRST_RESULT)
    cup = Cup(tmp_path, players=2, rules={"cycles": 2})
    kind, *options = cup.commands["player-1"]
    cup.commands["player-1"] = (kind, tmp_path / "mine.py", *options)
    cup.open()

    cup.dies_and_comes_back("player-1")

    cup.ends().check()
    assert (tmp_path / "notes").read_text().split() == ["R1M1", "R1M1", "R2M1"]


def test_a_player_that_stays_away_loses_alone(tmp_path):
    rules = {"retries": 1, "join_retries": 1, "retry_delay_seconds": 0.2}
    cup = Cup(tmp_path, fails={"player-1": "joined but not moved"}, rules=rules).open()

    cup.dies("player-1")

    cup.ends(without=["player-1"]).check(lost=3)


@pytest.mark.parametrize("name", ["referee-1", "player-1"])
def test_an_agent_that_is_killed_before_it_keeps_its_token_still_has_its_place(name, tmp_path):
    cup = Cup(tmp_path, fails={name: TOKEN_NOT_KEPT}).open()

    cup.dies_and_comes_back(name)

    cup.ends().check()
