"""`league referee`: one referee."""

from pathlib import Path

import click

from agentleague.cli.membership import join_code_option, state_option
from agentleague.cli.serving import (
    PORT,
    bind_option,
    check_manager,
    endpoint_option,
    manager_option,
    place,
    say,
    stop_signal,
    until_stopped,
)
from agentleague.cli.verbosity import speak_up, verbose_option
from agentleague.games import registry
from agentleague.games.game import Game
from agentleague.services.game_files import find_game
from agentleague.services.processes import open_referee, run
from agentleague.services.settings import RefereeSettings
from agentleague.services.state_file import StateFile, Whose, kept

EXAMPLES = """\b
Examples:
  league referee --manager http://127.0.0.1:8000/mcp
  league referee --manager 8000 --game ./my_game.py
"""


@click.command(help=EXAMPLES + "\nRun a referee that registers at a manager.")
@manager_option
@click.option(
    "--port",
    default=8001,
    show_default=True,
    type=PORT,
    help="The port to listen on, or the next free one above it.",
)
@click.option("--name", default="Referee", show_default=True, help="The name to register under.")
@click.option(
    "--game",
    "files",
    metavar="FILE.py",
    multiple=True,
    help="A game that it runs beside those installed; may be given several times.",
)
@bind_option
@endpoint_option
@join_code_option
@state_option
@verbose_option
def command(
    verbose: int,
    manager_url: str,
    port: int,
    name: str,
    files: tuple[str, ...],
    bind: str | None,
    endpoint: str | None,
    join_code: str,
    state: Path | None,
) -> None:
    """Serve until the league is over, or until Ctrl-C."""
    games = {game.name: game for game in map(find_game, files)}

    def load_game(game_type: str) -> Game:
        return games.get(game_type) or registry.load(game_type)

    async def serve(kept_state: StateFile | None) -> None:
        stopped = stop_signal()
        agent = await open_referee(
            lambda url: RefereeSettings(
                manager_url=check_manager(manager_url),
                display_name=name,
                endpoint=url,
                game_types=sorted({*registry.names(), *games}),
                join_code=join_code,
            ),
            place(port, bind, endpoint),
            load_game,
            state=kept_state,
        )
        say(f"{name} listens at {agent.url} and registers at {manager_url}.")
        agent.tell(say)
        speak_up(agent, verbose, say)
        if await until_stopped(agent, stopped, ends=True):
            say("The league is over.")

    with kept(Whose(manager_url, "referee", name, port), state, say) as kept_state:
        run(serve(kept_state))
