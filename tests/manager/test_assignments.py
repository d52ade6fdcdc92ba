"""Referees come, fall silent and go; every match is decided once all the same."""

import pytest

from agentleague.errors import UNREACHABLE, MatchMismatch, NoConnection
from agentleague.league.events import (
    MatchAssigned,
    MatchClosed,
    MatchDecided,
    TokenRenewed,
    read_event,
)
from agentleague.manager.leases import longest_match
from agentleague.manager.step import ManagerLimits
from agentleague.match.machine import InvitationCall
from agentleague.protocol.messages import (
    GameOver,
    LockRequest,
    RefereeRegisterRequest,
    RefereeStatus,
    Rules,
)
from agentleague.roles.stimuli import Answered, Caller
from memory_league import MemoryLeague
from rules import rule


def events_of(league, cls):
    rows = league.journal.read("league_test")
    events = [read_event(row.kind, row.version, row.body) for row in rows]
    return [event for event in events if isinstance(event, cls)]


def assert_complete(league, technical=0):
    """Each match is decided once and closed, and everybody was told the journal's result."""
    decided = {event.match_id: event.result for event in events_of(league, MatchDecided)}
    assert len(decided) == len(events_of(league, MatchDecided)) == league.league.total_matches
    assert {event.match_id for event in events_of(league, MatchClosed)} == set(decided)
    assert league.league.phase == "LEAGUE_COMPLETED"
    told = [message for _, message in league.messages if isinstance(message, GameOver)]
    assert all(message.game_result == decided[message.match_id] for message in told)
    assert {(message.match_id, message.player_id) for message in told} == {
        (match_id, player_id)
        for match_id, file in league.league.matches.items()
        for player_id in file.players
    }
    losses = sum(row.technical_losses for row in league.league.table.rows())
    assert losses == technical


def no_referees_left(league):
    for host in league.hosts[1 : 1 + league.referees]:
        league.kill(host)


@rule("R-LEASE-01")
@pytest.mark.parametrize("decided", [0, 1, 3, 5])
def test_the_matches_of_a_referee_that_dies_go_to_another(decided):
    league = MemoryLeague(4, 2).fill()
    league.run_until(lambda: league.league.decided_total == decided and league.league.round_id)
    league.kill(league.hosts[1])

    league.play()

    assert_complete(league)
    moved = events_of(league, MatchAssigned)
    assert moved
    assert {event.referee_id for event in moved} == {"REF02"}
    assert {event.epoch for event in moved} == {2}


@rule("R-LEASE-03")
def test_players_hear_of_the_new_referee_before_it_is_given_the_match():
    league = MemoryLeague(2, 2).fill()
    league.run_until(lambda: league.league.round_id == 1)
    dead = league.league.matches["R1M1"].referee_id
    league.kill(league.hosts[1 if dead == "REF01" else 2])
    other = league.hosts[2 if dead == "REF01" else 1]
    before = len(league.messages)

    league.play()

    later = [(to, type(said).__name__) for to, said in league.messages[before:]]
    new = next(url for url, each in league.network.agents.items() if each is other._transport)
    at = later.index((new.removeprefix("http://").removesuffix("/mcp"), "RoundAnnouncement"))
    heard = [to for to, name in later[:at] if name == "RoundAnnouncement" and "player" in to]
    assert len(set(heard)) == 2


@rule("R-LEASE-02")
def test_the_referee_of_an_old_epoch_can_neither_lock_nor_report():
    league = MemoryLeague(2, 2).fill()
    league.run_until(lambda: league.league.round_id == 1)
    file = league.league.matches["R1M1"]
    first = file.referee_id
    league.kill(league.hosts[1 if first == "REF01" else 2])
    league.run_until(lambda: file.epoch == 2)
    token = next(host.role.state.token for host in league.hosts[1:3] if host.role.agent_id == first)
    answers = []

    league.hosts[0].ask(
        LockRequest("R1M1", 1, 0, [(0, "P01", "even"), (0, "P02", "odd")]),
        Caller("127.0.0.1", token),
        answers.append,
    )

    assert isinstance(answers[0], MatchMismatch)
    assert answers[0].context == {"epoch": 2}
    assert answers[0].number_for("LOCK_REQUEST") == 5002
    league.play()
    assert_complete(league)


