"""`league standings`: the table, from a directory or from a running manager."""

from pathlib import Path
from typing import Any

import click
import msgspec

from agentleague.cli.table import plain, print_json, print_table
from agentleague.errors import LeagueError
from agentleague.services.clock import wall

EXAMPLES = """\b
Examples:
  league standings --dir ./league
  league standings --manager http://127.0.0.1:8000/mcp --json
"""


@click.command(help=EXAMPLES + "\nPrint the table of a league that runs or was played.")
@click.option(
    "--dir",
    "directory",
    type=click.Path(file_okay=False, exists=True, path_type=Path),
    help="The directory of its journal.",
)
@click.option("--manager", "manager_url", help="The manager that runs it.")
@click.option("--json", "as_json", is_flag=True, help="Print a JSON list of rows.")
def command(directory: Path | None, manager_url: str | None, as_json: bool) -> None:
    """Print the table."""
    if (directory is None) == (manager_url is None):
        raise click.UsageError("say either --dir DIR or --manager URL")
    title, rows = _from_directory(directory) if directory else _from_manager(manager_url or "")
    if as_json:
        print_json(rows)
    else:
        print_table(rows, title)


def _from_directory(directory: Path) -> tuple[str, list[dict[str, Any]]]:
    from agentleague.league.events import read_event
    from agentleague.league.league import League, Phase
    from agentleague.storage.sqlite import leagues_in, read_directory

    leagues = leagues_in(directory)
    if not leagues:
        raise click.ClickException(
            f"there is no league in {directory}; look for its journal.sqlite"
        )
    league = League()
    for row in read_directory(directory, leagues[0]):
        league.apply(read_event(row.kind, row.version, row.body))
    if league.schedule is None:
        raise click.ClickException("the league has not begun; print it again after its first round")
    state = (
        "final table" if league.phase is Phase.COMPLETED else f"after round {league.rounds_ended}"
    )
    return f"{leagues[0]}: {state}", plain(league.table.rows())


def _from_manager(url: str) -> tuple[str, list[dict[str, Any]]]:
    from agentleague.services.processes import run

    return run(_ask(url))


async def _ask(url: str) -> tuple[str, list[dict[str, Any]]]:
    """Page through the table."""
    from agentleague.services.inquiry import inquire

    rows: list[dict[str, Any]] = []
    while True:
        answer = await inquire(url, "GET_STANDINGS", {"offset": len(rows)}, wall)
        if not answer.success:
            raise LeagueError(answer.error.error_description if answer.error else "no answer")
        page = msgspec.to_builtins(answer.standings or [])
        rows += page
        if not page or len(rows) >= (answer.total or 0):
            status = await inquire(url, "GET_STATUS", {}, wall)
            is_over = status.status == "LEAGUE_COMPLETED"
            return "final table" if is_over else f"in round {answer.current_round or 0}", rows
