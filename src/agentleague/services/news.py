"""What a manager's organiser is told while the league goes on: one sentence each."""

from agentleague.league.league import League
from agentleague.services.settings import ManagerSettings


def joined(league: League, agent_id: str, settings: ManagerSettings) -> str:
    """Somebody is here, and who is still awaited."""
    roster = league.roster
    member = roster.players.get(agent_id) or roster.referees[agent_id]
    wanted = f" of {settings.players}" if settings.players else ""
    return (
        f"{agent_id} {member.display_name} is at {member.endpoint}: {len(roster.players)}{wanted} "
        f"players, {len(roster.referees)} of {settings.referees} referees."
    )


def round_over(league: League) -> str:
    """A round is over, and who leads."""
    assert league.schedule
    leader = league.table.rows()[0]
    return (
        f"Round {league.round_id} of {league.schedule.rounds_total} is over; "
        f"{leader.player_id} {leader.display_name} leads with {leader.points} points."
    )
