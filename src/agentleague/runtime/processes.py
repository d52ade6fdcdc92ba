"""The composition roots: the only place where roles meet sockets, files and the system's clock.

A manager is opened in managers.py; a referee imports what it needs when it is opened. So a player
loads nothing of either.
"""

import asyncio
import errno
import gc
import logging
from collections.abc import Callable, Collection, Coroutine, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from secrets import token_bytes, token_hex
from typing import TYPE_CHECKING, Any, TypeVar
from urllib.parse import urlsplit

from msgspec import structs

from agentleague.errors import LeagueError, NoConnection
from agentleague.games.game import Game
from agentleague.player.role import Player
from agentleague.protocol.codec import encode
from agentleague.roles.agent import Agent, AgentState, Refused, SeatLost
from agentleague.roles.effects import Effect
from agentleague.roles.settings import PlayerSettings, RefereeSettings
from agentleague.roles.stimuli import Answered, Headers, Stimulus
from agentleague.runtime.clock import LoopClock, wall
from agentleague.runtime.host import Host
from agentleague.runtime.state_files import StateFile
from agentleague.runtime.strategy_runner import AtOnce, Strategy, ThreadRunner
from agentleague.transport.callers import Proxies
from agentleague.transport.event_loop import settle
from agentleague.transport.guard import Guard
from agentleague.transport.http import LOCAL_HOSTS, HttpTransport, Rate, TransportPolicy
from agentleague.transport.http_parsers import PURE_PYTHON
from agentleague.transport.http_server import HttpRequest, Response, ServerLimits
from agentleague.transport.manager_addresses import addresses_in
from agentleague.transport.probe import ONE_TRY_SECONDS, Probes

if TYPE_CHECKING:
    from agentleague.runtime.log import Entry, Watcher


T = TypeVar("T")
KEEP_SECONDS = 1.0  # between two looks whether the state of an agent has changed
PORTS_TRIED = 1000  # before an agent that moves on to the next free port gives up
SELF = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # where to listen -> what this machine calls instead


class CannotListen(OSError):
    """The port, or the address, cannot be opened."""


@dataclass(frozen=True)
class Place:
    """Where an agent listens, under which URL it is called there, and what its transport allows."""

    port: int
    _: KW_ONLY
    hosts: Sequence[str] = LOCAL_HOSTS
    endpoint: str | None = None  # the URL, if it does not follow from address and port
    guard: Guard = field(default_factory=Guard)  # whom it may call
    rate: Rate = Rate()  # noqa: RUF009 (It is immutable.)
    server: ServerLimits | None = None  # what its server takes, if not what its kind takes
    moves_on: bool = True  # to the next port, where this one is busy
    called_at: str = ""  # the address that others call; the first host unless given
    aliases: Sequence[str] = ()  # what this machine is called in its network
    trusted_proxies: Sequence[str] = ()  # who may say from where a request came
    listens: bool = True  # else it can only call out

    async def open(self, transport: HttpTransport) -> str:
        """Listen there or on the next free port; the agent's URL. Raises LeagueError or OSError."""
        if not self.listens:
            return ""
        for port in range(self.port, self.port + PORTS_TRIED):
            try:
                bound = await transport.start(port, self.hosts)
            except OSError as error:
                if not self.moves_on or error.errno != errno.EADDRINUSE:
                    raise CannotListen(error.errno, error.strerror or str(error)) from error
                if self.endpoint:  # At another port nobody would find it.
                    raise LeagueError(
                        f"port {port} is busy, and the agent would be called at {self.endpoint}: "
                        "end what listens there, or choose another with --port, and the URL that "
                        "leads to it with --endpoint"
                    ) from None
                continue
            return self.endpoint or _url(self.called_at or self.hosts[0], bound)
        raise OSError(f"no port from {self.port} on is free")

    def policy(self, receiver: str, **more: Any) -> TransportPolicy:
        """What the transport of an agent in this place allows."""
        return TransportPolicy(
            receiver,
            self.guard,
            wall,
            rate=self.rate,
            names=self.names,
            server=self.server,
            proxies=Proxies(self.trusted_proxies, urlsplit(self.endpoint or "").hostname or ""),
            **more,
        )

    def here(self, port: int) -> str:
        """The URL under which this very machine calls it: nobody can stand in between."""
        return _url(SELF.get(self.hosts[0], self.hosts[0]), port)

    @property
    def is_far(self) -> bool:
        """Whether something may stand between it and those who call it."""
        return bool(self.endpoint) or tuple(self.hosts) != LOCAL_HOSTS

    @property
    def names(self) -> frozenset[str]:
        """Host names under which others may ask for it."""
        named = urlsplit(self.endpoint or "").hostname
        return frozenset(filter(None, [named, *self.hosts, *self.aliases]))


