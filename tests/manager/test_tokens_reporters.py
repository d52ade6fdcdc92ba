"""Who reports a match: by token, or by address where a referee never shows one."""

import pytest

from agentleague.errors import TokenInvalid, TokenMissing
from agentleague.league.events import TokenShown
from agentleague.protocol.messages import LeagueQuery, RefereeMeta, RefereeRegisterRequest
from agentleague.roles.settings import ManagerSettings
from agentleague.roles.stimuli import Caller
from manager.test_foreign_starts import WON, League
from rules import rule

HERE, THERE = "127.0.0.1", "10.0.0.9"


def report(league, token=None, source=HERE):
    return league.ask(WON, Caller(source, token))


@rule("R-START-06")
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"tokenless_referees": True},
        {"network": "lan", "referee_access": "anyone", "tokenless_referees": True},
    ],
)
def test_a_referee_that_never_showed_a_token_reports_its_match_without_one(settings):
    league = League(**settings)

    assert report(league).status == "ACCEPTED"
    assert league.role.league.matches["R1M1"].decided.verified is False


@rule("R-START-06")
@pytest.mark.parametrize(
    "settings", [{"network": "lan", "referee_access": "anyone"}, {"tokenless_referees": False}]
)
def test_not_beyond_this_machine_and_not_where_the_league_does_not_want_it(settings):
    assert isinstance(report(League(**settings)), TokenMissing)


@rule("R-START-06")
def test_not_from_another_address():
    assert isinstance(report(League(), source=THERE), TokenMissing)


@rule("R-START-06")
@pytest.mark.parametrize("token", ["tok_wrong", "mtok_1"])
def test_a_wrong_token_is_never_taken_for_none(token):
    assert isinstance(report(League(), token), TokenInvalid)


@rule("R-START-06")
@pytest.mark.parametrize("how", ["query", "register"])
def test_a_referee_that_showed_its_token_once_must_show_it_always(how):
    league = League()
    message = {
        "query": LeagueQuery("GET_STATUS"),
        "register": RefereeRegisterRequest(RefereeMeta("Ref 0", "http://127.0.0.1/0")),
    }[how]

    league.ask(message, Caller(HERE, league.tokens[0]))
    shown = league.events(TokenShown)
    league.ask(message, Caller(HERE, league.tokens[0]))

    assert shown == [TokenShown("REF01")]
    assert not league.events(TokenShown)  # Once is enough.
    assert isinstance(report(league), TokenMissing)


@rule("R-START-06")
def test_a_match_of_a_referee_that_locks_is_never_reported_without_its_token():
    league = League(locks=True)

    assert isinstance(report(league), TokenMissing)
    league.ask(LeagueQuery("GET_STATUS"), Caller(HERE, league.tokens[0]))
    assert not league.events(TokenShown)


def test_it_is_on_for_this_machine_alone():
    assert ManagerSettings().takes_tokenless
    assert not ManagerSettings(network="lan").takes_tokenless
