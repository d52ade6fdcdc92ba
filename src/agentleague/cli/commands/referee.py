"""`league referee`: one referee."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from agentleague.cli.output import log_to_stderr, say, verbose_option
from agentleague.cli.serving import stop_signal, until_stopped
from agentleague.cli.settings_options import (
    SettingsCommand,
    config_option,
    given_settings,
    settings_options,
    wishes,
)
from agentleague.games.game import Game
from agentleague.roles.settings import RefereeSettings
from agentleague.runtime import plugins
from agentleague.runtime.network import manager_url, place_of_agent
from agentleague.runtime.plugins import as_typed, find_game
from agentleague.runtime.processes import open_referee, run
from agentleague.runtime.state_files import StateFile, Whose, kept

EXAMPLES = """\b
Examples:
  league referee --manager http://127.0.0.1:8000/mcp
  league referee --manager 8000 --game ./my_game.py
"""


DESCRIPTION = """
Run a referee that registers at a manager.

Settings also come from the environment (LEAGUE_MANAGER=9000, LEAGUE_JOIN_CODE=tipuf-sajil-gikop).
"""


@click.command(cls=SettingsCommand, help=EXAMPLES + DESCRIPTION)
@click.option(
    "--game",
    "files",
    metavar="FILE.py",
    multiple=True,
    help="A game that it runs besides the installed ones; may be given several times.",
)
@click.option(
    "--player",
    "players",
    metavar="ID=URL",
    multiple=True,
    help="Where a player is, if a manager that is not agentleague's does not say so; may be given "
    "several times.",
)
@config_option
@verbose_option
@settings_options(RefereeSettings)
def command(
    files: tuple[str, ...],
    players: tuple[str, ...],
    config: Path | None,
    verbose: int,
    **options: Any,
) -> None:
    """Serve until the league is over, or until Ctrl-C."""
    asked = given_settings(RefereeSettings, config, options).make(RefereeSettings)
    games = {game.name: game for game in map(find_game, map(as_typed, files))}

    def load_game(game_type: str) -> Game:
        return games.get(game_type) or plugins.load_game(game_type)

    settings = replace(
        asked,
        manager_url=manager_url(asked.manager_url),
        game_types=sorted({*plugins.game_names(), *games}),
        player_endpoints=dict(map(_player, players)),
    )
    name = settings.display_name
    where = place_of_agent(settings.port, wishes(settings), settings.manager_url, say)
    for url in settings.player_endpoints.values():
        where.guard.check_url(url)

    async def serve(kept_state: StateFile | None) -> None:
        stopped = stop_signal()
        agent = await open_referee(
            lambda url: replace(settings, endpoint=url), where, load_game, state=kept_state
        )
        say(f"{name} listens at {agent.url} and registers at {settings.manager_url}.")
        agent.tell(say)
        log_to_stderr(agent, verbose)
        if await until_stopped(agent, stopped, ends=True):
            say("The league is over.")

    whose = Whose(settings.manager_url, "referee", name, settings.port)
    with kept(whose, settings.state or None, say) as kept_state:
        run(serve(kept_state))


def _player(typed: str) -> tuple[str, str]:
    player_id, _, url = typed.partition("=")
    if not player_id or not url:
        raise click.UsageError(f"--player {typed}: write it like --player P01=http://HOST:PORT/mcp")
    return player_id, manager_url(url)
