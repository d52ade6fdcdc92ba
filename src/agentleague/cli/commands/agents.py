"""`league agents`: who takes part, and what they are doing."""

from typing import Any

import click

from agentleague.cli.directory import how_to_approve
from agentleague.cli.output import Column, counted, print_json, print_rows, say, starting
from agentleague.cli.reading import ask_manager, mark_reachable, read, reading_options
from agentleague.runtime.query_pages import Source, all_rows
from agentleague.storage.directory import JournalPlace

COLUMNS = (
    Column("agent_id", "Id", True),
    Column("kind", "Kind", True),
    Column("display_name", "Name", True, True, True),
    Column("state", "State", True, True, True),
    Column("activity", "Activity", True, True, True),
    Column("matches", "Matches"),
    Column("open_matches", "Open"),
)
SPEAKS = Column("speaks", "Speaks", True, True, True)  # only if somebody uses another dialect


@click.command()
@click.option(
    "--kind",
    type=click.Choice(["player", "referee"]),
    help="Only the players, or only the referees.",
)
@reading_options
def command(
    directory: JournalPlace | None, manager_url: str | None, as_json: bool, kind: str | None
) -> None:
    """Print who takes part, and what they are doing.

    league agents
    league agents --kind referee
    league agents --dir ./league --json
    """
    params = {"kind": kind} if kind else {}

    async def ask(source: Source) -> tuple[list[dict[str, Any]], str]:
        rows = await all_rows(source, "GET_AGENTS", "agents", **params)
        await mark_reachable(rows, directory)
        told = await ask_manager(directory, lambda manager: manager.ask("GET_STATUS")) or {}
        return rows, str(told.get("starts_at", ""))

    rows, starts_at = read(directory, manager_url, ask)
    if as_json:
        print_json(rows)
        return
    for row in rows:
        row["state"] += _marks(row)
    players = sum(row["kind"] == "player" for row in rows)
    title = f"{counted(players, 'player')}, {counted(len(rows) - players, 'referee')}"
    speaks = (SPEAKS,) if any("speaks" in row for row in rows) else ()
    print_rows(rows, (*COLUMNS, *speaks), title)
    waiting = [row["agent_id"] for row in rows if row.get("state") == "WAITING"]
    if starts_at:
        say(f"The league starts {starting(starts_at, players)}.")
    if waiting:
        say(how_to_approve(waiting, directory))


def _marks(row: dict[str, Any]) -> str:
    marks = {
        ", not reachable": row.get("reachable") is False,
        ", taken out": row.get("displaced"),
        ", unproved": row.get("proved") is False,
        ", at a seat": row.get("seat"),
        ", lost its token": row.get("lost_token"),
        ", misused a token": row.get("misuses"),
    }
    return "".join(mark for mark, is_so in marks.items() if is_so)
