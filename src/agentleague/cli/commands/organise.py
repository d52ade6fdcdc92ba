"""`league start`, `pause`, `abort`, `remove`, `rule`, …: what the organiser commands a manager."""

import asyncio
import sys
from collections.abc import Callable, Mapping
from functools import wraps
from pathlib import Path
from typing import Any

import click

from agentleague.cli.manager_address import address_of, dir_option, none_runs
from agentleague.cli.output import say
from agentleague.cli.reading import Archive, id_of, one_directory
from agentleague.errors import LeagueError, NoConnection
from agentleague.protocol.printable import printable

DEFAULT = "league"
WHERE = "The manager's directory: its address and the organiser's key are there."
folder = click.Path(file_okay=False, path_type=Path)
directory_option = click.option(
    "--dir", "directory", default=DEFAULT, show_default=True, type=folder, help=WHERE
)
yes_option = click.option("--yes", is_flag=True, help="Do not ask whether it is meant.")
NEXT = {"start": "Watch it with: league status", "pause": "Go on with: league start"}
# Where to see why a command was refused, if not in the status.
LOOK = {
    "remove": "agents",
    "rule": "schedule",
    "add_player": "agents",
    "add_referee": "agents",
}
RULED = {"draw": "a draw", "no_contest": "no contest", "stand": "the result stands"}


def directory_argument(command: Callable[..., None]) -> Callable[..., None]:
    """DIR, with --dir before it or without; for commands that take nothing else."""

    @wraps(command)
    def with_place(*, place: Path | None, option: Path | None, **more: Any) -> None:
        command(directory=one_directory(place, option) or Path(DEFAULT), **more)

    help_text = f"{WHERE}  [default: {DEFAULT}]"
    option = click.option("--dir", "option", metavar="DIR", type=folder, help=help_text)
    argument = click.argument(
        "place", metavar="[DIR]", required=False, type=click.Path(path_type=Path)
    )
    return argument(option(with_place))


@click.command(
    help="\b\nExample:\n  league start --dir ./cup\n\n"
    "Start the league with those who are registered, or go on after a pause."
)
@directory_argument
def start(directory: Path) -> None:
    """Begin, or go on."""
    _command(directory, "start")


@click.command(
    help="\b\nExample:\n  league pause --dir ./cup\n\n"
    "Pause the league: matches in play end, nothing new begins, no clock runs."
)
@directory_argument
def pause(directory: Path) -> None:
    """Stop the clock."""
    _command(directory, "pause")


@click.command(
    help="\b\nExample:\n  league abort --dir ./cup --yes\n\n"
    "End the league as it stands: matches in play do not count. This cannot be undone."
)
@directory_argument
@yes_option
def abort(directory: Path, yes: bool) -> None:
    """End it, if it is meant."""
    _look(directory, ends=True)
    if not yes:
        _ask(f"End the league in {directory} as it stands, for good?")
    _command(directory, "abort")


@click.command(
    help="\b\nExamples:\n  league remove P03 --dir ./cup\n"
    '  league remove "Agent Alpha" --dir ./cup --yes\n\n'
    "Take a player out, by its id or its name: its coming matches are technical losses. This "
    "cannot be undone."
)
@click.argument("player", metavar="PLAYER")
@directory_option
@yes_option
def remove(player: str, directory: Path, yes: bool) -> None:
    """Take a player out, if it is meant."""
    _look(directory, ends=True)
    player_id = _player_id(directory, player)
    if not yes:
        named = player if player.upper() == player_id else f"{player} ({player_id})"
        _ask(f"Take {named} out of the league in {directory}, for good?")
    _command(directory, "remove", player_id=player_id)


@click.command(
    help="\b\nExample:\n  league add-player Ann http://127.0.0.1:8101/mcp --dir ./cup\n\n"
    "Bring a player in that does not register itself: it is called at its end point, before the "
    "league starts."
)
@click.argument("name")
@click.argument("url")
@directory_option
def add_player(name: str, url: str, directory: Path) -> None:
    """Bring a player in."""
    _command(directory, "add_player", name=name, url=_with_scheme(url))


@click.command(
    help="\b\nExample:\n  league add-referee Ref http://127.0.0.1:8001/mcp --dir ./cup\n\n"
    "Bring a referee in that does not register itself: it is sent one match at a time, and may "
    "report it from that machine without a token."
)
@click.argument("name")
@click.argument("url")
@directory_option
def add_referee(name: str, url: str, directory: Path) -> None:
    """Bring a referee in."""
    _command(directory, "add_referee", name=name, url=_with_scheme(url))


def _with_scheme(url: str) -> str:
    return url if "://" in url else f"http://{url}"


