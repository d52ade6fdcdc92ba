"""What an agent offers over MCP: its messages as tools, and what else was added.

The tool of a message takes it without its envelope, which is filled in, and returns the answer.
"""

from collections.abc import Callable, Mapping
from functools import cached_property
from typing import Any, NamedTuple

import msgspec
from msgspec import Raw, Struct

from agentleague.protocol import mcp
from agentleague.protocol.codec import taken_by
from agentleague.protocol.mcp import Answer, Request
from agentleague.protocol.messages import MESSAGES, METHODS, Message

ENVELOPE = frozenset({"message_type", *Message.__struct_fields__}) - {"auth_token"}
LIST_MS = 60_000  # so long a list may be kept
_QUERIES = ("LEAGUE_QUERY", "MATCH_STATE_REQUEST")
_LISTS = ("tools/list", "resources/list", "resources/templates/list", "prompts/list")
_STATELESS_ONLY = {"server/discover": True, "initialize": False, "ping": False}
_TYPES: dict[str, Any] = {"string": str, "integer": int, "number": int | float, "boolean": bool}
_TYPES |= {"object": dict, "array": list}
_UNSAID = ("$schema", "$id", "title", "examples")  # to save words, which models pay for
_UNSAID_OF_ANSWERS = (*_UNSAID, "description", "default", "minimum", "maximum")
_SHOWN = 100  # letters of what was sent
_JSON = "application/json"
_ERROR = {
    "type": "object",
    "properties": {"message_type": {"enum": ["LEAGUE_ERROR", "GAME_ERROR"]}},
    "required": ["message_type", "error_code", "error_message", "action_required"],
}

Schema = dict[str, Any]
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
        """How it is listed; clients check an error, too, by the schema of what is returned."""
        gives = dict(self.output_schema)
        both = {"$defs": gives.pop("$defs", {}), "type": "object", "anyOf": [gives, _ERROR]}
        schemas = {"inputSchema": self.input_schema, "outputSchema": both}
        about = {"description": self.description, "annotations": self.annotations}
        return {"name": self.name, **about, **schemas}

    @property
    def parameters(self) -> str:
        """Which arguments it takes, in words."""
        about = self.input_schema
        needed, known = about.get("required", ()), about.get("properties", {})
        names = [f"{name} (required)" if name in needed else name for name in known]
        return f"the arguments are {', '.join(names)}" if names else "it takes no arguments"

    def fault(self, arguments: Mapping[str, Any]) -> str:
        """What is wrong with these arguments, and what there is instead; empty if nothing."""
        known = self.input_schema.get("properties", {})
        for name in self.input_schema.get("required", ()):
            if name not in arguments:
                return f"the argument {name!r} is missing; {self.parameters}"
        for name, value in arguments.items():
            if name not in known:
                return f"there is no argument {name[:_SHOWN]!r}; {self.parameters}"
            kind = _TYPES.get(str(known[name].get("type")))
            is_other = isinstance(value, bool) is not (kind is bool)  # A bool is an int in Python.
            if kind and (is_other or not isinstance(value, kind)):
                return f"the argument {name!r} must be of type {known[name]['type']}"
        return ""


class Resource(NamedTuple):
    """What a query of the league shows; a `{name}` at the end of its address is a parameter."""

    uri: str
    name: str
    description: str
    query_type: str

    @property
    def row(self) -> dict[str, Any]:
        """How it is listed."""
        about = {"name": self.name, "description": self.description, "mimeType": _JSON}
        return {"uriTemplate" if "{" in self.uri else "uri": self.uri, **about}

    def query(self, uri: str) -> dict[str, Any] | None:
        """The query that reads an address; None if it is that of another resource."""
        stem, _, name = self.uri.rstrip("}").partition("{")
        value = uri.removeprefix(stem)
        if not uri.startswith(stem) or "/" in value or bool(value) != bool(name):
            return None
        return {"query_type": self.query_type, "query_params": {name: value} if name else {}}


class Prompt(NamedTuple):
    """A text that a person may let a model read."""

    name: str
    description: str
    text: str


class Call(NamedTuple):
    """What must be done for an answer: a message asked or, if it was added, a tool called."""

    name: str
    arguments: dict[str, Any]
    tool: Tool | None = None
    uri: str = ""  # of the resource that is read so


