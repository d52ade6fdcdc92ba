"""An agent's end of a network within one process: the same bytes as over HTTP, without sockets."""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any

from agentleague.dialects import lenient, requests
from agentleague.dialects.requests import RESPELLED
from agentleague.errors import LeagueError, NoAnswer
from agentleague.protocol import codec
from agentleague.protocol import seats as wire
from agentleague.protocol.fast_path import own_form
from agentleague.protocol.messages import Message
from agentleague.protocol.timestamps import write
from agentleague.roles.effects import Address
from agentleague.roles.ports import Answer, Cancel, Clock, OnAnswer, OnAsk, OnTold, Telling
from agentleague.roles.stimuli import Caller
from agentleague.transport.seats import AWAY, Done, Seats

_TO_PLAYERS = codec.taken_by("player")


class MemoryTransport:
    """Reads requests and answers them; a subclass brings `call`, the way to other agents."""

    def __init__(self, clock: Clock, receiver: str) -> None:
        self._clock = clock
        self._taken, self._decides = codec.taken_by(receiver), receiver != "player"
        self._own_form = own_form(self._taken - RESPELLED, thorough=self._decides)
        self._sender = "league_manager" if receiver == "manager" else receiver
        self._on_ask: OnAsk | None = None
        self.seats = Seats(clock, int(clock.now() * 1e6))  # of a manager; later ones begin higher
        self.seat_of: Callable[[str | None], str | None] = lambda token: None
        self.may_call: Callable[..., bool] = lambda player_id, message, caller: False
        self.is_away: Callable[[], bool] = lambda: False  # a manager that may have lost its league

    def listen(self, on_ask: OnAsk) -> None:
        """From now on, hand requests to `on_ask`."""
        self._on_ask = on_ask

    def call(self, to: Address, message: Message, until: float, done: OnAnswer) -> Cancel:
        """Ask another agent; the answer comes later, never within this call."""
        raise NotImplementedError

    def broadcast(
        self, letters: Sequence[tuple[Address, Sequence[Message]]], until: float, done: OnTold
    ) -> Telling:
        """Tell many agents; the end comes later, never within this call."""
        return _Telling(self, letters, until, done)

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
                now_text = write(self._clock.now())
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

    def receive_at_seat(
        self, path: str, body: bytes, source: str, token: str, respond: Done
    ) -> Cancel:
        """A request to a seat came in: from a referee, or from the agent with its token."""
        player_id, action = wire.split(path)
        if self.is_away():
            respond(AWAY, b"")
            return lambda: None
        if action == "mcp":
            message = requests.read_request(body, _TO_PLAYERS, thorough=True)[1]
            caller = Caller(source, (message and message.auth_token) or None)
            if message and self.may_call(player_id, message, caller):
                return self.seats.refer(player_id, body, message, respond)
        elif self.seat_of(token) == player_id:
            return self.seats.serve(
                player_id, action, body, lambda said: respond(200, codec.encode(said))
            )
        respond(403, b"")
        return lambda: None


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
