"""Agents that are not as they should be: only they suffer for it."""

import pytest

from agentleague.games import tic_tac_toe
from agentleague.simulation import agents as traits
from agentleague.simulation.agents import Agents
from agentleague.simulation.invariants import LeagueHistory, Violation, check
from simulation.crashing import a_league
from simulation.test_scenarios import results


def played(name, trait, course=None, **more):
    league = a_league(agents=Agents(traits={name: trait}), **more).run(2000.0)
    check(league, course or LeagueHistory(away=[name], prompt=True))
    return league


def test_a_slow_player_that_answers_in_time_loses_nothing():
    league = played("player1", traits.SLOW, LeagueHistory(prompt=True))

    assert league.seconds > 3 * 20.0


@pytest.mark.parametrize("trait", [traits.LATE, traits.RUDE, traits.BABBLING])
def test_a_player_that_misbehaves_harms_nobody_but_itself(trait):
    played("player1", trait)


def test_a_mute_player_loses_all_its_matches_technically():
    league = played("player1", traits.MUTE)

    lost = [each for each in results(league).values() if each.status == "TECHNICAL_LOSS"]
    assert len(lost) == 3
    assert not any(each.no_contest is True for each in lost)


def test_the_matches_of_a_foreign_referee_are_believed_and_marked():
    league = played("referee2", traits.FOREIGN, LeagueHistory(referees_away=True))

    files = league.observer.league.matches.values()
    foreign = [file for file in files if league.observer.is_foreign(file)]
    assert foreign
    assert all(file.decided and not file.decided.verified for file in foreign)
    assert all(file.decided.verified for file in files if file not in foreign)


def test_what_a_false_referee_reports_is_refused_and_noted():
    league = played("referee2", traits.FALSE, LeagueHistory(referees_away=True, disputes=True))

    kinds = [row.kind for row in league.rows()]
    assert "disputed" in kinds
    with pytest.raises(Violation, match="disputed"):
        check(league, LeagueHistory(referees_away=True))


def test_a_thief_gains_nothing_and_harms_nobody():
    league = played("player1", traits.IMPOSTOR, LeagueHistory(prompt=True))

    thefts = [heard for heard in league.observer.deliveries if heard.source == "impostor"]
    assert len(thefts) > 20


def test_a_foreign_referee_plays_games_of_several_turns():
    agents = Agents(game=tic_tac_toe, traits={"referee1": traits.FOREIGN})
    league = a_league(agents=agents, referees=1).run()

    check(league, LeagueHistory(referees_away=True))
    assert len(results(league)) == 6
