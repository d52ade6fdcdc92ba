"""A network within one process: the same bytes as over HTTP, without sockets."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from agentleague.dialects import lenient, requests
from agentleague.dialects.negotiation import is_misunderstood
from agentleague.dialects.requests import RESPELLED
from agentleague.errors import UNREACHABLE, LeagueError, NoAnswer, NoConnection
from agentleague.protocol import codec
from agentleague.protocol.fast_path import own_form
from agentleague.protocol.messages import Message
from agentleague.protocol.timestamps import write
from agentleague.protocol.tokens import proof_line
from agentleague.roles.effects import Address
from agentleague.roles.ports import Answer, Cancel, Clock, OnAnswer, OnAsk, OnTold, Telling
from agentleague.roles.stimuli import Caller
from agentleague.transport.fallback import Conversation, PeerDialects, read
from agentleague.transport.http_connection import HttpAnswer

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
        self._network, self._url = network, url
        self._taken, self._decides = codec.taken_by(receiver), receiver != "player"
        self._own_form = own_form(self._taken - RESPELLED, thorough=self._decides)
        self._sender = "league_manager" if receiver == "manager" else receiver
        self._on_ask: OnAsk | None = None
        self.dialects = PeerDialects(network.clock, self._post)

    def listen(self, on_ask: OnAsk) -> None:
        """From now on, hand requests to `on_ask`."""
        self._on_ask = on_ask

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

    def broadcast(
        self, letters: Sequence[tuple[Address, Sequence[Message]]], until: float, done: OnTold
    ) -> Telling:
        """Tell many agents; the end comes later, never within this call."""
        return _Telling(self, letters, until, done)

    def _post(
        self,
        url: str,
        message: Message | None,
        body: bytes,
        until: float,
        done: Callable[[HttpAnswer], None],
    ) -> Cancel:
        return self._send(_Request(self._network, self._url, message, done), url, body, until)

    def _send(self, request: "_Request", url: str, body: bytes, until: float) -> Cancel:
        return request.begin(url, body, until)

    def receive(
        self, body: bytes, source: str, respond: Callable[[bytes], None], head: bytes = b""
    ) -> None:
        """A request came in."""
        read_request = requests.read_request if self._decides else lenient.read_request
        envelope, message, error, missing = self._own_form.read(body) or read_request(
            body, self._taken, thorough=self._decides
        )
        write_answer = codec.write_answer if self._decides else lenient.write_reply

        def reply(answer: Message | LeagueError) -> None:
            if isinstance(answer, LeagueError):
                now_text = write(self._network.clock.now())
                respond(
                    codec.write_refusal(envelope, answer, sender=self._sender, timestamp=now_text)
                )
            else:
                respond(write_answer(envelope, answer))

        if message is None:
            reply(error or NoAnswer("nothing to say"))
        elif self._on_ask is not None:
            token, form, method = message.auth_token or None, envelope.form, envelope.method
            nested = ((), envelope.nested_in, isinstance(envelope.id, str))
            caller = Caller(source, token, form, missing, method, head, body, *nested)
            self._on_ask(message, caller, reply)


class _Telling:
    """A broadcast as calls: each agent gets its messages one after another."""

    def __init__(
        self, sender: MemoryTransport, letters: Sequence[Any], until: float, done: OnTold
    ) -> None:
        self._sender, self._until, self._done = sender, until, done
        self.awaited: dict[str, Cancel] = {}  # agents that have not answered their last message
        self.failed: dict[str, LeagueError] = {}
        for to, messages in letters:
            self._send(to, iter(messages))

    def cancel(self) -> None:
        for cancel in self.awaited.values():
            cancel()

    def _send(self, to: Address, left: Iterator[Message]) -> None:
        for message in left:
            done = partial(self._answered, to, left)
            self.awaited[to.agent_id] = self._sender.call(to, message, self._until, done)
            return
        del self.awaited[to.agent_id]
        if not self.awaited:
            self._done(self.failed)

    def _answered(self, to: Address, left: Iterator[Message], answer: Answer) -> None:
        if answer.error:
            self.failed[to.agent_id] = answer.error
        self._send(to, iter(()) if isinstance(answer.error, NoAnswer) else left)


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
