"""Turn the facts of a page into HTML; the same templates make the dashboard and the report."""

from collections.abc import Callable
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from agentleague.dashboard.league_view import LeagueView
from agentleague.dashboard.pages import Page

Link = Callable[..., str]  # where a page is: link("match", match_id="R1M1") -> "/match/R1M1"


def environment(link: Link) -> Environment:
    """Templates that write everything as text unless it is Markup; `link` makes their links."""
    made = Environment(
        loader=PackageLoader("agentleague.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals["link"] = link
    return made


def live_link(name: str, **params: str) -> str:
    """Where a page of the dashboard is."""
    from agentleague.dashboard.pages import PAGES

    return PAGES[name].path.format(**params)


def render(env: Environment, page: Page, view: LeagueView, facts: dict[str, Any]) -> str:
    """A whole page; `view` gives names and what every page has in its head."""
    return env.get_template(f"{page.name}.html").render(page=page, view=view, facts=facts)
