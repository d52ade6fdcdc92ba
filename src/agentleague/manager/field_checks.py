"""What a message to the manager says against its own token, method or match, or document 004.

Who contradicts itself is warned and the organiser told, once for each agent and field. A league
with `missing_fields` at `refuse` refuses that, and all that document 004 forbids.
"""

import re
from operator import attrgetter
from typing import Any

from msgspec.structs import replace

from agentleague import errors
from agentleague.league.queries import NEEDS_TOKEN, spelled
from agentleague.manager.refusals import Refusals
from agentleague.manager.step import Step
from agentleague.protocol.messages import METHODS, PROTOCOL, WIRE_NAME, LeagueCommand, LeagueQuery
from agentleague.roles.stimuli import Asked, Caller

Found = dict[str, type[errors.LeagueError]]  # "path" of what is missing, "path (why)" -> its error
OPEN, OURS = (LeagueQuery, LeagueCommand), ("league_command", "agent:")  # what anybody may ask
FOR_BOTH = ("register", "register_request")  # methods of players and of referees
AGENT_ID = re.compile(r"(?:P|REF)\d{2,}", re.ASCII)
_VERSION = re.compile(r"(0|[1-9]\d*)(\.(0|[1-9]\d*)){2}([-+][\w.+-]+)?", re.ASCII).fullmatch
_RULES: list[tuple[str, str, Any]] = [  # of document 004 about a field: what it is, and whether
    ("protocol", f"it is {PROTOCOL}", lambda at: at == PROTOCOL),
    ("sender", "it is type:id, as player:P01", re.compile("(player|referee):.+").fullmatch),
    ("player_meta.display_name", "it has 1 to 50 characters", lambda at: len(at) <= 50),
    ("referee_meta.display_name", "it has 1 to 50 characters", lambda at: len(at) <= 50),
    ("player_meta.version", "it is MAJOR.MINOR.PATCH", _VERSION),
    ("referee_meta.version", "it is MAJOR.MINOR.PATCH", _VERSION),
    ("referee_meta.max_concurrent_matches", "it is 1 to 10", lambda at: at <= 10),
    ("query_type", "it is spelled as in the documents", lambda at: spelled(at) == at),
]
_ERRORS: Found = {"protocol": errors.VersionMismatch, "query_type": errors.UnknownQuery}


class FieldChecks:
    """Looks at each message before it is handled; state: the contradictions that were told."""

    def __init__(self, step: Step) -> None:
        self._step, self._is_strict = step, step.settings.missing_fields == "refuse"
        self.told = Refusals(step, "Contradiction of")

    def check(self, asked: Asked) -> Asked:
        """The message, with its contradictions among what it lacks; a strict league raises them."""
        message, caller = asked.message, asked.caller
        found = self._contradictions(message, caller)
        if not found and not self._is_strict:
            return asked
        for why, error in found.items():
            who = self._step.league.roster.owner(caller.token) or f"an agent at {caller.source}"
            self.told.add((who, why.partition(" ")[0]), why, error.code)
        is_ours = isinstance(message, OPEN) and message.sender.startswith(OURS)
        if self._is_strict and not is_ours:
            missing = dict.fromkeys(caller.missing, errors.MissingField)
            _refuse({**missing, **_forbidden(message, caller), **found})
        lacks = tuple(dict.fromkeys((*caller.missing, *found)))  # It may be looked at twice.
        return replace(asked, caller=replace(caller, missing=lacks))

    def _contradictions(self, message: Any, caller: Caller) -> Found:
        found: Found = {}
        name, league, token = WIRE_NAME[type(message)], self._step.league, caller.token or ""
        method, named = caller.rpc_method.lower(), message.sender.rpartition(":")[2]
        if METHODS.get(method, name) != name and method not in FOR_BOTH:
            found[f"method ({method}, and message_type is {name})"] = errors.MissingField
        if not token.startswith(f"tok_{named}_") and AGENT_ID.fullmatch(named):
            owner = league.roster.owner(token)
            if owner:
                found[f"sender ({named}, and auth_token is that of {owner})"] = errors.TokenInvalid
        league_id, round_id = getattr(message, "league_id", ""), getattr(message, "round_id", 0)
        if league_id not in ("", league.rules.league_id):
            this = league.rules.league_id
            found[f"league_id ({league_id}, and this is {this})"] = errors.UnknownLeague
        match_id = getattr(message, "match_id", "")
        if round_id and match_id and not match_id.startswith(f"R{round_id}M"):
            why = f"round_id ({round_id}, and match_id is {match_id})"
            found[why] = errors.MatchMismatch
        return found


def _forbidden(message: Any, caller: Caller) -> Found:
    found: Found = {}
    is_ours = getattr(getattr(message, "referee_meta", None), "locks", None) is True
    for path, why, is_so in _RULES:
        at = attrgetter(path)(message) if hasattr(message, path.partition(".")[0]) else None
        if at and not is_so(at) and not (is_ours and isinstance(at, int)):
            found[f"{path} ({why})"] = _ERRORS.get(path, errors.MissingField)
    if WIRE_NAME[type(message)].endswith("REGISTER_REQUEST"):
        return found
    if not caller.token:
        found["auth_token"] = errors.TokenMissing
    wants_player = getattr(message, "query_type", "") in NEEDS_TOKEN
    if wants_player and not message.query_params.get("player_id"):
        found["query_params.player_id"] = errors.MissingField
    return found


def _refuse(found: Found) -> None:
    for first, error in found.items():
        raise error(
            "this league wants every documented field, and these do not fit or are missing: "
            f"{', '.join(found)}"[:500],
            field=first.partition(" ")[0],
            missing=list(found),
            kind="missing",
        )
