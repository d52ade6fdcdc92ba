"""A stage as people know it: a bracket, a table by rounds, groups, or a ladder."""

from collections.abc import Mapping
from itertools import groupby
from typing import Any

from agentleague.dashboard import paging
from agentleague.dashboard.league_view import LeagueView
from agentleague.dashboard.standings import ROWS_A_PAGE
from agentleague.errors import LeagueError
from agentleague.league import stage_views

DRAWN_MAX = 16  # ties of a round that is drawn; those of earlier rounds are listed
ROUNDS_SHOWN = 12  # of a ladder, before those that are folded
TIE_BREAKS = {"head_to_head": "Head-to-head", "sonneborn_berger": "Sonneborn-Berger"}


def facts(view: LeagueView, params: Mapping[str, str]) -> dict[str, Any]:
    """One stage; a long table in pages, unless page=all."""
    league = view.league
    number = stage_views.shown_stage(league, params.get("stage")) if league.opened else 0
    if not number:
        raise LeagueError("there is no such stage; see /standings for the table")
    stages = stage_views.stages(league)
    rows = stage_views.stage_rows(league, number)
    found = {"stage": number, "stages": stages, **stages[number - 1]}
    if found["format"] == "knockout":
        return found | _bracket(rows)
    if found["format"] == "groups":
        groups = groupby(rows, key=lambda row: row["group"])
        return found | {"groups": [{"name": name, "rows": [*inside]} for name, inside in groups]}
    rounds = stage_views.rounds_of(league, number)
    if found["format"] == "ladder":  # It has many rounds: the newest come first.
        rounds.reverse()
        for row in rows:
            row["cells"].reverse()
    is_whole = params.get("page") == "all"
    pages = 1 if is_whole else max(1, -(-len(rows) // ROWS_A_PAGE))
    page = paging.number(params, "page", 1, pages, default=1) if pages > 1 else 1
    first = (page - 1) * ROWS_A_PAGE
    shown = rows if is_whole else rows[first : first + ROWS_A_PAGE]
    return found | {
        "rounds": rounds[:ROUNDS_SHOWN] if found["format"] == "ladder" else rounds,
        "older": rounds[ROUNDS_SHOWN:] if found["format"] == "ladder" else [],
        "tie_breaks": _tie_breaks(rows),
        "total": len(rows),
        **{"page": page, "pages": pages},
        "rows": shown,
        "outcomes": sorted({cell["outcome"] for row in shown for cell in row["cells"]}),
        "has_byes": any(row["bye_points"] for row in rows),
    }


def _tie_breaks(rows: list[dict[str, Any]]) -> list[tuple[str, str]]:
    """In the order in which they are applied."""
    names = rows[0]["tie_breaks"] if rows else ()
    return [(each, TIE_BREAKS.get(each, each.replace("_", " ").capitalize())) for each in names]


def _bracket(ties: list[dict[str, Any]]) -> dict[str, Any]:
    by_level = groupby(ties, key=lambda tie: tie["level"])
    rounds = [
        {"name": each[0]["round"], "ties": each} for each in ([*ties] for _, ties in by_level)
    ]
    is_third = len(rounds) > 1 and len(rounds[-1]["ties"]) == len(rounds[-2]["ties"]) == 1
    tree = rounds[:-1] if is_third else rounds
    return {
        "listed": [each for each in tree if len(each["ties"]) > DRAWN_MAX],
        "drawn": [each for each in tree if len(each["ties"]) <= DRAWN_MAX],
        "third": rounds[-1] if is_third else None,
    }
