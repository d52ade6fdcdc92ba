"""Options that several commands share, numbers within bounds, and what the shell completes.

`league --help` imports this, so it imports no more than click.
"""

from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import partial
from glob import escape, glob
from importlib import import_module
from inspect import cleandoc
from math import inf
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.shell_completion import CompletionItem

from agentleague.cli.output import DEBUG, QUIET

if TYPE_CHECKING:
    from agentleague.games.game import Game


class Number(click.ParamType):  # type: ignore[type-arg]  # click 8.2 takes none.
    """A number within bounds; the error text names them."""

    name = "N"

    def __init__(self, kind: type, least: float, most: float | None = None) -> None:
        self.kind, self.least, self.most = kind, least, most

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number, if it is within the bounds; NaN never is."""
        most = inf if self.most is None else self.most
        with suppress(ValueError, OverflowError):
            number = self.kind(value)
            if self.least <= number <= most:
                return number
        noun = "whole number" if self.kind is int else "number"
        least = f"{self.least:,g}"
        bounds = f"of {least} or more" if self.most is None else f"from {least} to {self.most:,g}"
        return self.fail(f"must be a {noun} {bounds}, not {str(value)!r}", param, ctx)


class Completed(click.ParamType):  # type: ignore[type-arg]  # click 8.2 takes none.
    """Any text; the shell completes these words, and Python files if `files` is true."""

    name = "text"

    def __init__(self, words: Callable[[], Iterable[str]], *, files: bool = False) -> None:
        self._words, self._files = words, files

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem]:
        """The words and files that begin so; any path if there are none."""
        found = [word for word in self._words() if word.startswith(incomplete)]
        if self._files:
            found += sorted(glob(f"{escape(incomplete)}*.py"))
        items = [CompletionItem(word) for word in found]
        if self._files and not items:
            items = [CompletionItem(incomplete, type="file")]
        return items


# A module is imported when Tab is pressed.
_plugins = partial(import_module, "agentleague.runtime.plugins")
_messages = partial(import_module, "agentleague.protocol.messages")
_GAME = Completed(lambda: _plugins().game_names(), files=True)
_PLAYER = Completed(lambda: _plugins().strategy_names(), files=True)
COMPLETIONS = {  # by the name of the parameter
    "a": _PLAYER,
    "b": _PLAYER,
    "brought": _PLAYER,
    "game": _GAME,
    "game_type": _GAME,
    "message_type": Completed(lambda: _messages().MESSAGES),
    "strategy": Completed(lambda: _plugins().strategy_names()),
}


def prepare(command: click.Command) -> click.Command:
    """Add --quiet and --debug to a command; give its help examples, its values completions."""
    if isinstance(command, click.Group):
        for each in command.commands.values():
            prepare(each)
    command.help = _with_examples(command.help or "")
    for param in command.params:
        if param.type is click.STRING and param.name in COMPLETIONS:
            param.type = COMPLETIONS[param.name]
    known = {name for param in command.params for name in param.opts}
    command.params += [option for option in common_options() if not known & set(option.opts)]
    return command


def _with_examples(docstring: str) -> str:
    """Put the last lines, if they begin with `league`, first, as the examples."""
    *words, last = cleandoc(docstring).split("\n\n")
    if not last.startswith("league "):
        return docstring
    examples = last.splitlines()
    heading = "\b\nExamples:" if len(examples) > 1 else "\b\nExample:"
    return "\n\n".join(["\n  ".join([heading, *examples]), *words])


def common_options() -> list[click.Option]:
    """The options that every command has."""
    quiet = ["-q", "--quiet"], "Print nothing on stderr but errors."
    debug = ["--debug"], "Print the traceback of an error too."
    return [
        click.Option(names, is_flag=True, expose_value=False, callback=_remember, help=text)
        for names, text in (quiet, debug)
    ]


def _remember(context: click.Context, parameter: click.Parameter, is_given: bool) -> None:
    if is_given:
        context.meta[QUIET if parameter.name == "quiet" else DEBUG] = True


Command = TypeVar("Command", bound=Callable[..., Any])
referees_option = click.option(
    "--referees",
    default=2,
    show_default=True,
    type=Number(int, 1, 10),
    envvar="LEAGUE_REFEREES",
    help="How many referees, from 1 to 10.",
)


def game_choice(command: Command) -> Command:
    """--game and --game-options."""
    game = click.option(
        "--game",
        metavar="GAME",
        default="even_odd",
        show_default=True,
        envvar=("LEAGUE_GAME_TYPE", "LEAGUE_GAME"),
        help="The game to play: a name that `league games` lists, or a file that ends with .py.",
    )
    text = 'Options of the game, like {"best_of": 5}; `league games NAME` lists them.'
    return game(click.option("--game-options", metavar="JSON", help=text)(command))


def directory_option(
    text: str, *, exists: bool = False, **more: Any
) -> Callable[[Command], Command]:
    """--dir, for a directory that the command writes to."""
    kind = click.Path(exists=exists, file_okay=False, path_type=Path)
    return click.option("--dir", "directory", metavar="DIR", type=kind, help=text, **more)


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
