"""The composition roots: the only place where roles meet sockets, files and the system's clock.

Managers and referees import what they need when they are opened: a player loads nothing of it.

A league that is resumed keeps its rules: the command must ask for what was journalled.
"""

import asyncio
import errno
import gc
import logging
import shlex
from collections.abc import Callable, Collection, Coroutine, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import KW_ONLY, dataclass, field, replace
from functools import partial
from pathlib import Path
from secrets import token_bytes, token_hex
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar
from urllib.parse import urlsplit

from msgspec import UNSET, structs
from msgspec.structs import asdict

from agentleague.errors import Claimed, Damaged, LeagueError, NoConnection, StorageError
from agentleague.games.game import Game
from agentleague.league.events import LeagueOpened, read_event
from agentleague.player.role import Player
from agentleague.protocol.codec import encode
from agentleague.roles.agent import Agent, AgentState, Refused, SeatLost
from agentleague.roles.effects import Effect
from agentleague.roles.ports import Journal, Row
from agentleague.roles.settings import ManagerSettings, PlayerSettings, RefereeSettings
from agentleague.roles.stimuli import Answered, Headers, Stimulus
from agentleague.runtime.clock import LoopClock, wall
from agentleague.runtime.host import Host, Ledger
from agentleague.runtime.settings import as_toml
from agentleague.runtime.state_files import StateFile
from agentleague.runtime.strategy_runner import AtOnce, Strategy, ThreadRunner
from agentleague.transport.callers import Proxies
from agentleague.transport.guard import Guard
from agentleague.transport.http import LOCAL_HOSTS, HttpTransport, Rate, TransportPolicy
from agentleague.transport.http_server import HttpRequest, Response, ServerLimits
from agentleague.transport.probe import ONE_TRY_SECONDS, Probes

if TYPE_CHECKING:
    from agentleague.runtime.log import Entry, Watcher


