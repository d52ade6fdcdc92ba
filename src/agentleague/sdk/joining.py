"""How an author's player joins a league: its settings, its end point, its hooks and its history."""

import os
import re
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from agentleague.errors import LeagueError
from agentleague.player.role import HookCall
from agentleague.player.role import Player as Role
from agentleague.protocol.printable import printable
from agentleague.roles.effects import Effect
from agentleague.roles.settings import PlayerSettings
from agentleague.roles.stimuli import Stimulus
from agentleague.runtime.author_functions import Background
from agentleague.runtime.manager_client import Asker, with_manager
from agentleague.runtime.network import manager_url, place_of_agent
from agentleague.runtime.processes import Place, Running, open_player, run
from agentleague.runtime.query_pages import Work
from agentleague.runtime.settings import SettingError, describe, read_settings
from agentleague.runtime.state_files import HistoryFile, StateFile, Whose, kept
from agentleague.runtime.staying import may_stay, next_league
from agentleague.sdk.player import Player
from agentleague.transport.manager_addresses import SEPARATOR

CLOSE_SECONDS = 10.0  # for hooks that are not done when the league is over
INTERRUPTED_SECONDS = 1.0  # and after Ctrl-C
OPTION = re.compile(r"(--[a-z-]+)(?: ((?:http:|[A-Z\d])[^\s;,]*[^\s;,.]))?")  # and its value
Say = Callable[[str], None]
T = TypeVar("T")


def join_league(player: Player, given: Mapping[str, Any], say: Say) -> None:
    """Register, play, and return when the league is over. Raises SystemExit with a sentence."""

    def told(sentence: str) -> None:
        say(_in_python(sentence))

    try:
        if not player.games:
            raise LeagueError('put @player.plays("even_odd") above the function that moves')
        asked = _settings(player, given)
        place = place_of_agent(asked, told)
        whose = Whose(asked.manager_url, "player", asked.display_name, asked.port)
        with kept(whose, asked.state or None, told) as state:
            run(_play(player, asked, place, state, told))
    except (LeagueError, SettingError, OSError) as error:
        raise SystemExit(printable(_in_python(f"{player.name}: {error}"))) from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None  # Ctrl-C is not an error.


def _in_python(sentence: str) -> str:
    """A sentence that names options of `league player`, for an author who calls run()."""
    names = {row.options[0]: row.name.removesuffix("_url") for row in describe(PlayerSettings)}

    def argument(found: re.Match[str]) -> str:
        value = repr(found[2]) if found[2] else "..."
        return f"run({names[found[1]]}={value})" if found[1] in names else found[0]

    return OPTION.sub(argument, sentence)


def _settings(player: Player, given: Mapping[str, Any]) -> PlayerSettings:
    """The settings from the arguments of run() and the environment; both are read as text."""
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


async def _play(
    player: Player, settings: PlayerSettings, place: Place, state: StateFile | None, say: Say
) -> None:
    while True:
        agent = await _play_once(player, settings, place, state, say)
        if not settings.stay:
            return
        await next_league(agent, settings.manager_url, None, say)


async def _play_once(
    player: Player, settings: PlayerSettings, place: Place, state: StateFile | None, say: Say
) -> Running:
    agent = await open_player(
        lambda url: replace(settings, endpoint=url), player.move, place, threads=True, state=state
    )
    player.attach(agent)
    say(f"listens at {agent.url}" if agent.url else "opens no port")
    agent.tell(say)
    try:
        await agent.ended
        if not (settings.stay and may_stay(agent)):
            agent.check()
    finally:
        await agent.stop()
    return agent


class ManagerQuestions:
    """Asks the manager of a player that runs, with its token, beside the player's own messages."""

    def __init__(self, agent: Running) -> None:
        role = agent.host.role
        assert isinstance(role, Role)
        self._role, self._transport = role, agent.transport

    @property
    def player_id(self) -> str:
        """Who asks; empty before the manager has said it."""
        return self._role.agent_id

    async def run(self, work: Work[T]) -> T:
        """Do what asks. Raises LeagueError if there is no answer."""
        own, url = self._role.state, self._role.manager.url
        if not own.agent_id:
            raise LeagueError(f"the player has not registered: nobody answers at {url} yet")
        known = self._transport.dialects.known.get(url)
        dialect = known.dialect if known else ""
        asker = Asker(f"player:{own.agent_id}", own.token, own.league_id, dialect)
        several = self._transport.managers
        where = SEPARATOR.join(several.in_order) if several else url
        return await with_manager(where, work, asker, self._transport.guard)


class Hooks:
    """Calls the author's hooks for what an agent hears, and keeps the history of its matches."""

    def __init__(
        self, name: str, call_hook: Callable[[HookCall], None], agent: Running, say: Say
    ) -> None:
        role = agent.host.role
        assert isinstance(role, Role)
        self._agent, self._role, self._call_hook = agent, role, call_hook
        self._history = HistoryFile(agent.state.path.parent, name) if agent.state else None
        self._background = Background(say)
        self._is_saving = False
        self._heard: deque[HookCall] = deque()
        role.hook_calls = self._heard
        role.kept = self._history.read() if self._history else ()
        self._next_watcher = agent.host.on_seen  # which -v has set already
        agent.host.on_seen = self._watch

    def close(self) -> None:
        """Finish the hooks that wait, and the history."""
        is_over = self._agent.ended.done()
        self._background.close(CLOSE_SECONDS if is_over else INTERRUPTED_SECONDS)

    def _watch(self, stimulus: Stimulus, effects: Sequence[Effect]) -> None:
        if self._next_watcher:
            self._next_watcher(stimulus, effects)
        while self._heard:
            heard = self._heard.popleft()
            self._background.do(f"on_{heard.name}", partial(self._call_hook, heard))
            if heard.name in ("result", "league_end") and self._history and not self._is_saving:
                self._is_saving = True  # The next save holds all matches until then.
                self._background.do("keeping the history", partial(self._save, self._history))

    def _save(self, history: HistoryFile) -> None:
        self._is_saving = False
        try:
            history.save(self._role.memory.records())
        except OSError as error:
            self._history = None  # Report it once, and do not try again.
            self._role.news.append(f"The history cannot be kept ({error}).")
