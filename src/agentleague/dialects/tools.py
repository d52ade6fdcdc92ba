"""The tools of an MCP agent, found by `tools/list` and matched to our messages by name."""

import re
from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import Any

import msgspec
from msgspec import Struct

from agentleague.dialects.fields import CONTEXT, own_fields
from agentleague.dialects.requests import ALIASES
from agentleague.dialects.search import squeezed
from agentleague.protocol.jsonrpc import UNREADABLE
from agentleague.protocol.messages import METHODS

STARTING = "START_MATCH"  # in no document: every author names its parameters differently

# Message type -> words in the name of a tool that takes it, the most specific first.
_WORDS: dict[str, tuple[str, ...]] = {
    "GAME_INVITATION": ("invit", "join"),
    "CHOOSE_PARITY_CALL": ("parity", "choose", "choice", "move", "play"),
    "GAME_MOVE_CALL": ("move", "choose", "choice", "play"),
    "LEAGUE_COMPLETED": ("league_complete", "league_end", "league_over", "league_finish"),
    "GAME_OVER": ("match_result", "game_over", "result", "over"),
    "GAME_ERROR": ("error",),
    "LEAGUE_ERROR": ("league_error", "error"),
    "LEAGUE_STANDINGS_UPDATE": ("standings",),
    "ROUND_COMPLETED": ("round_complete", "round_end"),
    "ROUND_ANNOUNCEMENT": ("announce", "round"),
    STARTING: ("start", "assign", "run", "conduct", "begin", "launch", "referee", "play"),
    "LEAGUE_REGISTER_REQUEST": ("register",),
    "REFEREE_REGISTER_REQUEST": ("register",),
    "MATCH_RESULT_REPORT": ("report",),
    "LEAGUE_QUERY": ("query",),
}
OFFER = re.compile(r"\b[A-Za-z]\w{3,39}\b", re.ASCII)  # a method that an agent says it has
_OFFERS_MAX = 4
_PARAMETERS_MAX = 32  # of a tool
_NAME_MAX = 128  # characters of its name
SHORT = 4  # letters; a short word must match whole: `play` is not `player`
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")  # of a name, however its words are joined
_MATCH = re.compile("match|game", re.IGNORECASE)
_FOR_ALL = ("message", "handle", "mcp")

# A field of ours -> what else it is called as the parameter of a tool.
_NAMES: dict[str, tuple[str, ...]] = {
    **ALIASES,
    "match_id": ("game_id", "match"),
    "player_id": ("agent_id", "your_id", "player"),
    "opponent_id": ("opponent", "opponent_player_id"),
    "round_id": ("round", "round_number"),
    "league_id": ("league",),
    "role_in_match": ("role", "player_role"),
    "game_type": ("game",),
    "auth_token": ("token",),
    "context": CONTEXT,
    "game_result": ("result", "match_result"),
    "winner_player_id": ("winner", "winner_id"),
}


class Tool(Struct, frozen=True):
    """A tool, and the parameters that it lists, with their JSON types; none: it does not say."""

    name: str
    takes: Mapping[str, str] = {}
    is_closed: bool = False  # It refuses any other.

    def arguments(self, fields: Mapping[str, Any]) -> Mapping[str, Any]:
        """What it is called with: each parameter by its name; one that we lack is the message."""
        found: dict[str, Any] = {}
        is_whole = False  # It is sent once, and so is every list and object: it may be long.
        for name, kind in self.takes.items():
            value = find_field(name, fields)
            is_any = len(self.takes) == 1 or kind == "object" or "message" in name
            if value is None and is_any and not is_whole:
                is_whole = True
                value = msgspec.json.encode(fields).decode() if kind == "string" else fields
            is_again = isinstance(value, dict | list) and any(value is at for at in found.values())
            if value is not None and not is_again:
                found[name] = str(value) if kind == "string" and type(value) is int else value
        return found if found or self.is_closed else fields


