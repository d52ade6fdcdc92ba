"""Where the players of a league of another make are: told with their matches, or asked for."""

from collections.abc import Iterable

import msgspec
from msgspec import UNSET, Struct

from agentleague.match.messages import Desk
from agentleague.protocol import starts
from agentleague.protocol.messages import LeagueQuery, Message, RoundMatch
from agentleague.roles.effects import Address, Call

QUERIES = ("GET_PLAYER_STATS", "GET_AGENT", "GET_PLAYERS")  # one may say where a player is


class WhereIs(Struct, frozen=True):
    """The key of a question to the manager."""

    player_id: str
    attempt: int


class Endpoints:
    """The end points of players, as far as anybody said."""

    def __init__(self, manager: Address, desk: Desk, league_id: str, reply_seconds: float) -> None:
        self._manager, self._desk = manager, desk
        self._league_id, self._reply_seconds = league_id, reply_seconds
        self._known: dict[str, str] = {}  # player -> end point
        self._asking: set[str] = set()

    def __getitem__(self, player_id: str) -> str:
        return self._known[player_id]

    def knows(self, *players: str) -> bool:
        """Whether it is known where all of them are."""
        return all(player_id in self._known for player_id in players)

    def note(self, match: RoundMatch) -> None:
        """A match was given out; it may say where its players are."""
        for player_id, url in (
            (match.player_A_id, match.player_A_endpoint),
            (match.player_B_id, match.player_B_endpoint),
        ):
            if url:
                self._known[player_id] = url

    def ask(self, players: Iterable[str], now: float) -> list[Call]:
        """Ask the manager for those about whom nobody was asked yet."""
        unknown = [each for each in players if not self.knows(each) and each not in self._asking]
        self._asking.update(unknown)
        return [self._question(player_id, 1, now) for player_id in unknown]

    def answered(self, key: WhereIs, message: Message | None, now: float) -> Call | None:
        """The manager has said it, or has not: then what is asked next, if anything."""
        found = starts.where_is(key.player_id, msgspec.to_builtins(message))
        if found:
            self._known[key.player_id] = found
        elif key.attempt < len(QUERIES):
            return self._question(key.player_id, key.attempt + 1, now)
        self._asking.discard(key.player_id)
        return None

    def _question(self, player_id: str, attempt: int, now: float) -> Call:
        query = LeagueQuery(
            QUERIES[attempt - 1],
            self._league_id,
            {"player_id": player_id, "agent_id": player_id},
            sender=f"referee:{self._desk.referee_id}",
            timestamp=self._desk.calendar.write(now),
            conversation_id="conv-where-is",
            auth_token=self._desk.token or UNSET,
        )
        until = now + self._reply_seconds
        return Call(WhereIs(player_id, attempt), self._manager, query, until)
