"""A league as one HTML file, or as linked pages to publish, from the templates of the dashboard.

Which pages there are is found by following their links, from the first page on; so a page that is
added to PAGES is in the report, too. A link to what is not there is no link.
"""

import json
import platform
import re
from collections import Counter, deque
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from functools import partial
from hashlib import blake2b
from importlib.resources import files
from typing import Any, NamedTuple

import msgspec
from jinja2 import ChoiceLoader, DictLoader, PackageLoader, PrefixLoader
from markupsafe import Markup

from agentleague.dashboard import overview, paging
from agentleague.dashboard.league_view import LeagueView
from agentleague.dashboard.pages import PAGES, Facts, Page
from agentleague.dashboard.rendering import environment
from agentleague.errors import LeagueError
from agentleague.league import stage_views
from agentleague.league.league import Phase
from agentleague.protocol import timestamps
from agentleague.protocol.messages import PROTOCOL
from agentleague.protocol.printable import one_line
from agentleague.records import match_story, replay
from agentleague.records.export_files import File
from agentleague.runtime.clock import wall

MARK = "<!-- A report of agentleague -->"  # in the head of a file that may be replaced
HEADINGS = {  # of the pages in the file, in this order; others follow
    **{"standings": "Standings", "stage": "Stages", "cross_table": "Cross-table"},
    **{"schedule": "Schedule"},
    **{"player": "Players", "referee": "Referees", "disputes": "Disputes and rulings"},
}
LIVE_ONLY = {"projector", "q"}  # what a page is asked only while there is somebody to answer
STORIES_MAX = 5_000  # matches that are all told; of more, only those that need it
TURNS_MAX = 200  # matches; of more, linked pages show each match at its end alone


class Verified(NamedTuple):
    """What `league verify` found."""

    is_true: bool
    lines: Sequence[str]


class Found(NamedTuple):
    """A page that a link leads to, and the name of its file or anchor."""

    slug: str
    page: Page
    params: Mapping[str, str]
    facts: Facts


class Pages:
    """The pages of a league that links lead to, each once; `step` is called after each."""

    medium = "site"

    def __init__(self, view: LeagueView, step: Callable[[], object]) -> None:
        self.view, self._step = view, step
        self.env = environment(self.link, self.medium)
        self.unasked = LIVE_ONLY | ({"turn"} if len(view.ended) > TURNS_MAX else set())
        self._known: dict[str, str] = {}  # slug -> that of the page with the same facts, if any
        self._first: dict[bytes, str] = {}  # digest of facts -> the first page that has them
        self._waiting: deque[Found] = deque()

    def link(self, name: str, **params: Any) -> str:
        """Where a page is; empty if there is none."""
        slug = self.find(name, params)
        return f"{'index' if slug == 'overview' else slug}.html" if slug else ""

    def find(self, name: str, given: Mapping[str, Any]) -> str:
        """The slug of a page, which is rendered then; empty if there is none."""
        page, params = PAGES.get(name), {key: str(value) for key, value in given.items()}
        if page is None or self.unasked & params.keys():
            return ""
        slug = slug_of(page, params)
        if slug not in self._known:
            self._known[slug] = self._take(slug, page, params)
        return self._known[slug]

    def _take(self, slug: str, page: Page, params: Mapping[str, str]) -> str:
        try:
            facts = page.facts(self.view, {"page": "all", **params})
        except LeagueError:
            return ""
        digest = blake2b(page.name.encode() + msgspec.json.encode(facts)).digest()
        if digest not in self._first:
            self._first[digest] = slug
            self._waiting.append(Found(slug, page, params, facts))
        return self._first[digest]

    def all(self, template: str) -> Iterator[tuple[Found, str]]:
        """Render every page that is linked, and those that they link."""
        while self._waiting:
            found = self._waiting.popleft()
            yield found, self.render(template.format(found.page.name), **found._asdict())
            self._step()

    def render(self, template: str, **facts: Any) -> str:
        """A page of this medium."""
        return self.env.get_template(template).render(view=self.view, **facts)


class _PagesInFile(Pages):
    """Links are anchors; matches have stories, and of any list there is one page."""

    medium = "file"

    def __init__(self, view: LeagueView, step: Callable[[], object], told: Collection[str]) -> None:
        super().__init__(view, step)
        self._told = told

    def link(self, name: str, **params: Any) -> str:
        if name == "match":
            return f"#match-{params['match_id']}" if params["match_id"] in self._told else ""
        if name == "overview":
            return "#top"
        path = PAGES[name].path if name in PAGES else ""
        rounds = {"round"} if len(self.view.ended) <= STORIES_MAX else set()
        is_whole = all(key in rounds or f"{{{key}}}" in path for key in params)
        slug = self.find(name, params) if is_whole else ""
        return f"#{slug}" if slug else ""


def slug_of(page: Page, params: Mapping[str, str]) -> str:
    """The name of a page's file or anchor: letters, digits, minus; others by number."""
    words = [page.name]
    for key, value in params.items():
        words += [value] if f"{{{key}}}" in page.path else [key, value]
    return re.sub(r"[^\w-]", lambda found: f"_{ord(found[0]):x}_", "-".join(words), flags=re.ASCII)