def _url(host: str, port: int) -> str:
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/mcp"


class Running:
    """An agent that runs: its host, where it is called, and the end of its work."""

    def __init__(self, host: Host, transport: HttpTransport, url: str) -> None:
        self.host, self.transport, self.url = host, transport, url
        self.leaving: list[Callable[[], Coroutine[Any, Any, None]]] = []  # before it is closed
        self.closing: list[Callable[[], Any]] = []
        self.ended: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self.failed: asyncio.Future[BaseException] = asyncio.get_running_loop().create_future()
        self.registered: asyncio.Future[str] = asyncio.get_running_loop().create_future()
        self.refusal = ""  # why the manager will not have the agent, at first or when it came back
        self.state: StateFile | None = None  # where the agent's token is kept
        self._keeping: asyncio.Task[None] | None = None
        self._stopping = asyncio.Event()
        self.probes: Probes | None = None  # by which a manager's agents are tried
        self.looks: Probes | None = None  # by which an end point is tried that a role waits for
        self.hosted: Collection[str] = ()  # the seats of players that a manager hosts
        self.began = wall()
        self._say: Callable[[str], None] | None = None
        self._watchers: list[Watcher] = []
        host.on_end, host.on_failure = self._on_end, partial(settle, self.failed)
        transport.refused = self._on_refused
        role = host.role
        if isinstance(role, Agent):
            host.on_step, transport.sender = self._look, lambda: role.sender
        transport.server.health = self._health
        transport.server.route("/metrics", ("GET",), self._show_metrics)

    def tell(self, say: Callable[[str], None]) -> None:
        """From now on, say what the role finds worth saying."""
        self._say = say
        self.host.on_step = self._look
        self._look()

    def watch(self, sink: Callable[["Entry"], None], *, every_message: bool = False) -> None:
        """From now on, hand what happens to the role and what it does to this sink too."""
        from agentleague.runtime.log import Watcher

        watcher = Watcher(sink, logging.DEBUG if every_message else logging.INFO)
        self._watchers.append(watcher)
        self.host.on_seen = self._on_seen

    def _health(self) -> tuple[int, bytes, Headers]:
        """How `/health` is answered; an agent lives while it waits, but is not ready."""
        role: Any = self.host.role
        status, facts = "failed" if self.failed.done() else self.host.disk, {"role": "manager"}
        if isinstance(role, Agent):
            facts = {"role": role.KIND, "agent_id": role.agent_id}
        league_id = (role.state if isinstance(role, Agent) else role.league.rules).league_id
        is_ready = status == "ok" and facts.get("agent_id") != ""
        body = encode({"status": status, **facts, "league_id": league_id, "ready": is_ready})
        return (200, body, ()) if status == "ok" else (503, body, [("Retry-After", "1")])

    def _show_metrics(self, request: HttpRequest, respond: Response) -> None:
        from agentleague.runtime import metrics  # Only who is asked needs it.

        def show() -> None:
            respond(200, metrics.scrape(self), metrics.HEADERS)

        self.transport.limit(request, respond, "", show)

    def check(self) -> None:
        """Raise LeagueError if the manager refused the agent."""
        if self.refusal:
            is_in = isinstance(self.ended.result(), SeatLost)
            said = "" if is_in else "the manager refused to register the agent: "
            raise LeagueError(said + self.refusal)

    async def stop(self) -> None:
        """Let answers in flight go out, close everything."""
        for leave in self.leaving:
            await leave()
        await self.transport.stop()
        self._stopping.set()
        if self._keeping:
            await self._keeping
        for close in self.closing:
            close()

    def _look(self) -> None:
        """Notice when the manager has given the agent its id, whom to try, and what to say."""
        role: Any = self.host.role
        if not self.registered.done() and getattr(role, "agent_id", None):
            self._keep(role)
            if role.has_foreign_manager:
                self.transport.read_leniently()
            self.registered.set_result(role.agent_id)
            if not self._say and not (self.looks and role.has_foreign_manager):
                self.host.on_step = None
        while self.looks and role.unchecked:
            key, url = role.unchecked.popleft()
            self.looks.check(str(key), url, partial(self._looked, key))
        while self.probes and role.reachability.unchecked:
            agent_id, url = role.reachability.unchecked.popleft()
            is_hasty = role.reachability.should_listen(agent_id)
            done = partial(self._tried, agent_id, url)
            self.probes.check(agent_id, url, done, is_hasty=is_hasty)
        if self.probes and role.league.has_started and not (self.looks or self._say):
            self.host.on_step = None
        while self._say and role.news:
            self._say("".join(char if char.isprintable() else "?" for char in role.news.popleft()))

    def keep(self, state: StateFile) -> None:
        """Keep in this file what the agent needs to come back as itself."""
        self.state = state
        self._keeping = asyncio.create_task(self._keep_on(state))

    def _keep(self, role: Agent) -> None:
        """Its token is on disk before it is first used."""
        try:
            if self.state:
                self.state.save(role.state)
        except OSError as error:
            role.news.append(f"The token cannot be kept ({error}).")

    async def _keep_on(self, state: StateFile) -> None:
        """Keep each later change too, as its newest receipt, in a thread: nothing waits for it."""
        # A process that is killed loses the last second's; others hold receipts of the same rows.
        role: Any = self.host.role
        while not self._stopping.is_set():
            with suppress(TimeoutError):
                await asyncio.wait_for(self._stopping.wait(), KEEP_SECONDS)
            held: AgentState = role.state
            if held.token and held != state.agent:
                try:
                    await asyncio.to_thread(state.save, held)
                except OSError as error:
                    role.news.append(f"The newest receipt cannot be kept ({error}).")
                    return

    def try_new_agents(self, guard: Guard, *, is_awaited: bool) -> None:
        """Until the start, find out whether foreign agents listen; longer if they await it."""
        role: Any = self.host.role
        self.probes, role.reachability.is_tried = Probes(guard), True
        self.closing.append(self.probes.close)
        if is_awaited:
            self.try_what_is_awaited(guard)
        self.host.on_step = self._look

    def try_what_is_awaited(self, guard: Guard) -> None:
        """Find out whether somebody listens where the role waits to know it."""
        self.looks = Probes(guard, seconds=ONE_TRY_SECONDS)
        self.closing.append(self.looks.close)

    def _looked(self, key: Any, is_there: bool) -> bool:
        error = None if is_there else NoConnection("nobody listens there")
        self.host.feed(Answered(key, None, error, 0.0))
        return False

    def _tried(self, agent_id: str, endpoint: str, is_reachable: bool) -> bool:
        """Take in what was found; whether it is to be tried again."""
        role: Any = self.host.role
        sentence = role.reachability.learnt(agent_id, endpoint, is_reachable)
        if sentence:
            role.news.append(sentence)
            self._look()
        return bool(role.reachability.is_sought(agent_id, endpoint))

    def _on_seen(self, stimulus: Stimulus, effects: Sequence[Effect]) -> None:
        for watcher in self._watchers:
            watcher.saw(stimulus, effects)

    def _on_refused(self, source: str, error: LeagueError, is_registration: bool) -> None:
        for watcher in self._watchers:
            watcher.refused(source, error)
        role: Any = self.host.role
        if is_registration and hasattr(role, "refusals"):  # A manager.
            role.registration_unread(source, error, asyncio.get_running_loop().time())
            self._look()

    def _on_end(self, summary: Any) -> None:
        settle(self.ended, summary)
        if isinstance(summary, Refused):
            self.refusal = summary.reason
            if not self.registered.done():
                self.registered.set_exception(LeagueError(summary.reason))
                self.registered.exception()  # Marks the error as seen: nobody has to wait for it.
        self._look()


