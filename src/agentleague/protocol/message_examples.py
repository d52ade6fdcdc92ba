"""An example of every message, put together from the examples of its fields."""

from typing import Any

import msgspec
from msgspec import UNSET, inspect

from agentleague.protocol.field_docs import note_of
from agentleague.protocol.messages import MESSAGES

_SENDERS = {"manager": "league_manager", "referee": "referee:REF01"}
# Of the fields that may be absent those that an example has: as in the usual message.
_SENT_TOO: dict[str, tuple[str, ...]] = {
    "RefereeMeta": ("protocol_version", "locks"),
    "PlayerMeta": ("protocol_version",),
    "RoundMatch": ("draw_commitment",),
    "RefereeRegisterResponse": ("auth_token", "session", "lease_seconds"),
    "LeagueRegisterResponse": ("auth_token", "match_tokens"),
    "RoundCompleted": ("receipt",),
    "GameInvitation": ("auth_token",),
    "GameJoinAck": ("auth_token",),
    "ChooseParityCall": ("auth_token",),
    "ChooseParityResponse": ("auth_token",),
    "GameMoveCall": ("auth_token",),
    "GameMoveResponse": ("auth_token",),
    "GameOver": ("auth_token", "draw", "receipt"),
    "GameError": ("auth_token",),
    "LockRequest": ("auth_token",),
    "LockResponse": ("result", "draw", "receipt"),
    "MatchResultReport": ("auth_token", "epoch", "transcript", "silences"),
    "MatchResultAck": ("receipt",),
    "RefereeStatus": ("auth_token",),
    "LeagueCommand": ("auth_token",),
    "LeagueQuery": ("auth_token",),
    "LeagueErrorMessage": ("retry_info",),
    "LeagueQueryResponse": (
        *("status", "current_round", "total_rounds", "matches_completed", "total_matches"),
        *("players", "referees", "you"),
    ),
}


def example(name: str) -> dict[str, Any]:
    """A message of this type, as JSON has it.

    Raises:
        KeyError: there is no such message.
    """
    kind = MESSAGES[name]
    fields = _object(kind.cls)
    fields["sender"] = _SENDERS.get(kind.sender, "player:P01")
    return {"message_type": name, **fields}


def _object(cls: type) -> dict[str, Any]:
    sent_too = _SENT_TOO.get(cls.__name__, ())
    return {
        field.name: _value(cls, field)
        for field in msgspec.structs.fields(cls)
        if field.default is not UNSET or field.name in sent_too
    }


def _value(cls: type, field: msgspec.structs.FieldInfo) -> Any:
    given = note_of(cls.__name__, field.name).example
    return _inside(inspect.type_info(field.type)) if given is ... else given


def _inside(kind: inspect.Type) -> Any:
    """An example of an object, or of a list of such."""
    if isinstance(kind, inspect.UnionType):  # An object that may be null or absent.
        kind = kind.types[0]
    if isinstance(kind, inspect.ListType):
        return [_inside(kind.item_type)]
    assert isinstance(kind, inspect.StructType)
    fields = _object(kind.cls)
    return list(fields.values()) if kind.array_like else fields
