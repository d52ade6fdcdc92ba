"""A match that its foreign referee does not report: how long it waits, and what happens then."""

import pytest

from agentleague.errors import PeerRefused
from agentleague.league.events import MatchAssigned
from agentleague.manager.keys import LeaseCheck
from agentleague.manager.leases import Awaited, Leases
from agentleague.protocol.messages import LeagueQuery
from agentleague.roles.stimuli import Caller
from manager.test_foreign_starts import BEGAN, CLEAR, UNKNOWN, League
from rules import rule


def asked(league, query_type, **params):
    return league.ask(LeagueQuery(query_type, query_params=params), Caller("127.0.0.1")).data


def late(referees=1, **settings):
    """A league whose first referee said that it plays, and said no more for 35 s."""
    league = League(referees, **settings)
    league.answer(CLEAR)
    league.role.news.clear()
    league.wake(2.5, LeaseCheck())
    league.check_leases(until=lambda: league.role.news)
    assert league.now == BEGAN + 5.0 + 30.0  # As long as its players may take.
    return league


@pytest.mark.parametrize(
    ("settings", "then"),
    [
        ({"referees": 2}, "it goes to REF02"),
        ({}, "it waits 600 s for another referee, and is no contest after that"),
    ],
)
def test_the_organiser_is_told_once_and_everybody_can_ask(settings, then):
    league = late(**settings)

    league.wake(2.5, LeaseCheck())

    assert list(league.role.news) == [
        f"R1M1 is not reported yet: it waits for REF01, 142 s still; then {then}. "
        "See it with: league match R1M1 --dir DIR"
    ]
    words = f"it waits for REF01, 140 s still; then {then}"
    for name in ("GET_STATUS", "get_status", "Status"):
        assert asked(league, name)["awaited_reports"] == [f"R1M1: {words}"]
    assert asked(league, "GET_MATCH", match_id="R1M1")["match"]["awaited"] == words


def test_after_the_last_referee_that_may_try_it_the_match_is_no_contest():
    league = late(referees=2)
    league.role.apply(MatchAssigned("R1M1", 4, "REF01", "as if it were the fourth"))

    words = asked(league, "GET_MATCH", match_id="R1M1")["match"]["awaited"]

    assert words.endswith("; then it is no contest")


def test_of_a_referee_that_locks_nothing_is_said_since_it_sends_a_status():
    league = League(locks=True, lease_seconds=60.0)
    league.role.news.clear()

    for _ in range(3):
        league.wake(15.0, LeaseCheck())

    assert list(league.role.news) == []
    assert asked(league, "GET_STATUS")["awaited_reports"] == []
    assert "awaited" not in asked(league, "GET_MATCH", match_id="R1M1")["match"]


def test_when_the_match_is_reported_nobody_waits_any_more_and_for_the_next_not_yet():
    league = late(cycles=2)
    assert "awaited" not in asked(league, "GET_MATCH", match_id="R2M1")["match"]

    league.report()

    assert asked(league, "GET_STATUS")["awaited_reports"] == []


@rule("R-START-02")
def test_an_announcement_that_is_acknowledged_and_ignored_is_not_learnt_and_the_refusal_is_told():
    league = League()
    wants = PeerRefused("begin_game needs player_one", number=-32602, code=None, data={})
    while "notify_round" not in league.calls()[0]:
        league.answer(wants if league.calls()[0].startswith("start_match/tool") else UNKNOWN)
    league.answer(CLEAR)
    league.role.news.clear()
    learnt = league.speaks

    league.wake(2.5, LeaseCheck())
    league.check_leases(until=lambda: league.role.news)
    league.report()

    assert learnt is None
    assert "It said: begin_game needs player_one; tried in" in league.role.news[0]
    assert league.speaks.startswith("notify_round/")


def test_after_its_time_a_match_is_said_to_wait_for_another_referee():
    league = late()

    league.check_leases(until=lambda: len(league.role.news) > 1)

    assert list(league.role.news)[1:] == [
        "No other referee is there. Start one; without one the matches that wait are no contest "
        "after 600 seconds.",
        "R1M1: REF01 did not report R1M1 in time.",
    ]
    words = "it waits for another referee than REF01, 600 s still; then it is no contest"
    assert asked(league, "GET_STATUS")["awaited_reports"] == [f"R1M1: {words}"]
    assert asked(league, "GET_MATCH", match_id="R1M1")["match"]["awaited"] == words


def test_nothing_is_said_of_a_match_that_is_not_known():
    step = late().role._step
    awaited = Awaited(step, Leases(0.25), {"R9M9": 0.0}, next_referee=lambda record: None)

    assert awaited.rows() == []
