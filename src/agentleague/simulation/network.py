"""A network in virtual time: messages are delayed, lost, repeated or cut off; agents stall and die.

The bytes are those of every other transport. A sent message arrives, even if its sender is dead by
then, unless it is lost or its way is cut. An agent that waits for the answer of one that dies is
told that the connection is gone.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import count
from random import Random
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlsplit

from agentleague import errors
from agentleague.dialects import answers, lenient
from agentleague.protocol import codec
from agentleague.protocol.messages import Message
from agentleague.protocol.seats import PREFIX, Opening, Poll, Polled, is_seat, split, url_at
from agentleague.protocol.tokens import PROOF_HEADER, proof_line
from agentleague.roles.effects import Address
from agentleague.roles.ports import Answer, Cancel, OnAnswer
from agentleague.roles.stimuli import Caller, write_headers
from agentleague.simulation.clock import Lifetime, VirtualClock
from agentleague.transport.http_client import Done, HttpAnswer
from agentleague.transport.manager_addresses import MARGIN_SECONDS, POLL_SECONDS, ManagerAddresses
from agentleague.transport.memory import MemoryTransport
from agentleague.transport.seat_client import SeatClient
from agentleague.transport.seats import LATE, Seats

if TYPE_CHECKING:
    from agentleague.simulation.observer import Observer

SEAT = "seat"  # from where a seated agent has its calls
BREAKS_MAX = 2  # in a row, of connections to a seat: nobody waits long for what was said there
DELAY_SECONDS = (0.0005, 0.01)  # of one message, at least and at most


class Conditions(NamedTuple):
    """Delay and loss of messages between any two agents; different delays change their order."""

    delay_seconds: tuple[float, float] = DELAY_SECONDS
    loss: float = 0.0  # the part of messages that never arrive
    resets: float = 0.0  # the part of those whose sender is told that the connection is gone
    repeats: float = 0.0  # the part of requests that arrive twice
    polls: float = 0.0  # the part of requests and answers at seats whose connection breaks


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
        return self.happens(self._conditions.loss)

    def resets(self) -> bool:
        """Whether the sender of a lost message is told that the connection is gone."""
        return self._random() < self._conditions.resets

    def happens(self, part: float) -> bool:
        """Whether that happens now which happens to this part of messages."""
        return part > 0 and self._random() < part

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
        self.clients = count(1)  # names of programs at seats
        self.repeated: set[bytes] = set()  # requests that arrive twice
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
        if self.alive.get(transport.url) is transport:
            del self.alive[transport.url]
        for exchange in list(self.exchanges):
            exchange.left(transport)

    def heal(self) -> None:
        """Mend all ways; agents that wait at their seats for what was lost notice it."""
        self.links.heal()
        for poll in [each for each in self.exchanges if isinstance(each, _SeatRequest)]:
            poll.cut_off()

    def later(self, what: Callable[[], None]) -> None:
        """When the next message would have arrived."""
        clock = self.clock
        clock.call_at(clock.time + self.delay(), what)


class _WatchedSeats(Seats):
    """Looks whether only the agent that opened a seat last is believed there."""

    wrong: Callable[[str], None]

    def __init__(self, clock: Lifetime, first_epoch: int) -> None:
        super().__init__(clock, first_epoch)
        self._newest: dict[str, int] = {}  # by player

    def open(self, seat: str, client: str = "") -> int:
        epoch = super().open(seat, client)
        self._newest[seat] = max(epoch, self._newest.get(seat, 0))
        return epoch

    def poll(self, seat: str, poll: Poll, respond: Callable[[Polled], None]) -> Cancel:
        is_old = poll.epoch < self._newest.get(seat, 0)

        def polled(said: Polled) -> None:
            if is_old and any(receipt.state == "taken" for receipt in said.receipts):
                self.wrong(f"an answer counts of an agent that has lost the seat of {seat}")
            respond(said)

        return super().poll(seat, poll, polled)


class SimulatedTransport(MemoryTransport):
    """One agent's end of the network, as long as it lives."""

    def __init__(
        self, network: SimulatedNetwork, url: str, receiver: str, lifetime: Lifetime
    ) -> None:
        super().__init__(lifetime, receiver)
        self.url, self.lifetime = url, lifetime
        self.source = host_of(url)
        self._simulated = network
        self.seats = _WatchedSeats(lifetime, int(network.clock.time * 1e6))
        self.seats.wrong = lambda said: network.watcher.violations.append(said)
        self._seat: SeatClient | None = None
        self.managers: ManagerAddresses | None = None  # where its manager may be
        self.breaks = 0  # of its connections to its seat, in a row

    def call(self, to: Address, message: Message, until: float, done: OnAnswer) -> Cancel:
        """Ask another agent; the answer comes later. A dead agent sends nothing."""
        if self.lifetime.is_over:
            return lambda: None
        return _Exchange(self._simulated, self, message, done).begin(to, until)

    def sit(self, manager_url: str, seat: str, token: Callable[[], str]) -> SeatClient:
        """Take calls from a seat at the manager, once the client is started."""
        network, url = self._simulated, url_at(manager_url, seat)
        handed: set[bytes] = set()

        def post(what: str, body: bytes, until: float, done: Done) -> Cancel:
            request, until = _SeatRequest(network, self, done), until - self.lifetime.ahead
            return request.send(f"{url}/{what}", body, token(), until)

        def deliver(body: bytes, proof: str, answer: Callable[[int, bytes], None]) -> None:
            message = lenient.read_request(body, self._taken, thorough=False)[1]
            assert message
            is_again = body in handed and body not in network.repeated
            handed.add(body)
            network.watcher.handed_out(url, message, is_again=is_again)
            network.watcher.asked(SEAT, self.url, message, body)
            head = write_headers([(PROOF_HEADER, proof)] if proof else ())
            self.receive(body, "", partial(answer, 200), head)

        if self._seat:
            self._seat.stop()
        self._seat = SeatClient(self.lifetime, post, deliver, str(next(network.clients)))
        if self.managers:
            self._seat.wait_seconds, self._seat.margin_seconds = POLL_SECONDS, MARGIN_SECONDS
        return self._seat


