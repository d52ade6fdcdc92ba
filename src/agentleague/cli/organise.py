"""`league start | pause | abort | remove`: what the organiser commands a running manager."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from agentleague.cli.whereabouts import (
    address_of,
    another_runs,
    dir_option,
    is_there,
    none_runs,
)
from agentleague.errors import LeagueError, NoConnection, TokenInvalid

directory_option = click.option(
    "--dir",
    "directory",
    default="league",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The manager's directory: its address and the organiser's key are there.",
)
yes_option = click.option("--yes", is_flag=True, help="Do not ask whether it is meant.")
NEXT = {"start": "Watch it with: league status", "pause": "Go on with: league start"}
LOOK = {"remove": "agents"}  # where to see why a command was refused, if not in the status


@click.command(
    help="\b\nExample:\n  league start --dir ./cup\n\n"
    "Start the league with those who are registered, or go on after a pause."
)
@directory_option
def start(directory: Path) -> None:
    """Begin, or go on."""
    _command(directory, "start")


@click.command(
    help="\b\nExample:\n  league pause --dir ./cup\n\n"
    "Pause the league: matches in play end, nothing new begins, no clock runs."
)
@directory_option
def pause(directory: Path) -> None:
    """Stop the clock."""
    _command(directory, "pause")


@click.command(
    help="\b\nExample:\n  league abort --dir ./cup --yes\n\n"
    "End the league as it stands. This cannot be undone."
)
@directory_option
@yes_option
def abort(directory: Path, yes: bool) -> None:
    """End it, if it is meant."""
    if not yes:
        click.confirm(
            f"End the league in {directory} as it stands, for good?", abort=True, err=True
        )
    _command(directory, "abort")


@click.command(
    help="\b\nExample:\n  league remove P03 --dir ./cup\n\n"
    "Take a player out: its coming matches are technical losses. This cannot be undone."
)
@click.argument("player_id")
@directory_option
@yes_option
def remove(player_id: str, directory: Path, yes: bool) -> None:
    """Take a player out, if it is meant."""
    if not yes:
        click.confirm(
            f"Take {player_id} out of the league in {directory}, for good?", abort=True, err=True
        )
    _command(directory, "remove", player_id=player_id)


def _command(directory: Path, command: str, **params: Any) -> None:
    """Do it, and say what was done and what can be done next."""
    from agentleague.services.processes import run

    key, address = _key(directory), address_of(directory)
    if address is None:
        raise click.ClickException(none_runs(directory))
    try:
        click.echo(run(_demand(directory, address, command, params, key)))
    except NoConnection:
        raise click.ClickException(none_runs(directory)) from None
    except LeagueError as error:
        look = f"league {LOOK.get(command, 'status')} {dir_option(directory)}"
        raise click.ClickException(f"{error}; look with: {look}") from None
    if command in NEXT:
        click.echo(f"{NEXT[command]} {dir_option(directory)}", err=True)


def _key(directory: Path) -> str:
    from agentleague.services.secrets_file import ADMIN_NAME

    try:
        return (directory / ADMIN_NAME).read_text().strip()
    except OSError as error:
        raise click.ClickException(
            f"there is no organiser's key in {directory} ({error.strerror}); name the manager's "
            "directory with --dir"
        ) from None


async def _demand(
    directory: Path, address: str, command: str, params: Mapping[str, Any], key: str
) -> str:
    """The key is shown to the manager of this directory only, not to whoever is there now."""
    from agentleague.services.clock import wall
    from agentleague.services.inquiry import Inquiry

    if not await is_there(directory, address):
        raise click.ClickException(another_runs(directory, address))
    inquiry = Inquiry(address, wall)
    try:
        return await inquiry.command(command, params, key)
    except TokenInvalid:  # Leagues of the same seed have the same name.
        raise click.ClickException(another_runs(directory, address)) from None
    finally:
        await inquiry.close()
