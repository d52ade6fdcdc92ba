"""One match as a referee of another make wants to be told of it: in the words of START_MATCH & co.

The documents have no message that starts a match, so everybody made one up. All of them name a
match, two players and where these are; the names differ, so all that were seen are sent at once. A
referee that takes no more than it knows gets one manner of naming alone.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import msgspec
from msgspec import UNSET

from agentleague.protocol.messages import Message, RoundAnnouncement, RoundMatch, Seated

ANNOUNCED = "ROUND_ANNOUNCEMENT"
NONSENSE = "NO_SUCH_MESSAGE"  # nobody knows it: what it is answered is worth nothing
DOCUMENTED = "plain"  # the manner of an announcement with nothing in it but what document 001 shows

# The message type by which a match is started -> the tool name that goes with it.
WAYS = {
    "START_MATCH": "start_match",
    "ASSIGN_MATCH": "assign_match",
    "MATCH_ASSIGNMENT": "match_assignment",
    "RUN_MATCH": "run_match",
    ANNOUNCED: "notify_round",
}


TOOLS = WAYS | {NONSENSE: "no_such_method"}


class Manner(NamedTuple):
    """How somebody names the players of a match: for each of the two its id and its end point."""

    ids: tuple[str, str]
    endpoints: tuple[str, str]


# The first of each pair is the player A of the documents.
MANNERS = {
    "A": Manner(("player_A_id", "player_B_id"), ("player_A_endpoint", "player_B_endpoint")),
    "a": Manner(("player_a", "player_b"), ("player_a_endpoint", "player_b_endpoint")),
    "1": Manner(("player1_id", "player2_id"), ("player1_endpoint", "player2_endpoint")),
}
_MORE = (
    Manner(("player_A", "player_B"), ("player_A_url", "player_B_url")),
    Manner(("player_a_id", "player_b_id"), ("player_a_url", "player_b_url")),
    Manner(("player1", "player2"), ("player1_url", "player2_url")),
    Manner(("player_1_id", "player_2_id"), ("player_1_endpoint", "player_2_endpoint")),
)
_NAMES = ("player_A_name", "player_B_name")
_encode = msgspec.json.Encoder().encode


def manners_of(way: str) -> tuple[str, ...]:
    """In which manners the players can be named alone, beside all at once."""
    if way == NONSENSE:
        return ()
    return (DOCUMENTED,) if way == ANNOUNCED else tuple(MANNERS)


def in_words(manner: str) -> str:
    """What a manner is called when people talk of it."""
    if manner == DOCUMENTED:
        return "documented fields only"
    return f"players as {MANNERS[manner].ids[0]}"


def is_assignment(message: Message) -> bool:
    """Whether this announcement is a referee's copy, which can be said in other words."""
    return (
        isinstance(message, RoundAnnouncement)
        and message.session is not UNSET
        and len(message.matches) <= 1
    )


def nonsense(message: RoundAnnouncement) -> RoundAnnouncement:
    """An assignment of nothing."""
    return msgspec.structs.replace(message, matches=[])


def started(message: RoundAnnouncement, way: str, manner: str = "") -> dict[str, Any]:
    """The fields of a message of type `way` that starts the match of an assignment."""
    if not message.matches:
        return enveloped(message, way, {})
    match = message.matches[0]
    names = {
        "match_id": match.match_id,
        "round_id": message.round_id,
        "league_id": message.league_id,
        "game_type": match.game_type,
    }
    if manner:
        return names | _players(match, MANNERS[manner])
    fields = enveloped(message, way, names)
    fields |= {
        "conversation_id": message.conversation_id,
        "referee_endpoint": match.referee_endpoint,
    }
    for each in (*MANNERS.values(), *_MORE):
        fields |= _players(match, each)
    seats = _seats(match)
    fields |= {name: seat.display_name for name, seat in zip(_NAMES, seats, strict=True)}
    return fields | {"players": [_player(seat) for seat in seats]}


def enveloped(message: RoundAnnouncement, way: str, fields: Mapping[str, Any]) -> dict[str, Any]:
    """The same with its type, for who is called by nothing else."""
    return {
        "protocol": message.protocol,
        "message_type": way,
        "sender": message.sender,
        "timestamp": message.timestamp,
        **fields,
    }


def written(fields: Mapping[str, Any]) -> bytes:
    """As JSON."""
    return _encode(fields)


def _seats(match: RoundMatch) -> list[Seated]:
    assert match.seats is not UNSET
    return match.seats


def _players(match: RoundMatch, manner: Manner) -> dict[str, str]:
    fields: dict[str, str] = {}
    for seat, name, endpoint in zip(_seats(match), *manner, strict=True):
        fields |= {name: seat.player_id, endpoint: seat.endpoint}
    return fields


def _player(seat: Seated) -> dict[str, str]:
    return {
        "player_id": seat.player_id,
        "display_name": seat.display_name,
        "endpoint": seat.endpoint,
        "contact_endpoint": seat.endpoint,
    }
