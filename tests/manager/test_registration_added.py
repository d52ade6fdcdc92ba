"""Agents that never register: the organiser brings them in."""

import pytest
from msgspec import UNSET

from agentleague.errors import (
    EndpointNotAllowed,
    LateRegistration,
    TokenMissing,
    UnexpectedMessage,
    VersionMismatch,
    WrongType,
)
from agentleague.games import even_odd
from agentleague.league.events import PlayerRegistered, RefereeRegistered, read_event
from agentleague.manager.keys import OutboxCall
from agentleague.manager.role import Manager
from agentleague.protocol.messages import (
    LeagueCommand,
    MatchResultReport,
    RefereeMeta,
    RefereeRegisterRequest,
    ReportedResult,
)
from agentleague.roles.effects import Call, Record, Reply
from agentleague.roles.settings import ManagerSettings
from agentleague.roles.stimuli import Answered, Asked, Caller, Started
from memory_league import BEGAN, SECRETS
from rules import rule

ANN = {"name": "Ann", "url": "http://127.0.0.1:8101/mcp"}
REF = {"name": "Ref", "url": "http://127.0.0.1:8001/mcp"}
REPORT = MatchResultReport("R1M1", ReportedResult("P01"))


def a_manager(check=lambda url, source: None, **settings):
    terms = {"league_id": "league_test", "players": 2, **settings}
    manager = Manager(ManagerSettings(**terms), SECRETS, even_odd, check_endpoint=check)
    manager.handle(Started(0.0), BEGAN)
    return manager


def ask(manager, message, token=None, source="127.0.0.1"):
    effects = manager.handle(Asked(message, Caller(source, token), 1), BEGAN)
    return next(each.answer for each in effects if isinstance(each, Reply)), effects


def add(manager, command, **params):
    return ask(manager, LeagueCommand(command, params), SECRETS.admin_token)


def begun(manager):
    """Two players and a referee that never registered; the first round is on."""
    add(manager, "add_player", **ANN)
    add(manager, "add_player", name="Bob", url="http://127.0.0.1:8102/mcp")
    _, effects = add(manager, "add_referee", **REF)
    return effects


def test_an_agent_that_was_tried_is_added_with_the_dialect_that_it_understood():
    manager = a_manager(players=3)

    add(manager, "add_player", **ANN, dialect="type~bare")
    add(manager, "add_player", **{**ANN, "name": "Bob"}, dialect="none of ours")
    add(manager, "add_player", name="Cy", url="http://127.0.0.1:8103/mcp", dialect="bare~none")

    assert manager.league.roster.dialects == {"P01": "type~bare"}


@rule("R-ORG-09")
def test_a_player_is_brought_in_and_called_at_its_end_point():
    answer, effects = add(a_manager(), "add_player", **ANN)

    (event,) = [each.event for each in effects if isinstance(each, Record)]
    assert isinstance(event, PlayerRegistered)
    assert (event.player_id, event.endpoint) == ("P01", ANN["url"])
    assert answer.said == "Ann is P01, and is called at http://127.0.0.1:8101/mcp."
    assert "tok_" not in answer.said


@rule("R-ORG-09")
def test_a_league_of_agents_that_never_registered_begins():
    manager = a_manager()

    effects = begun(manager)

    assert manager.league.round_id == 1
    assert [each.to.agent_id for each in effects if isinstance(each, Call)] == ["P01", "P02"]
    assert next(iter(manager.reachability.unchecked)) == ("P01", ANN["url"])


@rule("R-ORG-09")
def test_a_referee_that_was_brought_in_gets_one_match_and_reports_it_without_a_token():
    manager = a_manager()
    begun(manager)
    for player_id in ("P01", "P02"):
        effects = manager.handle(Answered(OutboxCall(player_id), None, None, 0.1), BEGAN)
    (assigned,) = [each for each in effects if isinstance(each, Call)]

    answer, _ = ask(manager, REPORT)

    assert assigned.to.url == REF["url"]
    assert answer.status == "ACCEPTED"
    assert manager.league.matches["R1M1"].decided.result.winner_player_id == "P01"


