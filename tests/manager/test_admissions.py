"""The manager's part in registrations."""

import msgspec
import pytest
from msgspec import UNSET

from agentleague.errors import MissingField, TokenMissing
from agentleague.league.events import (
    PlayerRegistered,
    PlayerReturned,
    RefereeRegistered,
    TokenConfirmed,
    TokenRenewed,
)
from agentleague.manager.registration import check_complete, take_player, take_referee, terms_of
from agentleague.protocol.messages import (
    LeagueQuery,
    LeagueRegisterRequest,
    PlayerMeta,
    RefereeMeta,
    RefereeRegisterRequest,
)
from agentleague.roles.settings import ManagerSettings, Secrets
from agentleague.roles.stimuli import Asked, Caller
from league.decisions import LEAGUE_ID, TOKEN_SECRET, Decisions, token
from rules import rule

URL = "http://127.0.0.1:9000/mcp"
SECRETS = Secrets(b"draws", TOKEN_SECRET)


def terms(**settings):
    settings = ManagerSettings(league_id=LEAGUE_ID, **settings)
    return terms_of(settings, SECRETS, lambda url, source: None)


def player(decisions, name="Ann", url=URL, shown=None, source="127.0.0.1", **settings):
    message = LeagueRegisterRequest(PlayerMeta(name, url))
    return take_player(decisions.league, terms(**settings), message, Caller(source, shown))


def referee(decisions, url=URL, shown=None, locks=True, **settings):
    message = RefereeRegisterRequest(RefereeMeta("Owl", url, locks=locks))
    return take_referee(decisions.league, terms(**settings), message, Caller("127.0.0.1", shown))


@rule("R-LEAGUE-18")
def test_who_is_new_is_recorded_and_answered():
    one, other = player(Decisions(0)), referee(Decisions(0, 0))

    assert [type(event) for event in one.events] == [PlayerRegistered]
    assert (one.agent_id, one.answer.player_id, one.came_back) == ("P01", "P01", False)
    assert [type(event) for event in other.events] == [RefereeRegistered]
    assert (other.agent_id, other.answer.referee_id, other.came_back) == ("REF01", "REF01", False)


@rule("R-REG-05", "R-REG-06")
def test_who_shows_its_token_came_back():
    decisions = Decisions(1, 1)

    one, other = player(decisions, shown=token("P01")), referee(decisions, shown=token("REF01"))

    assert [type(event) for event in (*one.events, *other.events)] == [TokenRenewed] * 2
    assert (one.agent_id, one.came_back) == ("P01", True)
    assert (other.agent_id, other.came_back) == ("REF01", True)


@rule("R-LEAGUE-32")
def test_who_lost_its_token_is_in_and_cannot_act():
    decisions = Decisions(0)
    decisions.record(*player(decisions).events)

    again = player(decisions)

    assert [type(event) for event in again.events] == [PlayerReturned]
    assert (again.agent_id, again.came_back) == ("P01", False)


@rule("R-REG-05")
@pytest.mark.parametrize(("take", "agent_id"), [(player, "P01"), (referee, "REF01")])
def test_a_token_shown_for_the_first_time_is_used_before_a_further_one_is_given(take, agent_id):
    decisions = Decisions(1, 1)
    given = take(decisions, shown=token(agent_id))
    decisions.record(*given.events)

    again = take(decisions, shown=given.answer.auth_token)

    confirmed, renewed = again.events
    assert confirmed == TokenConfirmed(agent_id, 2)
    assert (renewed.agent_id, renewed.generation) == (agent_id, 3)
    decisions.record(*again.events)
    assert decisions.league.roster.owner(token(agent_id)) is None
    assert decisions.league.roster.acting(given.answer.auth_token) == agent_id


@rule("R-REG-05")
def test_a_repeated_registration_records_nothing():
    decisions = Decisions(1)
    first = player(decisions, shown=token("P01"))
    decisions.record(*first.events)

    again = player(decisions, shown=token("P01"))

    assert again == msgspec.structs.replace(first, events=())


@rule("R-LEAGUE-20", "R-REG-09", "R-REG-10")
def test_who_is_refused_is_told_and_leaves_no_trace():
    taken = player(Decisions(1), name="Agent 1", unique_names="reject")
    foreign = referee(Decisions(0, 0), locks=UNSET, foreign_referees="refuse")
    full = player(Decisions(1), players_max=1)
    crowded = referee(Decisions(0, 1), referees_max=1)

    for refused in (taken, foreign, full, crowded):
        assert refused.answer.status == "REJECTED"
        assert (refused.events, refused.agent_id) == ((), "")
        assert refused.answer.auth_token is UNSET
    assert (taken.answer.error_code, taken.answer.code) == ("E041", 2002)
    assert (full.answer.error_code, full.answer.code) == ("E020", 2001)
    assert (crowded.answer.error_code, crowded.answer.code) == ("E020", 1001)
    assert foreign.answer.error_code == "E018"
    assert "referee_meta.locks" in foreign.answer.hint


@rule("R-REG-08")
@pytest.mark.parametrize("take", [player, referee])
def test_a_missing_join_code_is_an_error_and_no_rejection(take):
    with pytest.raises(TokenMissing, match="join_code"):
        take(Decisions(0, 0), join_code="quokka-7")


@rule("R-REG-06")
def test_the_settings_make_the_terms():
    assert referee(Decisions(0, 0), lease_seconds=4.0).answer.lease_seconds == 4.0
    twice = player(Decisions(1), name="Agent 1", unique_names="off")
    assert twice.answer.display_name_effective is UNSET


@rule("R-REG-11")
def test_a_message_that_lacks_documented_fields_is_refused_where_the_league_wants_them_all():
    lacking = Caller("127.0.0.1", missing=("sender", "player_meta.version"))
    asked = Asked(LeagueQuery("GET_STATUS"), lacking, 1)

    with pytest.raises(MissingField, match=r"missing: sender, player_meta\.version") as refused:
        check_complete(asked, "refuse")
    assert refused.value.context["field"] == "sender"
    assert refused.value.context["missing"] == ["sender", "player_meta.version"]
    check_complete(asked, "warn")
    check_complete(Asked(LeagueQuery("GET_STATUS"), Caller("127.0.0.1"), 1), "refuse")
