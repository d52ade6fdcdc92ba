"""Errors as messages: LEAGUE_ERROR and GAME_ERROR, in the fields of all five documents."""

import re
from collections.abc import Mapping
from typing import Any

import msgspec

from agentleague.errors import LeagueError, TokenInvalid
from agentleague.protocol.messages import GameError, LeagueErrorMessage, Message, RetryInfo

REMEDIES = {
    "E001": "Answer within the time that the message gives you.",
    "E003": "Send the field named in context.field with the type that the documents give it.",
    "E004": "Send one of the legal moves.",
    "E005": "Use the id that the manager gave you when you registered.",
    "E009": "Serve your end point where you registered it.",
    "E011": "Send your token as auth_token.",
    "E012": "Send the token that the manager gave you when you registered, or register again.",
    "E015": "Use the match_id of a match that is yours and still open.",
    "E018": "Speak league.v2.",
    "E019": "Register before the league begins.",
    "E020": "Ask the organiser for a place.",
    "E021": "Send UTC, in the form 2025-01-15T10:30:00Z.",
    "E030": "Ask again when the league has begun.",
    "E031": "Nothing: the league is over.",
    "E040": "Send it when it is due: error_message says why it is not.",
    "E041": "Register with another display_name.",
    "E042": "Register with this league's game in game_types.",
    "E043": "Register an http or https end point that this league may call, and listen there.",
    "E044": "Nothing: the first report stands.",
    "E045": "Use the league_id that the manager gave you when you registered.",
    "E046": "Use one of the query types in context.known.",
    "E047": "Wait as long as Retry-After says.",
    "E048": "Send a smaller message.",
    "E049": "Send one JSON object in UTF-8.",
    "E050": "Send one JSON-RPC 2.0 request.",
    "E051": "Use a method or message_type from context.known.",
    "E052": "Nothing: the fault is ours; the organiser can look it up in our log.",
    "E053": "Send the same message again later.",
}
FINER_REMEDIES = {  # by the end of context.field, or by class
    "_code": "Ask the organiser for the code, and send it in the field named in context.field.",
    "EndpointTaken": "Listen at an end point of your own, or ask the organiser.",
    "EndpointUnreachable": "Start the server of your end point, then register again.",
    "RefereeUnreachable": "Start the server of your end point, then register again.",
}
OUR_FAULT = {"E052": "Something went wrong on our side.", "E053": "The journal is not available."}
OF_A_MATCH = 4001  # document 001's number for a wrong token in a match
NO_CONVERSATION = "conv-error"  # of a refusal of what names none
SECRET_LENGTH_MIN = 16  # Shorter texts are no token of ours, and may be part of other words.

_PLAYER = re.compile(r"player:(P\d+)")  # the sender; one that registers names itself there
_ENVELOPE = frozenset(Message.__struct_fields__)


def error_message(
    error: LeagueError,
    asked: str,
    *,
    sender: str,
    timestamp: str,
    request: Mapping[str, Any] | None = None,
) -> LeagueErrorMessage | GameError:
    """What explains a refusal of an `asked` message; the token in its `request` is not repeated."""
    cls = GameError if sender.startswith("referee") else LeagueErrorMessage
    hide = _Hider((request or {}).get("auth_token"))
    about = hide.all(dict(request or {}))
    named = _PLAYER.fullmatch(str(about.get("sender")))
    who = about.get("player_id") or (named and named[1])
    context = (
        {}
        if error.code in OUR_FAULT
        else hide.all({key: _plain(at) for key, at in error.context.items()})
    )
    if error.code == TokenInvalid.code and about.get("auth_token"):
        context |= about_token(str((request or {})["auth_token"]), error.number_for(asked), who)
    is_code = str(error.context.get("field")).endswith("_code")
    finer = "_code" if is_code else type(error).__name__
    asked, sentence = hide.text(asked)[:64], str(error).encode(errors="replace").decode()
    fields = {
        **about,
        **context,
        "original_message_type": asked,
        "error_code": error.code,
        "error_name": error.name,
        "error_description": error.name,
        "error_message": OUR_FAULT.get(error.code) or hide.text(sentence)[:500],
        "action_required": FINER_REMEDIES.get(finer, REMEDIES[error.code]),
        "retryable": error.retryable,
        "context": {"action": asked, **context},
    }
    fields.setdefault("affected_player", fields.get("player_id") or who or None)
    fields["retry_info"] = _fitting(RetryInfo, fields)
    fitting = _fitting(cls, fields)
    return cls(
        sender=sender,
        timestamp=timestamp,
        conversation_id=_fitting(cls, about).get("conversation_id") or NO_CONVERSATION,
        **{name: value for name, value in fitting.items() if name not in _ENVELOPE},
    )


def about_token(token: str, number: int, player_id: str | None) -> dict[str, Any]:
    """What is said of a wrong token: its first characters, its form, and whose it should be."""
    form = "mtok_{hash}" if number == OF_A_MATCH else "tok_{agent_id}_{hash}"
    shown = {"provided_token": hidden(token), "expected_format": form}
    return {**shown, "player_id": player_id} if player_id else shown


def error_data(message: LeagueErrorMessage | GameError) -> dict[str, Any]:
    """The message as `error.data`: document 001 has the keys of the context beside its fields."""
    fields: dict[str, Any] = msgspec.to_builtins(message)
    own = {"message_type", "action", *message.__struct_fields__}
    return {**fields, **{key: at for key, at in message.context.items() if key not in own}}


class _Hider:
    """Hides tokens: the values of fields named so, and the request's own token anywhere."""

    def __init__(self, token: Any) -> None:
        is_secret = isinstance(token, str) and len(token) >= SECRET_LENGTH_MIN
        self._token = token if is_secret else None

    def all(self, value: Any, name: str = "") -> Any:
        if isinstance(value, dict):
            return {key: self.all(inner, key) for key, inner in value.items()}
        if isinstance(value, list):
            return [self.all(inner, name) for inner in value]
        if not isinstance(value, str):
            return value
        return hidden(value) if name.endswith("token") else self.text(value)

    def text(self, text: str) -> str:
        return text.replace(self._token, hidden(self._token)) if self._token else text


def hidden(token: str) -> str:
    """What may be repeated of a token that was sent to us."""
    return f"{token[:4] if len(token) >= SECRET_LENGTH_MIN else ''}…"


def _plain(value: Any) -> Any:
    """A value as JSON; if it is no JSON, the name of its type."""
    try:
        return msgspec.json.decode(msgspec.json.encode(value, enc_hook=_name_type))
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return _name_type(value)


def _name_type(value: Any) -> str:
    return type(value).__name__


def _fitting(cls: type[msgspec.Struct], given: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the given values that are fields of the class and have their types."""
    fields = {}
    for name in set(cls.__struct_fields__) & given.keys():
        try:
            fields[name] = getattr(msgspec.convert({name: given[name]}, cls), name)
        except msgspec.ValidationError:
            continue
    return fields
