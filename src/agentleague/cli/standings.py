"""`league standings`: the table, from a running manager or from a directory."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import click

from agentleague.cli.reading import Source, all_rows, read, reading_options
from agentleague.cli.table import print_json, print_table, shown

EXAMPLES = """\b
Examples:
  league standings
  league standings --dir ./league
  league standings --manager http://127.0.0.1:8000/mcp --json
"""
NOTES_MAX = 10
TRIES = 5  # to read a long table that changes meanwhile


@click.command(help=EXAMPLES + "\nPrint the table of a league that runs or was played.")
@reading_options
def command(directory: Path | None, manager_url: str | None, as_json: bool) -> None:
    """Print the table."""
    status, rows, notes = read(directory, manager_url, _table)
    if as_json:
        print_json(rows)
        return
    print_table(rows, f"{status.get('league_id')}: {where_it_stands(status)}")
    for note in notes:
        print(shown(note))


async def _table(source: Source) -> tuple[dict[str, Any], list[dict[str, Any]], list[str]]:
    for _ in range(TRIES):
        rows = await all_rows(source, "GET_STANDINGS", "standings")
        if len({row["player_id"] for row in rows}) == len(rows):
            break  # Else somebody changed places between two pages.
    status = await source.ask("GET_STATUS")
    return status, rows, [note async for note in _footnotes(source, status)]


async def _footnotes(source: Source, status: dict[str, Any]) -> AsyncIterator[str]:
    """What somebody who counts the results by hand must know."""
    ruled = status.get("ruled_matches") or []
    for match_id in ruled[:NOTES_MAX]:
        match = (await source.ask("GET_MATCH", match_id=match_id, limit=0))["match"]
        words = (match.get("ruling") or {}).get("words")
        if words:
            yield f"{match_id}: {words}."
    if len(ruled) > NOTES_MAX:
        yield f"The organiser ruled on {len(ruled)} matches; see all with: league schedule"
    disputed = status.get("disputed_matches") or []
    if disputed:
        more = " and more" if len(disputed) > NOTES_MAX else ""
        yield f"Disputed, not ruled on yet: {', '.join(disputed[:NOTES_MAX])}{more}."


def where_it_stands(status: dict[str, Any]) -> str:
    """What a table is the table of."""
    if status.get("aborted"):
        return f"aborted after round {status.get('rounds_completed')}"
    if status.get("status") == "LEAGUE_COMPLETED":
        return "final table"
    paused = ", paused" if status.get("paused") else ""
    return f"after round {status.get('rounds_completed')}{paused}"
