"""What an agent offers over MCP: its messages as tools, and what else was added.

The tool of a message takes it without its envelope, which is filled in, and returns the answer.
"""

import re
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, Struct

from agentleague.protocol.codec import taken_by
from agentleague.protocol.mcp import (
    BAD_PARAMS,
    NO_METHOD,
    NOT_FOUND,
    VERSIONS,
    WITH_HANDSHAKE,
    Answer,
    Request,
)
from agentleague.protocol.messages import MESSAGES, METHODS, Message
from agentleague.protocol.schema import Schema, answer_of, message_schema

ENVELOPE = frozenset({"message_type", *Message.__struct_fields__}) - {"auth_token"}
LIST_MS = 60_000  # so long a list may be kept
_QUERIES = ("LEAGUE_QUERY", "MATCH_STATE_REQUEST")
_LISTS = {
    "tools/list": "tools",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "prompts/list": "prompts",
}
_STATELESS_ONLY = {"server/discover": True, "initialize": False, "ping": False}
_TYPES: dict[Any, tuple[type, ...]] = {
    **{"string": (str,), "integer": (int,), "number": (int, float), "boolean": (bool,)},
    **{"object": (dict,), "array": (list,)},
}
_SHOWN = 100
_encode = msgspec.json.Encoder().encode

Respond = Callable[..., None]  # takes an object or a LeagueError, and a text for people if wanted


class Tool(Struct, frozen=True):
    """A tool; `call(arguments, caller, respond)` responds once, at once or later."""

    name: str
    description: str
    input_schema: Schema
    output_schema: Schema
    annotations: Mapping[str, Any]
    call: Callable[[dict[str, Any], Any, Respond], None] | None = None  # None: it is a message

    @property
    def row(self) -> dict[str, Any]:
        """How it is listed."""
        schemas = {"inputSchema": self.input_schema, "outputSchema": self.output_schema}
        about = {"description": self.description, "annotations": self.annotations}
        return {"name": self.name, **about, **schemas}

    def fault(self, arguments: Mapping[str, Any]) -> str:
        """What is wrong with these arguments, and what there is instead; empty if nothing."""
        known = self.input_schema["properties"]
        for name in self.input_schema.get("required", ()):
            if name not in arguments:
                return f"the argument {name!r} is missing; {_listed(self.input_schema)}"
        for name, value in arguments.items():
            if name not in known:
                return f"there is no argument {name[:_SHOWN]!r}; {_listed(self.input_schema)}"
            wanted = known[name].get("type")
            kinds = _TYPES.get(str(wanted), (object,))
            if not isinstance(value, kinds) or (type(value) is bool and int in kinds):
                return f"the argument {name!r} must be of type {wanted}"
        return ""


class Resource(NamedTuple):
    """What a query of the league shows; a `{name}` at the end of its address is a parameter."""

    uri: str
    name: str
    description: str
    query_type: str

    def parameters(self, uri: str) -> dict[str, str] | None:
        """The parameters in an address; None if it is that of another resource."""
        stem, _, name = self.uri.rstrip("}").partition("{")
        found = re.fullmatch(re.escape(stem) + ("([^/]+)" if name else ""), uri)
        return ({name: found[1]} if name else {}) if found else None


class Prompt(NamedTuple):
    """A text that a person may let a model read."""

    name: str
    description: str
    text: str


class Call(NamedTuple):
    """What must be done for an answer: call a tool that was added, or ask with a message.

    A resource is read with a query.
    """

    name: str
    arguments: dict[str, Any]
    tool: Tool | None = None
    uri: str = ""


RESOURCES = (
    Resource("league://standings", "standings", "The table of the league.", "GET_STANDINGS"),
    Resource("league://schedule", "schedule", "Who meets whom, round by round.", "GET_SCHEDULE"),
    Resource("league://matches/{match_id}", "match", "A match, as R1M1.", "GET_MATCH"),
)
_INSTRUCTIONS = {
    "manager": "A league of agents that play a game. league_query tells the table, the schedule "
    "and matches; the prompt `play` says how to take part.",
    "referee": "A referee of a league: players send it their answers, and get_match_state tells "
    "how far a match is.",
    "player": "A player of a league: a referee invites it to matches and asks it for moves.",
}


