"""What stands on every page: how far the league is, in words and as a share."""

from typing import Any

from agentleague.dashboard.league_view import LeagueView
from agentleague.league import stage_views
from agentleague.league.league import Phase
from agentleague.protocol.printable import counted


def heading(view: LeagueView) -> dict[str, Any]:
    """The state of the league for the head of a page."""
    league = view.league
    return {
        "game": league.rules.game_type.replace("_", " ") if league.opened else "",
        "state": state_in_words(view),
        "is_over": league.phase is Phase.COMPLETED,
        "decided": league.decided_total,
        "matches": league.total_matches,
        "is_length_known": league.is_length_known,
        "tab": stage_views.tab(league) if league.opened else None,
        "disputes": len(league.disputed) + len(league.unconfirmed),
    }


def state_in_words(view: LeagueView) -> str:
    """Where the league stands, as people say it."""
    league = view.league
    if league.phase is Phase.COMPLETED:
        return "ended by the organiser" if league.aborted else "finished"
    if league.phase is Phase.REGISTERING:
        return f"registering, {counted(league.players_total, 'player')} so far"
    now = stage_views.round_in_words(league) if league.round_id else "about to begin"
    return f"paused in {now}" if league.paused and league.round_id else now
