"""An agent that stays: when a league is over, it waits at its manager for the next one."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, NamedTuple

from agentleague.errors import LateRegistration, LeagueError, LeagueFull, RegistrationAfterEnd
from agentleague.runtime.manager_client import with_manager
from agentleague.runtime.processes import Running

COMPLETED = "LEAGUE_COMPLETED"


def may_stay(agent: Running) -> bool:
    """Whether it was told the end, or came too late: then there may be another league for it."""
    late = (LateRegistration.reason, RegistrationAfterEnd.reason, LeagueFull.reason)
    return not agent.refusal or any(each in agent.refusal for each in late)


async def status_of(where: str) -> dict[str, Any]:
    """Which league the manager has, and how far it is; nothing if nobody says so."""
    try:
        return await with_manager(where, lambda manager: manager.ask("GET_STATUS"))
    except LeagueError:
        return {}


class Looks(NamedTuple):
    """How it looks for the next league: what it asks of a manager, and how long it waits before."""

    ask: Callable[[str], Awaitable[dict[str, Any]]] = status_of
    first_seconds: float = 0.25
    longest_seconds: float = 5.0
    growth: float = 1.5


async def next_league(
    agent: Running,
    where: str,
    stopped: "asyncio.Future[None] | None",
    say: Callable[[str], None],
    looks: Looks = Looks(),  # noqa: B008
) -> bool:
    """Wait until another league is there than the agent's last; False if it was stopped.

    While nobody answers, or the league that is over, it looks again, ever more seldom. A manager
    that cannot say which league it has is asked to register at once.
    """
    role: Any = agent.host.role
    over, seconds = role.state.league_id, looks.first_seconds
    if agent.refusal:  # It never was in the league that refused it.
        say(f"It is not in this league: {agent.refusal}")
        over = (await looks.ask(where)).get("league_id", "")
    say(f"Waiting at {where} for the next league. Stop with Ctrl-C.")
    while True:
        waiting = asyncio.ensure_future(asyncio.sleep(seconds))
        awaited: list[asyncio.Future[None]] = [waiting, *([stopped] if stopped else [])]
        await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
        waiting.cancel()
        if stopped and stopped.done():
            return False
        if role.has_foreign_manager:
            return True
        status = await looks.ask(where)
        is_another = status.get("league_id", over) != over
        if is_another and status.get("status") != COMPLETED:
            return True
        seconds = min(seconds * looks.growth, looks.longest_seconds)
