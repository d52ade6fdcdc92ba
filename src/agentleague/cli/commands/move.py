"""`league move`: a league goes on at another place, in a directory or in a database."""

import shlex
from pathlib import Path

import click

from agentleague.cli.directory import check_new, dir_option
from agentleague.cli.output import how_far, say, shown
from agentleague.records.reading import open_league
from agentleague.storage.copying import copy_league


@click.command()
@click.argument("source", metavar="FROM", type=click.Path(path_type=Path))
@click.argument("to", metavar="TO", type=click.Path(path_type=Path))
def command(source: Path, to: Path) -> None:
    """Move a league whose manager is stopped to another directory, a new one or an empty one. Every
    row is copied as it is, and the secrets too.

    What is in FROM stays, to be read and verified, but no manager goes on with it any more.

    league move ./league /srv/league
    """
    check_new(to)
    copy_league(source, to, moves=True)
    league, _ = open_league(to)
    print(shown(f"{to} holds {how_far(league)}."))
    where = shlex.quote(str(to))
    say(
        f"Its secrets went along. No manager goes on with {source} any more.\n"
        f"Compare the last row of both: league verify {where}\n"
        f"Go on with: league manager {dir_option(to)}"
    )
