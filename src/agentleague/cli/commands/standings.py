"""`league standings`: the table, from a running manager or from a directory."""

from collections.abc import AsyncIterator
from typing import Any

import click

from agentleague.cli.output import print_json, print_table, say, shown
from agentleague.cli.reading import all_option, read, reading_options, see_all
from agentleague.errors import LeagueError
from agentleague.manager.notices import by_lot
from agentleague.runtime.query_pages import Source, all_rows
from agentleague.storage.directory import JournalPlace

Table = tuple[dict[str, Any], list[dict[str, Any]], list[str], str]
NOTES_MAX = 10
TRIES = 5  # to read a long table that changes between its pages


@click.command()
@all_option
@reading_options
def command(
    directory: JournalPlace | None, manager_url: str | None, as_json: bool, is_all: bool
) -> None:
    """Print the table of a league, running or over.

    league standings
    league standings --dir ./league
    league standings --manager http://127.0.0.1:8000/mcp --json
    """
    table = read(directory, manager_url, read_table)
    if as_json:
        print_json(table[1])
        return
    print_standings(table, "" if is_all else see_all("standings", directory))


def print_standings(table: Table, rest: str) -> None:
    """The table, what was ruled and disputed, and who is first; `rest` prints all of it."""
    status, rows, notes, first = table
    print_table(rows, f"{status.get('league_id')}: {where_it_stands(status)}", rest)
    for note in notes:
        print(shown(note))
    if first:
        say(shown(first))


async def read_table(source: Source) -> Table:
    """The status, all rows, notes about matches, and who is first."""
    for _ in range(TRIES):
        rows = await all_rows(source, "GET_STANDINGS", "standings")
        if len({row["player_id"] for row in rows}) == len(rows):
            break  # Else a row moved between two pages.
    status = await source.ask("GET_STATUS")
    notes = [note async for note in _footnotes(source, status)]
    return status, rows, notes, await _first(source, rows, status)


async def _first(source: Source, rows: list[dict[str, Any]], status: dict[str, Any]) -> str:
    """The champion, or what separates first and second, if they have the same points."""
    named = None if status.get("aborted") else status.get("champion")
    champion = next((row for row in rows if named and row["player_id"] == named), None)
    is_tie = len(rows) > 1 and rows[0]["points"] == rows[1]["points"] and rows[0]["played"]
    if not champion and not is_tie:
        return ""
    row = champion or rows[0]
    try:
        why = (await source.ask("GET_AGENT", agent_id=row["player_id"]))["agent"]["why"]
    except (LeagueError, LookupError):  # A foreign manager.
        return ""
    place = "the champion" if champion else "first"
    drawn = by_lot(len(status.get("champions") or ())) if champion else ""
    return f"{row['player_id']} {row['display_name']} is {place} with {why}{drawn}."


async def _footnotes(source: Source, status: dict[str, Any]) -> AsyncIterator[str]:
    """Rulings and disputes, for somebody who recounts the results."""
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
    """When in the league this table was."""
    rounds = status.get("rounds_completed")
    after = f"after round {rounds}" if rounds else "before the first round ended"
    if status.get("aborted"):
        return f"aborted {after}"
    if status.get("status") == "LEAGUE_COMPLETED":
        return "final table"
    paused = ", paused" if status.get("paused") else ""
    return f"{after}{paused}"
