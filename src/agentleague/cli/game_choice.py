"""Which game is played on this machine, and with which options: the same for demo and play."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from agentleague.cli.settings_options import misused
from agentleague.errors import LeagueError
from agentleague.games.game import Game
from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.settings_reading import SettingError, read_settings

Command = TypeVar("Command", bound=Callable[..., Any])
game_option = click.option(
    "--game",
    default="even_odd",
    show_default=True,
    help="The game to play: a name that `league games` lists, or a file that ends with .py.",
)
game_options_option = click.option(
    "--game-options",
    metavar="JSON",
    help='What the game can be told, like {"best_of": 5}; `league games NAME` lists it.',
)


def game_choice(command: Command) -> Command:
    """--game and --game-options."""
    return game_option(game_options_option(command))


def chosen_options(game: Game, typed: str | None) -> dict[str, Any]:
    """The options as the game takes them.

    Raises:
        Misused: it does not, or it is no JSON.
    """
    try:
        given = read_settings(ManagerSettings, environment={}, options={"game_options": typed})
        options: dict[str, Any] = given.values.get("game_options", {})
        game.start(options)
    except SettingError as error:
        raise misused(error) from None
    except (LeagueError, ValueError) as error:
        raise misused(given.wrong("game_options", f"cannot be: {error}")) from None
    return options
