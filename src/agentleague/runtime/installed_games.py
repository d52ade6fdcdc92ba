"""Find a game by name among the installed plug-ins; the built-in ones are plug-ins too.

Find a game by name, or load it from a single file.
"""

import sys
import traceback
from functools import cache
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from agentleague.errors import UnsupportedGame
from agentleague.games.checks import GameProblem, check_game, check_names
from agentleague.games.game import Game

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints


GROUP = "agentleague.games"


def names() -> list[str]:
    """The games that are installed."""
    return sorted({point.name for point in _plug_ins()})


@cache
def load(name: str) -> Game:
    """The game of that name.

    Raises:
        UnsupportedGame: no installed plug-in offers it, or what is offered is no game.
    """
    for point in _plug_ins().select(name=name):
        try:
            game: Game = point.load()
        except Exception as error:  # A plug-in may be anybody's.
            kind = type(error).__name__
            raise UnsupportedGame(f"game {name!r} cannot be loaded: {kind}: {error}") from error
        try:
            check_names(game)
        except GameProblem as problem:
            raise UnsupportedGame(f"{point.value} is no game: {problem}") from None
        if game.name != name:
            raise UnsupportedGame(
                f"{point.value} calls itself {game.name!r}; name its entry point like that"
            )
        return game
    from difflib import get_close_matches

    near = get_close_matches(name.lower(), names(), n=1)
    meant = f"did you mean {near[0]}? There" if near else "there"
    raise UnsupportedGame(f"no game {name!r} is installed; {meant} are {', '.join(names())}")


def _plug_ins() -> "EntryPoints":
    """What offers one; the library that knows is slow to load, and many commands ask for none."""
    from importlib.metadata import entry_points

    return entry_points(group=GROUP)


MATCHES_TRIED = 10  # A game that breaks in a league holds it up, so it breaks here first.


def find_game(name_or_path: str) -> Game:
    """The installed game of that name, or the game in that file if it ends with .py.

    Never for a name that came over the wire: a file is run when it is loaded.

    Raises:
        UnsupportedGame: there is none; the sentence says what is missing, or what there is.
    """
    if name_or_path.endswith(".py"):
        return _load(Path(name_or_path).absolute())
    return load(name_or_path)


@cache
def _load(path: Path) -> Game:
    if not path.is_file():
        installed = ", ".join(names())
        raise UnsupportedGame(f"there is no file {path}; games that are installed: {installed}")
    try:
        game: Any = _run(path)
        check_game(game, matches=MATCHES_TRIED)
    except GameProblem as problem:
        raise UnsupportedGame(f"{path}: {problem}") from None
    except Exception as error:  # The file may be anybody's.
        frames = traceback.extract_tb(error.__traceback__)
        lines = [f" (line {frame.lineno})" for frame in frames if frame.filename == str(path)]
        what = f"{type(error).__name__}: {error}{''.join(lines[-1:])}"
        raise UnsupportedGame(f"{path} does not work: {what}") from error
    return game  # type: ignore[no-any-return]


def _run(path: Path) -> ModuleType:
    spec = spec_from_file_location(f"game_file_{path.stem}", path)
    assert spec
    assert spec.loader
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # Dataclasses look for their module there.
    spec.loader.exec_module(module)
    return module
