"""What a manager's organiser is told while the league goes on: one sentence each."""

from agentleague.league.events import Disputed
from agentleague.league.league import League
from agentleague.league.rulings import dispute_in_words
from agentleague.services.settings import ManagerSettings


def joined(league: League, agent_id: str, settings: ManagerSettings) -> str:
    """Somebody is here, and who is still awaited."""
    roster = league.roster
    member = roster.players.get(agent_id) or roster.referees[agent_id]
    wanted = f" of {settings.players}" if settings.players else ""
    return (
        f"{agent_id} {member.display_name} is at {member.endpoint}: {len(roster.players)}{wanted} "
        f"players, {_referees(len(roster.referees), settings)}."
    )


def _referees(number: int, settings: ManagerSettings) -> str:
    if number < settings.referees:
        return f"{number} of {settings.referees} referees"
    return "1 referee" if number == 1 else f"{number} referees"


def round_over(league: League) -> str:
    """A round is over, and who leads."""
    assert league.schedule
    leader = league.table.rows()[0]
    return (
        f"Round {league.round_id} of {league.schedule.rounds_total} is over; "
        f"{leader.player_id} {leader.display_name} leads with {_points(leader.points)}."
    )


def begun(league: League) -> str:
    """The league has begun."""
    assert league.schedule
    players = len(league.table.rows())
    return (
        f"The league has begun: {players} players, {league.schedule.rounds_total} rounds, "
        f"{league.schedule.matches_total} matches."
    )


def over(league: League) -> str:
    """The league is over, and who won it."""
    first = league.table.rows()[0]
    return (
        f"The league is over: {first.player_id} {first.display_name} is the champion with "
        f"{_points(first.points)}."
    )


def disputed(event: Disputed) -> str:
    """A referee's word against a result, or against itself."""
    return (
        f"{event.match_id} is disputed: {dispute_in_words(event)}. See it with: league match "
        f"{event.match_id}; decide with: league rule {event.match_id}"
    )


def _points(number: int) -> str:
    return "1 point" if number == 1 else f"{number} points"
