"""What the manager tells a player that was away."""

from agentleague.league.match_records import LeagueLimits
from agentleague.protocol.messages import GameOver
from memory_league import MemoryLeague
from rules import rule


def killed_by_a_result(**settings):
    """A league and its second player, which dies while it is told how R1M1 ended."""
    league = MemoryLeague(2, 1, join_seconds=1.0, join_retries=0, **settings).fill()
    victim = league.hosts[-1]

    def hear(message, *asked):
        is_result = isinstance(message, GameOver)
        return league.kill(victim) if is_result else victim.ask(message, *asked)

    victim._transport.listen(hear)
    league.run_until(lambda: victim in league.dead)
    return league, victim.role


def comes_back(league, former, *, knows_its_token=True):
    """The matches that the next process of that player was told, in order."""
    endpoint = league.league.roster.players["P02"].endpoint
    token = former.state.token if knows_its_token else ""
    role = league.add_player(name="Player 2", remembered=token, url=endpoint).role
    league.play()
    return [match["match_id"] for match in role.memory.history]


@rule("R-FLOW-06")
def test_a_player_that_died_of_a_result_is_told_it_when_it_comes_back():
    league, former = killed_by_a_result(cycles=3)

    assert comes_back(league, former) == ["R1M1", "R2M1", "R3M1"]
    told = [each.match_id for _, each in league.messages if isinstance(each, GameOver)]
    assert [told.count(each) for each in ("R1M1", "R2M1", "R3M1")] == [3, 2, 2]


@rule("R-FLOW-06")
def test_it_is_told_all_that_it_lost_since_then_also_when_the_league_is_over():
    league, former = killed_by_a_result(cycles=4)
    league.run_until(lambda: league.hosts[0].ended)

    assert comes_back(league, former) == ["R1M1", "R2M1", "R3M1", "R4M1"]


@rule("R-FLOW-06")
def test_it_is_told_no_more_than_its_last_matches():
    limits = LeagueLimits(last_matches=2)
    league, former = killed_by_a_result(cycles=4, league_limits=limits)
    league.run_until(lambda: league.hosts[0].ended)

    assert comes_back(league, former) == ["R3M1", "R4M1"]


@rule("R-FLOW-06")
def test_a_manager_that_was_killed_too_tells_it():
    league, former = killed_by_a_result(cycles=2)
    league.run_until(lambda: league.hosts[0].ended)
    league.restart_manager()

    assert comes_back(league, former) == ["R1M1", "R2M1"]


@rule("R-FLOW-06")
def test_nobody_without_its_token_and_nobody_who_was_removed_is_told_again():
    league, former = killed_by_a_result(cycles=2)
    league.run_until(lambda: league.hosts[0].ended)
    assert comes_back(league, former, knows_its_token=False) == []

    league, former = killed_by_a_result(cycles=2)
    league.command("remove", player_id="P02")
    league.run_until(lambda: league.hosts[0].ended)
    assert comes_back(league, former) == []
