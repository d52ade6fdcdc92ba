"""`league move`: a league goes on at another place, in a directory or in a database."""

import shlex

import click

from agentleague.cli.directory import Place, check_new, start_command
from agentleague.cli.output import how_far, say, shown
from agentleague.records.reading import open_league
from agentleague.storage.copying import copy_league
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.directory import JournalPlace
from agentleague.storage.kept import MOVED


@click.command()
@click.argument("source", metavar="FROM", type=Place())
@click.argument("to", metavar="TO", type=Place())
def command(source: JournalPlace, to: JournalPlace) -> None:
    """Move a league whose manager is stopped, from a directory or a database to a directory, new or
    empty, or a database. Every row is copied as it is, and the secrets too: into files that only
    you can read, or encrypted with the service key of the database.

    What is in FROM stays, to be read and verified, but no manager goes on with it any more, until
    the league is moved back there.

    league move ./league /srv/league
    league move ./league postgresql://league@db/leagues
    league move postgresql://league@db/leagues#league_2026_k3x9mp ./league
    """
    if isinstance(to, DatabaseUrl) or not (to / MOVED).exists():  # Else it may come back.
        check_new(to)
    there = copy_league(source, to, moves=True)
    league, _ = open_league(there)
    print(shown(f"{there} holds {how_far(league)}."))
    where = shlex.quote(str(there))
    say(
        f"Its secrets went along. No manager goes on with {source} any more.\n"
        f"Compare the last row of both: league verify {where}\n"
        f"Go on with: {start_command(there)}"
    )
