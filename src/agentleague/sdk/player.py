"""A player from a plain function: it registers, answers every message, and ends with the league."""

import os
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from agentleague.errors import LeagueError
from agentleague.protocol.harmless import harmless
from agentleague.roles.effects import Effect, Turn
from agentleague.roles.stimuli import Stimulus
from agentleague.sdk.background import Background
from agentleague.sdk.mishaps import Mishaps
from agentleague.services.addresses import manager_url
from agentleague.services.history_file import HistoryFile
from agentleague.services.minds import AuthorTold, LoopThread
from agentleague.services.network import Wishes, place_of_agent
from agentleague.services.player import Heard
from agentleague.services.player import Player as Role
from agentleague.services.processes import Place, Running, open_player, run
from agentleague.services.settings import PlayerSettings
from agentleague.services.settings_reading import SettingError, read_settings
from agentleague.services.settings_table import describe
from agentleague.services.state_file import StateFile, Whose, kept

CLOSE_SECONDS = 10.0  # for hooks that are not done when the league is over
INTERRUPTED_SECONDS = 1.0  # and after Ctrl-C
Strategy = Callable[[Turn], Any]
Watcher = Callable[[Stimulus, Sequence[Effect]], None]
Hook = TypeVar("Hook", bound=Callable[[Any], Any])


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
        self.mishaps = Mishaps(self._say)

    @property
    def games(self) -> tuple[str, ...]:
        """The games it has a function for."""
        return tuple(self._strategies)

    def plays(self, game: str) -> Callable[[Strategy], Strategy]:
        """Use the function below for this game.

        Raises:
            TypeError: the game is missing, or is no text.
        """
        if not isinstance(game, str):
            raise TypeError('the game is missing: write @player.plays("even_odd"), with brackets')

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
        port: int | None = None,
        *,
        join_code: str | None = None,
        state: str | Path | None = None,
        **settings: Any,
    ) -> None:
        """Register, play, and return when the league is over.

        The manager is at port 8000 of this machine, or where the variable LEAGUE_MANAGER says,
        unless it is given. If it is on another machine, the player listens at the address from
        which it reaches it; `bind`, `endpoint` and every other setting of `league player` can be
        given too, here or in the environment.
        Its token and its history are kept in the directory `state`, in the user's own unless given:
        started again it is the same player. Whatever stops it ends the program with a sentence.
        """
        given = {"manager_url": manager, "port": port, "join_code": join_code, "state": state}
        try:
            if not self.games:
                raise LeagueError('put @player.plays("even_odd") above the function that moves')
            asked = self._settings({**given, **settings})
            wishes = Wishes(asked.bind, asked.endpoint, asked.network, asked.lan)
            place = place_of_agent(asked.port, wishes, asked.manager_url, self._say)
            whose = Whose(asked.manager_url, "player", asked.display_name, asked.port)
            with kept(whose, asked.state or None, self._say) as kept_state:
                run(self._play(asked, place, kept_state))
        except (LeagueError, SettingError, OSError) as error:
            raise SystemExit(harmless(f"{self.name}: {error}")) from None
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
        agent.closing += [ear.close, self._loop.close, self.mishaps.close]

    def close(self) -> None:
        """Let go of what its async functions ran on; it may play again."""
        self._loop.close()

    def _hook(self, name: str, hook: Hook) -> Hook:
        self._hooks[name] = hook
        return hook

    def _settings(self, given: Mapping[str, Any]) -> PlayerSettings:
        """What was given here, and by the environment; what is a path or a number, as a text."""
        texts = {
            name: str(value) if isinstance(value, int | float | Path) else value
            for name, value in given.items()
        }
        unknown = texts.keys() - {row.name for row in describe(PlayerSettings)}
        if unknown:
            raise LeagueError(f"run() knows no {min(unknown)}; `league player --help` lists all")
        asked = read_settings(PlayerSettings, environment=os.environ, options=texts)
        settings = asked.make(PlayerSettings)
        return replace(
            settings,
            manager_url=manager_url(settings.manager_url),
            display_name=settings.display_name or self.name,
            game_types=self.games,
        )

    async def _play(self, settings: PlayerSettings, place: Place, state: StateFile | None) -> None:
        agent = await open_player(
            lambda url: replace(settings, endpoint=url),
            self._move,
            place,
            threads=True,
            state=state,
        )
        self.join(agent)
        self._say(f"listens at {agent.url}")
        agent.tell(self._say)
        try:
            await agent.ended
            agent.check()
        finally:
            await agent.stop()

    def _move(self, turn: Turn) -> Any:
        """The author's move; one that will lose the match is said aloud, and sent all the same."""
        strategy = self._strategies[turn.game_type]
        try:
            move = self._loop.finish(strategy(turn))
        except (Exception, SystemExit) as error:
            self.mishaps.raised(strategy, error, turn.match_id)
            raise AuthorTold(f"{type(error).__name__}: {error}") from error
        if turn.legal_moves and move not in turn.legal_moves:
            legal = ", ".join(map(repr, turn.legal_moves[:10]))
            self.mishaps.returned(strategy, repr(move), turn.match_id, f"legal: {legal}")
        return move

    def _say(self, sentence: str) -> None:
        print(harmless(f"{self.name}: {sentence}"), file=sys.stderr, flush=True)


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
