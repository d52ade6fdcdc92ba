"""Turn the facts of a page into HTML; the same templates make the dashboard and the report."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from importlib.metadata import version
from types import MappingProxyType
from typing import Any
from urllib.parse import quote, urlencode

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from agentleague.dashboard import plots
from agentleague.dashboard.heading import heading
from agentleague.dashboard.league_view import LeagueView
from agentleague.dashboard.pages import PAGES, Page
from agentleague.games.svg import cleaned
from agentleague.protocol.printable import printable

# Where a page is: link("match", match_id="R1M1") -> "/match/R1M1"; empty if there is no such page,
# then templates write the words without a link.
Link = Callable[..., str]


def environment(link: Link, medium: str = "live") -> Environment:
    """Templates that write everything as text unless it is Markup; `link` makes their links.

    The medium is live, site (linked pages on disk), or file, of which all pages are parts.
    """
    made = Environment(
        loader=PackageLoader("agentleague.dashboard"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=_seen,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.globals |= {"link": link, "heading": heading, "release": version("agentleague")}
    made.globals |= {"medium": medium, "level": 3 if medium == "file" else 2}  # of headings
    made.globals |= {"plots": plots, "safe_svg": safe_svg, "origin": ""}
    made.filters |= {"twin": twin, "capitalized": lambda words: words[:1].upper() + words[1:]}
    return made


def _seen(value: Any) -> Any:
    """Text without what is unseen or turns the text around it: a journal may come from anybody."""
    return printable(value) if type(value) is str else value


@lru_cache(maxsize=10_000)
def live_link(name: str, **params: str) -> str:
    """Where a page of the dashboard is; what does not stand in its path goes into the query."""
    if name not in PAGES:
        return ""
    path = PAGES[name].path
    in_path = {key: quote(str(value), safe="") for key, value in params.items()}
    query = {key: value for key, value in params.items() if f"{{{key}}}" not in path}
    return path.format(**in_path) + (f"?{urlencode(query)}" if query else "")


def safe_svg(text: str) -> Markup:
    """SVG that a game drew, with known elements and attributes alone; empty for what is none."""
    return Markup(cleaned(text).svg)


def twin(href: str) -> str:
    """Where the JSON of a page is."""
    path, mark, query = href.partition("?")
    return f"{'/index' if path == '/' else path}.json{mark}{query}"


def render(
    env: Environment,
    page: Page,
    view: LeagueView,
    facts: dict[str, Any],
    params: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """A whole page; `view` gives names and what every page has in its head."""
    return env.get_template("page.html").render(page=page, view=view, facts=facts, params=params)
