"""What the organiser is told while the league goes on: one sentence each."""

from agentleague.league.events import Disputed
from agentleague.league.league import League
from agentleague.league.roster import Roster
from agentleague.league.rulings import dispute_in_words
from agentleague.roles.settings import ManagerSettings

BEGUN = "The league has begun"


def joined(league: League, agent_id: str, settings: ManagerSettings) -> str:
    """An agent registered, and how many are still needed."""
    roster = league.roster
    member = roster.players.get(agent_id) or roster.referees[agent_id]
    return (
        f"{agent_id} {member.display_name} is at {member.endpoint}: {_players(roster, settings)}, "
        f"{_referees(len(roster.referees), settings)}."
    )


def _players(roster: Roster, settings: ManagerSettings) -> str:
    here = len(roster.players)
    return f"{here} of {settings.players} players" if settings.players else _many(here, "player")


def _referees(number: int, settings: ManagerSettings) -> str:
    if number < settings.referees:
        return f"{number} of {_many(settings.referees, 'referee')}"
    return _many(number, "referee")


def round_over(league: League) -> str:
    """A round is over, and who leads."""
    leader = league.table.rows()[0]
    of_all = f" of {league.totals.rounds}" if league.totals else ""
    return (
        f"Round {league.round_id}{of_all} is over; "
        f"{leader.player_id} {leader.display_name} leads with {league.table.why(leader.player_id)}."
    )


def begun(league: League) -> str:
    """The league has begun."""
    players, totals = _many(len(league.entrants), "player"), league.totals
    matches = f", {_many(totals.matches, 'match', 'matches')}" if totals else ""
    return f"{BEGUN}: {players}, {rounds_in_words(league)}{matches}."


def rounds_in_words(league: League) -> str:
    """How many rounds a league has."""
    return _many(league.totals.rounds, "round") if league.totals else "as many rounds as it takes"


def over(league: League) -> str:
    """The league is over, and who won it."""
    first = league.table.rows()[0]
    return (
        f"The league is over: {first.player_id} {first.display_name} is the champion with "
        f"{league.table.why(first.player_id)}."
    )


def disputed(event: Disputed) -> str:
    """A referee contradicted a result, or itself."""
    return (
        f"{event.match_id} is disputed: {dispute_in_words(event)}. See it with: league match "
        f"{event.match_id}; decide with: league rule {event.match_id}"
    )


def _many(number: int, noun: str, plural: str = "") -> str:
    return f"{number} {noun if number == 1 else plural or noun + 's'}"
