"""Options that several commands share: --quiet, --debug, --game, and numbers within bounds.

`league --help` imports this, so it imports no more than click.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import click

from agentleague.cli.completions import COMPLETIONS
from agentleague.cli.output import DEBUG, QUIET

if TYPE_CHECKING:
    from agentleague.games.game import Game

T = TypeVar("T", int, float)
METAVARS = {  # what an option of this name takes, unless it says so itself
    "--dir": "DIR",
    "--game": "GAME",
    "--strategy": "NAME",
}


class BoundedNumber(click.ParamType, Generic[T]):  # type: ignore[type-arg]  # click 8.2 takes none.
    """A number within bounds; the error text names them."""

    name = "N"
    kind: type[T]
    noun: str

    def __init__(self, least: float | None = None, most: float | None = None) -> None:
        self.least, self.most = least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> T:
        """The number, if it is within the bounds."""
        try:
            number = self.kind(value)
        except (ValueError, OverflowError):
            number = None
        if number is None or not self._fits(number):
            self.fail(f"must be a {self.noun}{self._bounds()}, not {str(value)!r}", param, ctx)
        return number

    def _fits(self, number: T) -> bool:
        """Whether it is within the bounds; NaN never is."""
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


class Whole(BoundedNumber[int]):
    """A whole number."""

    kind, noun = int, "whole number"


class Real(BoundedNumber[float]):
    """Any number."""

    kind, noun = float, "number"


def prepare(command: click.Command) -> click.Command:
    """Add --quiet and --debug to a command, and give its values their names and completions."""
    if isinstance(command, click.Group):
        for each in command.commands.values():
            prepare(each)
    for param in command.params:
        _set_type(param)
        if param.type is click.STRING and param.name in COMPLETIONS:
            param.type = COMPLETIONS[param.name]
    known = {name for param in command.params for name in param.opts}
    command.params += [option for option in common_options() if not known & set(option.opts)]
    return command


def common_options() -> list[click.Option]:
    """The options that every command has."""
    return [
        click.Option(
            ["-q", "--quiet"],
            is_flag=True,
            expose_value=False,
            callback=_remember,
            help="Print nothing on stderr but errors.",
        ),
        click.Option(
            ["--debug"],
            is_flag=True,
            expose_value=False,
            callback=_remember,
            help="Print the traceback of an error too.",
        ),
    ]


def _remember(context: click.Context, parameter: click.Parameter, is_given: bool) -> None:
    if is_given:
        context.meta[QUIET if parameter.name == "quiet" else DEBUG] = True


def _set_type(param: click.Parameter) -> None:
    """Name the value of an option; let a number name its bounds in its error."""
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
    envvar=("LEAGUE_GAME_TYPE", "LEAGUE_GAME"),
    help="The game to play: a name that `league games` lists, or a file that ends with .py.",
)
referees_option = click.option(
    "--referees",
    default=2,
    show_default=True,
    type=click.IntRange(1, 10),
    envvar="LEAGUE_REFEREES",
    help="How many referees, from 1 to 10.",
)
game_options_option = click.option(
    "--game-options",
    metavar="JSON",
    help='Options of the game, like {"best_of": 5}; `league games NAME` lists them.',
)


def game_choice(command: Command) -> Command:
    """--game and --game-options."""
    return game_option(game_options_option(command))


def read_game_options(game: "Game", typed: str | None) -> dict[str, Any]:
    """The options of the game."""
    from agentleague.cli.settings_options import given_settings
    from agentleague.errors import LeagueError
    from agentleague.roles.settings import ManagerSettings

    given = given_settings(ManagerSettings, None, {"game_options": typed})
    options: dict[str, Any] = given.values.get("game_options", {})
    try:
        game.start(options)
    except (LeagueError, ValueError) as error:
        raise given.wrong("game_options", f"cannot be: {error}") from None
    return options
