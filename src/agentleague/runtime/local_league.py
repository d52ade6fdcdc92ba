"""A whole league on this machine over real HTTP: in one process, or in several if it is large."""

import asyncio
import multiprocessing
import os
import re
import signal
import sys
from collections.abc import Callable, Coroutine, Iterator, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from dataclasses import dataclass, replace
from functools import partial
from itertools import pairwise
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from threading import Thread
from typing import Any, NamedTuple, Protocol

from agentleague.errors import LeagueError
from agentleague.league.league import League
from agentleague.manager.role import Manager
from agentleague.roles.settings import ManagerSettings, PlayerSettings, RefereeSettings
from agentleague.runtime import plugins
from agentleague.runtime.clock import cpu_seconds
from agentleague.runtime.managers import Home, open_manager
from agentleague.runtime.plugins import find_game
from agentleague.runtime.processes import Place, Running, open_player, open_referee, run
from agentleague.runtime.state_files import read_secrets
from agentleague.runtime.strategy_runner import Strategy

HOSTS = ("127.0.0.1",)
STATUS = Path("/proc/self/status")  # where Linux says what this process holds
ONE_PROCESS_MAX = 20  # players; beyond that the agents get processes of their own
PLAYER_PROCESSES = 2
NAMES = ("Alpha", "Beta", "Gamma", "Delta", "Epsilon", "Zeta", "Eta", "Theta", "Iota", "Kappa")
COUNT = "count"  # what a process of agents can be told
STRATEGIES = ("random", "alternating", "random", "fixed")


@dataclass(frozen=True)
class AgentGroup:
    """Agents of one role: how many, and from which number on."""

    role: str  # referee or player
    first: int
    count: int
    manager_url: str
    game: str | Path  # a name, or a file that each process loads for itself
    seed: str | None
    is_seated: bool = False  # players only call out, and fetch their calls from the manager
    source: str = ""  # the file, URL or strategy of a player that was named
    name: str = ""  # and its name, if it has none of its own
    at_once: int = 1  # how many register at a time; of several nobody knows who comes first


Opener = Callable[[AgentGroup, int], Coroutine[Any, Any, Running]]  # of one agent, by its number


class Tally(NamedTuple):
    """What agents did: requests, their bytes and those of their answers, CPU time, peak memory."""

    role: str
    calls: int
    bytes_sent: int
    bytes_answered: int
    cpu_seconds: float
    peak_bytes: int = 0


@dataclass(frozen=True)
class Played:
    """The result of a league."""

    league: League
    seconds: float  # from the first announcement to the last LEAGUE_COMPLETED
    tallies: Sequence[Tally]  # of the manager, the referees, the players

    @property
    def messages(self) -> int:
        """Requests that were sent, by all agents together."""
        return sum(tally.calls for tally in self.tallies)


class Workers(Protocol):
    """Agents of a league on this machine."""

    async def start(self) -> None:
        """Register all."""

    async def finish(self) -> Tally:
        """Wait until all know that the league is over."""

    async def stop(self) -> None:
        """Close all, at once if their work is not done."""


# Starts one player that was named, at the manager with this URL and this key of its organiser.
LocalPlayer = Callable[[str, str], Workers]
OnProgress = Callable[[League, Sequence[str]], None]  # with the answers that are awaited, in words


