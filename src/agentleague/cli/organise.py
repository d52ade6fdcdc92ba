"""`league start | pause | abort | remove`: what the organiser commands a running manager."""

from pathlib import Path
from typing import Any

import click

from agentleague.errors import LeagueError

directory_option = click.option(
    "--dir",
    "directory",
    default="league",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="The manager's directory: its address and the organiser's key are there.",
)


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
@click.option("--yes", is_flag=True, help="Do not ask whether it is meant.")
def abort(directory: Path, yes: bool) -> None:
    """End it, if it is meant."""
    if not yes:
        click.confirm(
            f"End the league in {directory} as it stands, for good?", abort=True, err=True
        )
    _command(directory, "abort")


@click.command(
    help="\b\nExample:\n  league remove P03 --dir ./cup\n\n"
    "Take a player out: its coming matches are technical losses."
)
@click.argument("player_id")
@directory_option
def remove(player_id: str, directory: Path) -> None:
    """Take a player out."""
    _command(directory, "remove", player_id=player_id)


def _command(directory: Path, command: str, **params: Any) -> None:
    """Do it, and say what was done."""
    from agentleague.services.clock import wall
    from agentleague.services.inquiry import demand
    from agentleague.services.processes import run
    from agentleague.services.secrets_file import ADMIN_NAME
    from agentleague.storage.lock import address_in

    address = address_in(directory)
    try:
        token = (directory / ADMIN_NAME).read_text().strip()
    except OSError as error:
        raise click.ClickException(
            f"there is no organiser's key in {directory} ({error.strerror}); name the manager's "
            "directory with --dir"
        ) from None
    if address is None:
        raise click.ClickException(
            f"no manager runs in {directory}; start it with: league manager --dir {directory}"
        )
    try:
        click.echo(run(demand(address, command, params, token, wall)))
    except LeagueError as error:
        raise click.ClickException(str(error)) from None