def one_file(view: LeagueView, verified: Verified, step: Callable[[], object]) -> str:
    """The whole report."""
    told = _told(view, odd := _odd(view))
    pages = _PagesInFile(view, step, set(told))
    for page in PAGES.values():
        if "{" not in page.path:  # Others are linked by these.
            pages.link(page.name)
    for each in stage_views.stages(view.league) if stage_views.tab(view.league) else ():
        pages.link("stage", stage=each["stage"])
    for number in range(view.league.total_rounds):
        pages.link("schedule", round=number + 1)
    parts: dict[str, list[dict[str, Any]]] = {name: [] for name in HEADINGS}
    for found, html in sorted(
        pages.all("_{}.html"), key=lambda each: each[0].facts.get("round", 0)
    ):
        parts.setdefault(found.page.name, []).append(_part(found, html))
    return pages.render(
        "report.html",
        **_about(view, verified),
        style=Markup(style()),
        parts={name: found for name, found in parts.items() if found},
        headings=HEADINGS,
        stories=[_story(view, match_id) for match_id in told],
        odd=odd,
    )


def site(view: LeagueView, verified: Verified, step: Callable[[], object]) -> Iterator[File]:
    """The files of linked pages: names and texts."""
    pages, package = Pages(view, step), PackageLoader("agentleague.dashboard")
    # Pages extend the layout of the site, and that one the layout of the dashboard.
    layout, _, _ = package.get_source(pages.env, "site.html")
    own = DictLoader({"base.html": layout})
    pages.env.loader = ChoiceLoader([own, PrefixLoader({"live": package}), package])
    pages.env.globals |= _about(view, verified)
    pages.link("overview")
    yield "style.css", style()
    page = PAGES["overview"]._replace(name="about", title="Plots, verification and settings")
    yield "about.html", pages.render("about.html", page=page, params={})
    for found, html in pages.all("page.html"):
        yield pages.link(found.page.name, **found.params), html


def style() -> str:
    """The style of all pages, and what only a page on disk needs."""
    static = files("agentleague.dashboard") / "static"
    return "".join(
        (static / name).read_text(encoding="utf-8") for name in ("style.css", "report.css")
    )


def _part(found: Found, html: str) -> dict[str, Any]:
    name, facts = found.page.name, found.facts
    agent = facts.get(name, {})
    title = f"{agent['name']} {agent['id']}" if name in ("player", "referee") else found.page.title
    title = f"Round {facts['round']}" if name == "schedule" else title
    title = facts["title"] if name == "stage" else title
    return {"slug": found.slug, "title": title, "html": Markup(html)}


def _odd(view: LeagueView) -> set[str]:
    """The matches whose stories are needed: lost without a game, disputed, or ruled on."""
    league, odd = view.league, ("TECHNICAL_LOSS", "NO_CONTEST")
    asked = league.disputed.keys() | league.unconfirmed.keys() | league.ruled.keys()
    return asked | {each.match_id for each in view.ended.values() if each.status in odd}


def _told(view: LeagueView, odd: Collection[str]) -> list[str]:
    """The matches whose stories are told: all, or of very many those that need it."""
    matches = [*view.ended.values()]
    if len(matches) > STORIES_MAX:
        last = max(each.round_id for each in matches)
        matches = [each for each in matches if each.match_id in odd or each.round_id == last]
    in_order = sorted(matches, key=lambda each: (each.round_id, len(each.match_id), each.match_id))
    return [each.match_id for each in in_order]


def _story(view: LeagueView, match_id: str) -> dict[str, Any]:
    facts, ended = view.match_facts(match_id), view.ended[match_id]
    steps = replay.steps(view.game, facts) if view.game else []
    return {
        "match_id": match_id,
        "round_id": ended.round_id,
        "players": [(view.name_of(each), ended.outcome(each)) for each in ended.players],
        "lines": match_story.in_words(facts)[1:],
        "boards": [each.picture.text for each in steps if each.picture and each.turn],
    }


def _about(view: LeagueView, verified: Verified) -> dict[str, Any]:
    opened, champion = view.league.rules, view.league.champion
    named = partial(paging.with_names, view, ids=[champion] if champion else [])
    settings = {
        "game": opened.game_type,
        "format": ", then ".join(each.format for each in view.league.stages),
        "cycles": opened.cycles,
        "points for a win, a draw, a loss": opened.points,
        "tie-breaks": opened.tie_breaks,
        "a seed was given": opened.seeded,
        "a join code is needed": opened.has_join_code,
        **msgspec.to_builtins(opened.rules),
    }
    return {
        "verdict": overview.verdict(view),
        "is_over": view.league.phase is Phase.COMPLETED,
        "verified": verified._replace(lines=[*map(named, verified.lines)]),
        "settings": {name.replace("_", " "): _shown(each) for name, each in settings.items()},
        "made_at": timestamps.write(wall()),
        "python": platform.python_version(),
        "protocol": PROTOCOL,
        "plotted": _plotted(view),
    }


def _shown(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list | tuple):
        return ", ".join(map(_shown, value))
    return one_line(value.replace("_", " ") if isinstance(value, str) else json.dumps(value))


def _plotted(view: LeagueView) -> dict[str, Any]:
    moves, rows = dict[int, Counter[str]](), view.league.table.rows()
    for log in view.logs.values():
        for choice in log.choices:
            moves.setdefault(choice.round_id, Counter())[choice.move.strip('"')] += 1
    return {
        "points": overview.points_by_round(view, (row.player_id for row in rows)),
        "times": [each for log in view.logs.values() for each in log.move_ms],
        "limit": round(view.league.rules.rules.move_seconds * 1_000),
        "choices": [{"round": each, "moves": moves[each]} for each in sorted(moves)],
        "losses": _losses(view),
    }


def _losses(view: LeagueView) -> Counter[str]:
    causes = Counter[str]()
    for ended in view.ended.values():
        if ended.status == "WIN":
            causes["beaten"] += 1
        elif ended.status == "TECHNICAL_LOSS":
            for _, cause in view.match_facts(ended.match_id)["forfeits"]:
                causes[one_line(cause)] += 1
    return causes
