"""Messages over HTTP: the server and client of this package, joined by the codec."""

import asyncio
import re
from bisect import bisect_left
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeVar

from msgspec import UNSET, Struct
from msgspec.structs import replace

from agentleague import errors
from agentleague.dialects import lenient, requests
from agentleague.dialects.answers import read_answer
from agentleague.dialects.negotiation import is_misunderstood
from agentleague.errors import LeagueError
from agentleague.protocol import codec, messages
from agentleague.protocol.fast_path import own_form
from agentleague.protocol.jsonrpc import Envelope, Form
from agentleague.protocol.messages import Message
from agentleague.protocol.seats import url_at
from agentleague.protocol.timestamps import write
from agentleague.roles.effects import Address
from agentleague.roles.ports import Answer, Cancel, Clock, OnAnswer, OnAsk, OnTold, Telling
from agentleague.roles.stimuli import Caller
from agentleague.roles.tally import SECONDS, Times
from agentleague.transport.callers import Proxies, addresses_of, name_in
from agentleague.transport.fallback import Conversation, PeerDialects, as_value, read
from agentleague.transport.guard import Guard
from agentleague.transport.http_client import (
    Call,
    ClientLimits,
    HttpClient,
    PlayerClient,
    request_of,
)
from agentleague.transport.http_connection import HttpAnswer, Outgoing
from agentleague.transport.http_seats import SeatingClient, SeatRoutes
from agentleague.transport.http_server import HttpRequest, HttpServer, Response, ServerLimits
from agentleague.transport.manager_addresses import MARGIN_SECONDS, POLL_SECONDS, ManagerAddresses
from agentleague.transport.mcp import McpEndpoint, McpReply, Read, Todo
from agentleague.transport.seat_client import READ_BYTES, SeatClient, seat_client
from agentleague.transport.seats import Seats

T = TypeVar("T")


@dataclass(frozen=True)
class Rate:
    """Requests a second, requests at once, and how long registrations and refusals may wait."""

    per_second: float = 500.0
    burst: float = 1000.0
    wait_seconds: float = 5.0
    refusal_seconds: float = 5.0
    sources: int = 10_000  # remembered; the longest unseen is forgotten first


class Buckets:
    """What each source has left."""

    def __init__(self, rate: Rate = Rate()) -> None:  # noqa: B008
        self._rate = rate
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._refused: OrderedDict[str, float] = OrderedDict()  # source -> when the next is told

    def take(self, source: str, now: float, wait_seconds: float = 0.0) -> float | None:
        """How long this request must wait to be within the rate; None: longer than it may."""
        left, seen = self._left.get(source, (self._rate.burst, now))
        left = min(self._rate.burst, left + (now - seen) * self._rate.per_second) - 1.0
        delay = max(0.0, -left / self._rate.per_second)
        if delay > wait_seconds:
            return None
        self._keep(self._left, source, (left, now))
        return delay

    def hold(self, source: str, now: float) -> float:
        """How long to wait before a request that is over the rate is told so."""
        turn = max(now, min(self._refused.get(source, now), now + self._rate.refusal_seconds))
        self._keep(self._refused, source, turn + 1.0 / self._rate.per_second)
        return turn - now

    def seconds_until_free(self, source: str, now: float) -> float:
        """When it is worth trying again."""
        left, seen = self._left.get(source, (self._rate.burst, now))
        left = min(self._rate.burst, left + (now - seen) * self._rate.per_second)
        return max(0.0, (1.0 - left) / self._rate.per_second)

    def _keep(self, sources: OrderedDict[str, T], source: str, value: T) -> None:
        sources[source] = value
        sources.move_to_end(source)
        if len(sources) > self._rate.sources:
            sources.popitem(last=False)


OWN_BYTES = 65_536  # what our referees and players read, and what is read from a manager
OWN_LIMITS = ServerLimits(body_bytes=OWN_BYTES)
REGISTRATIONS = (messages.LeagueRegisterRequest, messages.RefereeRegisterRequest)
TO_A_MANAGER = {kind.cls for kind in messages.MESSAGES.values() if kind.receiver == "manager"}
# What our referee sends in numbers.
PIPELINED = {messages.LockRequest, messages.MatchResultReport, messages.RefereeStatus}
LOOK_UPS_MAX = 64  # host names at a time; further ones are taken as they are spelled
LEAVE_SECONDS = 2.0  # in which an agent brings its last answers to its seat
LOCAL_HOSTS = ("127.0.0.1", "::1")

