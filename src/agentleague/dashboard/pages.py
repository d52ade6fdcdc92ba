"""The table of pages: where each is, what it shows, and the facts in it, which are its JSON too."""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

from agentleague.dashboard import (
    disputes,
    match,
    overview,
    player,
    referee,
    schedule,
    stage,
    standings,
)
from agentleague.dashboard.league_view import LeagueView

Facts = dict[str, Any]


class Page(NamedTuple):
    """One kind of page: `_NAME.html` is the page itself; `page.html` is what is around it.

    `facts(view, params)` gets what stands in the path and the query, as texts; it returns plain
    JSON, or raises LeagueError: then the page is not there, and the error says what is.
    """

    name: str
    path: str  # as Starlette spells it, such as /match/{match_id}
    title: str
    facts: Callable[[LeagueView, Mapping[str, str]], Facts]


PAGES = {
    page.name: page
    for page in (
        Page("overview", "/", "Overview", overview.facts),
        Page("standings", "/standings", "Standings", standings.facts),
        Page("schedule", "/schedule", "Schedule", schedule.facts),
        Page("cross_table", "/cross-table", "Cross-table", schedule.cross_table),
        Page("stage", "/stage/{stage}", "Stage", stage.facts),
        Page("match", "/match/{match_id}", "Match", match.facts),
        Page("player", "/player/{player_id}", "Player", player.facts),
        Page("referee", "/referee/{referee_id}", "Referee", referee.facts),
        Page("disputes", "/disputes", "Disputes", disputes.facts),
    )
}