Tools = Mapping[str, Tool]  # message type -> the tool that takes it


def read_tools(body: bytes) -> Tools:
    """Which tool takes which message, by the answer to `tools/list`; none if it lists none."""
    try:
        rows = msgspec.json.decode(body)["result"]["tools"]
    except (*UNREADABLE, KeyError, TypeError):
        return {}
    rows = rows if isinstance(rows, list) else []
    tools = [tool for row in rows if (tool := _read_tool(row))]
    return {kind: tool for kind in _WORDS if (tool := _most_alike(kind, tools))}


def find_field(name: str, fields: Mapping[str, Any]) -> Any:
    """A field anywhere in a message, the furthest out, by any name in any case; None: nothing."""
    known = ((field, *others) for field, others in _NAMES.items())
    wanted = squeezed(name)
    names = next((row for row in known if wanted in map(squeezed, row)), ())
    within: dict[str, Any] = {}
    places = [fields]
    for place in places:  # It grows by what is further in; a row of a list is about somebody else.
        places += [each for each in place.values() if isinstance(each, dict)]
        within = {squeezed(key): value for key, value in place.items()} | within
    held = (within.get(each) for each in (wanted, *map(squeezed, names)))
    return next((value for value in held if value is not None), None)


def field_called(name: str, message_type: str, fields: Mapping[str, Any]) -> Any:
    """The same; all that stands beside the envelope if the message itself is called like that."""
    found = find_field(name, fields)
    is_like = found is None and message_like(name, [message_type])
    return own_fields(fields) if is_like else found


def message_like(called: str, taken: Collection[str]) -> str:
    """The message, of those that are taken, that a name is most like; empty if none."""
    parts = [part.lower() for part in _PART.findall(called)]
    whole = "_".join(parts)
    for kind, words in _WORDS.items():
        if kind in taken and any(_is_in(word, parts, whole) for word in words):
            return kind
    return ""


def start_methods(complaint: str) -> tuple[str, ...]:
    """The methods in a complaint ("expected one of …") that may start a match."""
    named = dict.fromkeys(OFFER.findall(complaint))
    found = [each for each in named if message_like(each, (STARTING,)) and _MATCH.search(each)]
    return tuple(found[:_OFFERS_MAX])


def _is_in(word: str, parts: Sequence[str], whole: str) -> bool:
    """Whether a name has the word: a short one whole, a long one as the beginning of a word."""
    if "_" in word:
        return word in whole
    is_long = len(word) > SHORT
    return any(part == word or (is_long and part.startswith(word)) for part in parts)


def _most_alike(message_type: str, tools: Sequence[Tool]) -> Tool | None:
    for tool in tools:
        if METHODS.get(tool.name.lower()) == message_type:
            return tool
    # The others take a message of their own.
    free = [tool for tool in tools if tool.name.lower() not in METHODS]
    for word in (*_WORDS[message_type], *_FOR_ALL):
        for tool in free:
            if word in tool.name.lower():
                return tool
    return None


def _read_tool(row: Any) -> Tool | None:
    name = row.get("name") if isinstance(row, dict) else None
    if not isinstance(name, str) or not 0 < len(name) <= _NAME_MAX:
        return None
    schema = row.get("inputSchema")
    schema = schema if isinstance(schema, dict) else {}
    properties = schema.get("properties")
    properties = properties if isinstance(properties, dict) else {}
    few = islice(properties.items(), _PARAMETERS_MAX)
    is_closed = schema.get("additionalProperties") is False
    return Tool(name, {each: _type_of(kind) for each, kind in few}, is_closed)


def _type_of(schema: Any) -> str:
    """The JSON type of a parameter, or the first of several; empty if any will do."""
    if not isinstance(schema, dict):
        return ""
    several = schema.get("anyOf")
    given = schema.get("type", "object" if schema.keys() & {"$ref", "allOf", "properties"} else "")
    return _type_of(several[0]) if several and isinstance(several, list) else str(given)
