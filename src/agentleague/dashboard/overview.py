"""The overview: how far the league is, who is waited for, who leads, what just happened."""

from collections.abc import Mapping
from typing import Any

from agentleague.dashboard.league_view import LeagueView


def facts(view: LeagueView, params: Mapping[str, str]) -> dict[str, Any]:
    """What the first page shows."""
    league = view.league
    return {
        "phase": str(league.phase),
        "round": league.round_id,
        "rounds": league.total_rounds,
        "decided": league.decided_total,
        "matches": league.total_matches,
        "awaited": view.live.get("awaited_answers", []),
        "happenings": [each._asdict() for each in reversed(view.happenings)],
    }
