"""A network in virtual time: messages are delayed, lost, repeated or cut off; agents stall and die.

The bytes are those of every other transport. A sent message arrives, even if its sender is dead by
then, unless it is lost or its way is cut. An agent that waits for the answer of one that dies is
told that the connection is gone.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from agentleague.dialects import answers
from agentleague.errors import CLOSED, UNREACHABLE, LeagueError, NoAnswer, NoConnection
from agentleague.protocol import codec
from agentleague.protocol.messages import Message
from agentleague.protocol.tokens import proof_line
from agentleague.roles.effects import Address
from agentleague.roles.ports import Answer, Cancel, OnAnswer
from agentleague.simulation.clock import Lifetime, VirtualClock
from agentleague.transport.memory import MemoryTransport

if TYPE_CHECKING:
    from agentleague.simulation.observer import Observer

DELAY_SECONDS = (0.0005, 0.01)  # of one message, at least and at most


class Conditions(NamedTuple):
    """Delay and loss of messages between any two agents; different delays change their order."""

    delay_seconds: tuple[float, float] = DELAY_SECONDS
    loss: float = 0.0  # the part of messages that never arrive
    resets: float = 0.0  # the part of those whose sender is told that the connection is gone
    repeats: float = 0.0  # the part of requests that arrive twice


RELIABLE = Conditions()


class Links:
    """All ways between agents, by name; each direction can be cut by itself."""

    def __init__(self, chance: Random) -> None:
        self._random = chance.random
        self._cut: Counter[tuple[str, str]] = Counter()  # way -> by how many cuts
        self.is_reliable = True  # every message arrives once
        self.conditions = RELIABLE

    @property
    def conditions(self) -> Conditions:
        """Delay and loss where no way is cut."""
        return self._conditions

    @conditions.setter
    def conditions(self, conditions: Conditions) -> None:
        self._conditions = conditions
        self._least, most = conditions.delay_seconds
        self._span = most - self._least
        self._look()

    def delay(self) -> float:
        """How many seconds the next message takes."""
        return self._least + self._span * self._random()

    def loses(self, source: str, target: str) -> bool:
        """Whether the next message from one to the other is lost."""
        if (source, target) in self._cut:
            return True
        loss = self._conditions.loss
        return loss > 0 and self._random() < loss

    def resets(self) -> bool:
        """Whether the sender of a lost message is told that the connection is gone."""
        return self._random() < self._conditions.resets

    def repeats(self) -> bool:
        """Whether the next request arrives twice."""
        repeats = self._conditions.repeats
        return repeats > 0 and self._random() < repeats

    def cut(self, ways: Sequence[tuple[str, str]]) -> list[Callable[[], None]]:
        """Cut these ways; returns a function for each that mends it."""
        self._cut.update(ways)
        self._look()
        return [partial(self._mend, way) for way in ways]

    def heal(self) -> None:
        """Mend all cuts, and lose and repeat nothing any more."""
        self._cut.clear()
        self.conditions = RELIABLE

    def _mend(self, way: tuple[str, str]) -> None:
        self._cut -= Counter([way])
        self._look()

    def _look(self) -> None:
        conditions = self._conditions
        self.is_reliable = not conditions.loss and not conditions.repeats and not self._cut


AnswerFilter = Callable[[Message, bytes], bytes | None]  # changes an answer; None: drops it


class SimulatedNetwork:
    """Joins agents; `links` delays and loses messages, `watcher` is told of each."""

    # Every message of every simulated league passes here: it is written to be quick.

    def __init__(self, clock: VirtualClock, links: Links, watcher: "Observer") -> None:
        self.clock, self.links, self.watcher = clock, links, watcher
        self.calls = 0
        self.delay = links.delay
        self.on_sent: Callable[[], None] = lambda: None  # somebody has sent a request or an answer
        self.alive: dict[str, SimulatedTransport] = {}
        self.exchanges: dict[_Exchange, None] = {}  # in order
        self.answer_filters: dict[str, AnswerFilter] = {}  # by address, change answers

    def add(self, url: str, receiver: str, lifetime: Lifetime) -> "SimulatedTransport":
        """A transport for one life of the agent at this address."""
        self.alive[url] = SimulatedTransport(self, url, receiver, lifetime)
        return self.alive[url]

    def deafen(self, transport: "SimulatedTransport", seconds: float) -> None:
        """Nobody listens at its address for a while: its agent registers first."""
        del self.alive[transport.url]
        when = self.clock.now() + seconds
        transport.lifetime.call_at(when, lambda: self.alive.update({transport.url: transport}))

    def remove(self, transport: "SimulatedTransport") -> None:
        """Its agent is dead: its address and its connections are gone."""
        self.alive.pop(transport.url, None)
        for exchange in list(self.exchanges):
            exchange.left(transport)

    def later(self, what: Callable[[], None]) -> None:
        """When the next message would have arrived."""
        clock = self.clock
        clock.call_at(clock.time + self.delay(), what)


class SimulatedTransport(MemoryTransport):
    """One agent's end of the network, as long as it lives."""

    def __init__(
        self, network: SimulatedNetwork, url: str, receiver: str, lifetime: Lifetime
    ) -> None:
        super().__init__(network.clock, receiver)
        self.url, self.lifetime = url, lifetime
        self.source = host_of(url)
        self._simulated = network

    def call(self, to: Address, message: Message, until: float, done: OnAnswer) -> Cancel:
        """Ask another agent; the answer comes later. A dead agent sends nothing."""
        if self.lifetime.is_over:
            return lambda: None
        exchange = _Exchange(self._simulated, self, message, done)
        return exchange.begin(to, until - self.lifetime.ahead)


