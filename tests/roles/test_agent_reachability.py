"""Whether the manager can call an agent: what the agent asks, and what it says."""

import pytest
from msgspec import UNSET

from agentleague.errors import NoAnswer, PeerRefused, RateLimited
from agentleague.player.role import Player
from agentleague.protocol.messages import LeagueQueryResponse, LeagueRegisterResponse
from agentleague.referee.role import Referee
from agentleague.roles.agent import AgentLimits, ReachabilityKey, RegisterKey
from agentleague.roles.effects import Call, End, WakeAt
from agentleague.roles.settings import PlayerSettings, RefereeSettings
from agentleague.roles.stimuli import Answered, Started, Woken
from rules import rule

NOW = 100.0
END = "http://192.168.1.22:8101/mcp"
ACCEPTED = LeagueRegisterResponse("ACCEPTED", "P01", "league_x", auth_token="tok_1")
AGAIN = [WakeAt(ReachabilityKey(), NOW + 3.0)]
SOON = [WakeAt(ReachabilityKey(), NOW + 1.0)]


def registered(is_far=True):
    role = Player(PlayerSettings(display_name="Ann", endpoint=END))
    role.is_far = is_far
    role.handle(Started(0.0), NOW)
    effects = role.handle(Answered(RegisterKey(), ACCEPTED, None, 0.1), NOW)
    role.news.clear()
    return role, effects


def told(role, reachable=UNSET, error=None, **more):
    """It is answered this, and says what; what it does next."""
    agent = {"agent_id": "P01"} | ({} if reachable is UNSET else {"reachable": reachable})
    answer = LeagueQueryResponse("GET_AGENT", data={"agent": agent}, **more)
    effects = role.handle(Answered(ReachabilityKey(), None if error else answer, error, 0.1), NOW)
    said = list(role.news)
    role.news.clear()
    return said, effects


@rule("R-REG-14")
def test_it_asks_soon_after_it_registered_without_its_token():
    role, effects = registered()
    assert effects == SOON

    (call,) = role.handle(Woken(ReachabilityKey()), NOW)

    assert isinstance(call, Call)
    assert (call.message.query_type, call.message.query_params) == (
        "GET_AGENT",
        {"agent_id": "P01"},
    )
    assert call.message.auth_token is UNSET
    assert call.to.url == "http://127.0.0.1:8000/mcp"


@rule("R-REG-14")
def test_a_referee_asks_too():
    role = Referee(RefereeSettings(display_name="Owl", endpoint=END), lambda name: None)

    (call,) = role.handle(Woken(ReachabilityKey()), NOW)

    assert call.message.query_type == "GET_AGENT"
    assert told(role, True) == ([f"The manager can reach it at {END}."], [])


@rule("R-REG-14")
def test_on_one_machine_it_does_not_ask():
    assert registered(is_far=False)[1] == []


@rule("R-REG-14")
def test_it_says_what_to_try_once_and_asks_until_it_can_be_reached():
    role, _ = registered()

    (advice,), effects = told(role, False)
    assert effects == AGAIN
    assert f"cannot reach it at {END}" in advice
    for remedy in (
        "firewall",
        "port 8101",
        "same network",
        "--endpoint http://HOST:8101",
        "--bind",
    ):
        assert remedy in advice
    assert told(role, False) == ([], AGAIN)
    assert told(role, True) == ([f"The manager can reach it at {END}."], [])


@rule("R-REG-14")
def test_while_the_manager_still_tries_or_is_busy_it_asks_every_second_some_times():
    role, _ = registered()
    unknown = [{}, {"error": NoAnswer("no")}, {"error": RateLimited("later")}] * 3

    assert [told(role, **each) for each in unknown] == [([], SOON)] * (
        AgentLimits.unclear_checks - 1
    )
    assert told(role) == ([], [])


@rule("R-REG-14")
@pytest.mark.parametrize(
    "answer",
    [
        {"error": PeerRefused("no", number=1, code="E003", data={})},
        {"success": False},
    ],
)
def test_a_manager_that_does_not_know_the_question_is_not_asked_again(answer):
    assert told(registered()[0], **answer) == ([], [])


@rule("R-REG-14")
@pytest.mark.parametrize("data", [{}, {"agent": None}, {"agent": {"reachable": "maybe"}}])
def test_what_makes_no_sense_says_neither_yes_nor_no(data):
    role, _ = registered()

    answer = LeagueQueryResponse("GET_AGENT", data=data)

    assert role.handle(Answered(ReachabilityKey(), answer, None, 0.1), NOW) == SOON
    assert not role.news


@pytest.mark.parametrize(("url", "port"), [("https://a.example/x", 443), ("http://a.example", 80)])
@rule("R-REG-14")
def test_the_advice_names_the_port_that_is_called(url, port):
    role = Player(PlayerSettings(display_name="Ann", endpoint=url))

    assert f"at port {port}?" in told(role, False)[0][0]


def test_one_that_was_taken_out_ends_and_says_why():
    role, _ = registered()
    answer = LeagueQueryResponse(
        "GET_AGENT", data={"agent": {"agent_id": "P01", "displaced": True}}
    )

    (end,) = role.handle(Answered(ReachabilityKey(), answer, None, 0.1), NOW)

    assert isinstance(end, End)
    assert f"another agent listens at {END}; say where" in end.summary.reason


def test_a_manager_that_cannot_use_its_journal_yet_is_said_to_be_starting():
    role = Player(PlayerSettings(display_name="Ann", endpoint=END))
    role.handle(Started(0.0), NOW)
    starting = PeerRefused("no", number=-32603, code="E053", data={"retryable": True}, said="503")

    for _ in range(2):
        role.handle(Answered(RegisterKey(), None, starting, 0.1), NOW)

    assert list(role.news) == [
        "No manager answers at http://127.0.0.1:8000/mcp yet (the manager is starting, or cannot "
        "write its journal); trying again until it does."
    ]
