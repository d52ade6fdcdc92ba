"""What a message claims about itself, repeats, or when it says it was sent: none of it decides."""

from random import Random

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from agentleague.league.events import MatchDecided
from agentleague.protocol.messages import (
    LeagueCommand,
    LeagueQuery,
    LeagueRegisterRequest,
    LockRequest,
    MatchResultReport,
    PlayerMeta,
    RefereeStatus,
    ReportedResult,
)
from agentleague.roles.stimuli import Caller
from agentleague.runtime.host import Host
from manager.test_assignments import events_of
from manager.test_role_abuse import ask
from manager.test_tokens_misuse import token_of
from memory_league import MemoryLeague

SENDERS = ("league_manager", "referee:REF01", "referee:REF02", "player:P02", "P01", "", "x" * 64)
SAID = [
    LockRequest("R1M1", 1, 0, [(0, "P01", "even"), (0, "P02", "odd")], []),
    MatchResultReport("R1M1", ReportedResult("P01")),
    RefereeStatus("ses"),
    LeagueCommand("abort"),
    LeagueQuery("GET_NEXT_MATCH"),
    LeagueQuery("GET_PLAYER_STATS"),
    LeagueRegisterRequest(PlayerMeta("Late", "http://late/mcp", "1", ["even_odd"])),
]


def in_play():
    league = MemoryLeague(2, 1).fill()
    return league.run_until(lambda: league.league.round_id == 1)


def outcome(said, sender, token):
    """What is answered and written when this is said in that name."""
    league = in_play()
    answer = ask(league, replace(said, sender=sender), token)
    if hasattr(answer, "warnings"):  # That it contradicts the token is said, and that is all.
        answer = replace(answer, warnings=UNSET)
    return repr(answer), [row.body for row in league.journal.read("league_test")]


@pytest.mark.parametrize("said", SAID, ids=lambda said: type(said).__name__)
@pytest.mark.parametrize("agent_id", ["P01", "REF01", None])
def test_nobody_is_who_the_sender_says(said, agent_id):
    token = agent_id and token_of(agent_id)
    first = outcome(said, "player:P01", token)

    for sender in SENDERS:
        assert outcome(said, sender, token) == first


def heard(league):
    """All that the manager was sent with a token."""
    return [
        message
        for host, message in league.messages
        if host == "manager" and isinstance(message.auth_token, str) and message.auth_token
    ]


def again(league, messages):
    for message in messages:
        league.hosts[0].ask(message, Caller("127.0.0.1", message.auth_token), lambda _: None)


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("decided", [2, 4, 6])
def test_whatever_is_repeated_in_whatever_order_changes_nothing(seed, decided):
    league = MemoryLeague(4, 2).fill()
    league.run_until(lambda: league.league.decided_total == decided)
    kinds = (LockRequest, MatchResultReport, RefereeStatus, LeagueQuery)
    messages = [each for each in heard(league) if isinstance(each, kinds)]
    assert any(isinstance(each, LockRequest) for each in messages)
    results, table = events_of(league, MatchDecided), league.league.table.rows()
    Random(seed).shuffle(messages)

    again(league, messages * 2)

    assert events_of(league, MatchDecided) == results
    assert league.league.table.rows() == table
    league.play()
    assert len(events_of(league, MatchDecided)) == 6
    assert not league.league.disputed


@pytest.mark.parametrize("days", [-1, 1, 365])
def test_the_wall_clock_decides_nothing(days, monkeypatch):
    true = MemoryLeague(4, 2).fill().play()
    start = Host.start
    monkeypatch.setattr(Host, "start", lambda host, offset: start(host, offset + days * 86_400.0))

    wrong = MemoryLeague(4, 2).fill().play()

    assert [row.body for row in wrong.journal.read("league_test")] == [
        row.body for row in true.journal.read("league_test")
    ]


def test_a_league_whose_players_are_all_dead_ends():
    league = MemoryLeague(5, 1).fill()
    league.run_until(lambda: league.league.round_id == 1)
    for host in league.hosts[2:]:
        league.kill(host)

    league.play()

    assert league.league.phase == "LEAGUE_COMPLETED"
    assert {event.result.status for event in events_of(league, MatchDecided)} == {"TECHNICAL_LOSS"}
