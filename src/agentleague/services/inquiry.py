"""Ask a running manager questions, as anybody may."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

from agentleague.errors import LeagueError, PeerRefused, RateLimited
from agentleague.protocol.messages import (
    LeagueCommand,
    LeagueCommandResponse,
    LeagueQuery,
    LeagueQueryResponse,
    Message,
)
from agentleague.protocol.timestamps import write
from agentleague.roles.effects import Address
from agentleague.roles.ports import Answer
from agentleague.services.clock import LoopClock
from agentleague.transport.guard import Guard
from agentleague.transport.http import HttpTransport, Manners

SECONDS = 10.0
PATIENCE = 100  # how often a manager may say that it wants to be asked later
ANYWHERE = ("0.0.0.0/0", "::/0")  # Whoever types an address means it.


class Inquiry:
    """Questions to one manager; close it in the end."""

    def __init__(self, url: str, wall: Callable[[], float]) -> None:
        self._url, self._wall = url, wall
        self._loop = asyncio.get_running_loop()
        guard = Guard("lan", ANYWHERE)
        guard.check_url(url)
        self._transport = HttpTransport(LoopClock(self._loop), Manners("player", guard, wall))

    async def ask(self, query_type: str, **params: Any) -> dict[str, Any]:
        """The `data` of the answer.

        Raises:
            LeagueError: nobody answers there, or the manager has no answer and says why.
        """
        answer = await self.answer(query_type, params)
        if not answer.success:
            raise LeagueError(answer.error.error_description if answer.error else "no answer")
        return answer.data or {}

    async def answer(self, query_type: str, params: Mapping[str, Any]) -> LeagueQueryResponse:
        """The whole answer, also one that says why there is none.

        Raises:
            LeagueError: nobody answers there, or not as a manager does.
        """
        for _ in range(PATIENCE):
            answer = await self._call(self._query(query_type, params))
            if not isinstance(answer.error, RateLimited):
                break
            await asyncio.sleep(float(answer.error.context.get("retry_after") or 1))
        if answer.error or not isinstance(answer.message, LeagueQueryResponse):
            raise LeagueError(
                f"the manager at {self._url} did not answer: {answer.error}; is it running? Start "
                "one with: league manager, or read what it wrote with: --dir DIR"
            )
        return answer.message

    async def close(self) -> None:
        """Let the connections go."""
        await self._transport.stop()

    async def command(self, command: str, params: Mapping[str, Any], token: str) -> str:
        """Have the manager do something for its organiser; what it says it did.

        Raises:
            LeagueError: nobody answers there, or the manager will not, and says why.
        """
        message = LeagueCommand(
            command,
            dict(params),
            sender="league_command",
            timestamp=write(self._wall()),
            conversation_id="conv-command",
            auth_token=token,
        )
        answer = await self._call(message)
        if isinstance(answer.error, PeerRefused):
            said = answer.error.context["data"].get("error_message")
            raise LeagueError(str(said or answer.error))
        if not isinstance(answer.message, LeagueCommandResponse):
            raise LeagueError(
                f"the manager at {self._url} did not answer: {answer.error}; is it running?"
            )
        return answer.message.said

    def _query(self, query_type: str, params: Mapping[str, Any]) -> LeagueQuery:
        return LeagueQuery(
            query_type,
            query_params=dict(params),
            sender="league_command",
            timestamp=write(self._wall()),
            conversation_id="conv-query",
        )

    async def _call(self, query: Message) -> Answer:
        answered: asyncio.Future[Answer] = self._loop.create_future()
        until = self._loop.time() + SECONDS
        self._transport.call(Address("manager", self._url), query, until, answered.set_result)
        return await answered


async def demand(
    url: str,
    command: str,
    params: Mapping[str, Any],
    token: str,
    wall: Callable[[], float],
) -> str:
    """One command of the organiser; what the manager says it did.

    Raises:
        LeagueError: nobody answers there, or the manager will not, and says why.
    """
    inquiry = Inquiry(url, wall)
    try:
        return await inquiry.command(command, params, token)
    finally:
        await inquiry.close()


async def inquire(
    url: str, query_type: str, params: Mapping[str, Any], wall: Callable[[], float]
) -> LeagueQueryResponse:
    """The manager's answer to one question.

    Raises:
        LeagueError: nobody answers there, or not as a manager does.
    """
    inquiry = Inquiry(url, wall)
    try:
        return await inquiry.answer(query_type, params)
    finally:
        await inquiry.close()
