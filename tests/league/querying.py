"""Query a league, and see how long the answer is on the wire at its longest."""

import msgspec

from agentleague.league import queries
from agentleague.manager.step import SENDER
from agentleague.protocol.messages import LeagueQuery

BYTES_MAX = 10_240


def ask(decisions, query_type, asker=None, /, **params):
    """The `data` of the answer."""
    return queries.answer(decisions.league, query_type, params, asker)


def size(decisions, query_type, asker=None, /, **params):
    """The bytes of the whole answer to the longest `conversation_id` and id that are allowed."""
    query = LeagueQuery(query_type, query_params=params)
    answer = queries.respond(decisions.league, query, asker)
    assert answer.success, answer.error
    written = msgspec.structs.replace(
        answer,
        sender=SENDER,
        timestamp="2026-01-01T12:00:00Z",
        conversation_id="\x01" * 128,
        warnings=["conversation_id was missing"] * 6,
    )
    return len(msgspec.json.encode(written)) + len(
        msgspec.json.encode({"jsonrpc": "2.0", "result": 0, "id": "🦊" * 64})
    )
