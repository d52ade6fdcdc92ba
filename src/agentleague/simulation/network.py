"""A network in virtual time: messages take a while, and agents stall, die and come back.

The bytes are those of every other transport. What was sent arrives, even if its sender is dead by
then; whoever waits for an answer of an agent that dies is told that the connection is gone.
"""

from collections.abc import Callable
from urllib.parse import urlsplit

from agentleague.errors import LeagueError, NoAnswer, NoConnection
from agentleague.protocol import answers, codec
from agentleague.protocol.messages import Message
from agentleague.roles.effects import Address
from agentleague.roles.ports import Answer, Cancel, Clock
from agentleague.simulation.clock import Lifetime
from agentleague.transport.memory import MemoryNetwork, MemoryTransport


class Watcher:
    """Sees what passes through the network; here it looks away."""

    def sent(self) -> None:
        """Somebody has just sent a request or an answer."""

    def asked(self, url: str, message: Message, body: bytes) -> None:
        """A request reached the agent at this address."""

    def answered(self, url: str, question: Message, body: bytes) -> None:
        """An answer reached the agent at this address, which had asked."""


class SimulatedNetwork(MemoryNetwork):
    """Joins agents; `delay` gives the seconds that the next message takes."""

    def __init__(self, clock: Clock, delay: Callable[[], float], watcher: Watcher) -> None:
        super().__init__(clock)
        self.delay, self.watcher = delay, watcher
        self.living: dict[str, SimulatedTransport] = {}
        self.exchanges: dict[_Exchange, None] = {}  # in order

    def bear(self, url: str, receiver: str, lifetime: Lifetime) -> "SimulatedTransport":
        """A transport for one life of the agent at this address."""
        self.living[url] = SimulatedTransport(self, url, receiver, lifetime)
        return self.living[url]

    def bury(self, transport: "SimulatedTransport") -> None:
        """Its agent is dead: nobody listens there, and its connections are gone."""
        del self.living[transport.url]
        for exchange in list(self.exchanges):
            exchange.left(transport)

    def later(self, what: Callable[[], None]) -> None:
        """When the next message would have arrived."""
        self.clock.call_at(self.clock.now() + self.delay(), what)


class SimulatedTransport(MemoryTransport):
    """One agent's end of the network, as long as it lives."""

    def __init__(
        self, network: SimulatedNetwork, url: str, receiver: str, lifetime: Lifetime
    ) -> None:
        super().__init__(network, url, receiver)
        self.url, self.lifetime = url, lifetime
        self.source = urlsplit(url).hostname or url
        self._simulated = network

    def call(
        self, to: Address, message: Message, until: float, done: Callable[[Answer], None]
    ) -> Cancel:
        """Ask another agent; the answer comes later. The dead ask nobody."""
        if self.lifetime.is_over:
            return lambda: None
        return _Exchange(self._simulated, self, message, done).begin(to.url, until)


class _Exchange:
    """One request on its way there, its answer on its way back, and the deadline of both."""

    def __init__(
        self,
        network: SimulatedNetwork,
        asker: SimulatedTransport,
        message: Message,
        done: Callable[[Answer], None],
    ) -> None:
        self._network, self._asker, self._message, self._done = network, asker, message, done
        self._began = network.clock.now()
        self._is_open = True
        self._asked: SimulatedTransport | None = None  # who is to answer
        self._stop_deadline: Cancel = lambda: None

    def begin(self, url: str, until: float) -> Cancel:
        network = self._network
        network.calls += 1
        body = codec.write_request(self._message, network.calls)
        self._stop_deadline = network.clock.call_at(until, self._late)
        network.later(lambda: self._arrive(url, body))
        network.watcher.sent()
        return self._close

    def left(self, transport: SimulatedTransport) -> None:
        """An agent died."""
        if self._asker is transport:
            self._close()
        elif self._asked is transport:
            self._break(f"the agent at {transport.url} is gone")

    def _arrive(self, url: str, body: bytes) -> None:
        agent = self._network.living.get(url)
        if agent is None:
            self._break(f"nobody listens at {url}")
            return
        self._asked = agent
        if self._is_open:
            self._network.exchanges[self] = None
        agent.lifetime.when_awake(lambda: self._deliver(agent, body))

    def _deliver(self, agent: SimulatedTransport, body: bytes) -> None:
        self._network.watcher.asked(agent.url, self._message, body)
        agent.receive(body, self._asker.source, self._respond)

    def _respond(self, body: bytes) -> None:
        asked, self._asked = self._asked, None
        if asked and not asked.lifetime.is_over:
            self._network.later(lambda: self._when_awake(lambda: self._answered(body)))
            self._network.watcher.sent()

    def _break(self, why: str) -> None:
        gone = NoConnection(why)
        self._network.later(lambda: self._when_awake(lambda: self._finish(None, gone)))

    def _when_awake(self, what: Callable[[], None]) -> None:
        """What comes back is for the asker to notice, if it lives and still waits."""
        self._asker.lifetime.when_awake(lambda: what() if self._is_open else None)

    def _answered(self, body: bytes) -> None:
        self._network.watcher.answered(self._asker.url, self._message, body)
        try:
            self._finish(answers.read_answer(self._message, 200, body), None)
        except LeagueError as error:
            self._finish(None, error)

    def _late(self) -> None:
        late = NoAnswer("the time ran out")
        self._when_awake(lambda: self._finish(None, late))

    def _finish(self, message: Message | None, error: LeagueError | None) -> None:
        self._close()
        self._done(Answer(message, error, self._network.clock.now() - self._began))

    def _close(self) -> None:
        self._is_open = False
        self._network.exchanges.pop(self, None)
        self._stop_deadline()
