"""The schedule, round by round, and the cross-table: who met whom, and how it went."""

from collections.abc import Mapping
from typing import Any

from agentleague.dashboard import paging
from agentleague.dashboard.league_view import LeagueView
from agentleague.dashboard.standings import when

ROUNDS_AROUND = 4  # that are linked on both sides of the one that is shown
TABLE_MAX = 40  # players; of more, the cross-table is a heat map
HEAT_MAP_MAX = 60  # players in it, the first of the table


def facts(view: LeagueView, params: Mapping[str, str]) -> dict[str, Any]:
    """One round: the one that runs, unless `round` names another."""
    league = view.league
    rounds = league.total_rounds
    runs = max(league.round_id, 1)
    shown = paging.number(params, "round", 1, rounds, default=runs) if rounds else 0
    planned = league.planned_round(shown) if rounds else None
    near = range(max(1, shown - ROUNDS_AROUND), min(rounds, shown + ROUNDS_AROUND) + 1)
    return {
        "round": shown,
        "rounds": rounds,
        "runs": league.round_id,
        "links": sorted({1, *near, rounds} - {0}) if rounds else [],
        "matches": [match_row(view, *match) for match in planned.matches] if planned else [],
        "byes": list(planned.byes) if planned else [],
    }


def match_row(view: LeagueView, match_id: str, players: tuple[str, ...]) -> dict[str, Any]:
    """A match in a list: who, at which referee, and how it stands; of its moves nothing."""
    league, ended = view.league, view.ended.get(match_id)
    row: dict[str, Any] = {
        "match_id": match_id,
        "players": list(players),
        "names": [view.name_of(player_id) for player_id in players],
        "state": "planned",
        "outcomes": ["planned"] * len(players),
        "referee_id": ended.referee_id if ended else "",
        "decided_at": ended.at if ended else "",
        "disputed": match_id in league.disputed,
        "ruled": match_id in league.ruled,
    }
    if ended:
        outcomes = [ended.outcome(player_id) for player_id in players]
        return row | {"state": "decided", "outcomes": outcomes}
    if match_id in league.open_matches:
        referee_id = league.matches[match_id].referee_id
        row |= {"state": "live", "outcomes": ["live"] * len(players), "referee_id": referee_id}
    return row


def decided_row(view: LeagueView, match_id: str) -> dict[str, Any]:
    """A match in a list that has a result."""
    return match_row(view, match_id, view.ended[match_id].players)


def cross_table(view: LeagueView, params: Mapping[str, str]) -> dict[str, Any]:
    """The record of each pair, seen from both sides, of the first players of the table."""
    rows = view.league.table.rows()
    shown = rows[:HEAT_MAP_MAX]
    ids = {row.player_id for row in shown}
    cells: dict[str, dict[str, Any]] = {}
    for player_id in ids:
        for match_id in view.log_of(player_id).matches:
            ended = view.ended[match_id]
            opponent_id = ended.players[player_id == ended.players[0]]
            outcome = {"forfeited": "lost"}.get(found := ended.outcome(player_id), found)
            if opponent_id in ids and outcome != "void":
                new = {"won": 0, "drawn": 0, "lost": 0, "technical": 0}
                cell = cells.setdefault(f"{player_id}|{opponent_id}", new)
                cell[outcome] += 1
                cell["technical"] += found == "forfeited"
                cell["match_id"] = match_id
    scored = {key: _scored(cell) for key, cell in cells.items()}
    return {
        "when": when(view),
        "total": len(rows),
        "outcomes": sorted({cell["outcome"] for cell in scored.values()}),
        "as_table": len(rows) <= TABLE_MAX,
        "players": [
            {"rank": r.rank, "player_id": r.player_id, "name": r.display_name, "points": r.points}
            for r in shown
        ],
        "cells": scored,
    }


def _scored(cell: dict[str, Any]) -> dict[str, Any]:
    """With the number of matches, the score as chess players write it, and who is ahead."""
    won, drawn, lost = cell["won"], cell["drawn"], cell["lost"]
    halves = 2 * won + drawn
    score = f"{halves // 2 or ''}½" if halves % 2 else str(halves // 2)
    ahead = "won" if won > lost else "lost" if lost > won else "drawn"
    if cell["technical"] and not halves and lost == 1:
        score, ahead = "0t", "forfeited"
    return cell | {"n": won + drawn + lost, "score": score, "outcome": ahead}
