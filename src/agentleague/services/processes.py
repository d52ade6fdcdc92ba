"""The composition roots: the only place where roles meet sockets, files and the system's clock.

Managers and referees import what they need when they are opened: a player loads nothing of it.
"""

import asyncio
import errno
import gc
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeVar
from urllib.parse import urlsplit

from agentleague.errors import Claimed, LeagueError
from agentleague.games.game import Game
from agentleague.services.clock import LoopClock, wall
from agentleague.services.enrolment import Refused
from agentleague.services.host import Host, Ledger
from agentleague.services.minds import InlineMind, Strategy, ThreadMind
from agentleague.services.player import Player
from agentleague.services.settings import ManagerSettings, PlayerSettings, RefereeSettings
from agentleague.transport.guard import Guard
from agentleague.transport.http import LOCAL_HOSTS, HttpTransport, Manners

T = TypeVar("T")
PORTS_TRIED = 1000  # before an agent that moves on to the next free port gives up


class Place:
    """Where an agent listens and whom it may call."""

    def __init__(
        self,
        port: int,
        *,
        hosts: Sequence[str] = LOCAL_HOSTS,
        endpoint: str | None = None,
        guard: Guard | None = None,
        moves_on: bool = True,
    ) -> None:
        self.port, self.hosts, self.moves_on = port, hosts, moves_on
        self.endpoint, self.guard = endpoint, guard or Guard("local")

    async def open(self, transport: HttpTransport) -> str:
        """Listen there, or on the next free port; the URL under which the agent is called."""
        for port in range(self.port, self.port + PORTS_TRIED):
            try:
                bound = await transport.start(port, self.hosts)
            except OSError as error:
                if not self.moves_on or error.errno != errno.EADDRINUSE:
                    raise
                continue
            host = self.hosts[0]
            return self.endpoint or f"http://{f'[{host}]' if ':' in host else host}:{bound}/mcp"
        raise OSError(f"no port from {self.port} on is free")

    @property
    def names(self) -> frozenset[str]:
        """Host names under which others may ask for it."""
        named = urlsplit(self.endpoint or "").hostname
        return frozenset(filter(None, [named, *self.hosts]))


class Running:
    """An agent that runs: its host, where it is called, and the end of its work."""

    def __init__(self, host: Host, transport: HttpTransport, url: str) -> None:
        self.host, self.transport, self.url = host, transport, url
        self.closing: list[Callable[[], Any]] = []
        self.ended: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.failed: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        self.registered: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self._say: Callable[[str], None] | None = None
        host.on_end, host.on_failure = self._on_end, self._on_failure
        if hasattr(host.role, "agent_id"):
            host.on_step = self._look

    def tell(self, say: Callable[[str], None]) -> None:
        """From now on, say what the role finds worth saying."""
        self._say = say
        self.host.on_step = self._look
        self._look()

    async def stop(self) -> None:
        """Let answers in flight go out, close everything."""
        await self.transport.stop()
        for close in self.closing:
            close()

    def _look(self) -> None:
        """Notice when the manager has given the agent its id, and what there is to say."""
        role: Any = self.host.role
        while self._say and role.news:
            self._say("".join(char if char.isprintable() else "?" for char in role.news.popleft()))
        if not self.registered.done() and getattr(role, "agent_id", None):
            self.registered.set_result(role.agent_id)
            if not self._say:
                self.host.on_step = None

    def _on_end(self, summary: Any) -> None:
        if not self.ended.done():
            self.ended.set_result(summary)
        if isinstance(summary, Refused):
            self.registered.set_exception(
                LeagueError(f"the manager refused to register the agent: {summary.reason}")
            )
        self._look()

    def _on_failure(self, error: BaseException) -> None:
        if not self.failed.done():
            self.failed.set_result(error)


async def open_manager(
    settings: ManagerSettings,
    directory: Path,
    seed: str | None,
    place: Place,
    load_game: Callable[[str], Game] | None = None,
) -> Running:
    """A manager whose journal lies in `directory`.

    Raises:
        Claimed: another manager, or a league that was played, is there already.
        OSError: its port is busy.
    """
    from agentleague.games import registry
    from agentleague.services.manager import Manager
    from agentleague.services.secrets_file import write_secrets
    from agentleague.storage.sqlite import SqliteJournal

    loop = asyncio.get_running_loop()
    clock = LoopClock(loop)
    game = (load_game or registry.load)(settings.game_type)
    game.start(settings.game_options)
    managers: list[Manager] = []  # The port is opened first, so that a busy one leaves no trace.
    manners = Manners(
        "manager",
        place.guard,
        wall,
        lambda token: any(manager.is_known(token) for manager in managers),
        names=place.names,
    )
    transport = HttpTransport(clock, manners)
    url = await place.open(transport)
    journal = SqliteJournal(directory, wall, lambda call: _deliver(loop, call))
    try:
        journal.claim(settings.league_id)
        if journal.leagues():
            raise Claimed(
                f"{directory} holds a league already; see it with: league standings --dir "
                f"{directory}, or play another with: --dir ANOTHER"
            )
        manager = Manager(settings, write_secrets(directory, seed), game, place.guard.check_url)
    except BaseException:
        journal.close()
        await transport.stop()
        raise
    managers.append(manager)
    host = Host(manager, clock, transport, ledger=Ledger(journal, settings.league_id))
    return _begin(host, transport, url, journal.close)


async def open_referee(
    make: Callable[[str], RefereeSettings],
    place: Place,
    load_game: Callable[[str], Game] | None = None,
) -> Running:
    """A referee; `make` gives its settings once its end point is known."""
    from agentleague.games import registry
    from agentleague.services.referee import Referee

    clock = LoopClock(asyncio.get_running_loop())
    manners = Manners("referee", place.guard, wall, names=place.names)
    transport = HttpTransport(clock, manners)
    url = await place.open(transport)
    return _begin(
        Host(Referee(make(url), load_game or registry.load), clock, transport), transport, url
    )


async def open_player(
    make: Callable[[str], PlayerSettings],
    strategy: Strategy,
    place: Place,
    *,
    threads: bool = False,
) -> Running:
    """A player; its strategy runs in the loop, or in threads if it may take its time."""
    loop = asyncio.get_running_loop()
    clock = LoopClock(loop)
    manners = Manners("player", place.guard, wall, names=place.names)
    transport = HttpTransport(clock, manners)
    url = await place.open(transport)
    settings = make(url)
    role = Player(replace(settings, seed=settings.seed or token_hex(16)))
    if threads:
        mind = ThreadMind(strategy, loop.call_soon_threadsafe)
        host = Host(role, clock, transport, mind=mind)
        return _begin(host, transport, url, mind.close)
    inline = InlineMind(strategy, loop.call_soon)
    return _begin(Host(role, clock, transport, mind=inline), transport, url)


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run until done, on the fastest loop there is."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)  # Most of what is made here is freed without its help.
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)


def _deliver(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    """Run on the loop's thread; when the loop is gone, so is whoever waited."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(call)


def _begin(host: Host, transport: HttpTransport, url: str, *close: Callable[[], Any]) -> Running:
    running = Running(host, transport, url)
    running.closing.extend(close)
    host.start(wall() - asyncio.get_running_loop().time())
    return running
