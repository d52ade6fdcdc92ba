"""`league start`, `pause`, `abort`, `remove`, `rule`, …: the commands of the organiser."""

import asyncio
import os
import shlex
import sys
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import click

from agentleague.cli.directory import (
    dir_option,
    directory_argument,
    manager_address,
    no_manager,
    place_option,
    start_command,
    with_directory,
)
from agentleague.cli.output import say
from agentleague.cli.reading import JournalSource, find_agent_id, with_manager
from agentleague.errors import LeagueError, NoConnection
from agentleague.league.league import Phase
from agentleague.protocol.hosts import is_loopback
from agentleague.protocol.printable import printable
from agentleague.records.reading import no_league, open_league
from agentleague.records.seasons import is_season
from agentleague.runtime.manager_tools import ManagerTools, new_seat
from agentleague.runtime.network import place_of_pages
from agentleague.runtime.processes import run
from agentleague.runtime.state_files import admin_token, kept_settings
from agentleague.storage.directory import JournalPlace

DEFAULT = "league"
WHERE = "The manager's directory: its address and the organiser's key are there."
directory_option = place_option(f"{WHERE}  [default: {DEFAULT}]", DEFAULT)
yes_option = click.option("--yes", is_flag=True, help="Do not ask for confirmation.")
NEXT = {"start": "Watch it with: league status", "pause": "Continue with: league start"}
# Where to see why a command was refused, if not among the agents.
LOOK = {"start": "status", "pause": "status", "abort": "status", "rule": "schedule"}
RULED = {"draw": "a draw", "no_contest": "no contest", "stand": "the result stands"}


the_directory = directory_argument(DEFAULT, f"{WHERE}  [default: {DEFAULT}]")


def _of_the_league(name: str, text: str) -> click.Command:
    """A command that takes nothing but the league."""

    @click.command(name, help=f"{text}\n\nleague {name} --dir ./cup")
    @the_directory
    def command(directory: JournalPlace) -> None:
        _command(directory, name)

    return command


start = _of_the_league(
    "start", "Start the league with the agents that are registered, or continue after a pause."
)
pause = _of_the_league(
    "pause", "Pause the league: running matches end, no match begins, no clock runs."
)


@click.command()
@the_directory
@yes_option
def abort(directory: JournalPlace, yes: bool) -> None:
    """End the league as it stands: running matches do not count. This cannot be undone.

    league abort --dir ./cup --yes
    """
    _check_possible(directory, refuse_ended=True)
    if not yes:
        confirm(f"End the league in {directory} as it stands, for good?")
    _command(directory, "abort")


@click.command()
@click.argument("player", metavar="PLAYER")
@directory_option
@yes_option
def remove(player: str, directory: JournalPlace, yes: bool) -> None:
    """Take a player out, by its id or its name: its coming matches are technical losses. This
    cannot be undone.

    league remove P03 --dir ./cup
    league remove "Agent Alpha" --dir ./cup --yes
    """
    _check_possible(directory, refuse_ended=True)
    player_id = _player_id(directory, player)
    if not yes:
        named = player if player.upper() == player_id else f"{player} ({player_id})"
        confirm(f"Take {named} out of the league in {directory}, for good?")
    _command(directory, "remove", player_id=player_id)


@click.command()
@click.argument("name")
@click.argument("url")
@directory_option
def add_player(name: str, url: str, directory: JournalPlace) -> None:
    """Add a player that does not register itself, before the league starts: it is called at its end
    point. First it is tried: it plays one match against random, on this machine, and what it
    understood is printed. It is added whatever comes of that.

    league add-player Ann http://127.0.0.1:8101/mcp --dir ./cup
    """
    _check_possible(directory, refuse_ended=True)
    url = _with_scheme(url)
    _command(directory, "add_player", name=name, url=url, dialect=_try(directory, url))


def _try(directory: JournalPlace, url: str) -> str:
    """Say what an agent understands, before the league begins; the dialect, if one was found."""
    from agentleague.cli.commands.play import try_once

    try:
        league, _ = open_league(directory)
        if not league.takes_players:
            return ""  # The manager says why it is too late.
        game = league.rules.game_type
        rules = league.rules.rules
        say("Trying it: one match against random. If it does not answer, that takes half a minute.")
        words, hint, dialect = try_once(url, game, rules)
    except LeagueError as error:
        say(f"It was not tried: {error}.")
        return ""
    again = f" Try it again with: league play {shlex.quote(url)} random --game {game}"
    say(words + ("" if rules.missing_fields == "refuse" else again))  # It has no such rule.
    if hint:
        say(hint)
    return dialect


