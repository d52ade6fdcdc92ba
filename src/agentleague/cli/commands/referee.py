"""`league referee`: one referee."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from agentleague.cli.output import say
from agentleague.cli.serving import serve_agent
from agentleague.cli.settings_options import SettingsCommand, agent_options, agent_settings
from agentleague.games.game import Game
from agentleague.roles.settings import RefereeSettings
from agentleague.runtime import plugins
from agentleague.runtime.network import is_here, manager_url, place_of_agent
from agentleague.runtime.processes import open_referee


@click.command(cls=SettingsCommand)
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
@agent_options(RefereeSettings)
def command(
    files: tuple[str, ...],
    players: tuple[str, ...],
    config: Path | None,
    verbose: int,
    **options: Any,
) -> None:
    """Run a referee that registers at a manager.

    Settings also come from the environment (LEAGUE_MANAGER=9000,
    LEAGUE_JOIN_CODE=tipuf-sajil-gikop).

    league referee --manager http://127.0.0.1:8000/mcp
    league referee --manager 8000 --game ./my_game.py
    """
    asked = agent_settings(RefereeSettings, config, options)
    games = {game.name: game for game in map(plugins.find_game, map(plugins.as_typed, files))}

    def load_game(game_type: str) -> Game:
        return games.get(game_type) or plugins.load_game(game_type)

    settings = replace(
        asked,
        game_types=sorted({*plugins.game_names(), *games}),
        player_endpoints=dict(map(_player, players)),
    )
    where = place_of_agent(settings, say)
    if not is_here(settings.manager_url):
        say(f"As for players, {where.guard.remedy}.")
    for url in settings.player_endpoints.values():
        where.guard.check_url(url)
    opener = partial(open_referee, lambda url: replace(settings, endpoint=url), where, load_game)
    if serve_agent(settings, "referee", opener, verbose):
        say("The league is over.")


def _player(typed: str) -> tuple[str, str]:
    player_id, _, url = typed.partition("=")
    if not player_id or not url:
        raise click.UsageError(f"--player {typed}: write it like --player P01=http://HOST:PORT/mcp")
    return player_id, manager_url(url)
