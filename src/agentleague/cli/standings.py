"""`league standings`: the table, from a running manager or from a directory."""

from pathlib import Path
from typing import Any

import click

from agentleague.cli.reading import Source, all_rows, read, reading_options
from agentleague.cli.table import print_json, print_table

EXAMPLES = """\b
Examples:
  league standings
  league standings --dir ./league
  league standings --manager http://127.0.0.1:8000/mcp --json
"""
TRIES = 5  # to read a long table that changes meanwhile


@click.command(help=EXAMPLES + "\nPrint the table of a league that runs or was played.")
@reading_options
def command(directory: Path | None, manager_url: str | None, as_json: bool) -> None:
    """Print the table."""
    status, rows = read(directory, manager_url, _table)
    if as_json:
        print_json(rows)
    else:
        print_table(rows, f"{status.get('league_id')}: {where_it_stands(status)}")


async def _table(source: Source) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    for _ in range(TRIES):
        rows = await all_rows(source, "GET_STANDINGS", "standings")
        if len({row["player_id"] for row in rows}) == len(rows):
            break  # Else somebody changed places between two pages.
    return await source.ask("GET_STATUS"), rows


def where_it_stands(status: dict[str, Any]) -> str:
    """What a table is the table of."""
    if status.get("aborted"):
        return f"aborted after round {status.get('rounds_completed')}"
    if status.get("status") == "LEAGUE_COMPLETED":
        return "final table"
    paused = ", paused" if status.get("paused") else ""
    return f"after round {status.get('rounds_completed')}{paused}"
