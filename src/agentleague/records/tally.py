"""The table counted once more, by hand: no code in common with the one that leagues keep.

Simple on purpose; `league verify` compares the two.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple


class Score(NamedTuple):
    """One match that counts: who met, who won, and whether it was lost without a game."""

    players: tuple[str, str]
    winner: str | None
    technical: bool


def tally(
    players: Mapping[str, str],
    scores: Sequence[Score],
    points: tuple[int, int, int],
    tie_breaks: Sequence[str],
) -> list[dict[str, Any]]:
    """The rows of the table, rank 1 first; `players` gives everybody's name."""
    rows = {player_id: _empty(player_id, name) for player_id, name in players.items()}
    taken: dict[str, dict[str, int]] = {player_id: {} for player_id in players}
    for score in scores:
        a, b = score.players
        for one, other in ((a, b), (b, a)):
            won = _count(rows[one], score, points)
            taken[one][other] = taken[one].get(other, 0) + won

    def head_to_head(player_id: str) -> int:
        level = rows[player_id]["points"]
        return sum(won for other, won in taken[player_id].items() if rows[other]["points"] == level)

    def merit(player_id: str) -> list[int]:
        row = rows[player_id]
        merits = [row["points"]]
        for name in tie_breaks:
            if name == "player_id":
                break
            if name == "head_to_head":
                merits.append(head_to_head(player_id))
            else:
                merits.append(-row[name] if name == "technical_losses" else row[name])
        return merits

    order = sorted(sorted(rows, key=_number), key=merit, reverse=True)
    return [{**rows[player_id], "rank": rank} for rank, player_id in enumerate(order, start=1)]


def _empty(player_id: str, name: str) -> dict[str, Any]:
    counts = ("played", "wins", "draws", "losses", "technical_losses", "points")
    return {"rank": 0, "player_id": player_id, "display_name": name, **dict.fromkeys(counts, 0)}


def _count(row: dict[str, Any], score: Score, points: tuple[int, int, int]) -> int:
    """Count a match for one of its players; the points it brought."""
    row["played"] += 1
    if score.winner == row["player_id"]:
        row["wins"] += 1
        won = points[0]
    elif score.winner is None and not score.technical:
        row["draws"] += 1
        won = points[1]
    else:
        row["losses"] += 1
        row["technical_losses"] += 1 if score.technical else 0
        won = points[2]
    row["points"] += won
    return won


def _number(player_id: str) -> tuple[str, int]:
    letters, number = re.fullmatch(r"(.*?)(\d*)", player_id, re.DOTALL).groups()  # type: ignore[union-attr]
    return letters, int(number or 0)
