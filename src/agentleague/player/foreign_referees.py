"""Referees of other makes know no match tokens: a player asks its manager before it answers them.

Whatever comes without the token of its match is refused, unless the manager says that the match has
a referee that does not lock, and the message comes from that referee's address.
"""

from collections.abc import Mapping
from typing import Any

from agentleague.protocol.hosts import is_at
from agentleague.protocol.messages import LeagueQuery, LeagueQueryResponse, Message
from agentleague.roles.effects import Address, Call
from agentleague.roles.stimuli import Asked

KEY = "whose match?"
WAITING_MAX = 16  # messages without a token that wait for the manager's word
SOURCE_MAX = 4  # of them from one address, so that no stranger takes all the places
DENIED_SECONDS = 1.0  # within which it is not asked again about the same match
MATCHES_MAX = 1_000


class ForeignReferees:
    """The matches of one player whose referees show no token."""

    def __init__(self, manager: Address, reply_seconds: float) -> None:
        self._manager, self._reply_seconds = manager, reply_seconds
        self._trusted: dict[str, str] = {}  # match -> end point of its referee
        self._denied: dict[str, float] = {}  # match -> when
        self._waiting: dict[str, list[Asked]] = {}

    def let_in(self, asked: Asked) -> bool:
        """Whether this may be its referee, who shows no token."""
        message: Any = asked.message
        endpoint = self._trusted.get(message.match_id)
        return endpoint is not None and is_at(endpoint, asked.caller.source)

    def signed(self, match_id: str) -> None:
        """The token was shown: from here on nothing else will do."""
        self._trusted.pop(match_id, None)

    def ask(self, asked: Asked, league_id: str, timestamp: str, now: float) -> list[Call] | None:
        """Put it to the manager; None where it is refused as it is."""
        message: Any = asked.message
        match_id = message.match_id
        if message.league_id not in ("", league_id):
            return None
        if now - self._denied.get(match_id, float("-inf")) < DENIED_SECONDS:
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
        return [Call((KEY, match_id), self._manager, query, now + self._reply_seconds)]

    def answered(
        self, match_id: str, answer: Message | None, player_id: str, now: float
    ) -> list[Asked]:
        """The manager's word, or none: what waited for it is to be judged again."""
        facts = _facts(answer)
        players = (facts.get("player_A_id"), facts.get("player_B_id"))
        endpoint = facts.get("referee_endpoint")
        if facts.get("referee_locks") is False and player_id in players and endpoint:
            _keep(self._trusted, match_id, str(endpoint))
        else:
            _keep(self._denied, match_id, now)
        return self._waiting.pop(match_id, [])

    def _is_full(self, source: str) -> bool:
        sources = [asked.caller.source for each in self._waiting.values() for asked in each]
        return len(sources) >= WAITING_MAX or sources.count(source) >= SOURCE_MAX


def _facts(answer: Message | None) -> Mapping[str, Any]:
    data = answer.data if isinstance(answer, LeagueQueryResponse) else None
    match = data.get("match") if isinstance(data, dict) else None
    return match if isinstance(match, dict) else {}


def _keep(known: dict[str, Any], match_id: str, value: Any) -> None:
    known[match_id] = value
    if len(known) > MATCHES_MAX:
        del known[next(iter(known))]
