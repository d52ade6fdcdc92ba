"""A player from a plain function: it registers, answers every message, and ends with the league."""

import sys
from collections.abc import Callable
from typing import Any

from agentleague.errors import LeagueError
from agentleague.roles.effects import Turn
from agentleague.services.processes import Place, open_player, run
from agentleague.services.settings import PlayerSettings

Strategy = Callable[[Turn], Any]


class Player:
    """An agent by name; `plays` says which function moves in which game."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._strategies: dict[str, Strategy] = {}

    def plays(self, game: str) -> Callable[[Strategy], Strategy]:
        """Use the function below for this game."""

        def remember(strategy: Strategy) -> Strategy:
            self._strategies[game] = strategy
            return strategy

        return remember

    def run(self, manager: str = "http://127.0.0.1:8000/mcp", port: int = 8101) -> None:
        """Register, play, and return when the league is over.

        Raises:
            LeagueError: no game was named, or the manager refuses the player.
        """
        if not self._strategies:
            raise LeagueError(
                'say what the player plays: @player.plays("even_odd") above a function'
            )
        try:
            run(self._play(manager, port))
        except KeyboardInterrupt:
            raise SystemExit(130) from None  # Ctrl-C is no error of the author's.

    async def _play(self, manager: str, port: int) -> None:
        agent = await open_player(
            lambda url: PlayerSettings(
                manager_url=manager,
                display_name=self.name,
                endpoint=url,
                game_types=tuple(self._strategies),
            ),
            self._move,
            Place(port),
            threads=True,
        )
        print(f"{self.name} listens at {agent.url}", file=sys.stderr)
        try:
            await agent.ended
            if agent.registered.done():
                agent.registered.result()
        finally:
            await agent.stop()

    def _move(self, turn: Turn) -> Any:
        return self._strategies[turn.game_type](turn)
