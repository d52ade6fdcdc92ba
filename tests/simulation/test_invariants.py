"""The invariants can fail: each is broken on purpose in a league that is otherwise sound."""

import msgspec
import pytest

from agentleague.league.events import Disputed
from agentleague.player.role import Player
from agentleague.simulation.invariants import CALM, LeagueHistory, Violation, check
from agentleague.simulation.league import LEAGUE_ID
from simulation.crashing import a_league, commanded, running


def forget_a_row(league):
    league.manager.league.seq -= 1


def count_once_more(league):
    live = league.manager.league
    live.table.count(*live.matches["R1M1"].players, winner=None)


def change_a_result(league):
    match = league.manager.league.matches["R1M1"]
    wrong = msgspec.structs.replace(match.decided.result, drawn_number=11)
    match.decided = msgspec.structs.replace(match.decided, result=wrong)


def take_a_player_out(league):
    league.manager.league.roster.removed["P01"] = 1


def tell_nobody_a_result(league):
    league.observer.results_told.clear()


def tell_nobody_the_end(league):
    league.observer.end_told.clear()


def drop_a_match(league):
    league.processes["referee1"].news.append("R1M1 was dropped: ValueError: a bug")


def dispute_a_result(league):
    event = Disputed("R1M1", "REF01", "another result")
    league.disk.append(LEAGUE_ID, league.manager.league.seq, [event], lambda heads: None)
    league.clock.run(until=lambda: league.disk.is_clean)


BROKEN = {
    forget_a_row: "I9: seq",
    count_once_more: "I9: the table",
    change_a_result: "I9: the matches",
    take_a_player_out: "I9: the roster",
    tell_nobody_a_result: "was never told how R1M1 ended",
    tell_nobody_the_end: "player1 was never told that the league is over",
    drop_a_match: "referee1: R1M1 was dropped",
    dispute_a_result: "REF01 disputed R1M1",
}


@pytest.mark.parametrize("break_it", BROKEN)
def test_what_does_not_hold_is_named(break_it):
    league = a_league().run()
    check(league)

    break_it(league)

    with pytest.raises(Violation, match=BROKEN[break_it]):
        check(league)


def test_a_technical_loss_is_held_against_the_league_unless_the_player_was_away():
    league = running()
    league.crash("player1")
    league.run()

    check(league, LeagueHistory(away=["player1"]))
    with pytest.raises(Violation, match=r"I8: .* lost R1M"):
        check(league)


def test_a_player_that_was_away_for_a_moment_may_not_lose_by_it():
    league = running()
    league.crash("player1")
    league.run()

    with pytest.raises(Violation, match=r"I8: .* lost R1M"):
        check(league, LeagueHistory(brief=["player1"]))


@pytest.mark.parametrize("seconds", [42.0, 300.0])
def test_waiting_longer_than_the_rules_say_is_found(seconds):
    league = running()
    league.crash("player1")
    league.run()
    check(league, LeagueHistory(away=["player1"], prompt=True))
    dead = league.player_id("player1")
    matches = league.observer.league.matches.of_player[dead]
    match_id = next(each.match_id for each in matches if each.match_id in league.observer.waits)

    league.observer.waits[match_id] = seconds

    with pytest.raises(Violation, match="I10: the players of R"):
        check(league, LeagueHistory(away=["player1"], prompt=True))


def test_a_no_contest_is_held_against_the_league_unless_no_referee_was_there():
    league = running()
    for name in ("referee1", "referee2"):
        league.crash(name)
    league.run(1000.0)

    with pytest.raises(Violation, match="I8: R1M1 is no contest"):
        check(league, LeagueHistory(referees_away=True))


def test_an_abort_that_nobody_ordered_is_found():
    league = running()
    commanded(league, "abort")
    league.run()

    with pytest.raises(Violation, match=r"I7: the league is LEAGUE_COMPLETED, aborted: True"):
        check(league)


def test_a_bug_that_a_host_answers_politely_is_found(monkeypatch):
    def stumble(player, message, now):
        raise KeyError("planted")

    monkeypatch.setattr(Player, "_acknowledgement", stumble)
    league = a_league().run()

    with pytest.raises(Violation, match="Player: KeyError: 'planted'"):
        check(league, CALM)