@rule("R-LEASE-04")
def test_a_match_that_was_decided_is_told_by_the_next_referee_and_not_played_again():
    league = MemoryLeague(2, 2).fill()
    league.run_until(lambda: league.league.decided_total == 1)
    file = league.league.matches["R1M1"]
    league.kill(league.hosts[1 if file.referee_id == "REF01" else 2])
    before = len(league.messages)

    league.play()

    assert_complete(league)
    after = [type(said).__name__ for _, said in league.messages[before:]]
    assert "GameInvitation" not in after
    assert file.epoch == 2


@rule("R-LEASE-04")
def test_when_no_referee_is_left_the_manager_itself_tells_what_is_decided():
    league = MemoryLeague(2, 1).fill()
    league.run_until(lambda: league.league.decided_total == 1)
    no_referees_left(league)

    league.play()

    assert_complete(league)
    (closed,) = events_of(league, MatchClosed)
    assert closed.told == "manager"
    overs = [said for _, said in league.messages if isinstance(said, GameOver)]
    assert all(over.auth_token.startswith("mtok_") for over in overs)


@rule("R-LEASE-05")
def test_when_no_referee_comes_matches_are_no_contest_and_the_league_ends():
    league = MemoryLeague(4, 2, referee_wait_seconds=100.0).fill()
    league.run_until(lambda: league.league.round_id == 1)
    no_referees_left(league)

    league.play()

    assert_complete(league)
    results = [event.result for event in events_of(league, MatchDecided)]
    assert all(result.no_contest for result in results)
    assert {result.status for result in results} == {"TECHNICAL_LOSS"}
    rows = league.league.table.rows()
    assert [(row.played, row.points, row.technical_losses) for row in rows] == [(0, 0, 0)] * 4
    assert any("No other referee is there." in sentence for sentence in league.manager.news)
    assert any("is no contest: no other referee was there" in said for said in league.manager.news)


def test_matches_that_wait_for_the_same_reason_share_a_line():
    league = MemoryLeague(4, 1, referee_wait_seconds=100.0).fill()
    league.run_until(lambda: league.league.round_id == 1)
    no_referees_left(league)

    league.play()

    assert "R1M1, R1M2: REF01 was silent." in league.manager.news


def test_a_referee_that_comes_in_time_takes_over_what_waits():
    league = MemoryLeague(4, 1, referee_wait_seconds=100.0).fill()
    league.run_until(lambda: league.league.round_id == 1)
    no_referees_left(league)
    league.wait(50.0)

    league.add_referee("Late")
    league.play()

    assert_complete(league)
    assert not any(event.result.no_contest is True for event in events_of(league, MatchDecided))


def waits_for_a_referee(league):
    return any("No other referee is there" in sentence for sentence in league.manager.news)


@rule("R-LEASE-05")
def test_after_the_last_epoch_a_match_is_no_contest():
    league = MemoryLeague(2, 1, lease_seconds=1.0, referee_wait_seconds=1000.0).fill()
    league.run_until(lambda: league.league.round_id == 1)
    no_referees_left(league)
    file = league.league.matches["R1M1"]
    for number in range(ManagerLimits().epochs_max - 1):
        league.manager.news.clear()
        league.run_until(lambda: waits_for_a_referee(league))
        host = league.add_referee(f"Next {number}")
        league.kill(host)

    league.play()

    assert file.epoch == ManagerLimits().epochs_max
    assert file.decided.result.no_contest is True
    assert "could not bring it to an end" in file.decided.result.reason
    assert_complete(league)


@rule("R-LEASE-04")
def test_after_the_last_epoch_the_manager_itself_tells_what_is_decided():
    league = MemoryLeague(2, 2, limits=ManagerLimits(epochs_max=1)).fill()
    league.run_until(lambda: league.league.decided_total == 1)
    file = league.league.matches["R1M1"]
    league.kill(league.hosts[1 if file.referee_id == "REF01" else 2])

    league.play()

    assert_complete(league)
    (closed,) = events_of(league, MatchClosed)
    assert (closed.told, file.epoch) == ("manager", 1)


