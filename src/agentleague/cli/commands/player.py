"""`league player`: one player, from a file or with a strategy by name."""

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from agentleague.cli.output import DEBUG, is_given, say
from agentleague.cli.player_files import load_player
from agentleague.cli.serving import serve_agent
from agentleague.cli.settings_options import SettingsCommand, agent_options, agent_settings
from agentleague.roles.settings import PlayerSettings
from agentleague.runtime import plugins
from agentleague.runtime.network import place_of_agent
from agentleague.runtime.processes import open_player


@click.command(cls=SettingsCommand)
@click.argument("file", required=False, metavar="[FILE.py]", type=click.Path(path_type=Path))
@click.option(
    "--strategy",
    metavar="NAME",
    help="The strategy it plays by, from `league strategies`.  [random]",
)
@click.option(
    "--game",
    "games",
    metavar="NAME|FILE.py",
    multiple=True,
    help="A game that it plays besides the installed ones; may be given several times.",
)
@agent_options(PlayerSettings)
def command(
    file: Path | None,
    strategy: str | None,
    games: tuple[str, ...],
    config: Path | None,
    verbose: int,
    **options: Any,
) -> None:
    """Run a player that registers at a manager.

    FILE is a Python file with `player = Player(...)` or a function `choose(turn)` in it; its
    `player.run()` does nothing here. Settings also come from the environment (LEAGUE_MANAGER=9000,
    LEAGUE_JOIN_CODE=tipuf-sajil-gikop).

    league player ./mine.py --manager http://127.0.0.1:8000/mcp
    league player --strategy random --name "Agent Alpha" --manager http://127.0.0.1:8000/mcp
    """
    if file and strategy:
        raise click.UsageError(f"give either {file} or --strategy {strategy}, not both")
    if file and not file.exists() and str(file) in plugins.strategy_names():
        raise click.UsageError(f"there is no file {file}; did you mean --strategy {file}?")
    asked = agent_settings(PlayerSettings, config, options)
    player = load_player(file, plugins.game_names) if file else None
    if player:
        player.author_errors.in_full = bool(verbose) or is_given(DEBUG)
    own_name = player.name if player else f"Player {strategy or 'random'}"
    own_games = player.games if player else plugins.game_names()
    more_games = (
        plugins.find_game(each).name if isinstance(each, Path) else each
        for each in map(plugins.as_typed, games)
    )
    settings = replace(
        asked,
        display_name=asked.display_name or own_name,
        game_types=sorted({*own_games, *more_games}),
    )
    where = place_of_agent(settings, say)
    move = player.move if player else plugins.load_strategy(strategy or "random")
    opener = partial(
        open_player, lambda url: replace(settings, endpoint=url), move, where, threads=True
    )
    more = [player.attach] if player else []
    serve_agent(settings, "player", opener, verbose, *more)
