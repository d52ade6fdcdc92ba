"""`league export`: a league as files."""

import shlex
from pathlib import Path

import click

from agentleague.cli.commands.ratings import game_of
from agentleague.cli.directory import directory_argument, manager_address
from agentleague.cli.output import counted, say
from agentleague.league.league import Phase
from agentleague.records.export import write_tree
from agentleague.records.export_files import table_path
from agentleague.records.reading import folded, no_league, read_rows
from agentleague.storage.directory import JournalPlace, has_journal


@click.command()
@directory_argument()
@click.option(
    "--out",
    required=True,
    metavar="OUT",
    type=click.Path(path_type=Path),
    help="The directory to write; always needed.",
)
def command(directory: JournalPlace, out: Path) -> None:
    """Write a league as files: config/agents/agents_config.json, data/leagues (standings, ratings,
    rounds, CSV), data/matches (a file for each), data/players (a history for each) and
    logs. No token is in them.

    OUT appears when it is complete. An OUT that is there already must be empty, or an earlier
    export of this league to which nothing was added; anything else is left alone. The league may
    still run.

    league export ./league --out ./published
    league export ./league --out ./published     again: the earlier export is replaced
    """
    rows = read_rows(directory) if has_journal(directory) else []
    if not rows:
        raise click.UsageError(no_league(directory))
    league = folded(rows)
    league.manager_url = manager_address(directory) or ""
    count = write_tree(league, rows, out, game_of(league))
    print(out)
    state = "" if league.phase is Phase.COMPLETED else " so far"
    decided = counted(league.decided_total, "match", "matches")
    say(
        f"{counted(count, 'file')}: {league.rules.league_id}{state}, {decided} decided.\n"
        f"The table is in {out / table_path(league)}; what else there is says "
        f"{out / 'README.txt'}.\n"
        f"To look at, in one file: league report {shlex.quote(str(directory))}"
    )