@click.command()
@click.argument("name")
@click.option(
    "--dashboard",
    metavar="URL",
    help="Where the person opens the pages of the league; by default where its manager shows them.",
)
@directory_option
def seat(name: str, dashboard: str | None, directory: JournalPlace) -> None:
    """Make a seat for a person, before the league starts, and print its one link. Who opens the
    link plays in the browser; give it to nobody else.

    league seat Ann --dir ./cup
    league seat Ann --dashboard http://192.168.1.10:8090
    """
    _check_possible(directory, refuse_ended=True)
    manager = str(manager_address(directory))
    pages = _with_scheme(dashboard) if dashboard else _pages_of(manager, directory)
    code = os.environ.get("LEAGUE_JOIN_CODE") or kept_settings(directory).get("join_code", "")
    try:
        own, player_id = run(_join(manager, name, str(code)))
    except LeagueError as error:
        raise click.ClickException(f"there is no seat for {name!r}: {error}") from None
    click.echo(f"{pages.rstrip('/')}/play/{own}")
    say(f"{name} is {player_id}. Whoever opens the link has this seat: give it to {name} alone.")
    if is_loopback(urlsplit(pages).hostname or ""):
        say(
            "Only this machine can open it; for others, start the manager again, with: "
            "--dashboard-bind 0.0.0.0"
        )
    roster = open_league(directory)[0].roster
    for other in roster.players.keys() - roster.removed.keys() - {player_id}:
        if roster.players[other].display_name == name:
            say(
                f"There is another {name}, {other}. A link that was lost cannot be shown again; if "
                f"that is why, take {other} out: league remove {other} {dir_option(directory)}"
            )


def _pages_of(manager: str, directory: JournalPlace) -> str:
    """Where others open the manager's pages. Raises ClickException if it shows none."""
    where = urlsplit(manager)
    connection = HTTPConnection(str(where.hostname), where.port, timeout=10)
    try:
        connection.request("GET", f"{where.path.rpartition('/')[0]}/")
        pages = connection.getresponse().headers.get("Location")
    except OSError:
        raise click.ClickException(no_manager(directory)) from None
    finally:
        connection.close()
    if not pages:
        raise click.ClickException(
            "the manager shows no pages, and a person plays there; show them with: league "
            f"dashboard {shlex.quote(str(directory))}, and say where they are with: --dashboard URL"
        )
    port = urlsplit(pages).port
    host = place_of_pages(kept_settings(directory).get("dashboard_bind", ""), 0, ()).called_at
    return f"http://{f'[{host}]' if ':' in host else host}:{port}" if host else pages


async def _join(manager: str, name: str, join_code: str) -> tuple[str, str]:
    """A new seat, and the player that has it."""
    tools, own = ManagerTools(), new_seat()
    try:
        joined = await tools.call(manager, "join_league", own, name=name, join_code=join_code)
    finally:
        await tools.close()
    return own, str(joined["player_id"])


@click.command()
@click.argument("name")
@click.argument("url")
@directory_option
def add_referee(name: str, url: str, directory: JournalPlace) -> None:
    """Add a referee that does not register itself: it is sent one match at a time, and may report
    it from that machine without a token.

    league add-referee Ref http://127.0.0.1:8001/mcp --dir ./cup
    """
    _command(directory, "add_referee", name=name, url=_with_scheme(url))


@click.command()
@click.argument("referee_id", metavar="REFEREE")
@directory_option
def approve(referee_id: str, directory: JournalPlace) -> None:
    """Let in a referee that waits: one that registered and knows no referee code. The manager says
    when one does, and so do `league status` and `league agents`.

    league approve REF02 --dir ./cup
    """
    _command(directory, "approve", referee_id=referee_id.upper())


@click.command()
@click.argument("agent", metavar="AGENT")
@click.argument("url")
@directory_option
def set_endpoint(agent: str, url: str, directory: JournalPlace) -> None:
    """Say where an agent is called from now on. An agent that has proved that it listens at its end
    point can say so itself, with its token; others cannot.

    league set-endpoint P03 http://127.0.0.1:8105/mcp --dir ./cup
    """
    _command(directory, "set_endpoint", agent_id=agent.upper(), url=_with_scheme(url))


def _with_scheme(url: str) -> str:
    return url if "://" in url else f"http://{url}"


