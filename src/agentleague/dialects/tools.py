"""The tools of an MCP agent, found by `tools/list` and matched to our messages by name."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Struct

from agentleague.protocol.jsonrpc import UNREADABLE
from agentleague.protocol.messages import METHODS

LISTING = b'{"jsonrpc":"2.0","method":"tools/list","params":{},"id":%d}'
NESTED_IN = "message"  # the one parameter of a tool that takes every message whole

STARTING = "START_MATCH"  # in no document: every author names its parameters differently

# Message type -> words in the name of a tool that takes it, the most specific first.
_WORDS: dict[str, tuple[str, ...]] = {
    "GAME_INVITATION": ("invit", "join"),
    "CHOOSE_PARITY_CALL": ("parity", "choose", "choice", "move", "play"),
    "GAME_MOVE_CALL": ("move", "choose", "choice", "play"),
    "GAME_OVER": ("match_result", "game_over", "result", "over"),
    "GAME_ERROR": ("error",),
    "LEAGUE_STANDINGS_UPDATE": ("standings",),
    "ROUND_COMPLETED": ("round_complete", "round_end"),
    "LEAGUE_COMPLETED": ("league_complete", "league_end"),
    "ROUND_ANNOUNCEMENT": ("announce", "round"),
    STARTING: ("start", "assign", "run", "conduct", "referee", "play"),
    "LEAGUE_REGISTER_REQUEST": ("register",),
    "REFEREE_REGISTER_REQUEST": ("register",),
}
SHORT = 4  # letters; a short word must match whole: `play` is not `player`
_PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")  # of a name, however its words are joined
_FOR_ALL = ("message", "handle", "mcp")


class Tool(Struct, frozen=True):
    """A tool, whether it wants the message as one parameter, and what it takes."""

    name: str
    is_nested: bool = False
    takes: tuple[str, ...] = ()  # its parameters, if no document names them


Tools = Mapping[str, Tool]  # message type -> the tool that takes it


def read_tools(body: bytes) -> Tools:
    """Which tool takes which message, by the answer to `tools/list`; none if it lists none."""
    try:
        rows = msgspec.json.decode(body)["result"]["tools"]
    except (*UNREADABLE, KeyError, TypeError):
        return {}
    rows = rows if isinstance(rows, list) else []
    named = [row for row in rows if isinstance(row, dict) and isinstance(row.get("name"), str)]
    tools = [Tool(row["name"], _parameters(row) == (NESTED_IN,)) for row in named]
    found = {kind: tool for kind in _WORDS if (tool := _most_alike(kind, tools))}
    if STARTING in found:
        tool = found[STARTING]
        takes = next(_parameters(row) for row in named if row["name"] == tool.name)
        found[STARTING] = Tool(tool.name, tool.is_nested, takes)
    return found


def message_like(called: str, taken: Collection[str]) -> str:
    """The message, of those that are taken, that a name is most like; empty if none."""
    parts = [part.lower() for part in _PART.findall(called)]
    whole = "_".join(parts)
    for kind, words in _WORDS.items():
        if kind in taken and any(_is_in(word, parts, whole) for word in words):
            return kind
    return ""


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
    free = [
        tool for tool in tools if tool.name.lower() not in METHODS
    ]  # The others take a message of their own.
    for word in (*_WORDS[message_type], *_FOR_ALL):
        for tool in free:
            if word in tool.name.lower():
                return tool
    return None


def _parameters(row: Mapping[str, Any]) -> tuple[str, ...]:
    schema = row.get("inputSchema")
    properties = schema.get("properties") if isinstance(schema, dict) else None
    return tuple(properties) if isinstance(properties, dict) else ()
