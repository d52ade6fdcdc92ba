"""Call the tools of a manager over MCP, as a host does: for a person's pages and for commands."""

import asyncio
import re
from functools import partial
from secrets import token_hex
from typing import Any

import msgspec

from agentleague.errors import LeagueError, NoConnection, UnexpectedMessage
from agentleague.protocol.mcp import WITH_HANDSHAKE
from agentleague.protocol.seats import WAIT_SECONDS
from agentleague.roles.stimuli import write_headers
from agentleague.runtime.manager_client import ANYWHERE, SECONDS
from agentleague.transport.event_loop import settle
from agentleague.transport.guard import Guard
from agentleague.transport.http_client import ClientLimits, HttpAnswer, HttpClient
from agentleague.transport.manager_addresses import SEPARATOR

SEAT = re.compile(r"seat_[A-Za-z0-9_-]{27,59}")  # of a host or a person: nobody guesses it
LIMITS = ClientLimits(body_bytes=1_048_576, connections_per_origin=256)  # Each person waits on one.


def new_seat() -> str:
    """A secret that becomes the seat of who joins with it."""
    return f"seat_{token_hex(16)}"


class ManagerTools:
    """The tools of one manager after another, for many seats; close it in the end."""

    def __init__(self) -> None:
        self._client = HttpClient(Guard("lan", ANYWHERE), limits=LIMITS)

    async def call(self, url: str, tool: str, seat: str, **arguments: Any) -> dict[str, Any]:
        """What a tool returns for this seat, at the first of a manager's addresses that answers.

        Raises NoConnection where no manager answers, UnexpectedMessage with its words of refusal.
        """
        first, _, others = url.partition(SEPARATOR)
        try:
            return await self._call(first, tool, seat, arguments)
        except NoConnection:
            if not others:
                raise
        return await self.call(others, tool, seat, **arguments)

    async def _call(
        self, url: str, tool: str, seat: str, arguments: dict[str, Any]
    ) -> dict[str, Any]:
        params = {"name": tool, "arguments": arguments}
        body = msgspec.json.encode(
            {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        )
        version = ("Mcp-Protocol-Version", WITH_HANDSHAKE[0])
        headers = write_headers([version, ("Authorization", f"Bearer {seat}")])
        loop = asyncio.get_running_loop()
        answered: asyncio.Future[HttpAnswer] = loop.create_future()
        until = loop.time() + SECONDS + (WAIT_SECONDS if tool == "wait_for_turn" else 0.0)
        cancel = self._client.post(url, body, until, partial(settle, answered), headers)
        try:
            return _result(await answered)
        finally:
            cancel()

    async def close(self) -> None:
        """Let the connections go."""
        await self._client.stop()


def _result(answer: HttpAnswer) -> dict[str, Any]:
    try:
        told = msgspec.json.decode(answer.body)["result"]
        text, value, failed = told["content"][0]["text"], told["structuredContent"], told["isError"]
    except (msgspec.DecodeError, LookupError, TypeError):
        why = answer.error or f"HTTP {answer.status}"
        raise NoConnection(f"the manager does not answer: {why}") from None
    if failed:
        raise UnexpectedMessage(str(text))
    if not isinstance(value, dict):
        raise LeagueError("the manager's answer is no object")
    return value