@click.command()
@click.argument("match_id", metavar="MATCH")
@click.option("--winner", metavar="PLAYER", help="This player won.")
@click.option("--draw", is_flag=True, help="It was a draw.")
@click.option("--no-contest", is_flag=True, help="It counts for neither.")
@click.option("--let-stand", "stand", is_flag=True, help="The result counts as it is.")
@click.option("--reason", metavar="TEXT", default="", help="Why; shown to everybody.")
@directory_option
@yes_option
def rule(
    match_id: str,
    winner: str | None,
    reason: str,
    directory: JournalPlace,
    yes: bool,
    **flags: bool,
) -> None:
    """Decide what counts of a match that has a result: from then on the table uses your ruling. The
    result itself stays in the journal, and both are shown. A later ruling replaces an earlier one.
    Players are sent the new table, but no second GAME_OVER.

    league rule R1M1 --winner P03 --reason "P01 read the other's file" --dir ./cup
    league rule R1M1 --draw --reason "both agents crashed"
    league rule R1M1 --let-stand          the dispute is settled, the result counts
    """
    verdicts = [name for name, given in flags.items() if given] + ["win"] * (winner is not None)
    if len(verdicts) != 1:
        raise click.UsageError(
            "say what counts with one of: --winner PLAYER, --draw, --no-contest, --let-stand"
        )
    if verdicts != ["stand"] and not reason.strip():
        raise click.UsageError('give a reason, which everybody will see: --reason "..."')
    wanted = {"match_id": match_id.upper(), "verdict": verdicts[0], "reason": reason}
    _check_possible(directory)
    if winner is not None:
        wanted["winner"] = _player_id(directory, winner)
    if not yes:
        how = RULED.get(verdicts[0]) or f"{wanted['winner']} won"
        confirm(f"Rule on {wanted['match_id']} of the league in {directory}: {how}?")
    _command(directory, "rule", **wanted)


def _check_possible(directory: JournalPlace, *, refuse_ended: bool = False) -> None:
    """Raises ClickException if no command is possible, before any confirmation."""
    _key(directory)
    if refuse_ended and _is_over(directory):
        raise click.ClickException(
            f"the league in {directory} is over already; see it with: league standings "
            f"{dir_option(directory)}"
        )
    if manager_address(directory) is None:
        raise click.ClickException(no_manager(directory))


def _is_over(directory: JournalPlace) -> bool:
    try:
        return open_league(directory)[0].phase is Phase.COMPLETED
    except LeagueError:  # Nothing was written yet, or it cannot be read.
        return False


def _player_id(directory: JournalPlace, typed: str) -> str:
    player_id = asyncio.run(find_agent_id(JournalSource(directory), typed, kind="player"))
    if player_id is None:
        raise click.ClickException(
            f"there is no player {typed!r} in this league; see who is there with: league agents "
            f"{dir_option(directory)}"
        )
    return player_id


def confirm(question: str) -> None:
    """Raises ClickException unless the answer is yes."""
    try:
        is_meant = click.confirm(question, err=True)
    except click.Abort:  # Ctrl-C, or nobody there to answer.
        if sys.stdin.isatty():
            raise
        click.echo(err=True)
        raise click.UsageError(
            "nobody answered, so nothing was done; add --yes where nobody can answer",
            click.get_current_context(),
        ) from None
    if not is_meant:
        raise click.ClickException("nothing was done")


def _command(directory: JournalPlace, command: str, **params: Any) -> None:
    key, address = _key(directory), manager_address(directory)
    if address is None:
        raise click.ClickException(no_manager(directory))
    try:
        sent = with_manager(address, lambda manager: manager.command(command, params, key))
        click.echo(printable(run(sent)))
    except NoConnection:
        raise click.ClickException(no_manager(directory)) from None
    except LeagueError as error:
        look = f"league {LOOK.get(command, 'agents')} {dir_option(directory)}"
        why = with_directory(str(error), directory)
        raise click.ClickException(f"{why}; look with: {look}") from None
    if command in NEXT:
        say(f"{NEXT[command]} {dir_option(directory)}")


def _key(directory: JournalPlace) -> str:
    try:
        return admin_token(directory)
    except OSError as error:
        if is_season(directory):
            raise click.ClickException(no_league(directory)) from None
        raise click.ClickException(
            f"there is no organiser's key in {directory} ({error.strerror}); name the directory of "
            f"a manager with --dir DIR, or start one there: {start_command(directory)}"
        ) from None
