"""A network within one process: the same bytes as over HTTP, without sockets."""

from collections.abc import Callable

from agentleague.errors import LeagueError, NoAnswer, NoConnection
from agentleague.protocol import answers, codec
from agentleague.protocol.messages import Message
from agentleague.protocol.timestamps import write
from agentleague.roles.effects import Address
from agentleague.roles.ports import Answer, Cancel, Clock, OnAsk
from agentleague.roles.stimuli import Caller

OnMessage = Callable[[str, Message], None]


class MemoryNetwork:
    """Joins the transports of many agents; `watch` is shown every request and who is asked."""

    def __init__(self, clock: Clock, watch: OnMessage = lambda url, message: None) -> None:
        self.clock, self.watch = clock, watch
        self.agents: dict[str, MemoryTransport] = {}
        self.calls = 0

    def join(self, url: str, receiver: str) -> "MemoryTransport":
        """A transport for the agent at this address; receiver: manager, referee or player."""
        self.agents[url] = MemoryTransport(self, url, receiver)
        return self.agents[url]


class MemoryTransport:
    """One agent's end of the network."""

    def __init__(self, network: MemoryNetwork, url: str, receiver: str) -> None:
        self._network, self._url, self._receiver = network, url, receiver
        self._taken = codec.taken_by(receiver)
        self._on_ask: OnAsk | None = None

    def listen(self, on_ask: OnAsk) -> None:
        """From now on, hand requests to `on_ask`."""
        self._on_ask = on_ask

    def call(
        self, to: Address, message: Message, until: float, done: Callable[[Answer], None]
    ) -> Cancel:
        """Ask another agent; the answer comes later, never within this call."""
        return _Exchange(self._network, self._url, message, done).begin(to.url, until)

    def receive(self, body: bytes, source: str, respond: Callable[[bytes], None]) -> None:
        """A request came in."""
        decides = self._receiver != "player"
        incoming = codec.read_request(body, self._taken, thorough=decides)
        letter = incoming.letter

        def reply(answer: Message | LeagueError) -> None:
            if isinstance(answer, LeagueError):
                now_text = write(self._network.clock.now())
                respond(
                    codec.write_refusal(letter, answer, sender=self._receiver, timestamp=now_text)
                )
            else:
                respond(codec.write_answer(letter, answer))

        if incoming.message is None:
            reply(incoming.error or NoAnswer("nothing to say"))
        elif self._on_ask is not None:
            token = incoming.message.auth_token or None
            caller = Caller(source, token, letter.form, incoming.missing)
            self._on_ask(incoming.message, caller, reply)


class _Exchange:
    """One request on its way there, its answer on its way back, and the deadline of both."""

    def __init__(
        self, network: MemoryNetwork, source: str, message: Message, done: Callable[[Answer], None]
    ) -> None:
        self._network, self._source, self._message, self._done = network, source, message, done
        self._began = network.clock.now()
        self._is_open = True
        self._stop_deadline: Cancel = lambda: None

    def begin(self, url: str, until: float) -> Cancel:
        clock, network = self._network.clock, self._network
        network.calls += 1
        body = codec.write_request(self._message, network.calls)
        self._stop_deadline = clock.call_at(until, self._late)
        clock.call_at(clock.now(), lambda: self._deliver(url, body))
        return self._close

    def _deliver(self, url: str, body: bytes) -> None:
        agent = self._network.agents.get(url)
        if agent is None:
            self._finish(None, NoConnection(f"nobody listens at {url}"))
            return
        self._network.watch(url, self._message)
        clock = self._network.clock
        agent.receive(
            body, self._source, lambda answer: _later(clock, lambda: self._answered(answer))
        )

    def _answered(self, body: bytes) -> None:
        try:
            self._finish(answers.read_answer(self._message, 200, body), None)
        except LeagueError as error:
            self._finish(None, error)

    def _late(self) -> None:
        self._finish(None, NoAnswer("the time ran out"))

    def _finish(self, message: Message | None, error: LeagueError | None) -> None:
        if self._is_open:
            self._close()
            self._done(Answer(message, error, self._network.clock.now() - self._began))

    def _close(self) -> None:
        self._is_open = False
        self._stop_deadline()


def _later(clock: Clock, what: Callable[[], None]) -> None:
    clock.call_at(clock.now(), what)