class Catalogue:
    """The tools, resources and prompts of one agent, and the answers that need nobody else."""

    def __init__(self, role: str) -> None:
        self._about = _INSTRUCTIONS[role]
        self._types = [name for name in MESSAGES if name in taken_by(role)]
        self.tools: dict[str, Tool] = {}
        self._resources: list[Resource] = [*RESOURCES] if role == "manager" else []
        self._prompts: dict[str, Prompt] = {}

    def add(self, offer: Tool | Prompt) -> None:
        """Offer this too; a tool is preferred to a message of the same name."""
        if isinstance(offer, Tool):
            self.tools[offer.name] = offer
        else:
            self._prompts[offer.name] = offer
        self.__dict__.pop("_rows", None)

    def answer(self, request: Request) -> Answer | Call:
        """The answer, or what must be called for it."""
        method, family = request.method, request.method.partition("/")[0]
        is_elsewhere = _STATELESS_ONLY.get(method, request.is_stateless) != request.is_stateless
        is_offered = family in self._capabilities or method in _STATELESS_ONLY
        handler = _HANDLERS.get(method)
        if handler is None or is_elsewhere or not is_offered:
            return request.error(NO_METHOD, f"Method not found: {method[:_SHOWN]}")
        return handler(self, request)

    @property
    def _capabilities(self) -> dict[str, Any]:
        offered = {"tools": True, "resources": self._resources, "prompts": self._prompts}
        return {name: {} for name, has in offered.items() if has}

    def _begin(self, request: Request) -> Answer:
        """What a handshake or a discovery tells."""
        about = {"capabilities": self._capabilities, "instructions": self._about}
        if request.is_stateless:
            return request.result({"supportedVersions": VERSIONS, **about}, fresh_ms=LIST_MS)
        asked = request.params.get("protocolVersion")
        version = asked if asked in WITH_HANDSHAKE else WITH_HANDSHAKE[0]
        return request.result({"protocolVersion": version, "serverInfo": request.server, **about})

    def _ping(self, request: Request) -> Answer:
        return request.result({})

    def _list(self, request: Request) -> Answer:
        return request.result(self._rows[request.method], fresh_ms=LIST_MS)

    @cached_property
    def _rows(self) -> dict[str, dict[str, Raw]]:
        """Each list as JSON, always in the same order."""
        messages = {str(MESSAGES[name].method): name for name in self._types}
        unlike = (name for method, name in messages.items() if method not in self.tools)
        tools = [*self.tools.values(), *map(_of_message, unlike)]
        rows: dict[str, list[Any]] = {
            "tools/list": [tool.row for tool in tools],
            "resources/list": [
                _about(each, "uri") for each in self._resources if "{" not in each.uri
            ],
            "resources/templates/list": [
                _about(each, "uriTemplate") for each in self._resources if "{" in each.uri
            ],
            "prompts/list": [
                {"name": each.name, "description": each.description}
                for each in self._prompts.values()
            ],
        }
        return {method: {_LISTS[method]: Raw(_encode(found))} for method, found in rows.items()}

    def _call(self, request: Request) -> Answer | Call:
        name, arguments = request.params["name"], request.params.get("arguments") or {}
        if not isinstance(arguments, dict):
            return request.error(BAD_PARAMS, "params.arguments must be an object")
        is_typed = "message_type" in arguments or isinstance(arguments.get("message"), dict)
        if name in self.tools or METHODS.get(name.lower()) in self._types or is_typed:
            return Call(name, arguments, self.tools.get(name))
        there = ", ".join([*self.tools, *(str(MESSAGES[each].method) for each in self._types)])
        return request.error(BAD_PARAMS, f"Unknown tool {name[:_SHOWN]!r}; there are {there}")

    def _read(self, request: Request) -> Answer | Call:
        uri = request.params["uri"]
        for each in self._resources:
            if (found := each.parameters(uri)) is not None:
                query = {"query_type": each.query_type, "query_params": found}
                return Call("league_query", query, None, uri)
        there = ", ".join(each.uri for each in self._resources)
        return not_found(request, f"Resource not found; there are {there}")

    def _prompt(self, request: Request) -> Answer:
        name = request.params["name"]
        prompt = self._prompts.get(name)
        if prompt is None:
            there = ", ".join(self._prompts)
            return request.error(BAD_PARAMS, f"Unknown prompt {name[:_SHOWN]!r}; there are {there}")
        said = {"role": "user", "content": {"type": "text", "text": prompt.text}}
        return request.result({"description": prompt.description, "messages": [said]})