class _Exchange:
    """One request on its way there, its answer on its way back, and the deadline of both."""

    def __init__(
        self, network: SimulatedNetwork, asker: SimulatedTransport, message: Message, done: OnAnswer
    ) -> None:
        self._network, self._asker, self._message, self._done = network, asker, message, done
        self._began = network.clock.time
        self._is_open = True
        self.head, self.url, self.token = b"", "", ""
        self._managers: ManagerAddresses | None = None  # of whom one is asked
        self._leaves: list[Cancel] = []  # the seats where it waits
        self._asked: list[SimulatedTransport] = []  # who is to answer

    def begin(self, to: Address, until: float) -> Cancel:
        network = self._network
        network.calls += 1
        network.watcher.called(to.url, self._message)
        body = codec.write_request(self._message, network.calls)
        if to.proof_keys:
            self.head = proof_line(to.proof_keys, body)
        if not is_seat(to.url):
            return self._send(to.url, body, until - self._asker.lifetime.ahead)
        # What a manager says to a seated player goes straight to its queue.
        proof, answered = Caller("", head=self.head).proof, partial(self._answered, SEAT)
        self._stop_deadline = self._asker.seats.call(split(to.url)[0], body, proof, until, answered)
        network.on_sent()
        return self._close

    def _send(self, url: str, body: bytes, until: float) -> Cancel:
        network, managers = self._network, self._asker.managers
        here = managers.where(url) if managers else None
        self.url = url = here or url
        self._managers = managers if here else None
        self._stop_deadline = network.clock.call_at(until, self._late)
        if network.links.is_reliable:
            network.later(partial(self._arrive, url, body))
        else:
            self._send_unreliably(url, body)
        network.on_sent()
        return self._close

    def _send_unreliably(self, url: str, body: bytes) -> None:
        network, target = self._network, host_of(url)
        links, times = network.links, 1
        if links.happens(links.conditions.repeats):
            network.repeated.add(body)
            times = 2
        for _ in range(times):
            if not links.loses(self._asker.source, target):
                network.later(partial(self._arrive, url, body))
                continue
            network.watcher.lost(self._asker.source, target, self._message)
            if links.resets():
                self._break(f"the connection to {url} is gone", "")

    def left(self, transport: SimulatedTransport) -> None:
        """An agent died."""
        if self._asker is transport:
            self._close()
        elif transport in self._asked:
            self._asked.remove(transport)
            self._break(f"the agent at {transport.url} is gone", transport.source)

    def _arrive(self, url: str, body: bytes) -> None:
        agent = self._network.alive.get(url_of(host_of(url)) if PREFIX in url else url)
        if agent is None:
            self._break(f"nobody listens at {url}", host_of(url), errors.UNREACHABLE)
            return
        self._asked.append(agent)
        if self._is_open:
            self._network.exchanges[self] = None
        agent.lifetime.when_awake(self._deliver, agent, body)

    def _deliver(self, agent: SimulatedTransport, body: bytes) -> None:
        source = self._asker.source
        if PREFIX in self.url:
            path, respond = urlsplit(self.url).path, partial(self._respond, agent)
            self._leaves.append(agent.receive_at_seat(path, body, source, self.token, respond))
            return
        self._network.watcher.asked(source, agent.url, self._message, body)
        agent.receive(body, source, partial(self._respond, agent, 200), self.head)

    def _respond(self, agent: SimulatedTransport, status: int, body: bytes) -> None:
        if agent not in self._asked or agent.lifetime.is_over:
            return
        network, source = self._network, agent.source
        changes = network.answer_filters.get(agent.url)
        answer = changes(self._message, body) if changes else body
        if answer is None:
            return
        self._asked.remove(agent)
        if network.links.is_reliable or not network.links.loses(source, self._asker.source):
            network.later(partial(self._answered, source, status, answer))
        else:
            network.watcher.lost(source, self._asker.source, self._message)
        network.on_sent()

    def _break(self, why: str, source: str, kind: str = errors.CLOSED) -> None:
        """Tell the asker that the connection is gone, unless that is lost too."""
        links = self._network.links
        if links.is_reliable or not links.loses(source, self._asker.source):
            self._network.later(partial(self._failed, errors.NoConnection(why, kind=kind)))

    def _answered(self, source: str, status: int, body: bytes) -> None:
        if not self._can_notice(self._answered, source, status, body):
            return
        if status == LATE:
            self._finish(None, errors.NoAnswer("no answer in time"))
            return
        self._network.watcher.answered(source, self._asker.url, self._message, body)
        try:
            answer = answers.read_answer(self._message, status, body)
        except errors.LeagueError as error:
            self._finish(None, error)
        else:
            self._finish(answer, None)

    def _failed(self, error: errors.LeagueError) -> None:
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
        self._failed(errors.NoAnswer("the time ran out"))

    def _finish(self, message: Message | None, error: errors.LeagueError | None) -> None:
        self._close()
        now, managers = self._network.clock.time, self._managers
        if managers and isinstance(error, errors.NoAnswer | errors.NoConnection):
            failed = managers.player_failed if PREFIX in self.url else managers.failed
            failed(error, self._began, now)
        elif managers and error and error.context.get("code") == errors.StorageError.code:
            managers.answered(503, self._began, now)  # As over HTTP.
        self._done(Answer(message, error, now - self._began))

    def _close(self) -> None:
        self._is_open = False
        self._network.exchanges.pop(self, None)
        self._stop_deadline()
        for leave in self._leaves:
            if not self._network.links.loses(self._asker.source, host_of(self.url)):
                self._network.later(leave)