async def open_referee(
    make: Callable[[str], RefereeSettings],
    place: Place,
    load_game: Callable[[str], Game] | None = None,
    state: StateFile | None = None,
) -> Running:
    """A referee; `make` gives its settings once its end point is known."""
    from agentleague.referee.role import Referee
    from agentleague.runtime import plugins

    clock = LoopClock(asyncio.get_running_loop())
    managers = addresses_in(make("").manager_url)
    transport = HttpTransport(clock, place.policy("referee", managers=managers))
    url = await place.open(transport)
    role = Referee(make(url), load_game or plugins.load_game, token_bytes(32))
    _prepare(role, place, state)
    running = begin(Host(role, clock, transport), transport, url, state=state)
    running.try_what_is_awaited(place.guard)
    return running


async def open_player(
    make: Callable[[str], PlayerSettings],
    strategy: Strategy,
    place: Place,
    *,
    threads: bool = False,
    state: StateFile | None = None,
) -> Running:
    """A player; its strategy answers at once, or in threads if it may take its time.

    One that cannot listen, or sat at its manager before, only calls out, unless it is told not to.
    """
    loop = asyncio.get_running_loop()
    clock = LoopClock(loop)
    asked, why = make(""), ""
    managers = addresses_in(asked.manager_url)
    transport = HttpTransport(clock, place.policy("player", managers=managers))
    if asked.outbound or (asked.outbound is None and state and state.agent.is_seated):
        place = replace(place, listens=False)
    try:
        url = await place.open(transport)
    except OSError as error:
        if asked.outbound is False or asked.bind:
            raise
        url, why = "", f"It cannot listen here ({error.strerror or error}); joining through a seat."
    settings = make(url)
    outbound = settings.outbound if url else True
    role = Player(replace(settings, seed=settings.seed or token_hex(16), outbound=outbound))
    if why:
        role.news.append(why)
    _prepare(role, place, state)
    if threads:
        runner = ThreadRunner(strategy, loop.call_soon_threadsafe)
        host = Host(role, clock, transport, runner=runner)
        return begin(host, transport, url, runner.close, state=state)
    role.strategy = AtOnce(strategy)
    return begin(Host(role, clock, transport), transport, url, state=state)


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run until done, on the fastest loop there is."""
    gc.freeze()
    gc.set_threshold(20_000, 20, 50)  # Most of what is made here is freed without its help.
    with asyncio.Runner(loop_factory=_loop_factory()) as runner:
        return runner.run(main)


def _loop_factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    with suppress(ImportError):
        if not PURE_PYTHON:
            import uvloop

            return uvloop.new_event_loop
    return None


def _prepare(role: Agent, place: Place, state: StateFile | None) -> None:
    """It shows the token and the claim of its last run, or a new claim if there was none."""
    kept = state.agent if state else AgentState()
    if not kept.claim:
        kept = structs.replace(kept, claim=token_hex(32))
        with suppress(OSError):  # It is said when the token cannot be kept.
            if state:  # So it is known again if it is killed before it has heard its id.
                state.save(kept)
    role.remember(kept)
    role.is_far = place.is_far


def begin(
    host: Host,
    transport: HttpTransport,
    url: str,
    *close: Callable[[], Any],
    state: StateFile | None = None,
) -> Running:
    running, host.sit = Running(host, transport, url), transport.sit
    if state:
        running.keep(state)
    running.closing.extend(close)
    host.start(wall() - asyncio.get_running_loop().time())
    return running
