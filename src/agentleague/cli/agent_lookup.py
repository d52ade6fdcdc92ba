"""Who is meant: an agent goes by its id or by its name."""

from typing import Any

from agentleague.cli.reading import Source, all_rows
from agentleague.errors import LeagueError


async def id_of(source: Source, typed: str, **params: Any) -> str | None:
    """The id of the agent that has this id or, alone, this name; None if there is none.

    Raises:
        LeagueError: several have the name; the sentence has their ids.
    """
    rows = await all_rows(source, "GET_AGENTS", "agents", **params)
    for row in rows:
        if row["agent_id"] == typed.upper():
            return typed.upper()
    named = [row["agent_id"] for row in rows if row["display_name"].lower() == typed.lower()]
    if len(named) > 1:
        raise LeagueError(f"several agents are called {typed!r}; type one of {', '.join(named)}")
    return named[0] if named else None