@click.command(
    help="\b\nExamples:\n"
    '  league rule R1M1 --winner P03 --reason "P01 read the other\'s file" --dir ./cup\n'
    '  league rule R1M1 --draw --reason "both agents crashed"\n'
    "  league rule R1M1 --let-stand          the dispute is settled, the result counts\n\n"
    "Rule on a match that has a result: your word counts in the table from then on, the result "
    "itself stays in the journal, and both are shown. A later ruling takes the place of an earlier "
    "one. Players are sent the new table; nobody is told the match anew."
)
@click.argument("match_id", metavar="MATCH")
@click.option("--winner", metavar="PLAYER", help="This player won.")
@click.option("--draw", is_flag=True, help="It was a draw.")
@click.option("--no-contest", is_flag=True, help="It counts for neither.")
@click.option("--let-stand", "stand", is_flag=True, help="The result counts as it is.")
@click.option("--reason", metavar="TEXT", default="", help="Why; shown to everybody.")
@directory_option
@yes_option
def rule(
    match_id: str, winner: str | None, reason: str, directory: Path, yes: bool, **flags: bool
) -> None:
    """Say what counts of a match, if it is meant."""
    verdicts = [name for name, given in flags.items() if given] + ["win"] * (winner is not None)
    if len(verdicts) != 1:
        raise click.UsageError(
            "say how it counts with one of: --winner PLAYER, --draw, --no-contest, --let-stand"
        )
    if verdicts != ["stand"] and not reason.strip():
        raise click.UsageError('say why, since everybody will see it: --reason "..."')
    wanted = {"match_id": match_id.upper(), "verdict": verdicts[0], "reason": reason}
    _look(directory)
    if winner is not None:
        wanted["winner"] = _player_id(directory, winner)
    if not yes:
        how = RULED.get(verdicts[0]) or f"{wanted['winner']} won"
        _ask(f"Rule on {wanted['match_id']} of the league in {directory}: {how}?")
    _command(directory, "rule", **wanted)


def _look(directory: Path, *, ends: bool = False) -> None:
    """Raises ClickException where nothing can be commanded, before anybody is asked.

    After its end (`ends`) a league takes no such command any more.
    """
    _key(directory)
    if ends and _is_over(directory):
        raise click.ClickException(
            f"the league in {directory} is over already; see it with: league standings "
            f"{dir_option(directory)}"
        )
    if address_of(directory) is None:
        raise click.ClickException(none_runs(directory))


def _is_over(directory: Path) -> bool:
    from agentleague.league.league import Phase
    from agentleague.records.reading import open_league

    try:
        return open_league(directory)[0].phase is Phase.COMPLETED
    except LeagueError:  # Nothing was written yet, or it cannot be read: the manager knows.
        return False


def _player_id(directory: Path, typed: str) -> str:
    """The id of the player that goes by this id or name in the league of a directory."""
    try:
        player_id = asyncio.run(id_of(Archive(directory), typed, kind="player"))
    except LeagueError as error:
        raise click.ClickException(str(error)) from None
    if player_id is None:
        raise click.ClickException(
            f"there is no player {typed!r} in this league; see who is there with: league agents "
            f"{dir_option(directory)}"
        )
    return player_id


def _ask(question: str) -> None:
    """Raises ClickException unless somebody says yes."""
    try:
        is_meant = click.confirm(question, err=True)
    except click.Abort:  # Ctrl-C, or nobody there to answer.
        if sys.stdin.isatty():
            raise
        click.echo(err=True)
        raise click.UsageError(
            "nobody answered, so nothing was done; say --yes where nobody can be asked",
            click.get_current_context(),
        ) from None
    if not is_meant:
        raise click.ClickException("nothing was done")


def _command(directory: Path, command: str, **params: Any) -> None:
    """Do it, and say what was done and what can be done next."""
    from agentleague.runtime.processes import run

    key, address = _key(directory), address_of(directory)
    if address is None:
        raise click.ClickException(none_runs(directory))
    try:
        click.echo(printable(run(_demand(address, command, params, key))))
    except NoConnection:
        raise click.ClickException(none_runs(directory)) from None
    except LeagueError as error:
        look = f"league {LOOK.get(command, 'status')} {dir_option(directory)}"
        raise click.ClickException(f"{error}; look with: {look}") from None
    if command in NEXT:
        say(f"{NEXT[command]} {dir_option(directory)}")


def _key(directory: Path) -> str:
    from agentleague.runtime.state_files import ADMIN_NAME

    try:
        return (directory / ADMIN_NAME).read_text().strip()
    except OSError as error:
        raise click.ClickException(
            f"there is no organiser's key in {directory} ({error.strerror}); name the directory of "
            f"a manager with --dir DIR, or start one there: league manager {dir_option(directory)}"
        ) from None


async def _demand(address: str, command: str, params: Mapping[str, Any], key: str) -> str:
    """The key goes to the manager that holds the lock of the directory, on this machine."""
    from agentleague.runtime.clock import wall
    from agentleague.runtime.manager_client import ManagerClient

    client = ManagerClient(address, wall)
    try:
        return await client.command(command, params, key)
    finally:
        await client.close()
