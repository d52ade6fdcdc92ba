"""Ask a running manager a question, as anybody may."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from agentleague.errors import LeagueError
from agentleague.protocol.messages import LeagueQuery, LeagueQueryResponse
from agentleague.protocol.timestamps import write
from agentleague.roles.effects import Address
from agentleague.roles.ports import Answer
from agentleague.services.clock import LoopClock
from agentleague.transport.guard import Guard
from agentleague.transport.http import HttpTransport, Manners

SECONDS = 10.0


async def inquire(
    url: str, query_type: str, params: Mapping[str, Any], wall: Callable[[], float]
) -> LeagueQueryResponse:
    """The manager's answer.

    Raises:
        LeagueError: nobody answers there, or not as a manager does.
    """
    loop = asyncio.get_running_loop()
    transport = HttpTransport(LoopClock(loop), Manners("player", Guard("local"), wall))
    answered: asyncio.Future[Answer] = loop.create_future()
    query = LeagueQuery(
        query_type,
        query_params=dict(params),
        sender="league_command",
        timestamp=write(wall()),
        conversation_id="conv-query",
    )
    transport.call(Address("manager", url), query, loop.time() + SECONDS, answered.set_result)
    answer = await answered
    await transport.stop()
    if answer.error or not isinstance(answer.message, LeagueQueryResponse):
        raise LeagueError(f"the manager at {url} did not answer: {answer.error}; is it running?")
    return answer.message
