"""A player from a plain function: it registers, answers every message, and ends with the league."""

import os
import sys
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from agentleague.errors import LeagueError
from agentleague.roles.effects import Effect, Turn
from agentleague.roles.stimuli import Stimulus
from agentleague.sdk.background import Background
from agentleague.services.addresses import manager_url
from agentleague.services.history_file import HistoryFile
from agentleague.services.minds import LoopThread
from agentleague.services.player import Heard
from agentleague.services.player import Player as Role
from agentleague.services.processes import Place, Running, open_player, run
from agentleague.services.settings import PlayerSettings
from agentleague.services.state_file import StateFile, Whose, kept
from agentleague.transport.guard import Guard

CLOSE_SECONDS = 10.0  # for hooks that are not done when the league is over
INTERRUPTED_SECONDS = 1.0  # and after Ctrl-C
Strategy = Callable[[Turn], Any]
Watcher = Callable[[Stimulus, Sequence[Effect]], None]
Hook = TypeVar("Hook", bound=Callable[[Any], Any])
MANAGER_PORT = 8000


class Player:
    """An agent by name; `plays` says which function moves in which game.

    Functions and hooks may be async. Hooks are told what happens, one after another, in a thread of
    their own: they delay no answer, and an exception in one is shown and changes nothing.
    """

    def __init__(self, name: str) -> None:
        self.name = name
        self._strategies: dict[str, Strategy] = {}
        self._hooks: dict[str, Callable[[Any], Any]] = {}
        self._loop = LoopThread()  # for all its async functions, so that they can share things

    @property
    def games(self) -> tuple[str, ...]:
        """The games it has a function for."""
        return tuple(self._strategies)

    def plays(self, game: str) -> Callable[[Strategy], Strategy]:
        """Use the function below for this game."""

        def remember(strategy: Strategy) -> Strategy:
            self._strategies[game] = strategy
            return strategy

        return remember

    def on_round(self, hook: Hook) -> Hook:
        """Tell the function below of each round: whom this player meets in it."""
        return self._hook("round", hook)

    def on_result(self, hook: Hook) -> Hook:
        """Tell the function below how each match ended."""
        return self._hook("result", hook)

    def on_standings(self, hook: Hook) -> Hook:
        """Show the function below each table."""
        return self._hook("standings", hook)

    def on_league_end(self, hook: Hook) -> Hook:
        """Tell the function below how the league ended."""
        return self._hook("league_end", hook)

    def run(
        self,
        manager: str | int | None = None,
        port: int = 8101,
        *,
        join_code: str | None = None,
        state: str | Path | None = None,
    ) -> None:
        """Register, play, and return when the league is over.

        The manager is at port 8000 of this machine, or where the variable LEAGUE_MANAGER says,
        unless it is given; the join code is that of LEAGUE_JOIN_CODE, if any.
        Its token and its history are kept in the directory `state`, in the user's own unless given:
        started again it is the same player. Whatever stops it ends the program with a sentence.
        """
        try:
            if not self.games:
                raise LeagueError('put @player.plays("even_odd") above the function that moves')
            url = manager_url(str(manager or os.environ.get("LEAGUE_MANAGER") or MANAGER_PORT))
            code = os.environ.get("LEAGUE_JOIN_CODE", "") if join_code is None else join_code
            Guard("local").check_url(url)
            with kept(Whose(url, "player", self.name, port), state, self._say) as kept_state:
                run(self._play(url, port, code, kept_state))
        except (LeagueError, OSError) as error:
            raise SystemExit(f"{self.name}: {error}") from None
        except KeyboardInterrupt:
            raise SystemExit(130) from None  # Ctrl-C is no error of the author's.

    def function_for(self, game: str) -> Strategy:
        """What moves in this game; an async function of the author's is a plain one here.

        Raises:
            LeagueError: there is none.
        """
        if game not in self._strategies:
            games = ", ".join(self.games) or "nothing"
            raise LeagueError(
                f'{self.name} plays {games}, not {game}; put @player.plays("{game}") above a '
                "function"
            )
        strategy = self._strategies[game]
        return lambda turn: self._loop.finish(strategy(turn))

    @property
    def has_hooks(self) -> bool:
        """Whether it wants to know what happens."""
        return bool(self._hooks)

    def tell(self, heard: Heard) -> None:
        """Let the author's hook know, if there is one."""
        hook = self._hooks.get(heard.name)
        if hook:
            self._loop.finish(hook(heard.what))

    def join(self, agent: Running) -> None:
        """From now on the hooks hear what this agent hears, and its matches lie by its token."""
        state = agent.state
        history = HistoryFile(state.path.parent, self.name) if state else None
        ear = _Ear(agent, self.tell, history, Background(self._say), agent.host.on_seen)
        agent.closing += [ear.close, self._loop.close]

    def close(self) -> None:
        """Let go of what its async functions ran on; it may play again."""
        self._loop.close()

    def _hook(self, name: str, hook: Hook) -> Hook:
        self._hooks[name] = hook
        return hook

    async def _play(self, manager: str, port: int, join_code: str, state: StateFile | None) -> None:
        agent = await open_player(
            lambda url: PlayerSettings(
                manager_url=manager,
                display_name=self.name,
                endpoint=url,
                game_types=self.games,
                join_code=join_code,
            ),
            self._move,
            Place(port),
            threads=True,
            state=state,
        )
        self.join(agent)
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
        move = self._loop.finish(strategy(turn))
        if turn.legal_moves and move not in turn.legal_moves:
            legal = ", ".join(map(repr, turn.legal_moves[:10]))
            name = getattr(strategy, "__name__", "the function")
            self._say(f"{name} returned {move!r} in {turn.match_id}; legal: {legal}")
        return move

    def _say(self, sentence: str) -> None:
        print(f"{self.name}: {sentence}", file=sys.stderr, flush=True)


class _Ear:
    """Takes what a role heard to the author's hooks, and its matches to the history."""

    def __init__(
        self,
        agent: Running,
        tell: Callable[[Heard], None],
        history: HistoryFile | None,
        background: Background,
        watcher: Watcher | None = None,  # who is shown each step already
    ) -> None:
        role = agent.host.role
        assert isinstance(role, Role)
        self._agent, self._role, self._tell, self._history = agent, role, tell, history
        self._background = background
        self._is_saving = False
        self._heard: deque[Heard] = deque()
        role.heard = self._heard
        role.kept = history.read() if history else ()
        self._watcher = watcher
        agent.host.on_seen = self._listen

    def close(self) -> None:
        """What was heard is told, and what was played is kept, before this returns."""
        is_over = self._agent.ended.done()
        self._background.close(CLOSE_SECONDS if is_over else INTERRUPTED_SECONDS)

    def _listen(self, stimulus: Stimulus, effects: Sequence[Effect]) -> None:
        if self._watcher:
            self._watcher(stimulus, effects)
        while self._heard:
            heard = self._heard.popleft()
            self._background.do(f"on_{heard.name}", partial(self._tell, heard))
            if heard.name in ("result", "league_end") and self._history and not self._is_saving:
                self._is_saving = True  # One file holds all that is played until it is written.
                self._background.do("keeping the history", partial(self._save, self._history))

    def _save(self, history: HistoryFile) -> None:
        self._is_saving = False
        try:
            history.save(self._role.notebook.keepsakes())
        except OSError as error:
            self._history = None  # Once said, it is not tried again.
            self._role.news.append(f"The history cannot be kept ({error}).")
