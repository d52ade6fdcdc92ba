"""One agent as a process: it can crash at any instant, and be started again where it was."""

from collections.abc import Callable, Sequence
from string import digits
from typing import Any, NamedTuple, TypeVar

from agentleague.errors import LeagueError, StorageError
from agentleague.protocol.messages import Message
from agentleague.roles.agent import AgentState
from agentleague.roles.effects import Effect
from agentleague.roles.ports import Role
from agentleague.roles.stimuli import Caller, Stimulus
from agentleague.runtime.host import Host
from agentleague.simulation.clock import Lifetime
from agentleague.simulation.disk import Disk
from agentleague.simulation.network import SimulatedNetwork, SimulatedTransport, url_of

T = TypeVar("T")
PROBE_SECONDS = 0.1  # between two looks at an end point where nobody listens
FAILED_SECONDS = 1.0  # until a process that ended by itself is started again


class Ports(NamedTuple):
    """What one life of a process is given."""

    clock: Lifetime
    transport: SimulatedTransport
    state: AgentState  # what an earlier life kept in its state file
    news: list[str]  # gets what its role has to say
    journal: Any = None  # of its own, where several managers share a database


class Process:
    """Runs a role through many lives; `build` makes a new host, from its disk if it has one."""

    def __init__(
        self,
        network: SimulatedNetwork,
        name: str,
        build: Callable[[Ports], Host],
        *,
        disk: Disk | None = None,
        keeps_state: bool = False,  # whether its state survives a crash, as in a state file
    ) -> None:
        self.disk, self.keeps_state = disk, keeps_state
        # How far its monotonic clock and its wall clock are off in its next life.
        self.clocks: Callable[[], tuple[float, float]] = lambda: (0.0, 0.0)
        self.crashes = self.failures = 0
        self.born_at = 0.0  # when its present life began
        self.is_done = False  # its role said so
        self.is_doubled = False  # it was once started while it ran: either may hear of the end
        self.host: Host | None = None  # while it lives
        self.news: list[str] = []  # of its role, from all its lives
        self.name, self._network, self._build = name, network, build
        self.lifetime = Lifetime(network.clock)
        self._transport: SimulatedTransport | None = None
        self._state = AgentState()

    @property
    def is_alive(self) -> bool:
        """Whether it runs."""
        return self._transport is not None

    @property
    def is_owner(self) -> bool:
        """Whether it runs the league, if it is a manager."""
        return self.is_alive

    @property
    def role(self) -> Any:
        """The role in its present life."""
        assert self.host, "a dead process has no role"
        return self.host.role

    def start(self) -> None:
        """Begin a life. Does nothing while it lives."""
        if not self.is_alive:
            self._run(self._begin())

    def _begin(self) -> Ports:
        network = self._network
        self.born_at = network.clock.now()
        ahead, wrong = self.clocks()
        self.lifetime = lifetime = Lifetime(network.clock, ahead)
        receiver = self.name.rstrip(digits)  # manager, referee or player
        self._transport = network.add(url_of(self.name), receiver, lifetime)
        if self.disk:
            self.disk.deliver = lifetime.when_awake
        self.is_done = False
        self._wall_offset = wrong - ahead
        return Ports(lifetime, self._transport, self._state, self.news)

    def _run(self, ports: Ports) -> None:
        self.host = host = self._build(ports)
        host.on_end, host.on_failure = self._end, self._fail
        host.start(self._wall_offset)

    def crash(self) -> None:
        """Die now: timers, calls, and what is not on disk yet are lost."""
        if self.is_alive:
            self.crashes += 1
            self._die()

    def stall(self, seconds: float) -> None:
        """Do nothing for a while; messages wait meanwhile."""
        if self.is_alive:
            self.lifetime.stall(seconds)

    def double(self) -> None:
        """Start it once more while it runs; the older one goes on until it loses its seat."""
        if self.host:
            self.is_doubled = True
            self.crashes += 1
            self._state = self.role.state
            lifetime, transport = self.lifetime, self._transport
            assert transport

            def end(summary: Any) -> None:
                lifetime.end()
                self._network.remove(transport)

            self.host.on_end = end
            self.host = self._transport = None
            self.start()

    def forget(self) -> None:
        """Lose what it kept for its next life."""
        self._state = AgentState()

    def restart_after(self, seconds: float) -> None:
        """Begin another life in a while."""
        self._network.clock.call_after(seconds, self.start)

    def _die(self) -> None:
        if not self._transport:
            return
        if self.keeps_state:
            self._state = self.role.state if self.role.state.token else self._state
        self.lifetime.end()
        self._network.remove(self._transport)
        self.host = self._transport = None
        if self.disk:
            self.disk.crash()

    def _end(self, summary: Any) -> None:
        self.is_done = True
        if self.disk is None:  # A manager goes on.
            self.lifetime.call_at(self.lifetime.now(), self._die)

    def _fail(self, error: BaseException) -> None:
        """Its disk is broken, or it has a bug: it ends, and is started again."""
        self.failures += 1
        if self.is_alive:
            self._die()
            self.restart_after(FAILED_SECONDS)


class Watched:
    """A role whose news and exceptions are kept; a host only answers INTERNAL_ERROR and goes on."""

    def __init__(self, role: Any, bugs: list[str], news: list[str]) -> None:
        self.role: Role = role
        self._bugs, self._news, self._said = bugs, news, role.news

    def __getattr__(self, name: str) -> Any:
        return getattr(self.role, name)

    def handle(self, stimulus: Stimulus, now: float) -> Sequence[Effect]:
        """As the role does."""
        return self._watch(self.role.handle, stimulus, now)

    def answer(self, message: Message, caller: Caller, now: float) -> Message | LeagueError | None:
        """As the role does."""
        return self._watch(self.role.answer, message, caller, now)

    def _watch(self, work: Callable[..., T], *given: Any) -> T:
        try:
            outcome = work(*given)
        except StorageError:  # It needs a row, and the database is away: no bug of the role.
            raise
        except Exception as bug:
            self._bugs.append(f"{type(self.role).__name__}: {type(bug).__name__}: {bug}")
            raise
        if self._said:
            self._news += self._said
            self._said.clear()
        return outcome


class Probing(Watched):
    """A manager whose agents' end points are tried; `is_there` says whether somebody listens."""

    def __init__(
        self, role: Any, bugs: list[str], ports: Ports, is_there: Callable[[str], bool]
    ) -> None:
        super().__init__(role, bugs, ports.news)
        self._clock, self._is_there, self._seen = ports.clock, is_there, role.reachability
        self._seen.is_tried = True

    def handle(self, stimulus: Stimulus, now: float) -> Sequence[Effect]:
        """As the role does; then the end points of new agents are tried."""
        effects = super().handle(stimulus, now)
        while self._seen.unchecked:
            self._try(*self._seen.unchecked.popleft())
        return effects

    def _try(self, agent_id: str, url: str) -> None:
        self._seen.learnt(agent_id, url, self._is_there(url))
        if self._seen.is_sought(agent_id, url):
            self._clock.call_at(self._clock.now() + PROBE_SECONDS, lambda: self._try(agent_id, url))
