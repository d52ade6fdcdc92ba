"""How the table of a league is printed: for people, or as JSON."""

import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any, Literal

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
    "technical_losses": "Techn.",
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

    table = Table(
        title=title,
        box=box.SIMPLE_HEAD,
        title_justify="left",
        title_style="bold",
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    console = Console(width=None if sys.stdout.isatty() else 120)
    widths = {
        field: max([len(heading), *(len(str(row[field])) for row in rows)])
        for field, heading in COLUMNS.items()
    }
    # Only names give way in a narrow terminal: a number that is cut is a wrong number.
    others = sum(width + 2 for field, width in widths.items() if field != "display_name")
    widths["display_name"] = max(4, min(widths["display_name"], console.width - others - 2))
    for field, heading in COLUMNS.items():
        justify: Literal["left", "right"] = "left" if field in TEXTS else "right"
        table.add_column(heading, justify=justify, no_wrap=True, width=widths[field])
    for row in rows:
        style = "bold green" if row["rank"] == 1 else ""
        table.add_row(*(Text(str(row[field])) for field in COLUMNS), style=style)
    console.print(table)
