"""Seats at a manager over HTTP: end points for agents that only call out."""

from collections.abc import Sequence
from functools import partial
from typing import TYPE_CHECKING

from agentleague import errors
from agentleague.dialects import requests
from agentleague.errors import LeagueError
from agentleague.protocol import codec
from agentleague.protocol import seats as wire
from agentleague.protocol.fast_path import own_form
from agentleague.protocol.mcp import bearer
from agentleague.roles.ports import Cancel, Clock
from agentleague.roles.stimuli import Caller, Headers
from agentleague.transport.guard import Guard
from agentleague.transport.http_client import Call, HttpClient
from agentleague.transport.http_response import HttpRequest, Response
from agentleague.transport.seats import AGENT_FAILED, AWAY, FULL, LATE, Seats

if TYPE_CHECKING:
    from agentleague.transport.http import HttpTransport, TransportPolicy

_NO_STORE = [("Cache-Control", "no-store")]
_REFUSALS: dict[int, LeagueError] = {
    LATE: errors.NoAnswer("the agent at this seat did not answer in time"),
    AGENT_FAILED: errors.NoConnection("the agent at this seat failed, or its answer is too long"),
    FULL: errors.RateLimited(f"{wire.CALLS_MAX} calls wait at this seat; try again later"),
}
_TAKEN = codec.taken_by("player")


class SeatRoutes:
    """The seats of a manager, as agents and referees call them."""

    def __init__(self, transport: "HttpTransport", policy: "TransportPolicy") -> None:
        self._transport, self._server, self._policy = transport, transport.server, policy
        self._seats = transport.seats
        self._own_form = own_form(_TAKEN - requests.RESPELLED, thorough=True)
        self._held: dict[Response, Cancel] = {}  # of referees
        self._server.route(f"{wire.PREFIX}*", ("POST",), self._on_request)

    def stop(self) -> None:
        """End what is held: agents and referees come again when the manager is back."""
        self._seats.end_polls()
        for respond, cancel in list(self._held.items()):
            cancel()
            self._say_away(respond)
        self._held.clear()

    def _on_request(self, request: HttpRequest, respond: Response) -> None:
        player_id, action = wire.split(request.path)
        if self._transport.is_starting or self._transport.is_away() or self._server.stopping:
            self._say_away(respond)
        elif action == "mcp":
            self._on_referee(player_id, request, respond)
        else:
            token = bearer(request.head)
            fault = self._fault(player_id, action, token)
            refuse = partial(self._refuse, respond, *fault) if fault else None
            serve = partial(self._on_agent, player_id, action, request, respond)
            self._transport.limit(request, respond, "" if fault else token, refuse or serve)

    def _fault(self, player_id: str, action: str, token: str) -> tuple[int, LeagueError] | None:
        if not action:
            there = "open, poll and mcp are at a seat: write /seats/P01/poll"
            return 404, errors.InvalidRequest(there)
        if not token:
            how = "a seat needs the header Authorization: Bearer, and the token of its player"
            return 401, errors.TokenMissing(how)
        if self._policy.seat_of(token) != player_id:
            how = "the token in Authorization has not this seat; register again with seat: true"
            return 403, errors.TokenInvalid(how)
        return None

    def _on_agent(
        self, player_id: str, action: str, request: HttpRequest, respond: Response
    ) -> None:
        try:
            say = partial(self._say, respond)
            respond.lost = self._seats.serve(player_id, action, request.body, say)
            respond.hold()
        except LeagueError as error:
            self._refuse(respond, 400, error)

    def _on_referee(self, player_id: str, request: HttpRequest, respond: Response) -> None:
        body, source, proxies = request.body, request.source, self._policy.proxies
        envelope, message, error, missing = self._own_form.read(body) or requests.read_request(
            body, _TAKEN, thorough=True
        )
        if request.is_forwarded or proxies.own_name:
            source = proxies.source_of(source, request.head)
        token = (message.auth_token or None) if message else None
        caller = Caller(source, token, envelope.form, missing, envelope.method, request.head)
        if message and self._policy.may_call(player_id, message, caller):
            done = partial(self._answered, respond)
            self._held[respond] = self._seats.refer(player_id, body, message, done)
            respond.lost = lambda: self._held.pop(respond)()
            respond.hold()
            return
        only = "only the referee of an open match of this player may call its seat"
        refusal = error or errors.TokenInvalid(f"auth_token: {only}")
        refuse = partial(self._refuse, respond, 403 if message else 400, refusal)
        self._transport.limit(request, respond, "", refuse)

    def _answered(self, respond: Response, status: int, body: bytes) -> None:
        del self._held[respond]
        if status == AWAY:
            self._say_away(respond)
        elif body or status not in _REFUSALS:
            respond(status, body)
        else:
            self._refuse(respond, status, _REFUSALS[status])

    def _say(self, respond: Response, said: object) -> None:
        respond(200, codec.encode(said), _NO_STORE)

    def _say_away(self, respond: Response) -> None:
        away = errors.StorageError(
            "this manager is starting or stopping, or its database is away; try again in a second"
        )
        self._refuse(respond, 503, away, [("Retry-After", "1")])

    def _refuse(
        self, respond: Response, status: int, error: LeagueError, headers: Headers = ()
    ) -> None:
        respond(status, self._server.refusal(error), [*_NO_STORE, *headers])


class SeatingClient(HttpClient):
    """A manager's client: what is for a seat goes straight to its queue."""

    def __init__(self, guard: Guard, seats: Seats, clock: Clock) -> None:
        super().__init__(guard)
        self._seats, self._clock = seats, clock

    def send(self, url: str, calls: Sequence[Call]) -> None:
        """Sends calls of one kind, in order; each is told once what became of it in their time."""
        if not wire.is_seat(url):
            HttpClient.send(self, url, calls)
            return
        for call in calls:
            head, _, body = call.request.partition(b"\r\n\r\n")
            proof, call.started = Caller("", head=head).proof, self._clock.now()
            done = partial(self._answered, call)
            call.leave = self._seats.call(wire.split(url)[0], body, proof, call.until, done)

    def _answered(self, call: Call, status: int, body: bytes) -> None:
        late = errors.NoAnswer("no answer in time") if status == LATE else None
        call.over = True
        seconds = self._clock.now() - call.started
        call.answered(0 if late else status, body, None, late, seconds)
