"""What a referee asks a foreign manager: where the players are."""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from agentleague.dialects import starting
from agentleague.match.messages import RefereeIdentity
from agentleague.protocol.messages import LeagueQuery, Message, RoundMatch
from agentleague.roles.effects import Address, Call
from agentleague.roles.stimuli import Key

QUERIES = ("GET_PLAYER_STATS", "GET_AGENT", "GET_PLAYERS")  # one may say where a player is


class EndpointQuery(Struct, frozen=True):
    """The key of a question to the manager: where is this player?"""

    player_id: str
    attempt: int


class ManagerQueries:
    """Writes the queries of one referee."""

    def __init__(
        self, manager: Address, identity: RefereeIdentity, league_id: str, reply_seconds: float
    ) -> None:
        self.manager, self._identity = manager, identity
        self._league_id, self.reply_seconds = league_id, reply_seconds

    def call(self, key: Key, query_type: str, params: Mapping[str, Any], now: float) -> Call:
        """Ask the manager."""
        query = LeagueQuery(
            query_type,
            self._league_id,
            dict(params),
            sender=f"referee:{self._identity.referee_id}",
            timestamp=self._identity.calendar.write(now),
            conversation_id="conv-referee-asks",
            auth_token=self._identity.token or UNSET,
        )
        return Call(key, self.manager, query, now + self.reply_seconds)


class PlayerEndpoints:
    """The end points of players: told with a match, or asked for."""

    def __init__(self, queries: ManagerQueries) -> None:
        self._queries = queries
        self._known: dict[str, str] = {}  # player -> end point
        self._asking: set[str] = set()

    def __getitem__(self, player_id: str) -> str:
        return self._known[player_id]

    def knows(self, *players: str) -> bool:
        """Whether the end points of all of them are known."""
        return all(player_id in self._known for player_id in players)

    def note(self, match: RoundMatch) -> None:
        """Keep the end points that were told with a match."""
        for player_id, url in (
            (match.player_A_id, match.player_A_endpoint),
            (match.player_B_id, match.player_B_endpoint),
        ):
            if url:
                self._known[player_id] = url

    def ask(self, players: Iterable[str], now: float) -> list[Call]:
        """Ask the manager for those that are unknown and were not asked for yet."""
        unknown = [each for each in players if not self.knows(each) and each not in self._asking]
        self._asking.update(unknown)
        return [self._query(player_id, 1, now) for player_id in unknown]

    def answered(self, key: EndpointQuery, message: Message | None, now: float) -> Call | None:
        """The manager answered; if that says nothing, the next question, if there is one."""
        found = starting.find_endpoint(key.player_id, msgspec.to_builtins(message))
        if found:
            self._known[key.player_id] = found
        elif key.attempt < len(QUERIES):
            return self._query(key.player_id, key.attempt + 1, now)
        self._asking.discard(key.player_id)
        return None

    def _query(self, player_id: str, attempt: int, now: float) -> Call:
        params = {"player_id": player_id, "agent_id": player_id}
        key = EndpointQuery(player_id, attempt)
        return self._queries.call(key, QUERIES[attempt - 1], params, now)
