"""Ask a running manager questions, as anybody may."""

import asyncio
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, TypeVar

import msgspec
from msgspec import UNSET

from agentleague import errors
from agentleague.errors import LeagueError
from agentleague.protocol import messages
from agentleague.protocol.timestamps import write
from agentleague.roles.effects import Address
from agentleague.roles.ports import Answer
from agentleague.runtime.clock import LoopClock, wall
from agentleague.runtime.query_pages import Work
from agentleague.transport.event_loop import settle
from agentleague.transport.guard import Guard
from agentleague.transport.http import HttpTransport, TransportPolicy
from agentleague.transport.manager_addresses import addresses_in

T = TypeVar("T")
SECONDS = 10.0
PATIENCE = 100  # how often a manager may say that it wants to be asked later
ANYWHERE = ("0.0.0.0/0", "::/0")  # A typed address is always allowed.


NOT_DATA = {
    *messages.Message.__struct_fields__,
    *("message_type", "query_type", "success", "data", "error", "warnings"),
}


class Asker(NamedTuple):
    """Who asks; the organiser and agents, who have a token, are told more."""

    sender: str = "league_command"
    token: str = ""
    league_id: str = ""
    dialect: str = ""  # that the manager understands, if not ours


class ManagerClient:
    """Questions to one manager; close it in the end."""

    def __init__(
        self,
        url: str,
        wall: Callable[[], float],
        asker: Asker = Asker(),  # noqa: B008
        guard: Guard | None = None,  # of the agent for which it asks
    ) -> None:
        self._url, self._wall, self._asker = url, wall, asker
        self._urls = addresses_in(url)
        self._loop = asyncio.get_running_loop()
        guard = guard or Guard("lan", ANYWHERE)
        for each in self._urls:
            guard.check_url(each)
        policy = TransportPolicy("player", guard, wall, managers=self._urls)
        self._transport = HttpTransport(LoopClock(self._loop), policy)

    async def ask(self, query_type: str, **params: Any) -> dict[str, Any]:
        """The `data` of the answer."""
        for _ in range(PATIENCE):
            query = messages.LeagueQuery(
                query_type,
                self._asker.league_id,
                query_params=params,
                sender=self._asker.sender,
                timestamp=write(self._wall()),
                conversation_id="conv-query",
                auth_token=self._asker.token or UNSET,
            )
            answer = await self._call(query)
            if not isinstance(answer.error, errors.RateLimited):
                break
            await asyncio.sleep(float(answer.error.context.get("retry_after") or 1))
        told, error = answer.message, answer.error
        if isinstance(error, errors.PeerRefused) and not _knows_no_questions(error):
            raise LeagueError(f"the manager refused {query_type}: {_sentence(error)}")
        if error or not isinstance(told, messages.LeagueQueryResponse):
            raise _no_manager(self._url, error)
        if not told.success:
            raise LeagueError(told.error.error_description if told.error else "no answer")
        data = told.data or _beside_data(told)
        if not data and not told.query_type:
            raise _no_manager(self._url, LeagueError("no data", said="nothing to the question"))
        return data

    async def close(self) -> None:
        """Let the connections go."""
        await self._transport.stop()

    async def command(self, command: str, params: Mapping[str, Any], token: str) -> str:
        """Have the manager do something for its organiser; what it says it did.

        Raises LeagueError: TokenInvalid if another is the organiser, NoConnection if nobody is.
        """
        message = messages.LeagueCommand(
            command,
            dict(params),
            sender="league_command",
            timestamp=write(self._wall()),
            conversation_id="conv-command",
            auth_token=token,
        )
        answer = await self._call(message)
        if isinstance(answer.error, errors.PeerRefused):
            said = _sentence(answer.error)
            is_strange = answer.error.context["code"] == errors.TokenInvalid.code
            raise errors.TokenInvalid(said) if is_strange else LeagueError(said)
        if not isinstance(answer.message, messages.LeagueCommandResponse):
            raise _no_manager(self._url, answer.error)
        return answer.message.said

    async def _call(self, query: messages.Message) -> Answer:
        """What the manager answers, at the first of its addresses where it does."""
        for _ in self._urls[1:]:
            answer = await self._call_once(query)
            if not isinstance(answer.error, errors.NoAnswer | errors.NoConnection):
                return answer
        return await self._call_once(query)

    async def _call_once(self, query: messages.Message) -> Answer:
        answered: asyncio.Future[Answer] = self._loop.create_future()
        until = self._loop.time() + SECONDS
        to = Address("manager", self._urls[0], self._asker.dialect)
        self._transport.call(to, query, until, partial(settle, answered))
        return await answered


async def with_manager(
    url: str,
    work: Work[T],
    asker: Asker = Asker(),  # noqa: B008
    guard: Guard | None = None,
) -> T:
    """What comes of `work` at a running manager, which it is given to ask."""
    client = ManagerClient(url, wall, asker, guard)
    try:
        return await work(client)
    finally:
        await client.close()


def _sentence(error: LeagueError) -> str:
    """What a manager says, if it says more than the name of its error."""
    if error.context["code"] == errors.StorageError.code:
        return (
            "it cannot reach its journal now (a full disk, or a database that is away); try later"
        )
    return str(error.context["data"].get("error_message") or error)


def _knows_no_questions(error: LeagueError) -> bool:
    return error.context.get("number") == errors.UnknownMethod.number


def _beside_data(told: messages.LeagueQueryResponse) -> dict[str, Any]:
    """Document 001 has no `data`: its fields stand in the answer itself."""
    fields = msgspec.to_builtins(told)
    return {name: value for name, value in fields.items() if name not in NOT_DATA}


def _no_manager(url: str, error: LeagueError | None) -> LeagueError:
    """What to say of an address where no manager answers: what it is instead, as far as known."""
    if error and _knows_no_questions(error):
        return LeagueError(
            f"the server at {url} is no manager: it takes no questions about a league; "
            "give the manager's address"
        )
    if "https" in str(error) and url.lower().startswith("https:"):
        plain = f"http{url[len('https') :]}"
        return LeagueError(f"nobody speaks https at {url}; managers speak http, so try: {plain}")
    said = error.context.get("said") if error else ""
    if said:
        return LeagueError(
            f"the server at {url} is no manager: it answered {said}; give the manager's address"
        )
    if not error or error.context.get("kind") != errors.UNREACHABLE:
        why = error or "something else came"
        return LeagueError(
            f"somebody listens at {url}, and does not answer as a manager does: {why}; is the "
            "address right, with http or https, port and path?"
        )
    return errors.NoConnection(
        f"the manager at {url} did not answer: {error}; is it running? Start one with: league "
        "manager; if yours died: league manager --dir ITS_DIR; if it has another port, say so "
        "with: --manager PORT; or read what it wrote with: --dir DIR"
    )