class _SeatRequest(_Exchange):
    """What a seated agent asks at its seat."""

    def __init__(self, network: SimulatedNetwork, asker: SimulatedTransport, done: Done) -> None:
        kind: Any = Opening()  # what is shown in a trace
        super().__init__(network, asker, kind, lambda answer: None)
        self._tell = done
        network.exchanges[self] = None  # before it arrives: what is lost must be noticed once

    def _breaks(self) -> bool:
        links = self._network.links
        is_next = self._asker.breaks < BREAKS_MAX and links.happens(links.conditions.polls)
        self._asker.breaks += is_next
        return is_next

    def cut_off(self) -> None:
        self._break("the connection is gone", "")

    def send(self, url: str, body: bytes, token: str, until: float) -> Cancel:
        self.token = token
        if not self._breaks():
            return self._send(url, body, until)
        self._stop_deadline = self._network.clock.call_at(until, self._late)
        self.cut_off()
        return self._close

    def _respond(self, agent: SimulatedTransport, status: int, body: bytes) -> None:
        if agent.lifetime.is_over or not self._breaks():
            super()._respond(agent, status, body)
        else:
            self.cut_off()

    def _answered(self, source: str, status: int, body: bytes) -> None:
        if self._can_notice(self._answered, source, status, body):
            self._close()
            self._asker.breaks = 0
            if self._managers:
                self._managers.answered(status, self._began, self._network.clock.time)
            self._tell(HttpAnswer(status, body, None, None, 0.0))

    def _finish(self, message: Message | None, error: errors.LeagueError | None) -> None:
        self._close()
        if self._managers:
            self._managers.failed(error, self._began, self._network.clock.time)
        self._tell(HttpAnswer(0, b"", None, error, 0.0))


def url_of(name: str) -> str:
    """Where a process is called."""
    return f"http://{name}/mcp"


@lru_cache(maxsize=1000)
def host_of(url: str) -> str:
    """The name of the agent at an address."""
    return urlsplit(url).hostname or url
