"""Leagues in which something particular happens, with strict expectations."""

import pytest

from agentleague.simulation.invariants import LeagueHistory, Violation, check
from simulation.crashing import AGENTS, a_league, commanded, running


def results(league):
    return {
        match_id: match.decided.result
        for match_id, match in league.observer.league.matches.items()
        if match.decided
    }


def matches_of(league, player_id):
    return {
        match_id
        for match_id, match in league.observer.league.matches.items()
        if player_id in match.players
    }


def test_a_calm_league_gives_every_match_a_result_and_nobody_a_technical_loss():
    for seed in range(5):
        league = a_league(seed=seed).run()

        check(league)
        assert len(results(league)) == 6
        assert league.seconds < 1.0


def test_the_matches_of_a_dead_player_are_its_technical_losses_and_not_no_contest():
    league = running()
    dead = league.player_id("player1")

    league.crash("player1")
    league.run()

    check(league, LeagueHistory(away=["player1"]))
    for match_id in matches_of(league, dead):
        result = results(league)[match_id]
        assert result.status == "TECHNICAL_LOSS"
        assert result.winner_player_id not in (dead, None)
        assert result.no_contest is not True


def test_a_player_that_comes_back_soon_loses_nothing():
    league = running()

    league.crash("player1", restart_after=1.0)
    league.run()

    check(league)


def test_a_player_that_comes_back_late_plays_the_rest():
    league = running(settings={"join_retries": 0, "round_notice_seconds": 20.0})
    player_id = league.player_id("player1")

    league.crash("player1", restart_after=30.0)
    league.run()

    check(league, LeagueHistory(away=["player1"]))
    played = [
        results(league)[match_id].status for match_id in sorted(matches_of(league, player_id))
    ]
    assert played[0] == "TECHNICAL_LOSS"
    assert played[1:] == ["WIN" if status == "WIN" else "DRAW" for status in played[1:]]


def test_without_referees_matches_are_no_contest_and_the_league_ends():
    league = running(settings={"referee_wait_seconds": 120.0})

    league.crash("referee1")
    league.crash("referee2")
    league.run()

    check(league, LeagueHistory(referees_away=True, no_contests=True))
    assert all(result.no_contest is True for result in results(league).values())
    assert sum(row.played for row in league.observer.league.table.rows()) == 0


def test_a_referee_that_comes_in_time_saves_every_match():
    league = running()

    league.crash("referee1")
    league.crash("referee2", restart_after=100.0)
    league.run()

    check(league, LeagueHistory(referees_away=True))


@pytest.mark.parametrize("seconds", [0.5, 60.0])
def test_a_pause_lasts_across_a_restart_until_the_organiser_ends_it(seconds):
    league = running()
    assert commanded(league, "pause").startswith("The league is paused")

    league.crash("manager", restart_after=seconds)
    league.run(200.0)
    assert league.observer.league.paused
    assert not league.is_over

    assert commanded(league, "start") == "The league goes on."
    league.run()
    check(league)


@pytest.mark.parametrize("crashes", [False, True])
def test_an_aborted_league_ends_as_it_stands_and_everybody_is_told(crashes):
    league = running()
    league.run_until(lambda: bool(league.observer.results_told))

    commanded(league, "abort")
    if crashes:
        league.crash("manager", restart_after=0.5)
    league.run()

    check(league, LeagueHistory(aborted=True))
    assert len(results(league)) < 6


def test_a_finished_league_stays_silent_after_a_restart():
    league = a_league().run()
    said = len(league.observer.deliveries)

    league.crash("manager", restart_after=1.0)
    league.run()

    check(league)
    assert len(league.observer.deliveries) == said


def test_a_referee_that_keeps_its_state_comes_back_as_itself():
    league = running(agents=AGENTS._replace(referees_keep_state=True))
    league.run_until(lambda: bool(league.processes["referee1"].role.agent_id))

    league.crash("referee1", restart_after=0.5)
    league.run()

    check(league, LeagueHistory(referees_away=True))
    assert list(league.observer.league.roster.referees) == ["REF01", "REF02"]
    assert league.seconds < 5.0, "its matches were given out again at once"


def test_a_league_that_cannot_end_is_found():
    league = running()
    league.crash("manager")

    league.run()

    with pytest.raises(Violation, match="I7: not over"):
        check(league)
