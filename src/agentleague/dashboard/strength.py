"""What results say of strength, on the standings: computed once for all who look, and seldom.

For many players it takes seconds, in which no page waits for it: it is computed aside.
"""

from concurrent.futures import wait
from typing import Any

from agentleague.dashboard.league_view import LeagueView
from agentleague.records import ratings

ROWS_MAX = 100  # players shown
OFTEN_MAX = 30  # players for whom it is computed anew after each match; for more, after each round
PLAYERS_MAX = 2_000  # for whom it is computed at all: it takes seconds
AT_ONCE_SECONDS = 0.25  # that a page waits for it; then it shows what was known before


def facts(view: LeagueView) -> dict[str, Any] | None:
    """The facts of `league ratings`, in short; None before the first result, and while the first
    facts are computed.
    """
    players = len(view.league.roster.players)
    if not view.ended or players > PLAYERS_MAX:
        return None
    key = view.results if players <= OFTEN_MAX else (view.league.rounds_ended, view.league.phase)
    _take(view)
    if not view.awaited and (view.strength is None or view.strength[0] != key):
        results = (
            ratings.Decided(each.players, each.winner, each.status)
            for each in [*view.ended.values()]
        )
        played = ratings.played_in(view.league, results, view.game)
        view.awaited = key, view.aside(lambda: _shown(ratings.statistics([played])))
        wait([view.awaited[1]], AT_ONCE_SECONDS)
        _take(view)
    return view.strength and view.strength[1]


def _take(view: LeagueView) -> None:
    if view.awaited and view.awaited[1].done():
        (key, found), view.awaited = view.awaited, None
        view.strength = key, found.result()


def _shown(found: dict[str, Any]) -> dict[str, Any]:
    rows = found["rows"][:ROWS_MAX]
    is_apart = found["parts"] > 1
    ends = [row[name] for row in rows for name in ("low_95", "high_95")]
    return found | {
        "rows": [
            row
            | {"words": ratings.in_words(row), "is_gap": ratings.opens_group(row, before)}
            | {"opens_part": is_apart and (not before or before["part"] != row["part"])}
            for row, before in zip(rows, [None, *rows], strict=False)
        ],
        "scale": [min(0, *ends), max(0, *ends)] if ends else [0, 0],
        "left_out": len(found["rows"]) - len(rows),
    }