@rule("R-ORG-09")
@pytest.mark.parametrize("report", [REPORT, MatchResultReport("R9M9", ReportedResult("P01"))])
def test_from_another_machine_or_of_another_match_it_needs_one(report):
    manager = a_manager()
    begun(manager)
    source = "127.0.0.1" if report.match_id == "R9M9" else "10.0.0.9"

    answer, _ = ask(manager, report, source=source)

    assert isinstance(answer, TokenMissing)


def test_a_referee_that_registered_cannot_report_without_its_token_beyond_this_machine():
    manager = a_manager(network="lan")
    add(manager, "add_player", **ANN)
    add(manager, "add_player", name="Bob", url="http://127.0.0.1:8102/mcp")
    ask(manager, RefereeRegisterRequest(RefereeMeta("Ref", REF["url"])))

    answer, _ = ask(manager, REPORT)

    assert isinstance(answer, TokenMissing)


@rule("R-REG-10")
def test_a_league_that_takes_no_foreign_referees_takes_none_by_hand():
    answer, _ = add(a_manager(foreign_referees="refuse"), "add_referee", **REF)

    assert isinstance(answer, VersionMismatch)


def test_whom_the_organiser_adds_may_share_an_end_point():
    manager = a_manager()
    add(manager, "add_player", **ANN)
    add(manager, "add_referee", **REF)

    second, _ = add(manager, "add_player", name="Bob", url=ANN["url"])

    assert second.said == f"Bob is P02, and is called at {ANN['url']}."
    assert manager.league.has_started
    assert not manager.league.roster.displaced


def test_nobody_is_brought_in_twice():
    manager = a_manager(players=3)
    add(manager, "add_player", **ANN)
    add(manager, "add_referee", **REF)
    second, _ = add(manager, "add_referee", name="Ref", url="http://127.0.0.1:8002/mcp")

    player, _ = add(manager, "add_player", **ANN)
    referee, _ = add(manager, "add_referee", name="Other", url="http://127.0.0.1:8002/mcp")

    assert second.said == "Ref is REF02, and is called at http://127.0.0.1:8002/mcp."
    assert isinstance(player, UnexpectedMessage)
    assert str(player) == "P01 is that player already"
    assert str(referee) == "REF02 is at that end point already"


def test_what_is_brought_in_has_a_name_and_an_end_point():
    for params in [
        {},
        {"name": "Ann"},
        {"url": "http://a/mcp"},
        {"name": 7, "url": "http://a/mcp"},
        {"name": "", "url": "http://a/mcp"},
        {"name": "Ann", "url": "x" * 257},
        {"name": "A" * 501, "url": "http://a/mcp"},
    ]:
        for command in ["add_player", "add_referee"]:
            answer, effects = add(a_manager(), command, **params)

            assert isinstance(answer, WrongType)
            assert [type(effect) for effect in effects] == [Reply]


def test_an_end_point_that_may_not_be_called_is_refused():
    def check(url, source):
        assert source == "127.0.0.1"
        raise EndpointNotAllowed("not there")

    answer, _ = add(a_manager(check), "add_player", **ANN)

    assert isinstance(answer, EndpointNotAllowed)


def test_after_the_start_no_player_is_brought_in():
    manager = a_manager()
    begun(manager)

    answer, _ = add(manager, "add_player", name="Eve", url="http://127.0.0.1:8103/mcp")

    assert isinstance(answer, LateRegistration)


def test_the_organiser_needs_no_join_code():
    answer, _ = add(a_manager(join_code="sesame"), "add_player", **ANN)

    assert answer.said.startswith("Ann is P01")


def test_a_referee_of_an_older_journal_was_not_added():
    body = (
        b'{"kind":"referee_registered","referee_id":"REF01","display_name":"R","endpoint":"http://r",'
        b'"version":"1","token_digest":"0","capacity":1,"locks":false}'
    )

    event = read_event("referee_registered", 1, body)

    assert isinstance(event, RefereeRegistered)
    assert event.added is UNSET
