"""The dashboard's HTTP: pages, their JSON, and the events by which they stay current."""

import asyncio
from typing import Any

import msgspec
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles

from agentleague.dashboard.league_view import LeagueView
from agentleague.dashboard.pages import PAGES, Page
from agentleague.dashboard.rendering import environment, live_link, render


def make_app(view: LeagueView) -> Starlette:
    """The pages of one league."""
    env = environment(live_link)

    def shown(page: Page, *, as_json: bool) -> Any:
        async def answer(request: Request) -> Response:
            params = {**request.query_params, **request.path_params}
            facts = page.facts(view, params)
            if as_json:
                return Response(msgspec.json.encode(facts), media_type="application/json")
            return HTMLResponse(render(env, page, view, facts, params))

        return answer

    routes: list[Route | Mount] = []
    for page in PAGES.values():
        twin = "/index.json" if page.path == "/" else f"{page.path}.json"
        routes.append(Route(twin, shown(page, as_json=True)))
        routes.append(Route(page.path, shown(page, as_json=False)))
    static = StaticFiles(packages=[("agentleague.dashboard", "static")])
    return Starlette(routes=[*routes, Mount("/static", static)])


async def follow(view: LeagueView) -> None:
    """Keep a view current for ever."""
    async for row in view.reader.follow(view.league_id, view.version):
        view.take(row)
        await asyncio.sleep(0)