Refused = Callable[[str, LeagueError, bool], None]  # from where, why, whether it was a registration


class TransportPolicy(Struct, frozen=True):
    """What an agent is, whom it may call, and how much unknown callers may ask."""

    receiver: str  # manager, referee or player
    guard: Guard
    wall: Callable[[], float]
    is_known: Callable[[str | None], bool] = lambda token: False
    is_referee: Callable[[str | None], bool] = lambda token: False
    # Whose seat a token opens, and whether a caller may say this to a seated player.
    seat_of: Callable[[str | None], str | None] = lambda token: None
    may_call: Callable[[str, Message, Caller], bool] = lambda player_id, message, caller: False
    rate: Rate = Rate()
    names: frozenset[str] = frozenset()
    server: ServerLimits | None = None  # what its server takes, if not what its kind takes
    proxies: Proxies = Proxies()
    managers: Sequence[str] = ()  # the addresses of its manager, if there are several


class HttpTransport:
    """One agent's end of the network: it listens on a port and calls others."""

    def __init__(self, clock: Clock, policy: TransportPolicy) -> None:
        self._clock, self._policy = clock, policy
        self._taken = codec.taken_by(policy.receiver)
        self._is_limited = policy.receiver == "manager"
        self.server = self._new_server()
        self.guard = policy.guard
        self.seats = Seats(clock, int(policy.wall() * 1e6))  # Later processes begin higher.
        self._seat_routes: SeatRoutes | None = None
        self._seat: SeatClient | None = None  # where it has no port
        several = ManagerAddresses(policy.managers) if len(policy.managers) > 1 else None
        self.managers = several
        self._client: HttpClient = PlayerClient(self.guard, managers=several)
        if self._is_limited:
            self._client = SeatingClient(self.guard, self.seats, clock)
            self._seat_routes = SeatRoutes(self, policy)
        to_manager, to_seat = (ClientLimits(body_bytes=each) for each in (OWN_BYTES, READ_BYTES))
        self._to_manager = HttpClient(self.guard, limits=to_manager, managers=several)
        self._to_seat = HttpClient(self.guard, limits=to_seat, managers=several)
        self._clients = [self._client, self._to_manager, self._to_seat]
        self._buckets = Buckets(policy.rate)
        self.dialects = PeerDialects(clock, self._post)
        self.is_starting = True
        self.is_away: Callable[[], bool] = lambda: False  # a manager that may have lost its league
        starting = errors.StorageError("this agent is starting; try again in a second")
        self._on_ask: OnAsk = lambda message, caller, reply: reply(starting)
        self.wall, self.mcp = policy.wall, McpEndpoint(self, policy.receiver)
        is_player = policy.receiver == "player"  # Whose referee may be foreign.
        self._decide(not is_player)
        self._read_request = lenient.read_request if is_player else requests.read_request
        self.write_answer = lenient.write_reply if is_player else codec.write_answer
        self._looking_up: set[asyncio.Task[None]] = set()
        self.port = 0  # until it is open
        self.calls = self.bytes_sent = self.bytes_answered = 0  # of the requests we made
        self.call_times, self.failures = Times(), Counter[str]()  # of those, by error
        self.broadcasts, self.refusals = 0, Counter[str]()  # by error
        sender = "league_manager" if self._is_limited else policy.receiver
        self.sender: Callable[[], str] = lambda: sender  # of errors
        self.refused: Refused = lambda source, error, is_registration: None

    def _new_server(self) -> HttpServer:
        is_manager = self._policy.receiver == "manager"
        usual = ServerLimits() if is_manager else OWN_LIMITS
        server = HttpServer(
            self._on_request,
            refusal=lambda error: self.refusal(Envelope(), error),
            paths=frozenset({"/mcp", "/"} | ({"/register"} if is_manager else set())),
            names=self._policy.names,
            limits=self._policy.server or usual,
        )
        server.refusal_delay, server.is_proxy = self._refusal_delay, self._policy.proxies.trusts
        starting = codec.encode({"status": "starting", "role": self._policy.receiver})
        server.health = lambda: (503, starting, (("Retry-After", "1"),))
        return server

    async def start(self, port: int, hosts: Sequence[str] = LOCAL_HOSTS) -> int:
        """Open the port, the same on every host; returns its number."""
        self.port = await self.server.start(hosts, port)
        return self.port

    async def stop(self) -> None:
        """Let answers in flight go out, then close everything."""
        for task in self._looking_up:
            task.cancel()
        self.server.stopping = True
        if self._seat_routes:
            self._seat_routes.stop()
        if self._seat:
            left = asyncio.Event()
            self._seat.finish(left.set, LEAVE_SECONDS)
            await left.wait()
        await self.server.stop()
        for client in self._clients:
            await client.stop()

    def sit(self, manager_url: str, seat: str, token: Callable[[], str]) -> SeatClient:
        """Take calls from a seat at the manager in place of a port, once the client is started.

        The token is asked for at each request; to stop the client is to leave the seat.
        """
        if self._seat:
            self._seat.stop()
        url, client = url_at(manager_url, seat), self._to_seat
        self._seat = seat_client(self._clock, client, url, token, self._on_request)
        if self.managers:
            self._seat.wait_seconds, self._seat.margin_seconds = POLL_SECONDS, MARGIN_SECONDS
        return self._seat

    def read_leniently(self) -> None:
        """From now on, accept more spellings: the manager is foreign."""
        self._read_request, self.write_answer = lenient.read_request, lenient.write_answer
        self._decide(True)  # Its announcements say where referees are.

    def _decide(self, decides: bool) -> None:
        """Read every message whole, and no key twice, where results depend on it."""
        self._decides = decides
        self._own_form = own_form(self._taken - requests.RESPELLED, thorough=decides)

    def listen(self, on_ask: OnAsk) -> None:
        """From now on, hand requests to `on_ask`."""
        self._on_ask, self.is_starting, self.seats.began = on_ask, False, self._clock.now()

    def call(self, to: Address, message: Message, until: float, done: OnAnswer) -> Cancel:
        """Ask another agent; the answer comes later, never within this call."""
        if not to.proof_keys and (to.dialect or to.url in self.dialects.known):
            return self.dialects.call(to, message, until, done)
        self.calls += 1
        kind, keys = type(message), to.proof_keys
        body = codec.write_request(message, self.calls)
        self.bytes_sent += len(body)
        request, is_ordered = request_of(body, keys), keys != () or kind in PIPELINED
        call = _OutgoingCall(
            self, to, message, done, request=request, until=until, ordered=is_ordered
        )
        client = self._to_manager if kind in TO_A_MANAGER else self._client
        client.send(to.url, (call,))
        return call.cancel

    def broadcast(
        self, letters: Sequence[tuple[Address, Sequence[Message]]], until: float, done: OnTold
    ) -> Telling:
        """Tell many agents of ours, each all its messages; any answer but an error acknowledges."""
        telling, bodies = _Telling(done), dict[int, bytes]()
        self.broadcasts += 1
        calls_of: list[list[_Letter]] = []  # All are written before the first is sent.
        for to, told in letters:
            calls = []
            for message in told:
                self.calls += 1
                body = bodies.get(id(message))
                if body is None:
                    body = bodies[id(message)] = codec.write_request(message, self.calls)
                self.bytes_sent += len(body)
                request = request_of(body, to.proof_keys)
                call = _Letter(self, telling, message, request=request, until=until, ordered=True)
                telling.open[call] = to.agent_id
                calls.append(call)
            calls_of.append(calls)
        for (to, _), calls in zip(letters, calls_of, strict=True):
            self._client.send(to.url, calls)
        return telling

    def _post(
        self, url: str, what: Outgoing, until: float, done: Callable[[HttpAnswer], None]
    ) -> Cancel:
        """Send a request in another dialect than ours."""

        def answered(got: HttpAnswer) -> None:
            self.bytes_answered += len(got.body)
            self.call_times.add(got.seconds)
            if got.error:
                self.failures[got.error.code] += 1
            done(got)

        self.calls += 1
        self.bytes_sent += len(what.body)
        # A list of tools may be as long as what a manager says.
        is_long = what.message is None or type(what.message) in TO_A_MANAGER
        client = self._to_manager if is_long else self._client
        return client.post(url, what.body, until, answered, what.headers)

    def _on_request(self, request: HttpRequest, respond: Response) -> None:
        body, source, proxies = request.body, request.source, self._policy.proxies
        read: Read | None = self._own_form.read(body)
        reply: _Reply | McpReply | None = None
        if read is None:
            found = self.mcp.read(request, respond)
            read, reply = found or (self.read_league(body, request.path), None)
        envelope, message, error, missing = read
        reply = reply or _Reply(self, envelope, respond, request.path)
        if request.is_forwarded or proxies.own_name:
            source = proxies.source_of(source, request.head)
        token = (message.auth_token or None) if message else None
        form, method, nested = envelope.form, envelope.method, envelope.nested_in
        has_text, has_none = type(envelope.id) is str, envelope.id is UNSET
        peer, account = source or request.source, ""
        if self._is_limited:
            body, account = b"", self._account(peer, token, message)
        caller = Caller(
            source, token, form, missing, method, request.head, body, (), nested, has_text, has_none
        )
        if message is None or account:
            self._weigh(peer, account, caller, message or error, reply)
        else:
            self._on_ask(message, caller, reply)

    def read_league(self, body: bytes, path: str) -> codec.Incoming:
        """Read a request in a dialect of the league."""
        return self._read_request(body, self._taken, thorough=self._decides, path=path)

    def limit(
        self, request: HttpRequest, respond: Response, token: str, act: Callable[[], None]
    ) -> None:
        """Act on a request that is no message, if it is within the rate of its token or source."""
        reply, source = _Reply(self, Envelope(), respond, request.path), request.source
        if request.is_forwarded:
            source = self._policy.proxies.source_of(source, request.head) or source
        self._weigh(source, token or _payer(source), Caller(source), lambda caller: act(), reply)

    def _weigh(
        self,
        source: str,
        account: str,
        caller: Caller,
        what: Message | LeagueError | Todo | None,
        reply: "_Reply | McpReply",
    ) -> None:
        """Count a request against the rate: refuse it, delay it or let it through."""
        now, rate = self._clock.now(), self._policy.rate
        patience = rate.wait_seconds if isinstance(what, REGISTRATIONS) else 0.0
        delay = self._buckets.take(account, now, patience) if account else 0.0
        if delay is None:
            wait = max(1, round(self._buckets.seconds_until_free(account, now)))
            full = errors.RateLimited("too many requests; slow down", retry_after=wait)
            reply.forget()
            held = self._buckets.hold(account, now)
            tell = partial(reply.refuse, source, full)
            self.server.hold(held, tell, reply.respond.drop)
        elif isinstance(what, Message):
            ask = partial(self._ask_where, what, caller, reply)
            self._clock.call_at(now + delay, ask) if delay else ask()
        elif callable(what):
            what(caller)
        else:
            reply.refuse(source, what or errors.InternalError("the request was not read"))

    def _ask_where(self, message: Message, caller: Caller, reply: "_Reply | McpReply") -> None:
        """Ask; a registration at a host name after its addresses were looked up."""
        meta = getattr(message, "player_meta", None) or getattr(message, "referee_meta", None)
        name = name_in(meta.contact_endpoint) if meta else ""
        if not name or len(self._looking_up) >= LOOK_UPS_MAX:
            self._on_ask(message, caller, reply)
            return

        async def look_up() -> None:
            addresses = await addresses_of(name)
            self._on_ask(message, replace(caller, addresses=addresses), reply)

        task = asyncio.get_running_loop().create_task(look_up())
        self._looking_up.add(task)
        task.add_done_callback(self._looking_up.discard)

    def _refusal_delay(self, source: str) -> float:
        """How long the refusal of a malformed request waits: over the rate it comes slowly."""
        now, payer = self._clock.now(), _payer(source)
        is_within = self._buckets.take(payer, now) is not None
        return 0.0 if is_within else self._buckets.hold(payer, now)

    def _account(self, source: str, token: str | None, message: Message | None) -> str:
        """Whose rate a request to a manager counts against; empty where it is not limited."""
        policy = self._policy
        if isinstance(message, REGISTRATIONS):  # Each may write a row.
            return _payer(source)
        if policy.is_referee(token):  # Bounded by its assignments.
            return ""
        # Many players may share an address, and each of them may go wild.
        return token if token and policy.is_known(token) else _payer(source)

    def refusal(self, envelope: Envelope, error: LeagueError) -> bytes:
        """An error in the form of its request."""
        now_text = write(self.wall())
        self.refusals[error.code] += 1
        return codec.write_refusal(envelope, error, sender=self.sender(), timestamp=now_text)