T = TypeVar("T")
KEEP_SECONDS = 1.0  # between two looks whether the state of an agent has changed
PORTS_TRIED = 1000  # before an agent that moves on to the next free port gives up
SELF = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # where to listen -> what this machine calls instead
WRITTEN_SECONDS = 0.005  # between two looks whether the first row of a league is on disk


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

    def policy(self, receiver: str, **of_manager: Callable[..., Any]) -> TransportPolicy:
        """What the transport of an agent in this place allows."""
        return TransportPolicy(
            receiver,
            self.guard,
            wall,
            rate=self.rate,
            names=self.names,
            server=self.server,
            proxies=Proxies(self.trusted_proxies, urlsplit(self.endpoint or "").hostname or ""),
            **of_manager,
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
        host.on_end, host.on_failure = self._on_end, self._on_failure
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
        if not self.ended.done():
            self.ended.set_result(summary)
        if isinstance(summary, Refused):
            self.refusal = summary.reason
            if not self.registered.done():
                self.registered.set_exception(LeagueError(summary.reason))
                self.registered.exception()  # Marks the error as seen: nobody has to wait for it.
        self._look()

    def _on_failure(self, error: BaseException) -> None:
        if not self.failed.done():
            self.failed.set_result(error)


class Home(NamedTuple):
    """Where a manager keeps its league; a `seed` makes the draws of a new one foretellable."""

    directory: Path
    seed: str | None = None
    resumes: bool = True  # whether a league that is there already goes on, or is an error
    logs: bool = False  # whether a log is kept beside the journal
    given: Mapping[str, Any] | None = None  # the settings to keep for its next start
    accepts_loss: bool = False  # whether a league that has lost rows goes on without them
    survives: bool = True  # whether its journal survives a power cut
    # Keeps files, from the league's id, its last row and the manager's URL; what ends it.
    files: Callable[[Path, str, int, str], Callable[[], None]] | None = None


async def open_manager(
    settings: ManagerSettings,
    home: Home,
    place: Place,
    load_game: Callable[[str], Game] | None = None,
) -> Running:
    """A manager whose journal lies in its home; a league that is there already goes on.

    Raises StorageError, and Claimed where another manager or league is; OSError of a busy port.
    """
    from agentleague.league.league import League
    from agentleague.manager.role import Manager
    from agentleague.runtime import plugins
    from agentleague.runtime.host import JournalArchive
    from agentleague.runtime.mcp_hosts import McpHosts
    from agentleague.runtime.state_files import keep_settings, read_secrets, write_secrets
    from agentleague.storage.directory import open_journal

    directory, seed = home.directory, home.seed
    loop = asyncio.get_running_loop()
    clock = LoopClock(loop)
    game = (load_game or plugins.load_game)(settings.game_type)
    game.start(settings.game_options)
    managers: list[Manager] = []  # The port is opened first, so that a busy one leaves no trace.
    policy = place.policy(
        "manager",
        is_known=lambda token: bool(managers) and managers[0].is_known(token),
        is_referee=lambda token: bool(managers) and managers[0].is_referee(token),
        seat_of=lambda token: managers[0].seat_of(token) if managers else None,
        may_call=lambda *about: bool(managers) and managers[0].may_call(*about),
    )
    transport = HttpTransport(clock, policy)
    url, here = await place.open(transport), place.here(transport.port)
    journal = open_journal(directory, wall, partial(_deliver, loop), survives=home.survives)
    try:
        # In threads, so that callers meanwhile are told that the manager is starting.
        is_there = await asyncio.to_thread(_is_there, settings, home, journal)
        accept_loss = home.accepts_loss
        await asyncio.to_thread(journal.claim, settings.league_id, accept_loss=accept_loss)
        journal.publish(here)
        secrets = read_secrets(directory, seed) if is_there else write_secrets(directory, seed)
        if home.given is not None:
            keep_settings(directory, home.given)
        archive = JournalArchive(journal, settings.league_id)
        manager = Manager(
            settings, secrets, game, check_endpoint=place.guard.check_agent, league=League(archive)
        )
        manager.league.manager_url = url
        ledger = Ledger(journal, settings.league_id, receipt=manager.receipt)
        host = Host(manager, clock, transport, ledger=ledger)
        manager.lost_until = journal.lost.context["lost_until"] if journal.lost else None
        if is_there:
            await asyncio.to_thread(_replay, host, journal.read(settings.league_id))
    except BaseException:
        journal.close()
        await transport.stop()
        raise
    managers.append(manager)
    running = begin(host, transport, url, journal.close)
    McpHosts(running, settings, game, url=here, admin_token=secrets.admin_token)
    running.try_new_agents(place.guard, is_awaited=settings.unreachable == "refuse")
    if home.logs:
        _keep_log(running, directory / "log" / "manager.jsonl")
    # Who is told of it can read it. (A full disk is no event.)
    while not host.is_written and journal.state == "ok":  # noqa: ASYNC110
        await asyncio.sleep(WRITTEN_SECONDS)
    if home.files:
        at = (settings.league_id, manager.league.seq, url)
        running.closing.append(home.files(directory, *at))
    return running


def _replay(host: Host, rows: Iterator[Row]) -> None:
    gc.disable()  # What is read stays: there is nothing to collect.
    try:
        host.replay(rows, read_event)
        gc.freeze()
    finally:
        gc.enable()


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
    transport = HttpTransport(clock, place.policy("referee"))
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
    transport = HttpTransport(clock, place.policy("player"))
    asked, why = make(""), ""
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
    try:
        import uvloop
    except ImportError:
        return asyncio.run(main)
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        return runner.run(main)


def _deliver(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    """Run on the loop's thread; when the loop is gone, nobody waits any more."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(call)


def _keep_log(running: Running, path: Path) -> None:
    from agentleague.runtime.log import LogFile, LogHandler

    log, logger = LogFile(path, wall), logging.getLogger("agentleague")
    handlers = [LogHandler(log.write), logging.StreamHandler()]  # A full disk holds no log.
    for handler in handlers:
        logger.addHandler(handler)
        running.closing.append(partial(logger.removeHandler, handler))
    running.watch(log.write)
    running.closing.append(log.close)


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


def _is_there(settings: ManagerSettings, home: Home, journal: "Journal") -> bool:
    """Whether the directory holds this league, which then goes on. Raises StorageError."""
    from agentleague.storage.directory import has_journal_file

    directory = home.directory
    leagues = journal.leagues() if has_journal_file(directory) else ()
    if leagues and not home.resumes:
        raise Claimed(
            f"{directory} holds a league already, which this command does not resume; see it with: "
            f"league standings --dir {directory}, or play another with: --dir ANOTHER"
        )
    if home.accepts_loss and not leagues:
        raise StorageError(f"{directory} has no league to go on with; leave out --accept-loss")
    if leagues:
        check_rules(settings, journal.read(leagues[0]), str(directory))
    return bool(leagues)


def check_rules(settings: ManagerSettings, rows: Iterator[Row], directory: str) -> None:
    """Raises StorageError if a league was begun with other rules; it names the first."""
    opened = _opened(next(rows))
    league_id = opened.league_id
    for name, had in (("join", opened.has_join_code), ("referee", opened.has_referee_code)):
        if had is True and not getattr(settings, f"{name}_code"):
            raise StorageError(
                f"{league_id} was begun with a {name} code, and now there is none; give it with "
                f"LEAGUE_{name.upper()}_CODE, in the file of settings, or with --{name}-code"
            )
    for name, begun in rules_of(opened).items():
        value = getattr(settings, name)
        if (list(value) if isinstance(value, tuple) else value) != begun:
            raise StorageError(
                f"{league_id} was begun with {name} = {as_toml(begun)}, and now it is "
                f"{as_toml(value)}; a league keeps its rules, so leave that out, or "
                f"{_instead(rows, directory)}"
            )


def rules_of(opened: LeagueOpened) -> dict[str, Any]:
    """The settings that a league was begun with and keeps to its end."""
    points = zip(("win_points", "draw_points", "loss_points"), opened.points, strict=True)
    names = ("league_id", "game_type", "cycles", "tie_breaks", "seeded")
    own = {name: getattr(opened, name) for name in names}
    kept = {**own, **dict(points), **asdict(opened.rules)}
    return {name: value for name, value in kept.items() if value is not UNSET}  # Newer than it.


def kept_rules(directory: Path) -> dict[str, Any]:
    """The rules of the league that is in a directory; none if there is none that can be read."""
    from agentleague.storage.directory import open_reader

    journal = open_reader(directory)
    try:
        return next((rules_of(_opened(next(journal.read(each)))) for each in journal.leagues()), {})
    except StorageError:  # The manager, which opens it next, says what is wrong with it.
        return {}


def _opened(first: Row) -> LeagueOpened:
    opened = read_event(first.kind, first.version, first.body)
    if not isinstance(opened, LeagueOpened) or opened.league_id != first.league_id:
        league_id = first.league_id
        raise Damaged(f"the journal of {league_id} begins with {first.kind!r}, not with its rules")
    return opened


def _instead(rows: Iterator[Row], directory: str) -> str:
    """How to play by the other rules; a league in which nobody is yet may be thrown away."""
    if any(row.kind == "player_registered" for row in rows):
        return "begin another league with: --dir ANOTHER"
    return (
        "let it begin anew, since no player has registered yet: remove it with: rm -r "
        f"{shlex.quote(directory)} and then type the same again"
    )