class _Exchange:
    """One request on its way there, its answer on its way back, and the deadline of both."""

    def __init__(
        self, network: SimulatedNetwork, asker: SimulatedTransport, message: Message, done: OnAnswer
    ) -> None:
        self._network, self._asker, self._message, self._done = network, asker, message, done
        self._began = network.clock.time
        self._is_open = True
        self.head = b""
        self._asked: list[SimulatedTransport] = []  # who is to answer

    def begin(self, to: Address, until: float) -> Cancel:
        network, url = self._network, to.url
        network.calls += 1
        network.watcher.called(url, self._message)
        body = codec.write_request(self._message, network.calls)
        if to.proof_keys:
            self.head = proof_line(to.proof_keys, body)
        self._stop_deadline = network.clock.call_at(until, self._late)
        if network.links.is_reliable:
            network.later(partial(self._arrive, url, body))
        else:
            self._send_unreliably(url, body)
        network.on_sent()
        return self._close

    def _send_unreliably(self, url: str, body: bytes) -> None:
        network, target = self._network, host_of(url)
        for _ in range(2 if network.links.repeats() else 1):
            if not network.links.loses(self._asker.source, target):
                network.later(partial(self._arrive, url, body))
                continue
            network.watcher.lost(self._asker.source, target, self._message)
            if network.links.resets():
                self._break(f"the connection to {url} is gone", "")

    def left(self, transport: SimulatedTransport) -> None:
        """An agent died."""
        if self._asker is transport:
            self._close()
        elif transport in self._asked:
            self._asked.remove(transport)
            self._break(f"the agent at {transport.url} is gone", transport.source)

    def _arrive(self, url: str, body: bytes) -> None:
        agent = self._network.alive.get(url)
        if agent is None:
            self._break(f"nobody listens at {url}", host_of(url), UNREACHABLE)
            return
        self._asked.append(agent)
        if self._is_open:
            self._network.exchanges[self] = None
        agent.lifetime.when_awake(self._deliver, agent, body)

    def _deliver(self, agent: SimulatedTransport, body: bytes) -> None:
        self._network.watcher.asked(self._asker.source, agent.url, self._message, body)
        agent.receive(body, self._asker.source, partial(self._respond, agent), self.head)

    def _respond(self, agent: SimulatedTransport, body: bytes) -> None:
        if agent not in self._asked or agent.lifetime.is_over:
            return
        network, source = self._network, agent.source
        changes = network.answer_filters.get(agent.url)
        answer = changes(self._message, body) if changes else body
        if answer is None:
            return
        self._asked.remove(agent)
        if network.links.is_reliable or not network.links.loses(source, self._asker.source):
            network.later(partial(self._answered, source, answer))
        else:
            network.watcher.lost(source, self._asker.source, self._message)
        network.on_sent()

    def _break(self, why: str, source: str, kind: str = CLOSED) -> None:
        """Tell the asker that the connection is gone, unless that is lost too."""
        links = self._network.links
        if links.is_reliable or not links.loses(source, self._asker.source):
            self._network.later(partial(self._failed, NoConnection(why, kind=kind)))

    def _answered(self, source: str, body: bytes) -> None:
        if not self._can_notice(self._answered, source, body):
            return
        self._network.watcher.answered(source, self._asker.url, self._message, body)
        try:
            answer = answers.read_answer(self._message, 200, body)
        except LeagueError as error:
            self._finish(None, error)
        else:
            self._finish(answer, None)

    def _failed(self, error: LeagueError) -> None:
        if self._can_notice(self._failed, error):
            self._finish(None, error)

    def _can_notice(self, what: Callable[..., None], *about: Any) -> bool:
        """Whether the asker lives and waits; one that stalls notices later."""
        lifetime = self._asker.lifetime
        if not self._is_open:
            return False
        if self._network.clock.time < lifetime.awake_at:
            lifetime.when_awake(what, *about)
            return False
        return not lifetime.is_over

    def _late(self) -> None:
        self._failed(NoAnswer("the time ran out"))

    def _finish(self, message: Message | None, error: LeagueError | None) -> None:
        self._close()
        self._done(Answer(message, error, self._network.clock.time - self._began))

    def _close(self) -> None:
        self._is_open = False
        self._network.exchanges.pop(self, None)
        self._stop_deadline()


def url_of(name: str) -> str:
    """Where a process is called."""
    return f"http://{name}/mcp"


@lru_cache(maxsize=1000)
def host_of(url: str) -> str:
    """The name of the agent at an address."""
    return urlsplit(url).hostname or url
