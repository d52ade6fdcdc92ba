"""Agents in one process and in virtual time, for tests and for pages with real messages."""

from collections.abc import Callable

from agentleague.dialects.negotiation import is_misunderstood
from agentleague.errors import UNREACHABLE, LeagueError, NoAnswer, NoConnection
from agentleague.protocol import codec
from agentleague.protocol.messages import Message
from agentleague.protocol.tokens import proof_line
from agentleague.roles.effects import Address
from agentleague.roles.ports import Cancel, Clock, OnAnswer
from agentleague.transport.fallback import Conversation, PeerDialects, read
from agentleague.transport.http_connection import HttpAnswer, Outgoing
from agentleague.transport.memory import MemoryTransport

OnMessage = Callable[[str, Message], None]


class MemoryNetwork:
    """Joins the transports of many agents; `watch` is shown every request and who is asked."""

    def __init__(self, clock: Clock, watch: OnMessage = lambda url, message: None) -> None:
        self.clock, self.watch = clock, watch
        self.agents: dict[str, NetworkTransport] = {}
        self.calls = 0

    def join(self, url: str, receiver: str) -> "NetworkTransport":
        """A transport for the agent at this address; receiver: manager, referee or player."""
        self.agents[url] = NetworkTransport(self, url, receiver)
        return self.agents[url]


class NetworkTransport(MemoryTransport):
    """One agent's end of the network."""

    def __init__(self, network: MemoryNetwork, url: str, receiver: str) -> None:
        super().__init__(network.clock, receiver)
        self._network, self._url = network, url
        self.dialects = PeerDialects(network.clock, self._post)

    def call(self, to: Address, message: Message, until: float, done: OnAnswer) -> Cancel:
        """Ask another agent; the answer comes later, never within this call."""
        network = self._network
        if not to.proof_keys and (to.dialect or to.url in self.dialects.known):
            return self.dialects.call(to, message, until, done)
        network.calls += 1
        body = codec.write_request(message, network.calls)
        conversation: Conversation | None = None

        def answered(got: HttpAnswer) -> None:
            nonlocal conversation
            answer = read(message, got)
            is_understood = answer.error is None or not is_misunderstood(message, answer.error)
            if is_understood or to.proof_keys:  # Who wants proofs speaks as we do.
                done(answer)
            else:
                conversation = Conversation(self.dialects, to, message, until, done)
                conversation.heard(answer)

        request = _Request(network, self._url, message, answered)
        if to.proof_keys:
            request.head = proof_line(to.proof_keys, body)
        stop = self._send(request, to.url, body, until)
        return lambda: (conversation.cancel if conversation else stop)()

    def _post(
        self, url: str, what: Outgoing, until: float, done: Callable[[HttpAnswer], None]
    ) -> Cancel:
        request = _Request(self._network, self._url, what.message, done)
        return self._send(request, url, what.body, until)

    def _send(self, request: "_Request", url: str, body: bytes, until: float) -> Cancel:
        return request.begin(url, body, until)


class _Request:
    """One request on its way there, its answer on its way back, and the deadline of both."""

    def __init__(
        self,
        network: MemoryNetwork,
        source: str,
        message: Message | None,
        done: Callable[[HttpAnswer], None],
    ) -> None:
        self._network, self._source, self._message, self._done = network, source, message, done
        self._began = network.clock.now()
        self.head = b""  # the proof of the request
        self._is_open = True
        self._stop_deadline: Cancel = lambda: None

    def begin(self, url: str, body: bytes, until: float) -> Cancel:
        clock = self._network.clock
        self._stop_deadline = clock.call_at(until, self._late)
        clock.call_at(clock.now(), lambda: self._deliver(url, body))
        return self._close

    def _deliver(self, url: str, body: bytes) -> None:
        agent = self._network.agents.get(url)
        if agent is None:
            self._finish(b"", NoConnection("nobody listens there", kind=UNREACHABLE))
            return
        if self._message:
            self._network.watch(url, self._message)
        clock = self._network.clock

        def respond(answer: bytes) -> None:
            clock.call_at(clock.now(), lambda: self._finish(answer, None))

        agent.receive(body, self._source, respond, self.head)

    def _late(self) -> None:
        self._finish(b"", NoAnswer("the time ran out"))

    def _finish(self, body: bytes, error: LeagueError | None) -> None:
        if self._is_open:
            self._close()
            seconds = self._network.clock.now() - self._began
            self._done(HttpAnswer(0 if error else 200, body, None, error, seconds))

    def _close(self) -> None:
        self._is_open = False
        self._stop_deadline()