_HANDLERS: dict[str, Callable[[Catalogue, Request], Answer | Call]] = {
    "server/discover": Catalogue._begin,
    "initialize": Catalogue._begin,
    "ping": Catalogue._ping,
    **dict.fromkeys(_LISTS, Catalogue._list),
    "tools/call": Catalogue._call,
    "resources/read": Catalogue._read,
    "prompts/get": Catalogue._prompt,
}


def not_found(request: Request, why: str) -> Answer:
    """That a resource is not there, in the words of its revision."""
    code = BAD_PARAMS if request.is_stateless else NOT_FOUND
    return request.error(code, why, {"uri": request.params["uri"][:256]})


def write_result(request: Request, uri: str, value: bytes, text: str, *, failed: bool) -> Answer:
    """The result of a tool as an object and as text, or the content of a resource."""
    if failed and uri:
        return not_found(request, text)
    if uri:
        content = {"uri": uri, "mimeType": "application/json", "text": value.decode()}
        return request.result({"contents": [content]}, fresh_ms=0)
    shown = [{"type": "text", "text": text or value.decode()}]
    return request.result({"content": shown, "structuredContent": Raw(value), "isError": failed})


def arguments_of(name: str, arguments: Mapping[str, Any]) -> str:
    """Which arguments the tool of a message takes, and which of those sent it does not."""
    takes = _of_message(METHODS[name.lower()]).input_schema
    unknown = [each[:_SHOWN] for each in arguments if each not in {*takes["properties"], *ENVELOPE}]
    return f"{', '.join(unknown)}: no such argument; " * bool(unknown) + _listed(takes)


def play_prompt(game: str, rules: str, options: Mapping[str, Any]) -> Prompt:
    """How to play this league's game with the tools of a host."""
    own = f" In this league: {_encode(options).decode()}." if options else ""
    text = (
        f"Play {game} in a league against other agents. The rules: {rules}{own}\n\n"
        "1. Call join_league once, with the name under which you play.\n"
        "2. Call wait_for_turn. It returns within 25 seconds; while it says that you wait, call it "
        "again: it may take minutes until the league or your next match begins.\n"
        "3. When it is your turn, it shows the position, the legal moves and the seconds left. "
        "Call submit_move with a legal move before they are over, then go on with 2, until the "
        "league is over.\n"
        "get_standings and get_match tell how the league stands and how a match went. leave_league "
        "ends your part. An error says what to do next."
    )
    return Prompt("play", f"Take part in this league: the rules of {game}, and what to do.", text)


def _of_message(message_type: str) -> Tool:
    kind, is_query = MESSAGES[message_type], message_type in _QUERIES
    takes = _slim(message_schema(message_type), _OF_ALL)
    takes["properties"] = {
        name: about for name, about in takes["properties"].items() if name not in ENVELOPE
    }
    takes["required"] = [name for name in takes["required"] if name not in ENVELOPE]
    gives = _slim(message_schema(str(answer_of(kind))), _OF_OUTPUT)
    hints = {"readOnlyHint": is_query, "openWorldHint": False}
    hints |= {} if is_query else {"destructiveHint": message_type == "LEAGUE_COMMAND"}
    return Tool(str(kind.method), str(kind.cls.__doc__), takes, gives, hints)


_OF_ALL = ("$schema", "$id", "title", "examples")
_OF_OUTPUT = (*_OF_ALL, "description", "default", "minimum", "maximum")


def _slim(schema: Any, without: tuple[str, ...]) -> Any:
    """A schema without what a caller, or a model that pays for each word, does not need."""
    if isinstance(schema, list):
        return [_slim(each, without) for each in schema]
    if not isinstance(schema, dict):
        return schema
    return {
        key: {name: _slim(each, without) for name, each in about.items()}
        if key in ("properties", "$defs")
        else _slim(about, without)
        for key, about in schema.items()
        if key not in without
    }


def _about(resource: Resource, address: str) -> dict[str, str]:
    about = {"name": resource.name, "description": resource.description}
    return {address: resource.uri, **about, "mimeType": "application/json"}


def _listed(schema: Schema) -> str:
    required = schema.get("required", ())
    names = [f"{name} (required)" if name in required else name for name in schema["properties"]]
    return f"the arguments are {', '.join(names)}" if names else "it takes no arguments"
