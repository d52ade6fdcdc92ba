"""A whole league in memory, for researchers: thousands of matches a second, each repeatable."""

from collections.abc import Callable, Sequence
from functools import partial
from secrets import token_hex
from typing import Any

from msgspec import Struct

from agentleague.errors import LeagueError
from agentleague.league.standings import Standing
from agentleague.player import registry
from agentleague.roles.effects import Turn
from agentleague.runtime.game_files import find_game
from agentleague.runtime.loop_thread import LoopThread
from agentleague.sdk.offline import Contestant, Hall, PlayedMatch
from agentleague.sdk.player import Player


class PlayedLeague(Struct, frozen=True):
    """What became of a league: the table, best first, and every match in order."""

    game: str
    seed: str
    table: Sequence[Standing]
    matches: Sequence[PlayedMatch]
    illegal_moves: Sequence[tuple[str, str]]  # by whom, and what was wrong in which match

    @property
    def champion(self) -> Standing:
        """Who won it."""
        return self.table[0]

    def __str__(self) -> str:
        rows = [f"{r.rank:4}  {r.points:6}  {r.player_id}  {r.display_name}" for r in self.table]
        return "\n".join([f"{self.game}, seed {self.seed}", "rank  points  player", *rows])


def play_league(
    players: Sequence[Player | Callable[[Turn], Any] | str],
    game: str = "even_odd",
    seed: int | str | None = None,
    cycles: int = 1,
) -> PlayedLeague:
    """Everybody against everybody, `cycles` times, in memory and without a clock.

    A player is a function, the name of a strategy, or a Player; a game may also be a file. An
    exception in a function comes out of here as it is, with a note that says in which match.
    Without a seed one is drawn, and told in the result.

    Raises:
        LeagueError: there are too few players, or one of them or the game cannot be found.
    """
    if len(players) < 2:
        raise LeagueError(f"a league needs at least two players, not {len(players)}")
    if cycles < 1:
        raise LeagueError(f"a league needs at least one cycle, not {cycles}")
    rules, loop = find_game(game), LoopThread()
    drawn = token_hex(8) if seed is None else str(seed)
    contestants = [_contestant(player, rules.name, loop) for player in players]
    hall = Hall(rules, drawn, contestants, cycles)
    try:
        matches = list(hall.play())
    finally:
        loop.close()
        for player in players:
            if isinstance(player, Player):
                player.close()
    return PlayedLeague(rules.name, drawn, hall.table.rows(), matches, hall.illegal_moves)


def _contestant(
    player: Player | Callable[[Turn], Any] | str, game: str, loop: LoopThread
) -> Contestant:
    if isinstance(player, str):
        return Contestant(player, registry.load(player))
    if isinstance(player, Player):
        tell = player.tell if player.has_hooks else None
        return Contestant(player.name, player.function_for(game), tell)
    if callable(player):
        name = getattr(player, "__name__", type(player).__name__)
        return Contestant(name, partial(_finish, player, loop))
    raise LeagueError(
        f"{player!r} is no player: give a function, the name of a strategy, or a Player"
    )


def _finish(strategy: Callable[[Turn], Any], loop: LoopThread, turn: Turn) -> Any:
    return loop.finish(strategy(turn))