async def play(  # noqa: PLR0913 - what a league is played with.
    settings: ManagerSettings,
    home: Home,
    on_progress: OnProgress,
    *,
    game: str | Path,
    local_players: Sequence[LocalPlayer] = (),
    is_trial: bool = False,
    is_enough: Callable[[League], bool] | None = None,
) -> Played:
    """Play a new league to its end: `local_players` first, in their order, then built-in ones.

    A trial of several rounds ends after the first, and its players do not hear of an end. If
    `is_enough`, which is asked after each round, the league ends as it stands.
    """
    assert settings.players
    remote = settings.players > ONE_PROCESS_MAX
    rules = find_game(game)
    manager = await open_manager(
        replace(settings, game_type=rules.name),
        home._replace(resumes=False),
        Place(0, hosts=HOSTS),  # Nobody who waits for a manager at the usual port joins by it.
        lambda name: rules,
    )
    role, stopwatch = manager.host.role, Stopwatch("manager")
    assert isinstance(role, Manager)
    if is_trial:
        role.rounds.is_trial = True
    role.rounds.is_enough = is_enough or role.rounds.is_enough
    make = partial(AgentGroup, manager_url=manager.url, game=game, seed=home.seed)
    referees = make("referee", 0, settings.referees)
    groups = PLAYER_PROCESSES if remote else 1
    worker_groups: list[Workers] = []
    try:
        worker_groups.append(RemoteWorkers(referees) if remote else LocalWorkers(referees))
        key = read_secrets(home.at).admin_token
        worker_groups += [player(manager.url, key) for player in local_players]
        built_in = settings.players - len(local_players)
        for first, end in pairwise(built_in * number // groups for number in range(groups + 1)):
            group = make("player", first, end - first)
            worker_groups.append(RemoteWorkers(group) if remote else LocalWorkers(group))
        for workers in worker_groups:
            await _unless_failed(manager, workers.start())
        await _watch(manager, role, on_progress)
        tallies = [stopwatch.tally([manager])]
        for workers in () if is_trial else worker_groups:
            tallies.append(await asyncio.wait_for(workers.finish(), settings.reply_seconds * 2))
    finally:
        for workers in worker_groups:
            await workers.stop()
        await manager.stop()
    return Played(role.league, role.rounds.seconds, tallies)


async def _unless_failed(manager: Running, work: Coroutine[Any, Any, None]) -> None:
    """Wait for the work, or for the manager's failure."""
    task = asyncio.ensure_future(work)
    waits: list[asyncio.Future[Any]] = [task, manager.failed]
    try:
        await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
        if manager.failed.done():
            raise manager.failed.result()
        task.result()
    finally:
        task.cancel()  # Also after Ctrl-C: nobody hears then how the work ended.


async def _watch(manager: Running, role: Manager, on_progress: OnProgress) -> None:
    waits: list[asyncio.Future[Any]] = [manager.ended, manager.failed]
    clock = asyncio.get_running_loop().time
    while not any(wait.done() for wait in waits) and not role.is_held:
        on_progress(role.league, role.awaited_answers(clock()))
        await asyncio.wait(waits, timeout=0.05, return_when=asyncio.FIRST_COMPLETED)
    on_progress(role.league, ())
    if manager.failed.done():
        raise manager.failed.result()


class Stopwatch:
    """Counts what agents of this process do from now on: requests, bytes, processor time."""

    def __init__(self, role: str, agents: Sequence[Running] = ()) -> None:
        """`agents` are those that did something already, which does not count."""
        self._role, self._before = role, _work_of(agents)

    def tally(self, agents: Sequence[Running]) -> Tally:
        """What these agents did since."""
        done = zip(_work_of(agents), self._before, strict=True)
        calls, sent, answered, seconds = (now - before for now, before in done)
        return Tally(self._role, int(calls), int(sent), int(answered), seconds, peak_bytes())


def _work_of(agents: Sequence[Running]) -> tuple[float, ...]:
    """Requests, bytes sent and answered of these agents so far, and processor time."""
    names = ("calls", "bytes_sent", "bytes_answered")
    counts = [sum(getattr(agent.transport, name) for agent in agents) for name in names]
    return (*counts, cpu_seconds())


class LocalWorkers:
    """Agents in this process."""

    def __init__(self, group: AgentGroup, open_agent: Opener | None = None) -> None:
        self._group = group
        self._open = open_agent or open_built_in
        self._stopwatch = Stopwatch(group.role)
        self._agents: list[Running] = []

    async def start(self) -> None:
        """Register all, one after another or so many at once."""
        group, end = self._group, self._group.first + self._group.count
        for first in range(group.first, end, group.at_once):
            some = range(first, min(first + group.at_once, end))
            await asyncio.gather(*map(self._register, some))

    async def _register(self, number: int) -> None:
        agent = await self._open(self._group, number)
        self._agents.append(agent)
        await agent.registered

    def count_from_now(self) -> None:
        """Do not count what its agents have done so far."""
        self._stopwatch = Stopwatch(self._group.role, self._agents)

    async def finish(self) -> Tally:
        for agent in self._agents:
            await agent.ended
        return self._stopwatch.tally(self._agents)

    async def stop(self) -> None:
        await asyncio.gather(*(agent.stop() for agent in self._agents))


class RemoteWorkers:
    """Agents in a process of their own, which says when it is ready and when it is done."""

    def __init__(self, group: AgentGroup, open_agent: Opener | None = None) -> None:
        context = multiprocessing.get_context("spawn")
        self._pipe, theirs = context.Pipe()
        self._process: BaseProcess = context.Process(
            target=_worker_process, args=(group, open_agent, theirs), daemon=True
        )
        with ignoring_interrupts():  # A new process inherits that.
            self._process.start()
        theirs.close()
        self._is_done, self._group = False, group

    @property
    def pid(self) -> int | None:
        return self._process.pid

    async def start(self) -> None:
        """Let it register its agents."""
        self._pipe.send("register")
        await self._receive()

    async def count_from_now(self) -> None:
        """Do not count what its agents have done so far, to register."""
        self._pipe.send(COUNT)
        await self._receive()

    async def finish(self) -> Tally:
        tally = Tally(*await self._receive())
        self._is_done = True
        return tally

    async def stop(self) -> None:
        if self._is_done:
            await asyncio.to_thread(self._process.join, 2.0)
        self._process.terminate()
        await asyncio.to_thread(self._process.join)

    async def _receive(self) -> Any:
        try:
            said = await asyncio.to_thread(self._pipe.recv)
        except EOFError:
            await asyncio.to_thread(self._process.join)  # Its end of the pipe is closed.
            whose = self._group.source or f"{self._group.role}s"
            raise LeagueError(f"{whose}: its process {ended(self._process.exitcode)}") from None
        if isinstance(said, Exception):
            raise said
        return said


def ended(code: int | None) -> str:
    """How a process ended, by what `multiprocessing` says of it."""
    if code is not None and code < 0:
        return f"was ended by {signal.Signals(-code).name}"
    return f"ended with exit code {code}"


@contextmanager
def ignoring_interrupts() -> Iterator[None]:
    """Ctrl-C reaches every process of a terminal; only the first should act on it."""
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _worker_process(group: AgentGroup, open_agent: Opener | None, pipe: Connection) -> None:
    """Runs in a process of agents; what they print goes to stderr, stdout is for the result."""
    raise_descriptor_limit()
    try:
        with redirect_stdout(sys.stderr):
            run(_workers(LocalWorkers(group, open_agent), pipe))
    except LeagueError as error:
        pipe.send(LeagueError(str(error)))
    except Exception as error:
        pipe.send(LeagueError(f"{type(error).__name__}: {error}"))


async def _workers(workers: LocalWorkers, pipe: Connection) -> None:
    await asyncio.to_thread(pipe.recv)
    loop = asyncio.get_running_loop()

    def count() -> None:
        workers.count_from_now()
        pipe.send("counts")

    obey = partial(_obey, pipe, partial(loop.call_soon_threadsafe, count))
    Thread(target=obey, daemon=True).start()
    await workers.start()
    pipe.send("registered")
    pipe.send(await workers.finish())
    await workers.stop()


def _obey(pipe: Connection, count: Callable[[], object]) -> None:
    """Count from now on when told so; end when the league is gone."""
    with suppress(EOFError, OSError):
        while pipe.recv() == COUNT:
            count()
    os._exit(1)  # Its league is gone.


def end_with_the_league(pipe: Connection) -> None:
    """End this process when the league is gone: nothing else is ever sent on this pipe."""
    pipe.poll(None)
    os._exit(1)


async def open_built_in(group: AgentGroup, number: int) -> Running:
    """A referee, or a player of one of the built-in strategies."""
    game = find_game(group.game)
    if group.role == "referee":
        referee_name = f"Referee {_name(number)}"
        return await open_referee(
            lambda url: RefereeSettings(
                manager_url=group.manager_url,
                display_name=referee_name,
                endpoint=url,
                game_types=(game.name,),
            ),
            Place(0, hosts=HOSTS),
            lambda name: game,
        )
    strategy = STRATEGIES[number % len(STRATEGIES)]
    return await open_named(group, f"{_name(number)} ({strategy})", plugins.load_strategy(strategy))


async def open_named(
    group: AgentGroup, name: str, strategy: Strategy, *, threads: bool = False
) -> Running:
    """A player of this name and strategy, which may be slow if it has threads."""
    settings = PlayerSettings(
        manager_url=group.manager_url,
        display_name=name,
        game_types=(find_game(group.game).name,),
        seed=group.seed or "",
        outbound=group.is_seated or None,
    )
    place = Place(0, hosts=HOSTS)
    return await open_player(
        lambda url: replace(settings, endpoint=url), strategy, place, threads=threads
    )


def _name(number: int) -> str:
    cycle, letter = divmod(number, len(NAMES))
    return NAMES[letter] if not cycle else f"{NAMES[letter]} {cycle + 1}"


def raise_descriptor_limit() -> None:
    """Each agent needs sockets: ask for as many as the system allows."""
    try:
        import resource
    except ImportError:  # Windows has no such limit.
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 65_536 if hard == resource.RLIM_INFINITY else hard
    if soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def cores() -> int:
    """Processors that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def peak_bytes() -> int:
    """The most memory that this process ever held; 0 if the system does not say."""
    with suppress(OSError):
        told = re.search(r"VmHWM:\s*(\d+) kB", STATUS.read_text(encoding="utf-8"))
        if told:
            return int(told[1]) * 1024
    try:
        import resource
    except ImportError:  # Windows tells by other means.
        return 0
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit
