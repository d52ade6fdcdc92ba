"""`league strategies`: the strategies that are installed."""

from typing import Any

import click

from agentleague.cli.output import Column, counted, print_json, print_rows
from agentleague.errors import LeagueError
from agentleague.player.strategies import games_of
from agentleague.runtime import plugins

COLUMNS = (
    Column("name", "Name", True),
    Column("games", "Made for", True, True, True),
    Column("summary", "What it plays", True, True, True),
)


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(as_json: bool) -> None:
    """List the strategies that are installed, and their games.

    league strategies
    league strategies --json
    league player --strategy pattern
    """
    rows = [_described(name) for name in plugins.strategy_names()]
    if as_json:
        print_json(rows)
        return
    for row in rows:
        row["games"] = "" if row["error"] else ", ".join(row["games"]) or "any game"
        row["summary"] = row["error"] or row["summary"]
    print_rows(rows, COLUMNS, counted(len(rows), "strategy", "strategies"))


def _described(name: str) -> dict[str, Any]:
    try:
        strategy = plugins.find_strategy(name)
    except LeagueError as error:
        return {"name": name, "summary": "", "games": [], "error": str(error)}
    summary = " ".join((strategy.__doc__ or "").partition("\n\n")[0].split())
    games = list(games_of(strategy))
    return {"name": name, "summary": summary, "games": games, "error": None}
