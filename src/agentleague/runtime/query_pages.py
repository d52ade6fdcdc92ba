"""Answers that are too long for one message: ask for one page after another."""

from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVar

from agentleague.errors import LeagueError

T = TypeVar("T")


class Source(Protocol):
    """Answers queries."""

    async def ask(self, query_type: str, **params: Any) -> dict[str, Any]: ...


Work = Callable[[Any], Coroutine[Any, Any, T]]  # of a Source


async def all_rows(source: Source, query_type: str, key: str, **params: Any) -> list[Any]:
    """The rows of all pages."""
    rows: list[Any] = []
    while True:
        data = await source.ask(query_type, offset=len(rows), **params)
        page = _page(data, query_type, key)
        if not page or page[:1] == rows[:1]:  # The first again: it does not know pages.
            return rows
        rows += page
        if len(rows) >= data.get("total", 0):
            return rows


async def all_rounds(source: Source, **params: Any) -> list[dict[str, Any]]:
    """All rounds; a page counts matches, so it may end in the middle of one."""
    rounds: dict[int, dict[str, Any]] = {}
    seen = 0
    while True:
        data = await source.ask("GET_SCHEDULE", offset=seen, **params)
        page = _page(data, "GET_SCHEDULE", "rounds")
        if "total" not in data:  # It does not know pages.
            return page
        before = seen
        for part in page:
            whole = rounds.setdefault(part["round_id"], {**part, "matches": []})
            whole["matches"] += part["matches"]
            seen += len(part["matches"])
        if seen == before or seen >= data["total"]:
            return list(rounds.values())


def _page(data: dict[str, Any], query_type: str, key: str) -> list[Any]:
    page = data.get(key)
    if not isinstance(page, list):
        raise LeagueError(
            f"the answer to {query_type} has no {key!r}; this is not a manager of agentleague"
        )
    return page
