"""`league manager`: one league, its journal in a directory."""

from datetime import UTC, datetime
from pathlib import Path

import click

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
from agentleague.services.clock import wall
from agentleague.services.manager import Manager
from agentleague.services.processes import open_manager, run
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
    required=True,
    type=click.IntRange(2, 10_000),
    help="The league starts when so many are there.",
)
@click.option("--game", default="even_odd", show_default=True, help="The game to play.")
@click.option("--seed", help="Makes draws repeatable, and foretellable: for tests.")
@click.option("--exit", "exits", is_flag=True, help="Exit when the league is over.")
@bind_option
@endpoint_option
def command(
    port: int,
    directory: Path,
    players: int,
    game: str,
    seed: str | None,
    exits: bool,
    bind: str | None,
    endpoint: str | None,
) -> None:
    """Serve until the end, or until Ctrl-C."""
    year = datetime.fromtimestamp(wall(), UTC).year
    settings = ManagerSettings(
        league_id=new_league_id(game, year, seed),
        game_type=game,
        players=players,
        seeded=seed is not None,
    )

    async def serve() -> Manager:
        stopped = stop_signal()
        where = place(port, bind, endpoint, moves_on=False)
        running = await open_manager(settings, directory, seed, where)
        role = running.host.role
        assert isinstance(role, Manager)
        say(f"{settings.league_id}: the manager is at {running.url}, its journal in {directory}.")
        if seed is not None:
            say("A seed was given: whoever knows it can foretell the draws.")
        say(f"Waiting for {players} players and a referee. Stop with Ctrl-C.")
        running.tell(say)
        await until_stopped(running, stopped, ends=exits)
        return role

    try:
        league = run(serve()).league
    except OSError as error:
        where = f"{bind or '127.0.0.1'} port {port}"
        raise click.ClickException(
            f"{where} cannot be opened ({error.strerror or error}); choose another with --port"
        ) from None
    if league.schedule:
        state = "final table" if league.champion else f"after round {league.rounds_ended}"
        print_table(plain(league.table.rows()), f"{settings.league_id}: {state}")
