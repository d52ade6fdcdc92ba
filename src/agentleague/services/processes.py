"""The composition roots: the only place where roles meet sockets, files and the system's clock."""

import asyncio
import gc
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import replace
from pathlib import Path
from secrets import token_hex
from typing import Any, TypeVar

from agentleague.errors import Claimed, LeagueError
from agentleague.games import registry
from agentleague.services.clock import LoopClock, wall
from agentleague.services.enrolment import Refused
from agentleague.services.host import Host, Ledger
from agentleague.services.manager import Manager
from agentleague.services.minds import InlineMind, Strategy, ThreadMind
from agentleague.services.player import Player
from agentleague.services.referee import Referee
from agentleague.services.secrets_file import open_secrets
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
            except OSError:
                if not self.moves_on:
                    raise
                continue
            host = self.hosts[0]
            return self.endpoint or f"http://{f'[{host}]' if ':' in host else host}:{bound}/mcp"
        raise OSError(f"no port from {self.port} on is free")


class Running:
    """An agent that runs: its host, where it is called, and the end of its work."""

    def __init__(self, host: Host, transport: HttpTransport, url: str) -> None:
        self.host, self.transport, self.url = host, transport, url
        self.closing: list[Callable[[], Any]] = []
        self.ended: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.failed: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        self.registered: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        host.on_end, host.on_failure = self._on_end, self._on_failure
        if not isinstance(host.role, Manager):
            host.on_step = self._look

    async def stop(self) -> None:
        """Let answers in flight go out, close everything."""
        await self.transport.stop()
        for close in self.closing:
            close()

    def _look(self) -> None:
        """Notice when the manager has given the agent its id."""
        agent_id = getattr(self.host.role, "agent_id", None)
        if agent_id:
            self.host.on_step = None
            self.registered.set_result(agent_id)

    def _on_end(self, summary: Any) -> None:
        if not self.ended.done():
            self.ended.set_result(summary)
        if isinstance(summary, Refused):
            self.registered.set_exception(
                LeagueError(f"the manager refused to register the agent: {summary.reason}")
            )

    def _on_failure(self, error: BaseException) -> None:
        if not self.failed.done():
            self.failed.set_result(error)


async def open_manager(
    settings: ManagerSettings, directory: Path, seed: str | None, place: Place
) -> Running:
    """A manager whose journal lies in `directory`.

    Raises:
        Claimed: another manager, or a league that was played, is there already.
        OSError: its port is busy.
    """
    from agentleague.storage.sqlite import SqliteJournal

    loop = asyncio.get_running_loop()
    clock = LoopClock(loop)
    journal = SqliteJournal(directory, wall, lambda call: _deliver(loop, call))
    try:
        journal.claim(settings.league_id)
        if journal.leagues():
            raise Claimed(f"{directory} holds a league already; use another --dir")
        secrets = open_secrets(directory, seed)
        game = registry.load(settings.game_type)
        game.start(settings.game_options)
        manager = Manager(settings, secrets, game, place.guard.check_url)
        manners = Manners("manager", place.guard, wall, manager.is_known)
        transport = HttpTransport(clock, manners)
        url = await place.open(transport)
    except BaseException:
        journal.close()
        raise
    host = Host(manager, clock, transport, ledger=Ledger(journal, settings.league_id))
    return _begin(host, transport, url, journal.close)


async def open_referee(make: Callable[[str], RefereeSettings], place: Place) -> Running:
    """A referee; `make` gives its settings once its end point is known."""
    clock = LoopClock(asyncio.get_running_loop())
    transport = HttpTransport(clock, Manners("referee", place.guard, wall))
    url = await place.open(transport)
    return _begin(Host(Referee(make(url), registry.load), clock, transport), transport, url)


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
    transport = HttpTransport(clock, Manners("player", place.guard, wall))
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