class _Reply(Struct):
    """Answers one request, in its form."""

    transport: HttpTransport
    envelope: Envelope
    respond: Response
    path: str

    def __call__(self, answer: Message | LeagueError) -> None:
        if isinstance(answer, LeagueError):
            body = self.transport.refusal(self.envelope, answer)
            status = answer.http_status
            if status == 200 and self._is_told_by_status and self._is_registration:
                status = 400 if isinstance(answer, errors.ProtocolViolation) else 403
            seconds = str(answer.context.get("retry_after", 1))
            headers = (("Retry-After", seconds),) if answer.http_status in (429, 503) else ()
            self.respond(status if body else 202, body, headers)
        else:
            body = self.transport.write_answer(self.envelope, answer)
            is_refused = self._is_told_by_status and getattr(answer, "status", "") == "REJECTED"
            self.respond((403 if is_refused else 200) if body else 202, body)

    def forget(self) -> None:
        """Keep nothing of the request: it is refused, and that may wait for seconds."""
        self.envelope.body, self.envelope.whole = b"{}", b""

    def refuse(self, source: str, error: LeagueError) -> None:
        """Answer a request that the role never sees."""
        self.transport.refused(source, error, self._is_registration)
        self(error)

    @property
    def _is_registration(self) -> bool:
        """By its name; by an address and no token in it, if its name says nothing."""
        envelope = self.envelope
        asked = (envelope.message_type or envelope.method).lower()
        if self.path == "/register" or re.search("regist|join_?league", asked):
            return True
        body = bytes(envelope.body)
        return asked not in messages.METHODS and b"http" in body and b"token" not in body

    @property
    def _is_told_by_status(self) -> bool:
        """Whether it is not JSON-RPC at the path of document 001, where only the body tells."""
        return self.path == "/register" or self.envelope.form is Form.BARE


