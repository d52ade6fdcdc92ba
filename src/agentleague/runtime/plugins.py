"""Find games and strategies by name among the installed plug-ins, or load a game from a file.

The built-in ones are plug-ins too. A text is always the name of something installed, wherever it
comes from; a file is run only for a Path, and only `as_typed` makes one of what a person typed.
"""

import sys
import traceback
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agentleague.errors import LeagueError, UnsupportedGame
from agentleague.games.checks import GameProblem, check_game, check_names
from agentleague.games.game import Game
from agentleague.player.strategies import Strategy
from agentleague.protocol.printable import there_are

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint, EntryPoints


GAMES = "agentleague.games"
STRATEGIES = "agentleague.strategies"
MATCHES_TRIED = 10  # A game that breaks in a league holds it up, so it breaks here first.


def game_names() -> list[str]:
    """The games that are installed."""
    return _names(GAMES)


def strategy_names() -> list[str]:
    """The strategies that are installed."""
    return _names(STRATEGIES)


@cache
def load_game(name: str) -> Game:
    """The game of that name. Raises UnsupportedGame if none is installed that can be used."""
    point, game = _load(GAMES, "game", name, UnsupportedGame)
    try:
        check_names(game)
    except GameProblem as problem:
        raise UnsupportedGame(f"{point.value} is no game: {problem}") from None
    if game.name != name:
        raise UnsupportedGame(
            f"{point.value} calls itself {game.name!r}; name its entry point like that"
        )
    return game  # type: ignore[no-any-return]


def load_strategy(name: str) -> Strategy:
    """The strategy of that name, ready to play."""
    strategy = find_strategy(name)
    if ready := getattr(strategy, "ready", None):
        ready()
    return strategy


@cache
def find_strategy(name: str) -> Strategy:
    """The strategy of that name, ready or not. Raises LeagueError if none is installed."""
    point, strategy = _load(STRATEGIES, "strategy", name, LeagueError)
    if not callable(strategy):
        raise LeagueError(f"{point.value} is no strategy: make it a function of a turn")
    return strategy  # type: ignore[no-any-return]


def _names(group: str) -> list[str]:
    return sorted({point.name for point in _plug_ins(group)})


def _load(group: str, kind: str, name: str, refusal: type[LeagueError]) -> "tuple[EntryPoint, Any]":
    for point in _plug_ins(group).select(name=name):
        try:
            return point, point.load()
        except Exception as error:  # A plug-in may be anybody's.
            what = f"{type(error).__name__}: {error}"
            raise refusal(f"{kind} {name!r} cannot be loaded: {what}") from error
    raise refusal(f"no {kind} {name!r} is installed; {there_are(name.lower(), _names(group))}")


def _plug_ins(group: str) -> "EntryPoints":
    """What offers one; the library that knows is slow to load, and many commands ask for none."""
    from importlib.metadata import entry_points

    return entry_points(group=group)


def as_typed(game: str) -> str | Path:
    """The game that a person typed, as a file if it ends with .py; never for what was received."""
    return Path(game) if game.endswith(".py") else game


def find_game(game: str | Path) -> Game:
    """The installed game of that name, or that in a file, which is run. Raises UnsupportedGame."""
    return _game_in(game.absolute()) if isinstance(game, Path) else load_game(game)


@cache
def _game_in(path: Path) -> Game:
    if not path.is_file():
        installed = ", ".join(game_names())
        raise UnsupportedGame(f"there is no file {path}; games that are installed: {installed}")
    try:
        game: Any = run_file(path, f"game_file_{path.stem}")
        check_game(game, matches=MATCHES_TRIED)
    except GameProblem as problem:
        raise UnsupportedGame(f"{path}: {problem}") from None
    except Exception as error:  # The file may be anybody's.
        frames = traceback.extract_tb(error.__traceback__)
        lines = [f" (line {frame.lineno})" for frame in frames if frame.filename == str(path)]
        what = f"{type(error).__name__}: {error}{''.join(lines[-1:])}"
        raise UnsupportedGame(f"{path} does not work: {what}") from error
    return game  # type: ignore[no-any-return]


def run_file(path: Path, name: str) -> ModuleType:
    """Run a file as a module of that name."""
    spec = spec_from_file_location(name, path)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # Dataclasses look for their module there.
    spec.loader.exec_module(module)
    return module
