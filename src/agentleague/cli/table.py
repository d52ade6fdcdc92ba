"""How the table of a league is printed: for people, or as JSON."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from agentleague.league.standings import Standing

COLUMNS = {
    "rank": "Rank",
    "player_id": "Id",
    "display_name": "Name",
    "played": "Played",
    "wins": "Won",
    "draws": "Drawn",
    "losses": "Lost",
    "technical_losses": "Technical",
    "points": "Points",
}
TEXTS = ("player_id", "display_name")


def plain(rows: Sequence[Standing]) -> list[dict[str, Any]]:
    """The rows as JSON has them."""
    return [dict(msgspec.structs.asdict(row)) for row in rows]


def print_json(value: Any) -> None:
    """One JSON value on stdout."""
    print(json.dumps(value, ensure_ascii=False, indent=2 if sys.stdout.isatty() else None))


def print_table(rows: Sequence[Mapping[str, Any]], title: str) -> None:
    """The table on stdout, as wide as it needs to be."""
    from rich import box
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold")
    for field, heading in COLUMNS.items():
        table.add_column(heading, justify="left" if field in TEXTS else "right", no_wrap=True)
    for row in rows:
        style = "bold green" if row["rank"] == 1 else ""
        table.add_row(*(Text(str(row[field])) for field in COLUMNS), style=style)
    console = Console(width=None if sys.stdout.isatty() else 120)
    console.print(table)