class _OutgoingCall(Call):
    """A call in our own dialect; others are tried only if it is not understood."""

    transport: HttpTransport
    to: Address
    message: Message
    done: OnAnswer
    conversation: Conversation | None = None

    def answered(
        self, status: int, body: bytes, retry_after: float | None, error: Any, seconds: float
    ) -> None:
        transport, message = self.transport, self.message
        times = transport.call_times
        transport.bytes_answered += len(body)
        times.counts[bisect_left(SECONDS, seconds)] += 1  # No call: it is done so often.
        times.seconds += seconds
        said = None
        try:
            said = None if error else read_answer(message, status, body, retry_after)
        except LeagueError as refusal:
            error = as_value(refusal, status, body)
        if error:
            transport.failures[error.code] += 1
        # Who wants proofs speaks as we do.
        if not error or self.to.proof_keys or not is_misunderstood(message, error):
            self.done(Answer(said, error, seconds))
        else:
            rest = (self.to, message, self.until, self.done)
            self.conversation = Conversation(transport.dialects, *rest)
            self.conversation.heard(Answer(None, error, seconds))

    def cancel(self) -> None:
        if self.conversation is None:
            Call.cancel(self)
        else:
            self.conversation.cancel()


class _Telling(Struct):
    """A broadcast under way; the answers are counted where they arrive."""

    done: OnTold
    open: dict["_Letter", str] = {}  # messages that are not answered yet, and to whom
    failed: dict[str, LeagueError] = {}

    @property
    def awaited(self) -> Collection[str]:
        """Those who have not answered all their messages."""
        return set(self.open.values())

    def cancel(self) -> None:
        for letter in list(self.open):
            letter.cancel()
        self.open.clear()


class _Letter(Call):
    """One message of a broadcast to one agent."""

    transport: HttpTransport
    telling: _Telling
    message: Message

    def answered(
        self, status: int, body: bytes, retry_after: float | None, error: Any, seconds: float
    ) -> None:
        transport, telling, times = self.transport, self.telling, self.transport.call_times
        transport.bytes_answered += len(body)
        times.counts[bisect_left(SECONDS, seconds)] += 1
        times.seconds += seconds
        agent_id = telling.open.pop(self)
        if status != 200 or b"rror" in body or b"RROR" in body:
            error = read(self.message, HttpAnswer(status, body, retry_after, error, seconds)).error
        if error:
            telling.failed[agent_id] = error
            transport.failures[error.code] += 1
        if not telling.open:
            telling.done(telling.failed)


def _payer(source: str) -> str:
    """All loopback addresses of this machine are one source."""
    return "127.0.0.1" if source.removeprefix("::ffff:").startswith("127.") else source
