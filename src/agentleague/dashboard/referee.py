"""One referee: what it runs and ran, what was taken from it, and what the organiser can do."""

from collections.abc import Mapping
from typing import Any

from agentleague.dashboard import paging
from agentleague.dashboard.league_view import LeagueView
from agentleague.dashboard.player import unknown_agent
from agentleague.dashboard.schedule import decided_row, match_row
from agentleague.league import queries
from agentleague.league.events import MatchAssigned
from agentleague.protocol.printable import one_line
from agentleague.records.match_story import REASSIGNED

STATES = {
    "REGISTERED": "It has registered; the league has not begun.",
    "WAITING": "It waits for the organiser: it knew no referee code, and is given no match.",
    "ACTIVE": "It takes part.",
    "SUSPENDED": "It was set aside, and is given no match any more.",
    "SHUTDOWN": "The league is finished.",
}


def facts(view: LeagueView, params: Mapping[str, str]) -> dict[str, Any]:
    """What the page of a referee shows."""
    league, referee_id = view.league, params["referee_id"].upper()
    known = {**league.roster.referees, **league.roster.waiting}
    if referee_id not in known:
        raise unknown_agent("referee", referee_id, known)
    member, state = known[referee_id], queries.state_of(league, referee_id)
    log = view.referee_log_of(referee_id)
    open_records = (league.matches[each] for each in league.undecided)
    now = [(each.match_id, each.players) for each in open_records if each.referee_id == referee_id]
    return {
        "referee": paging.agent(view, referee_id),
        "state": state,
        "state_in_words": STATES[state],
        "locks": member.locks,
        "is_vouched_for": not member.anyone,
        "capacity": member.capacity,
        "contradicted": [
            paging.agent(view, each) for each in sorted(league.contradictions.get(referee_id, ()))
        ],
        "contradictions_max": league.limits.contradictions_max,
        "command": approval(view, referee_id),
        "now": [match_row(view, *each) for each in now],
        "ran": paging.paged(log.matches, params, "ran", lambda each: decided_row(view, each)),
        "taken": paging.paged(log.taken, params, "taken", lambda each: _taken(view, each)),
    }


def approval(view: LeagueView, referee_id: str) -> str:
    """What the organiser types to let a referee in, or in again; empty where it is in."""
    roster = view.league.roster
    is_out = referee_id in roster.waiting or referee_id in roster.set_aside
    return f"league approve {referee_id} --dir {view.directory}" if is_out else ""


def _taken(view: LeagueView, event: MatchAssigned) -> dict[str, Any]:
    return {
        "match_id": event.match_id,
        "to": paging.agent(view, event.referee_id),
        "why": one_line(REASSIGNED.get(event.why, event.why)),
    }