_RESOURCES = (
    Resource("league://standings", "standings", "The table of the league.", "GET_STANDINGS"),
    Resource("league://schedule", "schedule", "Who meets whom, round by round.", "GET_SCHEDULE"),
    Resource("league://matches/{match_id}", "match", "A match, as R1M1.", "GET_MATCH"),
)
_INSTRUCTIONS = {
    "manager": "A league of agents that play a game. To take part, call join_league and do what "
    "it says, or read the prompt `play`; league_query tells the table, the schedule and matches.",
    "referee": "A referee of a league: players send it their answers, and get_match_state tells "
    "how far a match is.",
    "player": "A player of a league: a referee invites it to matches and asks it for moves.",
}


class Catalogue:
    """The tools, resources and prompts of one agent, and the answers that need nobody else."""

    def __init__(self, role: str) -> None:
        self._about, taken = _INSTRUCTIONS[role], taken_by(role)
        self._methods = {str(MESSAGES[name].method): name for name in MESSAGES if name in taken}
        self.tools: dict[str, Tool] = {}
        self._resources = _RESOURCES if role == "manager" else ()
        self._prompts: dict[str, Prompt] = {}

    def add(self, offer: Tool | Prompt) -> None:
        """Offer this too; a tool is preferred to a message of the same name."""
        place: dict[str, Any] = self.tools if isinstance(offer, Tool) else self._prompts
        place[offer.name] = offer
        self.__dict__.pop("_lists", None)

    def answer(self, request: Request) -> Answer | Call:
        """The answer, or what must be called for it."""
        method, is_stateless = request.method, request.is_stateless
        is_there = _STATELESS_ONLY.get(method, is_stateless) == is_stateless
        is_offered = method in _STATELESS_ONLY or method.partition("/")[0] in self._capabilities
        handler = _HANDLERS.get(method) if is_there and is_offered else None
        if handler is None:
            return request.error(mcp.NO_METHOD, f"Method not found: {method[:_SHOWN]}")
        return handler(self, request)

    @property
    def _capabilities(self) -> dict[str, Any]:
        offered = {"tools": True, "resources": self._resources, "prompts": self._prompts}
        return {name: {} for name, has in offered.items() if has}

    def _begin(self, request: Request) -> Answer:
        """What a handshake or a discovery tells."""
        about = {"capabilities": self._capabilities, "instructions": self._about}
        if request.is_stateless:
            return request.result({"supportedVersions": mcp.VERSIONS, **about}, fresh_ms=LIST_MS)
        asked, known = request.params.get("protocolVersion"), mcp.WITH_HANDSHAKE
        about |= {"protocolVersion": asked if asked in known else known[0]}
        return request.result({**about, "serverInfo": request.server})

    def _list(self, request: Request) -> Answer:
        return request.result(self._lists[request.method], fresh_ms=LIST_MS)

    @cached_property
    def _lists(self) -> dict[str, dict[str, list[Any]]]:
        """All lists; the tools that were added come first, then messages in the table's order."""
        messages = (name for method, name in self._methods.items() if method not in self.tools)
        tools, rows = (*self.tools.values(), *map(_of_message, messages)), self._resources
        prompts = [each._asdict() for each in self._prompts.values()]
        lists = {
            "tools": [each.row for each in tools],
            "resources": [each.row for each in rows if "{" not in each.uri],
            "resourceTemplates": [each.row for each in rows if "{" in each.uri],
            "prompts": [{key: each[key] for key in ("name", "description")} for each in prompts],
        }
        return {each: {key: lists[key]} for each, key in zip(_LISTS, lists, strict=True)}

    def _call(self, request: Request) -> Answer | Call:
        name, arguments = request.params["name"], request.params.get("arguments") or {}
        if not isinstance(arguments, dict):
            return request.error(mcp.BAD_PARAMS, "params.arguments must be an object")
        is_typed = "message_type" in arguments or isinstance(arguments.get("message"), dict)
        is_message = METHODS.get(name.lower()) in self._methods.values() or is_typed
        if name in self.tools or is_message:
            return Call(name, arguments, self.tools.get(name))
        there = ", ".join((*self.tools, *self._methods))
        return request.error(mcp.BAD_PARAMS, f"Unknown tool {name[:_SHOWN]!r}; there are {there}")

    def _read(self, request: Request) -> Answer | Call:
        uri = request.params["uri"]
        for each in self._resources:
            if query := each.query(uri):
                return Call("league_query", query, None, uri)
        there = ", ".join(each.uri for each in self._resources)
        return not_found(request, f"Resource not found; there are {there}")

    def _prompt(self, request: Request) -> Answer:
        name = request.params["name"]
        if (prompt := self._prompts.get(name)) is None:
            why = f"Unknown prompt {name[:_SHOWN]!r}; there are {', '.join(self._prompts)}"
            return request.error(mcp.BAD_PARAMS, why)
        said = {"role": "user", "content": {"type": "text", "text": prompt.text}}
        return request.result({"description": prompt.description, "messages": [said]})


