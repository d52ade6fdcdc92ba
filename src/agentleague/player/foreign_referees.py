"""Foreign referees know no match tokens: a player asks its manager before it answers them.

A message without the token of its match is refused, unless the manager says that the referee of the
match does not lock, and the message comes from that referee's address.
"""

from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from agentleague.player.memory import LIMITS, PlayerLimits
from agentleague.protocol.hosts import is_at
from agentleague.protocol.messages import LeagueQuery, LeagueQueryResponse, Message
from agentleague.roles.effects import Address, Call
from agentleague.roles.stimuli import Asked


class MatchQuery(Struct, frozen=True, gc=False):
    """The key of a question to the manager: who is the referee of this match?"""

    match_id: str


class ForeignReferees:
    """The matches of one player whose referees show no token."""

    def __init__(
        self, manager: Address, reply_seconds: float, limits: PlayerLimits = LIMITS
    ) -> None:
        self._manager, self._reply_seconds, self._limits = manager, reply_seconds, limits
        self._trusted: dict[str, str] = {}  # match -> end point of its referee
        self._denied: dict[str, float] = {}  # match -> when
        self._waiting: dict[str, list[Asked]] = {}

    def admits(self, asked: Asked) -> bool:
        """Whether a message without a token comes from the referee of its match."""
        message: Any = asked.message
        endpoint = self._trusted.get(message.match_id)
        return endpoint is not None and is_at(endpoint, asked.caller.source)

    def signed(self, match_id: str) -> None:
        """The referee showed the token: from here on its match needs it."""
        self._trusted.pop(match_id, None)

    def ask(self, asked: Asked, league_id: str, timestamp: str, now: float) -> list[Call] | None:
        """Ask the manager about the match of a message; None where it is refused without asking."""
        message: Any = asked.message
        match_id = message.match_id
        if message.league_id not in ("", league_id):
            return None
        if now - self._denied.get(match_id, float("-inf")) < self._limits.denied_seconds:
            return None
        if self._is_full(asked.caller.source):
            return None
        is_first = match_id not in self._waiting
        self._waiting.setdefault(match_id, []).append(asked)
        if not is_first:
            return []
        query = LeagueQuery(
            "GET_MATCH",
            league_id,
            {"match_id": match_id},
            sender="player",
            timestamp=timestamp,
            conversation_id=message.conversation_id,
        )
        return [Call(MatchQuery(match_id), self._manager, query, now + self._reply_seconds)]

    def answered(
        self, match_id: str, answer: Message | None, player_id: str, now: float
    ) -> list[Asked]:
        """The manager has said who the referee is, or has not: the messages that waited for it."""
        facts = _facts(answer)
        players = (facts.get("player_A_id"), facts.get("player_B_id"))
        endpoint = facts.get("referee_endpoint")
        if facts.get("referee_locks") is False and player_id in players and endpoint:
            self._keep(self._trusted, match_id, str(endpoint))
        else:
            self._keep(self._denied, match_id, now)
        return self._waiting.pop(match_id, [])

    def _is_full(self, source: str) -> bool:
        sources = [asked.caller.source for each in self._waiting.values() for asked in each]
        return (
            len(sources) >= self._limits.waiting_messages
            or sources.count(source) >= self._limits.waiting_from_one_source
        )

    def _keep(self, known: dict[str, Any], match_id: str, value: Any) -> None:
        known[match_id] = value
        if len(known) > self._limits.foreign_matches:
            del known[next(iter(known))]


def _facts(answer: Message | None) -> Mapping[str, Any]:
    data = answer.data if isinstance(answer, LeagueQueryResponse) else None
    match = data.get("match") if isinstance(data, dict) else None
    return match if isinstance(match, dict) else {}
