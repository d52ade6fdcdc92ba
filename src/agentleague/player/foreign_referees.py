"""Foreign referees know no match tokens: a player asks its manager before it answers them.

A message without the token of its match is refused, unless the manager says that the referee of the
match does not lock, and the message comes from that referee's address.

Some of them call with a message type as the method, ignore the answer, and wait until the same is
pushed to their end point: so it is pushed too, once, until one says that it does not take it.
"""

import re
from collections.abc import Mapping
from typing import Any

from msgspec import Struct

from agentleague.dialects.methods import MESSAGE_TYPE, pattern_of
from agentleague.dialects.negotiation import UNKNOWN_METHOD, misunderstanding
from agentleague.dialects.table import name_of
from agentleague.player.memory import LIMITS, PlayerLimits
from agentleague.protocol.hosts import is_at
from agentleague.protocol.jsonrpc import Form
from agentleague.protocol.messages import LeagueQuery, LeagueQueryResponse, Message, tag_of
from agentleague.roles.effects import Address, Call
from agentleague.roles.stimuli import Answered, Asked, Caller

_OURS = re.compile(r"R\d+M\d+")  # what our managers call matches


class MatchQuery(Struct, frozen=True, gc=False):
    """The key of a question to the manager: who is the referee of this match?"""

    match_id: str


class PushKey(Struct, frozen=True, gc=False):
    """The key of an answer that is pushed to a referee."""

    endpoint: str
    match_id: str
    question: type[Message]


class ForeignReferees:
    """The matches of one player whose referees show no token."""

    def __init__(
        self, manager: Address, reply_seconds: float, limits: PlayerLimits = LIMITS
    ) -> None:
        self._manager, self._reply_seconds, self._limits = manager, reply_seconds, limits
        self.trusted: dict[str, str] = {}  # match -> end point of its referee
        self._denied: dict[str, float] = {}  # match -> when
        self._waiting: dict[str, list[Asked]] = {}
        self._pushing: set[PushKey] = set()
        self._unpushed: dict[str, bool] = {}  # end points that take no pushed answers
        self.announced = ""  # the player's match of this round

    def endpoint(self, match_id: str, caller: Caller) -> str:
        """The end point of the referee that calls without a token; empty if no referee does."""
        endpoint = self.trusted.get(match_id, "")
        return endpoint if endpoint and is_at(endpoint, caller.source) else ""

    def push(self, asked: Asked, endpoint: str, answer: Message, now: float) -> list[Call]:
        """The answer once more, to a referee that may wait for it at its own end point."""
        message: Any = asked.message
        key = PushKey(endpoint, message.match_id, type(message))
        dialect = _push_dialect(asked.caller, key.question)
        is_full = len(self._pushing) >= self._limits.waiting_messages
        if not dialect or is_full or key in self._pushing or endpoint in self._unpushed:
            return []
        self._pushing.add(key)
        to = Address("referee", endpoint, dialect)
        return [Call(key, to, answer, now + self._reply_seconds)]

    def pushed(self, stimulus: Answered) -> None:
        """The push is over; if it failed, the match goes on by what was answered."""
        key: Any = stimulus.key
        self._pushing.discard(key)
        if misunderstanding(key.question, stimulus.error) == UNKNOWN_METHOD:
            self._keep(self._unpushed, key.endpoint, True)

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
            {"match_id": match_id if _OURS.fullmatch(match_id) else self.announced},
            sender="agent:player",
            timestamp=timestamp,
            conversation_id=message.conversation_id or "conv-query",
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
            self._keep(self.trusted, match_id, str(endpoint))
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


def _push_dialect(caller: Caller, question: type[Message]) -> str:
    """The dialect of one that calls by message types, however it spells them; else empty."""
    method, name = caller.rpc_method, tag_of(question)
    is_type = re.sub(r"[\W_]", "", method).upper() == name.replace("_", "")
    if caller.form not in (Form.JSONRPC, Form.HYBRID) or not (is_type or method.isupper()):
        return ""
    return name_of(Form.JSONRPC, pattern_of(method, name) if is_type else MESSAGE_TYPE, "")


def _facts(answer: Message | None) -> Mapping[str, Any]:
    data = answer.data if isinstance(answer, LeagueQueryResponse) else None
    match = data.get("match") if isinstance(data, dict) else None
    return match if isinstance(match, dict) else {}
