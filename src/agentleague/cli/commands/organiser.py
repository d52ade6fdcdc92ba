"""`league organiser`: who may organise leagues of a service."""

import re
import secrets
from contextlib import closing
from typing import TYPE_CHECKING

import click

from agentleague.cli.directory import database_option
from agentleague.cli.output import Column, print_rows, say
from agentleague.protocol.printable import printable
from agentleague.storage.database_url import DatabaseUrl

if TYPE_CHECKING:
    from agentleague.storage.postgres_leagues import PostgresLeagues

COLUMNS = [Column("name", "Organiser", is_text=True), Column("leagues", "Leagues")]
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

    if not NAME.fullmatch(name):
        raise click.BadParameter("NAME has at most 64 letters, digits, _ . and -")
    key = f"org_{secrets.token_hex(32)}"
    with _table(journal) as table:
        is_new = table.add_organiser(name, digest_of(key))
    click.echo(key)
    former = "" if is_new else " The former key counts no more, within a second."
    say(
        f"This is the key of {name}; it is not shown again.{former} {name} puts it in "
        "LEAGUE_ORGANISER_KEY, or in a file (chmod 600) that --key-file names."
    )


@command.command("list", short_help="Print who has a key.")
@database_option
def list_organisers(journal: DatabaseUrl) -> None:
    """Print who has a key, and how many leagues each has that are not archived.

    league organiser list --journal postgresql://league@127.0.0.1/league
    """
    with _table(journal) as table:
        rows = [{"name": printable(name), "leagues": own} for name, own in table.organisers()]
    print_rows(rows, COLUMNS, "Organisers")


@command.command(short_help="Take somebody's key away.")
@click.argument("name")
@database_option
def remove(name: str, journal: DatabaseUrl) -> None:
    """Take an organiser's key away, within a second. The leagues go on: give them to another, or
    add the same name again.

    league organiser remove ann --journal postgresql://league@127.0.0.1/league
    """
    with _table(journal) as table:
        if not table.remove_organiser(name):
            raise click.ClickException(f"no organiser is {name!r}; type: league organiser list")
    say(f"{name} has no key any more. Leagues go on; league organiser give LEAGUE NAME moves them.")


@command.command(short_help="Let somebody organise a league that lies in the database.")
@click.argument("league_id")
@click.argument("name")
@database_option
def give(league_id: str, name: str, journal: DatabaseUrl) -> None:
    """Let an organiser have a league that lies in the database: one that was restored or moved
    there, which the service then runs, or one of another organiser.

    league organiser give cup ann --journal postgresql://league@127.0.0.1/league
    """
    with _table(journal) as table:
        table.give(league_id, name)
    say(f"{league_id} is a league of {name} now; a service on this database runs it.")


def _table(journal: DatabaseUrl) -> "closing[PostgresLeagues]":
    from agentleague.storage.postgres_leagues import PostgresLeagues

    return closing(PostgresLeagues(journal))