@rule("R-LEASE-06")
def test_a_referee_that_registers_again_by_token_gets_its_matches_anew():
    league = MemoryLeague(2, 1, lease_seconds=1000.0).fill()
    old = league.hosts[1]
    league.run_until(lambda: old.role.matches)
    url = next(url for url, each in league.network.agents.items() if each is old._transport)
    token = old.role.state.token
    league.kill(old)

    host = league.add_referee("Referee 1", remembered=token, url=url)
    league.play()

    assert host.role.agent_id == "REF01"
    assert_complete(league)
    assert [event.why for event in events_of(league, MatchAssigned)] == ["REF01 began anew"]
    assert league.manager.rounds.seconds < 100.0  # at once, not after a lease


@rule("R-LEASE-08")
def test_matches_are_spread_by_what_each_referee_can_take():
    league = MemoryLeague(12, 2)
    league.add_referee("Small", max_concurrent_matches=2)
    league.add_referee("Large", max_concurrent_matches=10)
    for number in range(12):
        league.add_player(name=f"Player {number}")
    league.run_until(lambda: league.league.round_id == 1)

    referees = [file.referee_id for file in league.league.matches.values()]

    assert (referees.count("REF01"), referees.count("REF02")) == (1, 5)


@rule("R-LEASE-07")
def test_neither_player_reached_is_first_taken_as_the_referees_fault():
    league = MemoryLeague(2, 2, retries=0, join_retries=0).fill()
    league.run_until(lambda: league.league.round_id == 1)
    file = league.league.matches["R1M1"]
    first = file.referee_id
    players = league.hosts[3:5]
    for host in players:
        league.kill(host)

    league.play()

    assert [event.why for event in events_of(league, MatchAssigned)] == ["unreachable"]
    assert file.referee_id != first
    (decided,) = events_of(league, MatchDecided)
    assert decided.result.reason == (
        "P01 could not be reached, P02 could not be reached - nobody wins"
    )
    assert league.league.phase == "LEAGUE_COMPLETED"


def may_call_nobody(host):
    """The settings of this referee forbid it to call any player."""
    handle, refused = host.role.handle, NoConnection("no", kind=UNREACHABLE, not_called="--lan")

    def handle_refused(stimulus, now):
        if isinstance(stimulus, Answered) and isinstance(stimulus.key, InvitationCall):
            stimulus = Answered(stimulus.key, None, refused, 0.0)
        return handle(stimulus, now)

    host.role.handle = handle_refused


@rule("R-REF-05")
@pytest.mark.parametrize("able", [1, 0])
def test_nobody_loses_because_a_referee_may_not_call_the_players(able):
    league = MemoryLeague(4, 1 + able).fill()
    may_call_nobody(league.hosts[1])

    league.play()

    assert_complete(league)  # without a technical loss
    reasons = [event.result.reason for event in events_of(league, MatchDecided)]
    assert all("no contest" in reason for reason in reasons) == (not able)
    assert {event.referee_id for event in events_of(league, MatchAssigned)} == {f"REF0{1 + able}"}


def test_the_longest_match_is_what_the_rules_allow_in_all():
    rules = Rules(5.0, 30.0, 5.0, 10.0)

    # 4 joins and 3 delays, 4 moves and 3 delays and a lock, GAME_OVER, report.
    assert longest_match(rules, 1) == (20 + 6) + (120 + 6 + 10) + 5 + 10
    assert longest_match(rules, 9) == (20 + 6) + 9 * (120 + 6 + 10) + 5 + 10
    doubling = Rules(5.0, 30.0, 5.0, 10.0, {}, 3, 0, 1.0, 2.0)
    assert longest_match(doubling, 1) == 5 + (120 + 7 + 10) + 5 + 10


def test_a_match_that_went_with_the_others_of_a_silent_referee_is_not_moved_twice():
    league = MemoryLeague(8, 2).fill()
    league.run_until(lambda: len(league.hosts[1].role.matches) == 2)
    league.kill(league.hosts[1])

    league.play()

    moved = events_of(league, MatchAssigned)
    assert [(event.epoch, event.why) for event in moved] == [(2, "REF01 was silent")] * 2
    assert_complete(league)


def test_a_match_waits_once_for_a_referee_though_several_leases_ran_out_at_once():
    league = MemoryLeague(8, 1).fill()
    league.run_until(lambda: len(league.hosts[1].role.matches) == 4)
    no_referees_left(league)
    league.wait(60.0)

    league.add_referee("Late")
    league.play()

    assert [event.epoch for event in events_of(league, MatchAssigned)] == [2] * 4
    assert_complete(league)


