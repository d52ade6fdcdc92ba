"""How an author's player takes part in a league: its settings and place, what it hears, keeps."""

import os
from collections import deque
from collections.abc import Callable, Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from agentleague.errors import LeagueError
from agentleague.player.role import HookCall
from agentleague.player.role import Player as Role
from agentleague.protocol.printable import printable
from agentleague.roles.effects import Effect, Turn
from agentleague.roles.settings import PlayerSettings
from agentleague.roles.stimuli import Stimulus
from agentleague.runtime.author_functions import Background
from agentleague.runtime.network import Wishes, manager_url, place_of_agent
from agentleague.runtime.processes import Place, Running, open_player, run
from agentleague.runtime.settings import SettingError, describe, read_settings
from agentleague.runtime.state_files import HistoryFile, StateFile, Whose, kept
from agentleague.sdk.player import Player

CLOSE_SECONDS = 10.0  # for hooks that are not done when the league is over
INTERRUPTED_SECONDS = 1.0  # and after Ctrl-C
Say = Callable[[str], None]
Watcher = Callable[[Stimulus, Sequence[Effect]], None]


def join_league(
    player: Player, given: Mapping[str, Any], move: Callable[[Turn], Any], say: Say
) -> None:
    """Register, play by this function, and return when the league is over.

    Raises:
        SystemExit: whatever stops it, in a sentence.
    """
    try:
        if not player.games:
            raise LeagueError('put @player.plays("even_odd") above the function that moves')
        asked = _settings(player, given)
        wishes = Wishes(asked.bind, asked.endpoint, asked.network, asked.lan)
        place = place_of_agent(asked.port, wishes, asked.manager_url, say)
        whose = Whose(asked.manager_url, "player", asked.display_name, asked.port)
        with kept(whose, asked.state or None, say) as state:
            run(_play(player, partial(_open, asked, move, place, state), say))
    except (LeagueError, SettingError, OSError) as error:
        raise SystemExit(printable(f"{player.name}: {error}")) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None  # Ctrl-C is no error of the author's.


def listen(player: Player, agent: Running, say: Say) -> Callable[[], None]:
    """From now on its hooks hear what this agent hears; what ends that."""
    history = HistoryFile(agent.state.path.parent, player.name) if agent.state else None
    return _Hooks(agent, player.tell, history, Background(say), agent.host.on_seen).close


def _settings(player: Player, given: Mapping[str, Any]) -> PlayerSettings:
    """What was given there, and by the environment; what is a path or a number, as a text."""
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
        display_name=settings.display_name or player.name,
        game_types=player.games,
    )


async def _open(
    settings: PlayerSettings, move: Callable[[Turn], Any], place: Place, state: StateFile | None
) -> Running:
    return await open_player(
        lambda url: replace(settings, endpoint=url), move, place, threads=True, state=state
    )


async def _play(
    player: Player, open_agent: Callable[[], Coroutine[Any, Any, Running]], say: Say
) -> None:
    agent = await open_agent()
    player.join(agent)
    say(f"listens at {agent.url}")
    agent.tell(say)
    try:
        await agent.ended
        agent.check()
    finally:
        await agent.stop()


class _Hooks:
    """Takes what a role heard to the author's hooks, and its matches to the history."""

    def __init__(
        self,
        agent: Running,
        tell: Callable[[HookCall], None],
        history: HistoryFile | None,
        background: Background,
        watcher: Watcher | None = None,  # who is shown each step already
    ) -> None:
        role = agent.host.role
        assert isinstance(role, Role)
        self._agent, self._role, self._tell, self._history = agent, role, tell, history
        self._background = background
        self._is_saving = False
        self._heard: deque[HookCall] = deque()
        role.hook_calls = self._heard
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
            history.save(self._role.memory.records())
        except OSError as error:
            self._history = None  # Once said, it is not tried again.
            self._role.news.append(f"The history cannot be kept ({error}).")
