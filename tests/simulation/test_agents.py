"""Agents that are not as they should be: only they suffer for it."""

import pytest

from agentleague.games import tic_tac_toe
from agentleague.protocol.messages import RoundAnnouncement
from agentleague.simulation import agents as traits
from agentleague.simulation import league as simulated
from agentleague.simulation.agents import Agents
from agentleague.simulation.invariants import LeagueHistory, Violation, check
from agentleague.simulation.league import BEGAN
from agentleague.simulation.network import host_of
from simulation.crashing import a_league
from simulation.test_scenarios import results


def played(name, trait, history=None, **more):
    league = a_league(agents=Agents(traits={name: trait}), **more).run(2000.0)
    check(league, history or LeagueHistory(away=[name], prompt=True))
    return league


def test_a_slow_player_that_answers_in_time_loses_nothing():
    league = played("player1", traits.SLOW, LeagueHistory(prompt=True))

    assert league.seconds > 3 * 20.0


def announced(league):
    """Who heard of the first round, and after how many seconds."""
    heard = [each for each in league.observer.deliveries if not each.is_answer]
    first = [each for each in heard if getattr(each.message, "round_id", 0) == 1]
    rounds = [each for each in first if isinstance(each.message, RoundAnnouncement)]
    return {host_of(each.url): each.at - BEGAN for each in reversed(rounds)}


@pytest.mark.parametrize("name", ["player4", "referee2"])
def test_the_league_waits_for_one_that_registers_before_it_listens(name):
    league = played(name, traits.UNREADY, LeagueHistory(prompt=True))

    after = announced(league)
    assert name in after
    assert 2.0 < min(after.values()) < 2.5


def test_it_waits_for_a_moment_only_and_for_none_of_ours(monkeypatch):
    assert max(announced(a_league().run()).values()) < 0.5
    monkeypatch.setattr(simulated, "UNREADY_SECONDS", 7.0)

    league = played("player4", traits.UNREADY, LeagueHistory(away=["player4"]))

    assert 5.0 < min(announced(league).values()) < 5.5


@pytest.mark.parametrize("trait", [traits.LATE, traits.RUDE, traits.BABBLING])
def test_a_player_that_misbehaves_harms_nobody_but_itself(trait):
    league = played("player1", trait)

    lost = [each for each in results(league).values() if each.status == "TECHNICAL_LOSS"]
    assert len(results(league)) == 6
    assert all(each.winner not in (None, "P01") for each in lost)


def test_a_mute_player_loses_all_its_matches_technically():
    league = played("player1", traits.MUTE)

    lost = [each for each in results(league).values() if each.status == "TECHNICAL_LOSS"]
    assert len(lost) == 3
    assert not any(each.no_contest is True for each in lost)


def test_the_matches_of_a_foreign_referee_are_believed_and_marked():
    league = played("referee2", traits.FOREIGN, LeagueHistory(referees_away=True))

    matches = league.observer.league.matches.values()
    foreign = [match for match in matches if league.observer.is_foreign(match)]
    assert foreign
    assert all(match.decided and not match.decided.verified for match in foreign)
    assert all(match.decided.verified for match in matches if match not in foreign)


def test_what_a_false_referee_reports_is_refused_and_noted():
    league = played("referee2", traits.FALSE, LeagueHistory(referees_away=True, disputes=True))

    kinds = [row.kind for row in league.observer.rows]
    assert "disputed" in kinds
    with pytest.raises(Violation, match="disputed"):
        check(league, LeagueHistory(referees_away=True))


def test_an_impostor_gains_nothing_and_harms_nobody():
    league = played("player1", traits.IMPOSTOR, LeagueHistory(prompt=True))

    forgeries = [each for each in league.observer.deliveries if each.source == "impostor"]
    assert len(forgeries) > 20


def test_a_foreign_referee_plays_games_of_several_turns():
    agents = Agents(game=tic_tac_toe, traits={"referee1": traits.FOREIGN})
    league = a_league(agents=agents, referees=1).run()

    check(league, LeagueHistory(referees_away=True))
    assert len(results(league)) == 6
