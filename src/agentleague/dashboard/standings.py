"""The standings: one row a player, with how its last rounds went and whether it rose or fell."""

from collections.abc import Mapping
from typing import Any

from agentleague.dashboard import paging, strength
from agentleague.dashboard.league_view import LeagueView
from agentleague.league import stage_views
from agentleague.league.league import Phase
from agentleague.league.standings import Standing

ROWS_A_PAGE = 100  # With more, a browser works for seconds at each change.
ROUNDS_SHOWN = 10
MANY = 60  # players; of more, only half as many rounds are shown
PROJECTOR_ROWS = 8
PROJECTOR_PAGES = 5

Cell = dict[str, Any]
ABSENT: Cell = {"outcome": "absent"}


def facts(view: LeagueView, params: Mapping[str, str]) -> dict[str, Any]:
    """A page of the table, or of those whose name or id contains `q`; all of it with page=all."""
    rows, wanted = view.league.table.rows(), params.get("q", "").strip().casefold()
    chosen = [row for row in rows if wanted in f"{row.display_name} {row.player_id}".casefold()]
    found, is_whole = len(chosen), params.get("page") == "all"
    pages = 1 if is_whole else max(1, -(-found // ROWS_A_PAGE))
    page = 1 if is_whole else paging.number(params, "page", 1, pages, default=1)
    chosen = chosen if is_whole else chosen[(page - 1) * ROWS_A_PAGE : page * ROWS_A_PAGE]
    on_page = {row.player_id: n // ROWS_A_PAGE + 1 for n, row in enumerate(rows)}
    turned = {}
    if "projector" in params:
        turned = _projector(len(rows), params["projector"])
        first = (turned["projector"] - 1) * PROJECTOR_ROWS
        chosen = [*rows[first : first + PROJECTOR_ROWS]]
    rounds = rounds_shown(view, 0 if turned else ROUNDS_SHOWN // (1 + (len(rows) > MANY)))
    shown = described(view, chosen, rounds)
    is_top = not (turned or wanted or page > 1)
    sure = strength.facts(view) if is_top else None
    return {
        "when": when(view),
        "total": len(rows),
        "q": wanted,
        "found": found,
        "page": page,
        "pages": pages,
        "rounds": list(rounds),
        "rows": [row | {"page": on_page[row["player_id"]]} for row in shown],
        "outcomes": sorted({cell["outcome"] for row in shown for cell in row["cells"]}),
        "strength": sure,
        "is_awaited": is_top and sure is None and view.awaited is not None,
        **turned,
    }


def _projector(players: int, wanted: str) -> dict[str, Any]:
    """Which page of the table is on the wall, and which page comes next."""
    pages = max(1, min(PROJECTOR_PAGES, -(-players // PROJECTOR_ROWS)))
    page = min(int(wanted), pages) if wanted.isdecimal() and int(wanted) else 1
    turn = ("standings", str(page + 1)) if page < pages else ("overview", "")
    return {"projector": page, "pages": pages, "turn": {"page": turn[0], "projector": turn[1]}}


def when(view: LeagueView) -> str:
    """Up to where the table counts."""
    league = view.league
    if league.phase is Phase.COMPLETED:
        return "at the end"
    is_between = league.rounds_ended == league.round_id
    return f"{'after' if is_between else 'in'} {stage_views.round_in_words(league)}"


def rounds_shown(view: LeagueView, at_most: int) -> range:
    """The last rounds that were scheduled."""
    last = view.league.round_id
    return range(max(1, last - at_most + 1), last + 1)


def described(view: LeagueView, rows: list[Standing], rounds: range) -> list[dict[str, Any]]:
    """Rows of the table with names of fields that people know, and a cell for each round."""
    cells, before = [_cells(view, round_id) for round_id in rounds], _ranks_before(view)
    more = {row["player_id"]: row for row in stage_views.standing_rows(view.league, rows)}
    return [
        {
            name: more[row.player_id][name]
            for name in stage_views.MERITS
            if name in more[row.player_id]
        }
        | {
            "note": more[row.player_id].get("note", ""),
            "bye_points": more[row.player_id].get("bye_points", 0),
            "rank": row.rank,
            "player_id": row.player_id,
            "name": row.display_name,
            "moved": before.get(row.player_id, row.rank) - row.rank,
            "played": row.played,
            "won": row.wins,
            "drawn": row.draws,
            "lost": row.losses,
            "technical_losses": row.technical_losses,
            "points": row.points,
            "tie_break": (row.tie_break or "").replace("_", "-"),
            "cells": [of_round.get(row.player_id, ABSENT) for of_round in cells],
        }
        for row in rows
    ]


def _ranks_before(view: LeagueView) -> dict[str, int]:
    """The ranks after the round before the one that is played, or was played last."""
    round_id = view.league.round_id
    is_known = 2 <= round_id <= len(view.points) + 1
    ended = view.points[round_id - 2] if is_known else {}
    return {player_id: rank for player_id, (_, rank) in ended.items()}


def _cells(view: LeagueView, round_id: int) -> dict[str, Cell]:
    """How the match of each player went; where all is planned, who has none has a bye."""
    league = view.league
    byes = league.entrants if league.is_fixed else league.byes.get(round_id, ())
    cells: dict[str, Cell] = {player_id: {"outcome": "bye"} for player_id in byes}
    for number in range(1, view.league.matches.size(round_id) + 1):
        match_id = f"R{round_id}M{number}"
        ended = view.ended.get(match_id)
        players = ended.players if ended else view.league.matches[match_id].players
        for player_id, opponent_id in (players, players[::-1]):
            about = {"match_id": match_id, "opponent_id": opponent_id}
            cells[player_id] = {"outcome": ended.outcome(player_id) if ended else "live", **about}
    return cells
