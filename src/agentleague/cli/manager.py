"""`league manager`: one league, its journal in a directory."""

import shlex
import sys
from datetime import UTC, datetime
from pathlib import Path

import click

from agentleague.cli.mirroring import Mirroring
from agentleague.cli.serving import (
    PORT,
    bind_option,
    endpoint_option,
    place,
    say,
    stop_signal,
    until_stopped,
)
from agentleague.cli.table import plain, print_table
from agentleague.cli.verbosity import speak_up, verbose_option
from agentleague.cli.whereabouts import dir_option
from agentleague.league.league import League, Phase
from agentleague.records.export import Mirror
from agentleague.records.reading import open_league
from agentleague.services.clock import wall
from agentleague.services.game_files import find_game
from agentleague.services.manager import Manager
from agentleague.services.processes import Home, open_manager, run
from agentleague.services.secrets_file import new_league_id
from agentleague.services.settings import ManagerSettings

EXAMPLES = """\b
Examples:
  league manager --players 4
  league manager --players 30 --port 9000 --dir ./cup --exit
"""


@click.command(help=EXAMPLES + "\nRun a league manager: it registers agents and keeps the table.")
@click.option("--port", default=8000, show_default=True, type=PORT, help="The port to listen on.")
@click.option(
    "--dir",
    "directory",
    default="league",
    show_default=True,
    type=click.Path(file_okay=False, path_type=Path),
    help="Where the journal goes.",
)
@click.option(
    "--players",
    type=click.IntRange(2, 10_000),
    help="The league starts when so many are there; else with: league start --dir DIR.",
)
@click.option(
    "--start-after",
    type=click.FloatRange(min=0),
    help="The league starts after so many seconds, with those who are there.",
)
@click.option(
    "--game",
    default="even_odd",
    show_default=True,
    help="The game to play: one that is installed, or ./FILE.py.",
)
@click.option("--seed", help="Makes draws repeatable, and foretellable: for tests.")
@click.option("--exit", "exits", is_flag=True, help="Exit when the league is over.")
@click.option(
    "--shared-dir",
    type=click.Path(file_okay=False, path_type=Path),
    help="Keep the files of `league export` current there while the league runs.",
)
@click.option(
    "--join-code", envvar="LEAGUE_JOIN_CODE", default="", help="Who registers must know it."
)
@bind_option
@endpoint_option
@verbose_option
def command(
    verbose: int,
    port: int,
    directory: Path,
    players: int | None,
    start_after: float | None,
    game: str,
    seed: str | None,
    exits: bool,
    shared_dir: Path | None,
    join_code: str,
    bind: str | None,
    endpoint: str | None,
) -> None:
    """Serve until the end, or until Ctrl-C."""
    year = datetime.fromtimestamp(wall(), UTC).year
    played = find_game(game)
    settings = ManagerSettings(
        league_id=new_league_id(played.name, year, seed),
        game_type=played.name,
        players=players,
        start_after_seconds=start_after,
        join_code=join_code,
        seeded=seed is not None,
    )

    async def serve() -> tuple[League, bool]:
        stopped = stop_signal()
        where = place(port, bind, endpoint, moves_on=False)
        home = Home(directory, seed, logs=True)
        running = await open_manager(settings, home, where, lambda name: played)
        role = running.host.role
        assert isinstance(role, Manager)
        league_id = role.league.rules.league_id
        say(f"{league_id}: the manager is at {running.url}, its journal in {directory}.")
        if seed is not None:
            say("A seed was given: whoever knows it can foretell the draws.")
        say(_where_it_stands(role.league, settings, directory))
        if shared_dir:
            mirror = Mirror(directory, league_id, shared_dir)
            running.closing.append(Mirroring(mirror, settings.standings_seconds, say).close)
        running.tell(say)
        speak_up(running, verbose, say)
        if not exits:
            running.ended.add_done_callback(lambda ended: _tell_end(role.league, directory, game))
        await until_stopped(running, stopped, ends=exits)
        return role.league, running.ended.done() and not exits

    try:
        league, told = run(serve())
    except OSError as error:
        where = f"{bind or '127.0.0.1'} port {port}"
        raise click.ClickException(
            f"{where} cannot be opened ({error.strerror or error}); choose another with --port"
        ) from None
    if told:
        return
    league, _ = open_league(directory)  # What is on disk: before a full one the manager ran ahead.
    if league.phase is Phase.COMPLETED:
        _tell_end(league, directory, game)
        return
    _print_table(league, f"after round {league.rounds_ended}")
    say(f"Stopped; nothing is lost. Go on with: {shlex.join(['league', *sys.argv[1:]])}")


def _tell_end(league: League, directory: Path, game: str) -> None:
    """The final table, and what can be done with a league that is over."""
    _print_table(league, "final table")
    shown = shlex.quote(str(directory))
    file = f" --game {shlex.quote(game)}" if game.endswith(".py") else ""
    say(
        f"Check it with: league verify {shown}{file}\n"
        f"Publish it with: league export {shown} --out {shlex.quote(f'{directory}-files')}\n"
        "Begin another with: league manager --dir ANOTHER"
    )


def _print_table(league: League, state: str) -> None:
    if league.schedule:
        print_table(plain(league.table.rows()), f"{league.rules.league_id}: {state}")
        sys.stdout.flush()


def _where_it_stands(league: League, settings: ManagerSettings, directory: Path) -> str:
    """What is waited for, or where a league that is resumed goes on."""
    start = f"league start {dir_option(directory)}"
    if league.phase is Phase.COMPLETED:
        return "This league is over; its table can still be asked for. Stop with Ctrl-C."
    if league.phase is not Phase.REGISTERING:
        paused = f"\nIt is paused; go on with: {start}" if league.paused else ""
        return (
            f"Resumed in round {league.round_id}: {league.decided_total} matches are decided. "
            f"Stop with Ctrl-C.{paused}"
        )
    here = len(league.roster.players)
    if settings.players:
        known = f", {here} of them known from before" if here else ""
        return f"Waiting for {settings.players} players and a referee{known}. Stop with Ctrl-C."
    after = settings.start_after_seconds
    when = "" if after is None else f" after {after:g} seconds, or"
    return (
        "Waiting for players and a referee. Stop with Ctrl-C.\n"
        f"The league starts{when} with: {start}"
    )
