"""One hop between two workers: a request goes to the owner of its league with its true source.

What is sent is sealed with the service key, for one receiver, and counts once and only for seconds.
It is read at a worker's internal port alone: at the public one there is no such path.
"""

import asyncio
import hmac
import logging
from collections import Counter, OrderedDict
from collections.abc import Callable
from functools import partial
from hashlib import sha256
from typing import Any

import msgspec
from msgspec import Struct

from agentleague.errors import InvalidRequest, TokenInvalid
from agentleague.roles.stimuli import Headers
from agentleague.runtime.clock import wall
from agentleague.transport.guard import Guard
from agentleague.transport.http_client import ClientLimits, HttpAnswer, HttpClient
from agentleague.transport.http_response import Handler, HttpRequest, Response
from agentleague.transport.http_server import ServerLimits

log = logging.getLogger(__name__)
PATH = "/forwarded"
MAC_BYTES = 32
REPLAY_SECONDS = 30.0  # that two machines' clocks may differ, and that a request is remembered
WAIT_SECONDS = 3_700.0  # longer than a referee waits at a seat: it leaves by itself
ANYWHERE = ("0.0.0.0/0", "::/0")
ANSWER_BYTES = 16_000_000
HELD_MAX = 1_024  # connections of one address that wait at seats elsewhere, beside its usual ones
# A sealed request holds head and body of one that the public port took.
INNER_LIMITS = ServerLimits(body_bytes=32_768, connections_per_source=4_096)
OUTER_LIMITS = ClientLimits(body_bytes=ANSWER_BYTES, connections_per_origin=4_096)


class Hop(Struct, frozen=True, array_like=True):
    """A request on its way: to which worker, when and as which one it was sent, and what it is."""

    to: str
    at: float
    number: int
    request: HttpRequest


class Answered(Struct, frozen=True, array_like=True):
    """The owner's answer; status 0: the connection is to be closed without one."""

    status: int
    body: bytes = b""
    headers: tuple[tuple[str, str], ...] = ()


class Seal:
    """Signs hops with the service key and reads those of others, each one once."""

    def __init__(self, service_key: bytes, now: Callable[[], float] = wall) -> None:
        self._key, self._now = sha256(b"agentleague hop|" + service_key).digest(), now
        self._seen: OrderedDict[bytes, float] = OrderedDict()
        self._sent = 0

    def write(self, to: str, request: HttpRequest) -> bytes:
        """A sealed hop, for the worker at this address alone."""
        self._sent += 1
        body = msgspec.msgpack.encode(Hop(to, self._now(), self._sent, request))
        return hmac.digest(self._key, body, "sha256") + body

    def read(self, sealed: bytes, own_address: str) -> HttpRequest:
        """The request in it. Raises TokenInvalid where it is no hop for us, is old or a repeat."""
        mac, body, now = sealed[:MAC_BYTES], sealed[MAC_BYTES:], self._now()
        if not hmac.compare_digest(mac, hmac.digest(self._key, body, "sha256")):
            raise TokenInvalid("this was not sealed with our service key")
        hop = msgspec.msgpack.decode(body, type=Hop)
        while self._seen and next(iter(self._seen.values())) < now - 2 * REPLAY_SECONDS:
            self._seen.popitem(last=False)
        if hop.to != own_address or abs(hop.at - now) > REPLAY_SECONDS or mac in self._seen:
            raise TokenInvalid(
                "this is for another worker, a repeat, or too old by the clock of this machine"
            )
        self._seen[mac] = now
        return hop.request


class Forwarder:
    """Sends requests on to other workers, and takes those that others send here."""

    def __init__(self, seal: Seal, refuse: Callable[[Response, int, Any], None]) -> None:
        self._seal, self._refuse = seal, refuse
        self._client = HttpClient(Guard("lan", ANYWHERE), limits=OUTER_LIMITS)
        self._under_way: dict[Response, tuple[str, str, Callable[[], None]]] = {}
        self._held = Counter[str]()  # of each address
        self.sent = 0

    def send(self, address: str, request: HttpRequest, respond: Response) -> None:
        """Let the worker at this address answer."""
        self.sent += 1
        until = asyncio.get_running_loop().time() + WAIT_SECONDS
        sealed, done = self._seal.write(address, request), partial(self._answered, respond)
        cancel = self._client.post(f"{address.partition('#')[0]}{PATH}", sealed, until, done)
        respond.lost = partial(self._leave, respond)
        # The owner alone knows who is no stranger: so this is for some of them, too.
        is_held = "/seats/" in request.path and self._held[request.source] < HELD_MAX
        self._under_way[respond] = address, request.source if is_held else "", cancel
        if is_held:
            self._held[request.source] += 1
            respond.hold()

    def give_up(self, addresses: set[str]) -> None:
        """Wait no longer for workers that are gone: who asked comes again."""
        for respond, (address, *_) in list(self._under_way.items()):
            if address not in addresses:
                self._leave(respond)
                self._refuse(respond, 503, None)

    def _leave(self, respond: Response) -> None:
        self._end(respond)()

    def _end(self, respond: Response) -> Callable[[], None]:
        """Count it no more; what cancels it."""
        _, held, cancel = self._under_way.pop(respond)
        self._held[held] -= 1
        if self._held[held] <= 0:
            del self._held[held]
        return cancel

    def _answered(self, respond: Response, got: HttpAnswer) -> None:
        self._end(respond)
        if got.error or got.status != 200:
            self._refuse(respond, 503, None)
            return
        answer = msgspec.msgpack.decode(got.body, type=Answered)
        if answer.status:
            respond(answer.status, answer.body, answer.headers)
        else:
            respond.drop()

    def receive(
        self, own_address: str, handle: Handler, request: HttpRequest, respond: Response
    ) -> None:
        """Answer what another worker sent on."""
        try:
            meant = self._seal.read(request.body, own_address)
        except (TokenInvalid, msgspec.DecodeError) as error:
            # Two machines whose clocks differ would else refuse each other in silence.
            log.warning("what a worker at %s sent on is refused: %s", request.source, error)
            self._refuse(respond, 403, InvalidRequest(str(error)))
            return
        handle(meant, _InnerResponse(respond))  # type: ignore[arg-type]

    async def stop(self) -> None:
        """Let the connections go."""
        await self._client.stop()


class _InnerResponse:
    """Takes an answer like any `Response`, and hands it back whole to the worker that asked."""

    def __init__(self, outer: Response) -> None:
        self._outer, self.is_head = outer, False
        self.counts: dict[int, int] | None = None

    def __call__(self, status: int, body: bytes, headers: Headers = (), /) -> None:
        if self.counts is not None and status:
            self.counts[status] = self.counts.get(status, 0) + 1
        told = Answered(status, body, tuple((str(name), str(value)) for name, value in headers))
        self._outer(200, msgspec.msgpack.encode(told))

    @property
    def answer(self) -> Any:
        return self._outer.answer

    @property
    def lost(self) -> Any:
        """What is told if the worker that asked has gone."""
        return self._outer.lost

    @lost.setter
    def lost(self, told: Any) -> None:
        self._outer.lost = told

    def hold(self) -> None:
        self._outer.hold()

    def drop(self) -> None:
        self(0, b"")
