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
from agentleague.league.league import League, Phase
from agentleague.records.export import Mirror
from agentleague.services.clock import wall
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
    help="The league starts when so many are there; else with: league start.",
)
@click.option(
    "--start-after",
    type=click.FloatRange(min=0),
    help="The league starts after so many seconds, with those who are there.",
)
@click.option("--game", default="even_odd", show_default=True, help="The game to play.")
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
    settings = ManagerSettings(
        league_id=new_league_id(game, year, seed),
        game_type=game,
        players=players,
        start_after_seconds=start_after,
        join_code=join_code,
        seeded=seed is not None,
    )

    async def serve() -> Manager:
        stopped = stop_signal()
        where = place(port, bind, endpoint, moves_on=False)
        running = await open_manager(settings, Home(directory, seed, logs=True), where)
        role = running.host.role
        assert isinstance(role, Manager)
        league_id = role.league.rules.league_id
        say(f"{league_id}: the manager is at {running.url}, its journal in {directory}.")
        if seed is not None:
            say("A seed was given: whoever knows it can foretell the draws.")
        say(_where_it_stands(role.league, settings))
        if shared_dir:
            mirror = Mirror(directory, league_id, shared_dir)
            running.closing.append(Mirroring(mirror, settings.standings_seconds, say).close)
        running.tell(say)
        speak_up(running, verbose, say)
        await until_stopped(running, stopped, ends=exits)
        return role

    try:
        league = run(serve()).league
    except OSError as error:
        where = f"{bind or '127.0.0.1'} port {port}"
        raise click.ClickException(
            f"{where} cannot be opened ({error.strerror or error}); choose another with --port"
        ) from None
    is_over = league.phase is Phase.COMPLETED
    if league.schedule:
        state = "final table" if is_over else f"after round {league.rounds_ended}"
        print_table(plain(league.table.rows()), f"{league.rules.league_id}: {state}")
    if not is_over:
        say(f"Stopped; nothing is lost. Go on with: {shlex.join(['league', *sys.argv[1:]])}")


def _where_it_stands(league: League, settings: ManagerSettings) -> str:
    """What is waited for, or where a league that is resumed goes on."""
    if league.phase is Phase.COMPLETED:
        return "This league is over; its table can still be asked for. Stop with Ctrl-C."
    if league.phase is not Phase.REGISTERING:
        paused = " It is paused: go on with: league start." if league.paused else ""
        return (
            f"Resumed in round {league.round_id}: {league.decided_total} matches are decided."
            f"{paused} Stop with Ctrl-C."
        )
    here = len(league.roster.players)
    if settings.players:
        known = f", {here} of them known from before" if here else ""
        return f"Waiting for {settings.players} players and a referee{known}. Stop with Ctrl-C."
    when = (
        f"after {settings.start_after_seconds:g} seconds, or with: league start"
        if settings.start_after_seconds is not None
        else "with: league start"
    )
    return f"Waiting for players and a referee; the league starts {when}. Stop with Ctrl-C."
