"""What `manager`, `referee` and `player` share: they serve until the end, or until Ctrl-C."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from agentleague.cli.output import log_to_stderr, say
from agentleague.roles.settings import PlayerSettings, RefereeSettings
from agentleague.runtime.processes import Running, run
from agentleague.runtime.state_files import StateFile, Whose, kept
from agentleague.runtime.staying import may_stay, next_league
from agentleague.runtime.stopping import stop_signal


def serve_agent(
    settings: RefereeSettings | PlayerSettings,
    role: str,
    open_agent: Callable[..., Awaitable[Running]],
    verbose: int,
    attach: Callable[[Running], object] = lambda agent: None,
) -> bool:
    """Run a referee or player until it is done, or until Ctrl-C; whether it is done."""
    name = settings.display_name

    async def serve(state: StateFile | None) -> bool:
        stopped = stop_signal()
        while True:
            agent, is_done = await once(state, stopped)
            if not is_done or not settings.stay:
                return is_done
            if not await next_league(agent, settings.manager_url, stopped, say):
                return True

    async def once(
        state: StateFile | None, stopped: "asyncio.Future[None]"
    ) -> tuple[Running, bool]:
        agent = await open_agent(state=state)
        where = f"listens at {agent.url}" if agent.url else "opens no port"
        if settings.endpoint:  # Nobody has tried yet whether that leads here.
            where = f"listens on port {settings.port}, is called at {settings.endpoint}"
        say(f"{name} {where} and registers at {settings.manager_url}.")
        agent.tell(say)
        log_to_stderr(agent, verbose)
        attach(agent)
        is_done = await until_stopped(agent, stopped, ends=True, stays=settings.stay)
        return agent, is_done

    whose = Whose(settings.manager_url, role, name, settings.port)
    with kept(whose, settings.state or None, say) as state:
        return run(serve(state))


async def until_stopped(
    agent: Running,
    stopped: asyncio.Future[None],
    *,
    ends: bool,
    stays: bool = False,
    last_seconds: float = 0.0,
) -> bool:
    """Serve until stopped or, if it `ends`, done, and `last_seconds` more; whether it is done."""
    waits: list[asyncio.Future[Any]] = [stopped, agent.failed, *([agent.ended] if ends else [])]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    if last_seconds and agent.ended.done():
        await asyncio.wait(waits[:2], timeout=last_seconds, return_when=asyncio.FIRST_COMPLETED)
    await agent.stop()
    if agent.failed.done():
        raise agent.failed.result()
    if not (stays and may_stay(agent)):
        agent.check()
    return agent.ended.done()
