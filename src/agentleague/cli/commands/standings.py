"""`league standings`: the table, from a running manager or from a directory."""

from collections.abc import AsyncIterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import click

from agentleague.cli.commands.ratings import print_chances, print_ratings
from agentleague.cli.output import Column, print_json, print_table, say, shown
from agentleague.cli.reading import JournalSource, all_option, read, reading_options, see_all
from agentleague.errors import LeagueError
from agentleague.manager.notices import by_lot
from agentleague.records.ratings import in_words
from agentleague.records.seasons import is_season
from agentleague.runtime.query_pages import Source, all_rows
from agentleague.storage.directory import JournalPlace

Table = tuple[dict[str, Any], list[dict[str, Any]], list[str], str]
RATED = (Column("rating", "Rating"), Column("interval", "95 % from, to", True))
NOTES_MAX = 10
TRIES = 5  # to read a long table that changes between its pages


@click.command()
@click.option("--ratings", "beside", flag_value="ratings", help="Each player's strength, too.")
@click.option(
    "--statistics",
    "beside",
    flag_value="statistics",
    help="How much of the table may be luck, too.",
)
@all_option
@reading_options
def command(
    directory: JournalPlace | None,
    manager_url: str | None,
    as_json: bool,
    is_all: bool,
    beside: str | None,
) -> None:
    """Print the table of a league, running or over, or that of a season. With --ratings or
    --statistics it reads the journal; `league ratings` says more of the former.

    league standings
    league standings --dir ./league --statistics
    league standings --manager http://127.0.0.1:8000/mcp --json
    """
    if is_season(directory):
        _print_season(directory, beside, as_json=as_json)
        return
    if beside and directory is None:
        raise click.UsageError(
            f"--{beside} needs every match, which the journal has and a manager does not send; "
            f"type, with the directory of the manager: league standings --dir DIR --{beside}"
        )
    table, facts = read(directory, manager_url, partial(_read, is_rated=bool(beside)))
    by_id = {row["player_id"]: row for row in facts.get("rows", ())}
    rest = "" if is_all else see_all("standings", directory)
    if beside == "ratings":
        fields = ("rating", "low_95", "high_95")
        for row in table[1]:
            row |= {name: by_id.get(row["player_id"], {}).get(name) for name in fields}
    if as_json:
        print_json(
            {"standings": table[1], "statistics": facts} if beside == "statistics" else table[1]
        )
        return
    for row in table[1] if beside == "ratings" else ():
        row |= in_words(by_id[row["player_id"]]) if row["player_id"] in by_id else {}
    print_standings(table, rest, RATED if beside == "ratings" else ())
    if beside == "statistics":
        print_ratings(facts, rest and f"{rest} --statistics")
        print_chances(facts)


def _print_season(directory: Path, beside: str | None, *, as_json: bool) -> None:
    from agentleague.cli.commands.season import print_season  # It needs all of a manager.

    if beside:
        raise click.UsageError(
            f"a season has no --{beside}; type: league ratings {directory}, or name one of its "
            f"leagues: league standings --dir {directory / '001'} --{beside}"
        )
    print_season(directory, as_json=as_json)


async def _read(source: Source, is_rated: bool) -> tuple[Table, dict[str, Any]]:
    table = await read_table(source)
    return table, source.statistics() if is_rated and isinstance(source, JournalSource) else {}


def print_standings(table: Table, rest: str, beside: Sequence[Column] = ()) -> None:
    """The table, what was ruled and disputed, and who is first; `rest` prints all of it."""
    status, rows, notes, first = table
    print_table(rows, f"{status.get('league_id')}: {where_it_stands(status)}", rest, beside)
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
    """Rulings and disputes, for somebody who recounts the results; why it ended when it did."""
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
    if status.get("ending"):
        yield status["ending"]


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
