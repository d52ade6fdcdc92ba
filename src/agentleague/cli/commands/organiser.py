"""`league organiser`: who may organise leagues of a service."""

import re
import secrets

import click

from agentleague.cli.directory import database_option
from agentleague.cli.output import say
from agentleague.storage.database_url import DatabaseUrl

NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")


@click.group()
def command() -> None:
    """Say who may organise leagues of a service.

    league organiser add ann --journal postgresql://league@127.0.0.1/league
    """


@command.command(short_help="Give somebody a key; a former key counts no more.")
@click.argument("name")
@database_option
def add(name: str, journal: DatabaseUrl) -> None:
    """Print a new key for an organiser, once: the database keeps only its digest. A former key of
    the same name counts no more.

    league organiser add ann --journal postgresql://league@127.0.0.1/league
    """
    from agentleague.service.leagues import digest_of
    from agentleague.storage.postgres_leagues import PostgresLeagues

    if not NAME.fullmatch(name):
        raise click.BadParameter("NAME has at most 64 letters, digits, _ . and -")
    key, table = f"org_{secrets.token_hex(32)}", PostgresLeagues(journal)
    try:
        is_new = table.add_organiser(name, digest_of(key))
    finally:
        table.close()
    click.echo(key)
    former = "" if is_new else " The former key counts no more."
    say(
        f"This is the key of {name}; it is not shown again.{former} {name} puts it in "
        "LEAGUE_ORGANISER_KEY, or in a file (chmod 600) that --key-file names."
    )