_HANDLERS: dict[str, Callable[[Catalogue, Request], Answer | Call]] = {
    **dict.fromkeys(_LISTS, Catalogue._list),
    "server/discover": Catalogue._begin,
    "initialize": Catalogue._begin,
    "ping": lambda catalogue, request: request.result({}),
    "tools/call": Catalogue._call,
    "resources/read": Catalogue._read,
    "prompts/get": Catalogue._prompt,
}


def not_found(request: Request, why: str) -> Answer:
    """That a resource is not there, in the words of its revision."""
    code = mcp.BAD_PARAMS if request.is_stateless else mcp.NOT_FOUND
    return request.error(code, why, {"uri": request.params["uri"][:256]})


def write_result(request: Request, value: bytes, text: str = "", *, failed: bool = False) -> Answer:
    """The result of a tool as an object and as text, or the content of a resource."""
    if request.method == "tools/call":
        shown = [{"type": "text", "text": text or value.decode()}]
        result = {"content": shown, "structuredContent": Raw(value), "isError": failed}
        return request.result(result)
    if failed:
        is_read = request.method == "resources/read"
        return not_found(request, text) if is_read else request.error(mcp.INTERNAL, text)
    about = {"uri": request.params["uri"], "mimeType": _JSON}
    return request.result({"contents": [{**about, "text": value.decode()}]}, fresh_ms=0)


def arguments_of(name: str, arguments: Mapping[str, Any]) -> str:
    """Which arguments the tool of a message takes, and which of those sent it does not."""
    tool = _of_message(METHODS[name.lower()])
    known = {*tool.input_schema["properties"], *ENVELOPE}
    unknown = ", ".join(each[:_SHOWN] for each in arguments if each not in known)
    return f"{unknown}: no such argument; {tool.parameters}" if unknown else tool.parameters


def play_prompt(game: str, rules: str, options: Mapping[str, Any]) -> Prompt:
    """How to play this league's game with the tools of a host."""
    told = " ".join(rules.split())
    told += f" In this league: {msgspec.json.encode(options).decode()}." if options else ""
    text = (
        f"Play {game} in a league against other agents. The rules: {told}\n\n"
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
    from agentleague.protocol.schema import answer_of, message_schema  # Most are never asked.

    kind, is_query = MESSAGES[message_type], message_type in _QUERIES
    takes = _without(message_schema(message_type), _UNSAID)
    fields = takes["properties"].items()
    takes["properties"] = {name: about for name, about in fields if name not in ENVELOPE}
    takes["required"] = [name for name in takes["required"] if name not in ENVELOPE]
    gives = _without(message_schema(str(answer_of(kind))), _UNSAID_OF_ANSWERS)
    hints = {"readOnlyHint": is_query, "openWorldHint": False}
    hints |= {} if is_query else {"destructiveHint": message_type == "LEAGUE_COMMAND"}
    return Tool(str(kind.method), str(kind.cls.__doc__), takes, gives, hints)


def _without(schema: Any, keys: tuple[str, ...]) -> Any:
    if isinstance(schema, dict):
        kept = {key: _without(at, keys) for key, at in schema.items() if key not in keys}
        if kept.get("items") is False:  # Of a list whose length is said: some read no such schema.
            del kept["items"]
        return kept
    return [_without(each, keys) for each in schema] if isinstance(schema, list) else schema
