"""Who can be reached: no journal holds it, but the manager that writes the journal knows."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from agentleague.cli.manager_address import address_of
from agentleague.cli.reading import all_rows
from agentleague.errors import LeagueError


async def mark_reachable(rows: Iterable[dict[str, Any]], directory: Path | None) -> None:
    """Say it of agents that were read from a directory, if its manager runs and answers."""
    address = address_of(directory) if directory else None
    if address is None:
        return
    from agentleague.runtime.clock import wall
    from agentleague.runtime.manager_client import Inquiry

    inquiry = Inquiry(address, wall)
    try:
        told = await all_rows(inquiry, "GET_AGENTS", "agents")
    except LeagueError:  # It has just ended: then nobody knows any more.
        return
    finally:
        await inquiry.close()
    known = {row["agent_id"]: row["reachable"] for row in told if "reachable" in row}
    for row in rows:
        if row["agent_id"] in known:
            row["reachable"] = known[row["agent_id"]]
