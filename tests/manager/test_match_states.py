"""GET_MATCH says how far a match is, as its referee said it last."""

import pytest

import memory_league
from agentleague.protocol.messages import LeagueQuery, RefereeStatus
from agentleague.roles.stimuli import Caller
from manager.test_foreign_starts import League
from manager.test_role_abuse import ask
from rules import rule

FOUR = ("Ann", "Bob", "Cid", "Dan")


def state(league, match_id="R1M1"):
    query = LeagueQuery("GET_MATCH", query_params={"match_id": match_id})
    return league.ask(query, Caller("127.0.0.1")).data["match"]["state"]


def say(league, **states):
    token = league.tokens[0]
    message = RefereeStatus("", [*states], states=states)
    league.ask(message, Caller("127.0.0.1", token))


@rule("R-QUERY-05", "R-REF-01")
def test_while_the_players_think_the_match_collects_choices():
    league = memory_league.MemoryLeague(2, 1)
    league.think_seconds = lambda: 10.0
    league.fill()
    league.run_until(lambda: league.league.round_id == 1)
    query = LeagueQuery("GET_MATCH", query_params={"match_id": "R1M1"})

    league.wait(5.0)
    thinking = ask(league, query).data["match"]["state"]
    league.play()

    assert thinking == "COLLECTING_CHOICES"
    assert ask(league, query).data["match"]["state"] == "FINISHED"


@rule("R-QUERY-05")
def test_a_match_is_in_the_state_that_its_referee_said_last():
    league = League(names=FOUR, locks=True, capacity=1)
    assert (state(league), state(league, "R1M2")) == ("UNKNOWN", "WAITING_FOR_PLAYERS")

    for said in ("WAITING_FOR_PLAYERS", "COLLECTING_CHOICES", "DRAWING_NUMBER"):
        say(league, R1M1=said, R1M2=said)
        assert (state(league), state(league, "R1M2")) == (said, "WAITING_FOR_PLAYERS")


@rule("R-QUERY-05")
@pytest.mark.parametrize("said", ["FINISHED", "nonsense"])
def test_the_manager_alone_knows_the_end_and_takes_no_other_word(said):
    league = League(locks=True)
    say(league, R1M1="COLLECTING_CHOICES")

    say(league, R1M1=said)

    assert state(league) == "COLLECTING_CHOICES"


@rule("R-QUERY-05")
def test_of_a_match_at_a_foreign_referee_and_after_a_restart_nobody_knows():
    foreign, ours = League(), League(locks=True)
    say(ours, R1M1="COLLECTING_CHOICES")

    ours.restart()

    assert (state(foreign), state(ours)) == ("UNKNOWN", "UNKNOWN")
    foreign.report()
    assert state(foreign) == "FINISHED"
