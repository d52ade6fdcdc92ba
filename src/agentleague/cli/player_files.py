"""Load a player from a single file: a `player = Player(...)`, or a function `choose(turn)`.

The same file may be a program of its own: while it is loaded here, its `player.run()` does nothing.
"""

import sys
import traceback
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from types import ModuleType

from agentleague.cli.output import say
from agentleague.errors import LeagueError
from agentleague.protocol.printable import nearest
from agentleague.runtime import plugins
from agentleague.sdk.player import Player

LOADING_SECONDS = 10.0  # until it is said that a file is still being loaded


def load_player(path: Path, games: Callable[[], Sequence[str]]) -> Player:
    """The player in a file; a file with only `choose(turn)` plays all games that `games` names."""
    check_file(path)
    waits = "it plays when its last line has run; stop with Ctrl-C"
    timer = Timer(LOADING_SECONDS, say, [f"{path} is still being loaded: {waits}."])
    timer.daemon = True  # It keeps no process alive.
    timer.start()
    try:
        with _without_running():  # As `python FILE` would, with its own folder to import from.
            sys.path.insert(0, str(path.absolute().parent))
            module = plugins.run_file(path.absolute(), f"player_file_{path.stem}")
    except (Exception, SystemExit) as error:  # Anybody may have written the file.
        frames = traceback.extract_tb(error.__traceback__)
        lines = [f" (line {f.lineno})" for f in frames if f.filename == str(path.absolute())]
        what = f"{type(error).__name__}: {error}{''.join(lines[-1:])}"
        raise LeagueError(f"{path} cannot be loaded: {what}") from error
    finally:
        timer.cancel()
    return _player_of(module, path, games)


def load_for(path: Path, game: str) -> Player:
    """The player in a file, for this game. Raises LeagueError if it does not play that."""
    player = load_player(path, lambda: [game])
    check_game(player, game, path)
    return player


def check_file(path: Path) -> None:
    """Raises LeagueError unless there is such a file, and it may be Python."""
    if not path.is_file():
        raise LeagueError(
            f"there is no file {path}; write a player to begin with: league new player my_player"
        )
    if path.suffix != ".py":
        how = f"; start it with: node {path}" if path.suffix in (".js", ".mjs") else ""
        raise LeagueError(f"{path} is not a Python file{how}")


def check_game(player: Player, game: str, path: Path) -> None:
    """Raises LeagueError unless that player plays this game."""
    games = player.games
    unknown = [each for each in games if each not in plugins.game_names()]
    if game not in games and unknown:
        near = nearest(unknown[0], plugins.game_names()) or game
        raise LeagueError(
            f"{path} plays {unknown[0]}, and there is no such game; did you mean "
            f'@player.plays("{near}")?'
        )
    if game not in games:
        raise LeagueError(
            f'{path} plays {", ".join(games)}, not {game}; put @player.plays("{game}") above a '
            f"function in it, or say: --game {games[0]}"
        )


def _player_of(module: ModuleType, path: Path, games: Callable[[], Sequence[str]]) -> Player:
    player, choose = getattr(module, "player", None), getattr(module, "choose", None)
    if isinstance(player, Player):
        if not player.games:
            raise LeagueError(
                f'{path}: put @player.plays("even_odd") above the function that moves'
            )
        return player
    if not callable(choose):
        raise LeagueError(
            f"{path} has neither `player = Player(...)` nor a function `choose(turn)`; write one "
            "of them, or see how it is done with: league new player my_player"
        )
    player = Player(path.stem)
    for game in games():
        player.plays(game)(choose)
    return player


@contextmanager
def _without_running() -> Iterator[None]:
    run = Player.run
    Player.run = lambda *_, **__: None  # type: ignore[method-assign]
    try:
        yield
    finally:
        Player.run = run  # type: ignore[method-assign]
