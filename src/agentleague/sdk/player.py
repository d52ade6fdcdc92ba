"""A player from a plain function: it registers, answers every message, and ends with the league."""

import sys
from collections.abc import Callable
from inspect import iscoroutinefunction
from pathlib import Path
from typing import Any

from agentleague.errors import LeagueError
from agentleague.roles.effects import Turn
from agentleague.services.processes import Place, open_player, run
from agentleague.services.settings import PlayerSettings
from agentleague.services.state_file import StateFile, Whose, kept
from agentleague.transport.guard import Guard

Strategy = Callable[[Turn], Any]


class Player:
    """An agent by name; `plays` says which function moves in which game."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._strategies: dict[str, Strategy] = {}

    def plays(self, game: str) -> Callable[[Strategy], Strategy]:
        """Use the function below for this game."""

        def remember(strategy: Strategy) -> Strategy:
            if iscoroutinefunction(strategy):
                raise TypeError(f"{strategy.__name__} is async; write it as a plain function")
            self._strategies[game] = strategy
            return strategy

        return remember

    def run(
        self,
        manager: str = "http://127.0.0.1:8000/mcp",
        port: int = 8101,
        *,
        join_code: str = "",
        state: str | Path | None = None,
    ) -> None:
        """Register, play, and return when the league is over.

        Its token is kept in the directory `state`, in the user's own unless given: started again it
        is the same player. Whatever stops it ends the program with a sentence.
        """
        try:
            if not self._strategies:
                raise LeagueError('put @player.plays("even_odd") above the function that moves')
            Guard("local").check_url(manager)
            with kept(Whose(manager, "player", self.name, port), state, self._say) as kept_state:
                run(self._play(manager, port, join_code, kept_state))
        except (LeagueError, OSError) as error:
            raise SystemExit(f"{self.name}: {error}") from None
        except KeyboardInterrupt:
            raise SystemExit(130) from None  # Ctrl-C is no error of the author's.

    async def _play(self, manager: str, port: int, join_code: str, state: StateFile | None) -> None:
        agent = await open_player(
            lambda url: PlayerSettings(
                manager_url=manager,
                display_name=self.name,
                endpoint=url,
                game_types=tuple(self._strategies),
                join_code=join_code,
            ),
            self._move,
            Place(port),
            threads=True,
            state=state,
        )
        self._say(f"listens at {agent.url}")
        agent.tell(self._say)
        try:
            await agent.ended
            if agent.registered.done():
                agent.registered.result()
        finally:
            await agent.stop()

    def _move(self, turn: Turn) -> Any:
        """The author's move; one that will lose the match is said aloud, and sent all the same."""
        strategy = self._strategies[turn.game_type]
        move = strategy(turn)
        if turn.legal_moves and move not in turn.legal_moves:
            legal = ", ".join(map(repr, turn.legal_moves[:10]))
            self._say(f"{strategy.__name__} returned {move!r} in {turn.match_id}; legal: {legal}")
        return move

    def _say(self, sentence: str) -> None:
        print(f"{self.name}: {sentence}", file=sys.stderr, flush=True)
