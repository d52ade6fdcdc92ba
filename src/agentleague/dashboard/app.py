"""The dashboard's HTTP: pages, their JSON, and the events by which they stay current.

Nothing here changes a league, except what a person does at a table of theirs (`person.py`).
"""

from collections.abc import AsyncIterator, Mapping
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlsplit

import msgspec
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response, StreamingResponse
from starlette.routing import Match, Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import Message, Receive, Scope, Send

from agentleague.dashboard import person
from agentleague.dashboard.following import Following
from agentleague.dashboard.live_pages import STREAMS_MAX, LivePages
from agentleague.dashboard.pages import PAGES, Page
from agentleague.dashboard.rendering import environment, live_link, render, twin
from agentleague.errors import LeagueError, StorageError
from agentleague.protocol.hosts import is_loopback
from agentleague.transport.http_reader import RequestChecks, ServerLimits

TARGET_BYTES_MAX = 1_024  # of a path with its query
HEADERS = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}
STATIC = "no-cache"  # A browser asks whether its copy is current: so it is, after an update too.
ON_A_WALL = ("/", "/standings")  # pages that have a form for a projector
TITLES = {404: "There is no such page", 500: "This page could not be made", 503: "Not yet"}
OUR_FAULT = (
    "That is a fault of the dashboard, not yours, and the other pages may work. What went wrong "
    "stands where the dashboard was started; please report it."
)


class Dashboard:
    """The pages of one league as an ASGI application; `live.run` keeps their streams current.

    `names` are host names of this machine: whoever asks for another was led here by a page of a
    stranger (DNS rebinding).
    """

    def __init__(
        self, following: Following, names: frozenset[str] = frozenset(), url: str = ""
    ) -> None:
        self._following, self._env = following, environment(live_link)
        if not is_loopback(urlsplit(url).hostname or "localhost"):
            self._env.globals["origin"] = url.rstrip("/")  # which others type
        self._allows = RequestChecks(ServerLimits(), names).allows
        self._pages = [(Route(page.path, self._html), page) for page in PAGES.values()]
        self.live = LivePages(following, self._env, self._find)
        twins = [Route(twin(page.path), partial(self._json, page)) for page in PAGES.values()]
        static = StaticFiles(packages=[("agentleague.dashboard", "static")])
        own = [
            Route("/events", self._events),
            Route("/health", self._health),
            Route("/favicon.ico", self._no_icon),
            Mount("/static", static),
            *person.routes(following),
        ]
        self._app = Starlette(
            routes=[*own, *twins, *(route for route, _ in self._pages)],
            middleware=[Middleware(GZipMiddleware, compresslevel=4)],
            exception_handlers={
                HTTPException: self._on_http_error,
                LeagueError: self._on_league_error,
                Exception: self._on_fault,
            },
        )

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, unless a page of a stranger may have sent it."""

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                is_static = scope["path"].startswith("/static/")
                headers.setdefault("Cache-Control", STATIC if is_static else "no-store")
            await send(message)

        refused = self._refusal(scope)
        if refused:
            answer = self._failure(Request(scope), *refused)
            await answer(scope, receive, send_guarded)
        else:
            await self._app(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> tuple[int, str] | None:
        headers = Headers(scope=scope)
        host, origin = headers.get("host", ""), headers.get("origin")
        if len(scope["raw_path"]) + len(scope["query_string"]) > TARGET_BYTES_MAX:
            return 414, f"An address has at most {TARGET_BYTES_MAX} bytes."
        if not self._allows(host.encode("latin-1")):
            return 403, (
                "The Host header names another server; call this one by its IP address, or start "
                "it with that name: league dashboard DIR --name HOST"
            )
        own = [f"{scheme}://{host.lower()}" for scheme in ("http", "https")]
        if origin is not None and origin.lower() not in own:
            return 403, "Requests that a page of another site sends are refused."
        return None

    def _find(self, where: str) -> tuple[Page, Mapping[str, str]]:
        path, _, query = where.partition("?")
        for route, page in self._pages:
            match, found = route.matches({"type": "http", "method": "GET", "path": path})
            if match is Match.FULL:
                return page, {**dict(parse_qsl(query, True)), **found["path_params"]}
        raise LeagueError(f"there is no page at {path}")

    async def _html(self, request: Request) -> Response:
        if not await self._following.ready():
            return self._not_yet(request)
        if "projector" in request.query_params and request.url.path not in ON_A_WALL:
            return RedirectResponse("/?projector=", 303)
        return HTMLResponse(await self.live.html(_where(request)))

    async def _json(self, page: Page, request: Request) -> Response:
        if not await self._following.ready():
            return self._not_yet(request)
        view, params = self._following.view, {**request.query_params, **request.path_params}
        body = await self._following.do(lambda: msgspec.json.encode(page.facts(view, params)))
        return Response(body, media_type="application/json")

    async def _events(self, request: Request) -> Response:
        where = request.query_params.get("page", "/")
        self._find(where)
        if self.live.streams >= STREAMS_MAX:
            return self._failure(request, 503, "Too many pages are open.", {"Retry-After": "10"})
        headers = {"X-Accel-Buffering": "no", "Vary": "Accept-Encoding"}  # nginx holds them back.
        packs = "gzip" in request.headers.get("accept-encoding", "")
        if packs:
            headers["Content-Encoding"] = "gzip"
        events = self.live.stream(where, packs=packs)
        return _Stream(self.live, events, media_type="text/event-stream", headers=headers)

    async def _health(self, request: Request) -> Response:
        view = self._following.view
        status = view.problem or self._following.waits_for or "ok"
        facts = {"status": status, "league_id": view.league_id, "rows": view.version}
        body = msgspec.json.encode({**facts, "streams": self.live.streams})
        return Response(body, 503 if view.problem else 200, media_type="application/json")

    async def _no_icon(self, request: Request) -> Response:
        return Response(status_code=204, headers={"Cache-Control": "max-age=86400"})

    def _not_yet(self, request: Request) -> Response:
        headers = {"Retry-After": "2", "Refresh": "2"}  # A browser obeys the latter by itself.
        return self._failure(request, 503, self._following.waits_for, headers)

    async def _on_http_error(self, request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        sentence = error.detail
        if error.status_code == 404:
            sentence = f"There is nothing at {request.url.path}."
        return self._failure(request, error.status_code, sentence, error.headers)

    async def _on_league_error(self, request: Request, error: Exception) -> Response:
        return self._failure(request, 500 if isinstance(error, StorageError) else 404, str(error))

    async def _on_fault(self, request: Request, error: Exception) -> Response:
        return self._failure(request, 500, OUR_FAULT)

    def _failure(
        self, request: Request, status: int, sentence: str, headers: Mapping[str, str] | None = None
    ) -> Response:
        if request.url.path.endswith(".json"):
            body = msgspec.json.encode({"error": sentence})
            return Response(body, status, headers, "application/json")
        title = TITLES.get(status, "That cannot be")
        page = Page("notice", request.url.path, title, lambda view, params: {})
        facts = {"title": title, "sentence": f"{sentence[:1].upper()}{sentence[1:]}"}
        html = render(self._env, page, self._following.view, facts)
        return HTMLResponse(html, status, headers)


class _Stream(StreamingResponse):
    """One of the streams that may be open; it counts at once, so that many at once are counted."""

    def __init__(self, live: LivePages, events: AsyncIterator[bytes], **more: Any) -> None:
        super().__init__(events, **more)
        self._live = live
        live.streams += 1

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        finally:
            self._live.streams -= 1


def _where(request: Request) -> str:
    query = request.url.query
    return f"{request.url.path}?{query}" if query else request.url.path
