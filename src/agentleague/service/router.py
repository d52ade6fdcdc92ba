"""From a path to a league: here, at another worker, or nowhere yet."""

import asyncio
from collections import Counter
from functools import partial
from types import SimpleNamespace

from msgspec.structs import replace

from agentleague import errors
from agentleague.errors import LeagueError
from agentleague.protocol import codec
from agentleague.protocol.jsonrpc import Envelope
from agentleague.protocol.timestamps import write
from agentleague.roles.settings import ServiceSettings
from agentleague.roles.stimuli import Headers
from agentleague.runtime import metrics
from agentleague.runtime.clock import wall
from agentleague.service.forwarding import PATH, Forwarder, Seal
from agentleague.service.leagues import LOOK_SECONDS, ServedLeagues, is_near
from agentleague.service.organisers import OrganisersApi
from agentleague.storage.service_view import ARCHIVED, View
from agentleague.transport.callers import Proxies
from agentleague.transport.http import Buckets, Rate
from agentleague.transport.http_response import Handler, HttpRequest, Response
from agentleague.transport.http_server import HttpServer

PREFIX = "/leagues/"
METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")  # A wrong one is refused in JSON of its own.
RATE = Rate(per_second=20.0, burst=100.0)  # of one source, for what concerns no single league
AWAY = (("Retry-After", "1"),)
HOW = (
    "this service has several leagues; call yours at the URL that its organiser has, which looks "
    "like /leagues/LEAGUE_ID/mcp"
)


def refuse(respond: Response, status: int, error: LeagueError | None) -> None:
    """Answer with an error; with none, that the league is not there at the moment."""
    away = errors.StorageError("this league is between two workers; try again in a second")
    respond(status, refusal(error or away), AWAY if status in (429, 503) else ())


def refusal(error: LeagueError) -> bytes:
    """An error that no league has written."""
    now_text = write(wall())
    return codec.write_refusal(Envelope(), error, sender="league_service", timestamp=now_text)


class Router:
    """Hands each request to the league whose path it has."""

    def __init__(self, leagues: ServedLeagues, seal: Seal, settings: ServiceSettings) -> None:
        self._leagues, self._settings = leagues, settings
        self._forwarder = Forwarder(seal, refuse)
        self._api = OrganisersApi(leagues, settings)
        self._proxies = Proxies(settings.trusted_proxies)
        self._buckets = Buckets(RATE)
        self.began = wall()
        leagues.looked = self._looked

    def serve(self, server: HttpServer, *, is_public: bool) -> None:
        """Let a server take requests: the public one sends on what another worker owns."""
        own = partial(self._on_league, server, is_public)
        show = partial(self._on_service, server, partial(self._show_metrics, server))
        server.refusal_delay, server.health = self._refusal_delay, self._health
        server.is_proxy = self._proxies.trusts
        server.route("/metrics", ("GET",), show)
        server.route(f"{PREFIX}*", METHODS, own)
        if not is_public:
            receive = partial(self._forwarder.receive, self._leagues.place.address, own)
            server.route(PATH, ("POST",), receive)
            return
        server.route("/leagues", METHODS, partial(self._on_service, server, self._api.all))
        for path in ("/mcp", "/register", "/", "/seats/*"):
            server.route(path, ("POST",), partial(self._on_default, server))

    def _on_default(self, server: HttpServer, request: HttpRequest, respond: Response) -> None:
        league_id = self._leagues.default
        if league_id:
            path = f"{PREFIX}{league_id}{request.path}"
            self._on_league(server, True, replace(request, path=path), respond)
        else:
            self._refuse_later(server, request, respond, errors.UnknownLeague(HOW))

    def _on_league(
        self,
        server: HttpServer,
        is_public: bool,
        request: HttpRequest,
        respond: Response,
        is_second: bool = False,
    ) -> None:
        league_id, slash, rest = request.path.removeprefix(PREFIX).partition("/")
        running, row = self._leagues.here.get(league_id), self._leagues.known.get(league_id)
        is_elsewhere = row and row.address and row.owner != self._leagues.place.worker
        sends_on = is_public and is_elsewhere and row and is_near(row.address) and not running
        if row is None and not running and is_public and not is_second:
            # It may have been made at another worker just now.
            self._on_service(server, partial(self._look_again, server), request, respond)
        elif (
            (rest or not slash)
            and self._api.takes(rest, request)
            and not (sends_on and self._api.needs_owner(rest))
        ):
            about = partial(self._api.one, row, running, rest)
            self._on_service(server, about, request, respond)
        elif running:
            running.transport.server.handle(replace(request, path=slash + rest), respond)
        elif sends_on and row:
            self._forwarder.send(row.address, request, respond)
        elif (row and row.state != ARCHIVED) or not is_public:
            refuse(respond, 503, None)
        else:
            unknown = errors.UnknownLeague(f"there is no league at {request.path[:100]}")
            self._refuse_later(server, request, respond, unknown)

    def _look_again(self, server: HttpServer, request: HttpRequest, respond: Response) -> None:
        again = partial(self._on_league, server, True, request, respond, True)
        asyncio.get_running_loop().call_later(2 * LOOK_SECONDS, again)

    def _on_service(
        self, server: HttpServer, act: Handler, request: HttpRequest, respond: Response
    ) -> None:
        """Act on a request that concerns no single league, within the rate of its source."""
        if self._buckets.take(self._source(request), asyncio.get_running_loop().time()) is None:
            tell = partial(refuse, respond, 429, errors.RateLimited("too many requests; slow down"))
            server.hold(self._refusal_delay(self._source(request)), tell, respond.drop)
        else:
            act(request, respond)

    def _refuse_later(
        self, server: HttpServer, request: HttpRequest, respond: Response, error: LeagueError
    ) -> None:
        tell = partial(refuse, respond, 404, error)
        server.hold(self._refusal_delay(self._source(request)), tell, respond.drop)

    def _refusal_delay(self, source: str) -> float:
        now = asyncio.get_running_loop().time()
        is_within = self._buckets.take(source, now) is not None
        return 0.0 if is_within else self._buckets.hold(source, now)

    def _source(self, request: HttpRequest) -> str:
        own = self._proxies.source_of(request.source, request.head) if request.is_forwarded else ""
        return own or request.source

    def _looked(self, view: View) -> None:
        self._forwarder.give_up(set(view.workers.values()))

    def _health(self) -> tuple[int, bytes, Headers]:
        state = self._leagues.state
        facts = {"status": state, "role": "service", "leagues_here": len(self._leagues.here)}
        return (200, codec.encode(facts), ()) if state == "ok" else (503, codec.encode(facts), AWAY)

    def _show_metrics(self, server: HttpServer, request: HttpRequest, respond: Response) -> None:
        states = Counter(each.state.partition(":")[0] for each in self._leagues.view.leagues)
        counts = {"leagues": states, "here": self._leagues.here, "sent_on": self._forwarder.sent}
        workers = self._leagues.view.workers
        about = SimpleNamespace(running=self, server=server, workers=workers, **counts)
        respond(200, metrics.written(metrics.SERVICE, about), metrics.HEADERS)

    async def stop(self) -> None:
        """Let the connections to other workers go."""
        await self._forwarder.stop()