@rule("R-LEASE-05")
def test_a_match_does_not_wait_for_a_referee_while_the_league_is_paused():
    league = MemoryLeague(2, 1, lease_seconds=1.0, referee_wait_seconds=100.0).fill()
    league.run_until(lambda: league.league.round_id == 1)
    no_referees_left(league)
    league.run_until(lambda: waits_for_a_referee(league))

    league.command("pause")
    league.clock.call_at(league.clock.now() + 500.0, lambda: None)
    paused_until = league.clock.now() + 500.0
    league.run_until(lambda: league.clock.now() >= paused_until)
    record = league.league.matches["R1M1"]
    assert record.decided is None
    league.command("start")
    league.add_referee("Next")
    league.play()

    assert record.decided.result.no_contest is not True
    assert_complete(league)


def restart(league, host, after=0.0):
    """The referee is killed, and comes back with its token where it was."""
    url = next(url for url, each in league.network.agents.items() if each is host._transport)
    token = host.role.state.token
    league.kill(host)
    league.wait(after)
    return league.add_referee("Referee 1", remembered=token, url=url)


@rule("R-REG-06")
def test_a_registration_that_arrives_late_takes_no_referee_its_session():
    # Found by liveness, seed 800595: all its assignments were refused to the end of the league.
    league = MemoryLeague(2, 1)
    first = league.add_referee("Referee 1")
    token = first.role.state.token
    second = restart(league, first)
    repeated = league.messages[-1][1]
    assert isinstance(repeated, RefereeRegisterRequest)

    league.wait(2.0)
    league.hosts[0].ask(repeated, Caller("127.0.0.1", token), lambda answer: None)
    league.wait(10.0)  # Meanwhile it says that it is there.
    for number in (1, 2):
        league.add_player(name=f"Player {number}")
    league.play()

    assert [event.generation for event in events_of(league, TokenRenewed)] == [2, 3]
    assert second.ended
    assert_complete(league)
    assert not events_of(league, MatchAssigned)


@rule("R-LEASE-05", "R-LEASE-06")
@pytest.mark.parametrize("after", [0.0, 25.0])  # sooner than a lease, and later
def test_a_match_is_not_lost_however_often_its_only_referee_comes_back(after):
    league = MemoryLeague(2, 1).fill()
    host = league.hosts[1]
    for _ in range(3 * ManagerLimits().epochs_max):
        league.run_until(lambda host=host: host.role.matches)
        host = restart(league, host, after)

    league.play()

    (decided,) = events_of(league, MatchDecided)
    assert decided.result.no_contest is not True
    assert all(event.returned is True for event in events_of(league, MatchAssigned))
    assert_complete(league)


@rule("R-LEASE-05")
def test_a_referee_that_was_only_silent_comes_back_at_no_cost_too():
    league = MemoryLeague(2, 1).fill()
    host = league.hosts[1]
    league.run_until(lambda: host.role.matches)
    feed, transport = host.feed, host._transport
    url = next(url for url, each in league.network.agents.items() if each is transport)
    for _ in range(2 * ManagerLimits().epochs_max):
        league.kill(host)  # It is stopped,
        league.wait(30.0)
        host.feed, league.network.agents[url] = feed, transport  # and goes on.
        status = RefereeStatus("", sender="referee:REF01", auth_token=host.role.state.token)
        league.hosts[0].ask(status, Caller("127.0.0.1", status.auth_token), lambda said: None)
    league.dead.remove(host)

    league.play()

    (decided,) = events_of(league, MatchDecided)
    assert decided.result.no_contest is not True


@rule("R-LEASE-05")
def test_a_referee_that_comes_back_for_ever_holds_a_match_no_longer_than_none_would():
    league = MemoryLeague(2, 1, referee_wait_seconds=60.0).fill()
    host = league.hosts[1]
    file = league.run_until(lambda: league.league.round_id == 1).league.matches["R1M1"]
    began = league.clock.now()
    while file.decided is None:
        league.run_until(lambda host=host: host.role.matches or file.decided)
        if file.decided is None:
            host = restart(league, host)

    assert file.decided.result.no_contest is True
    assert league.clock.now() - began < 10 * 60.0
    free = [event.returned is True for event in events_of(league, MatchAssigned)]
    assert free == sorted(free, reverse=True)  # At first it costs nothing, then it counts.
    assert 0 < free.count(False) < ManagerLimits().epochs_max
