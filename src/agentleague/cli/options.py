"""What the options of all commands have in common: two of them, and the words for their values.

Which game is played on this machine, and with which options: the same for demo and play.
"""

from collections.abc import Callable
from typing import Any, Generic, TypeVar

import click

from agentleague.cli.completions import OFFERS
from agentleague.cli.output import DEBUG, QUIET
from agentleague.cli.settings_options import misused
from agentleague.errors import LeagueError
from agentleague.games.game import Game
from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.settings import SettingError, read_settings

T = TypeVar("T", int, float)
METAVARS = {  # what an option of this name takes, unless it says so itself
    "--dir": "DIR",
    "--game": "GAME",
    "--strategy": "NAME",
}


class BoundedText(click.ParamType, Generic[T]):  # type: ignore[type-arg]  # click 8.2 takes none.
    """A number within bounds; a wrong one is refused in words."""

    name = "N"
    kind: type[T]
    noun: str

    def __init__(self, least: float | None = None, most: float | None = None) -> None:
        self.least, self.most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> T:
        """The number, if it is one and within the bounds."""
        try:
            number = self.kind(value)
        except (ValueError, OverflowError):
            number = None
        if number is None or not self._fits(number):
            self.fail(f"must be a {self.noun}{self._bounds()}, not {str(value)!r}", param, ctx)
        return number

    def _fits(self, number: T) -> bool:
        """Whether it lies within the bounds; NaN does nowhere."""
        is_enough = self.least is None or number >= self.least
        return is_enough and (self.most is None or number <= self.most)

    def _bounds(self) -> str:
        if self.least is None and self.most is None:
            return ""
        if self.most is None:
            return f" of {self.least:,g} or more"
        if self.least is None:
            return f" of {self.most:,g} or less"
        return f" from {self.least:,g} to {self.most:,g}"


class Whole(BoundedText[int]):
    """A whole number."""

    kind, noun = int, "whole number"


class Real(BoundedText[float]):
    """Any number."""

    kind, noun = float, "number"


def prepare(command: click.Command) -> click.Command:
    """The command with --quiet and --debug, its values named and asked for as everywhere."""
    if isinstance(command, click.Group):
        for each in command.commands.values():
            prepare(each)
    for param in command.params:
        _name(param)
        if param.type is click.STRING and param.name in OFFERS:
            param.type = OFFERS[param.name]
    known = {name for param in command.params for name in param.opts}
    command.params += [option for option in always() if not known & set(option.opts)]
    return command


def always() -> list[click.Option]:
    """The options that every command has."""
    return [
        click.Option(
            ["-q", "--quiet"],
            is_flag=True,
            expose_value=False,
            callback=_hush,
            help="Say nothing on stderr but errors.",
        ),
        click.Option(
            ["--debug"],
            is_flag=True,
            expose_value=False,
            callback=_debug,
            help="Print the traceback of an error too.",
        ),
    ]


def _hush(context: click.Context, parameter: click.Parameter, is_given: bool) -> None:
    if is_given:
        context.meta[QUIET] = True


def _debug(context: click.Context, parameter: click.Parameter, is_given: bool) -> None:
    if is_given:
        context.meta[DEBUG] = True


def _name(param: click.Parameter) -> None:
    """Give it the word for its value, and a number its bounds in words."""
    if isinstance(param, click.Option) and param.metavar is None:
        param.metavar = next((METAVARS[name] for name in param.opts if name in METAVARS), None)
    if isinstance(param.type, click.IntRange) and not getattr(param, "count", False):
        param.type = Whole(param.type.min, param.type.max)
    elif isinstance(param.type, click.FloatRange):
        param.type = Real(param.type.min, param.type.max)


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
