"""How a list that is too long for a page is turned over, and how agents are named in facts."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from agentleague.dashboard.league_view import LeagueView
from agentleague.errors import WrongType
from agentleague.protocol.printable import one_line

ROWS_A_PAGE = 25

T = TypeVar("T")


def paged(
    rows: Sequence[T],
    params: Mapping[str, str],
    field: str,
    told: Callable[[T], Any] = lambda row: row,
) -> dict[str, Any]:
    """The page that `params` ask for, the last of the rows first; only its rows are told."""
    pages = max(1, -(-len(rows) // ROWS_A_PAGE))
    page = number(params, field, 1, pages, default=1)
    end = len(rows) - (page - 1) * ROWS_A_PAGE
    shown = rows[max(0, end - ROWS_A_PAGE) : end]
    told_rows = [told(row) for row in reversed(shown)]
    return {"rows": told_rows, "page": page, "pages": pages, "total": len(rows)}


def number(params: Mapping[str, str], field: str, low: int, high: int, *, default: int) -> int:
    """A number in the query. Raises WrongType for what is none, or lies out of bounds."""
    text = params.get(field, "")
    if text == "":
        return default
    if not (text.isascii() and text.isdecimal() and len(text) < 10 and low <= int(text) <= high):
        raise WrongType(f"{field} must be a number from {low} to {high}", field=field)
    return int(text)


def agent(view: LeagueView, agent_id: str) -> dict[str, str]:
    """An agent by id and name."""
    return {"id": agent_id, "name": view.name_of(agent_id)}


def with_names(view: LeagueView, text: str, ids: Iterable[str]) -> str:
    """Names where these agents stand by id, or by name and id; other words stay as they are."""
    own = {each: one_line(view.name_of(each)) for each in ids}
    names = {f"{name} ({each})": name for each, name in own.items()}
    names |= {f"{each} {name}": name for each, name in own.items()}
    names |= {name: name for name in own.values()} | own  # A name may be the id of another.
    text = text.replace(" wins by default", " wins by technical loss")  # Journals keep their words.
    words = "|".join(re.escape(each) for each in sorted(names, key=len, reverse=True))
    pattern = rf"(?<!\w)(?:{words})(?!\w)"
    return re.sub(pattern, lambda found: names[found[0]], text) if names else text
