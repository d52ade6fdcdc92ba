"""The table of dialects: how a message is written for one agent.

Our own form is the dialect `tool`. Each dialect has a plain variant, with the fields that the
documents show and no others, and one with the content under other names too. A dialect that
`starts` is a referee's: it also says how a match is started. To add one, add it to the table.

What an agent shows that is not in the table has a name that says it: `Method(key)` is one with the
method `Method`, or the pattern of it, and the message in `params.key`; `#text` says that its ids
are texts, `#camel` that its names are in camel case, `#type` that it has the type of a message
there. The whole name is `[START/]BASE[#MARK][+VARIANT][~MARK]`. Two variants come from what the
agent complains of: `+GAME_INVITE` is another name of the message, `+.game_id` one more field.
"""

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from agentleague.dialects import starting
from agentleague.dialects.fields import ENVELOPE, EXTENDED, PUSHED, extended, trimmed
from agentleague.dialects.methods import MESSAGE_TYPE, TOOL_NAME, write_method
from agentleague.dialects.requests import METAS, REPORT, with_flat_fields
from agentleague.dialects.tools import OFFER, Tool, Tools, field_called, message_like
from agentleague.protocol import jsonrpc
from agentleague.protocol.field_names import CAMEL, spelled
from agentleague.protocol.jsonrpc import Form
from agentleague.protocol.messages import MESSAGES, WIRE_NAME, LeagueQuery, Message

PLAIN = "+plain"
MORE = "+more"
TEXT_IDS = "#text"
OFFERED = "by "  # before a method that a referee said it has
NAME_MAX = 59  # characters of a name, which is an id in messages, without its mark
TOOLS_CALL, MCP = "tools/call", "mcp"
BARE_ANSWERS = "~bare"  # after the name of a dialect: the agent answers without JSON-RPC
NONE = "~none"  # the same: the agent understood no dialect, and was nearest to this one
FAIL = "~fail"  # the same: it answered every dialect with an error of its own, which may pass
LOST = (NONE, FAIL)

_encode = msgspec.json.Encoder().encode


class Dialect(Struct, frozen=True):
    """How a message is written; `words` says it to a person."""

    name: str
    words: str
    form: Form = Form.JSONRPC  # or bare, or that of a tool
    pattern: str = TOOL_NAME  # of its methods
    key: str = ""  # of the object that holds the message, if it is not flat; or two: `head.body`
    marks: str = ""  # like `#text#camel`: its ids are texts, its names in camel case
    methods: Mapping[str, str] = {}  # message type -> method, if it is not ours
    is_plain: bool = False
    alias: str = ""  # what it calls a message of which the name reminds
    adds: tuple[str, ...] = ()  # fields that it wants too
    has_more: bool = False  # the content under other names too
    starts: str = ""  # the message type that starts a match
    naming: str = ""  # of its players, if not all namings at once
    paths: Mapping[str, str] = {}  # message type -> path, if not the agent's own

    def where(self, url: str, message_type: str) -> str:
        """Where it is sent, to an agent with this URL."""
        path = self.paths.get(message_type)
        return urlsplit(url)._replace(path=path).geturl() if path else url

    def method(self, message_type: str) -> str:
        """Its method."""
        if self._calls_otherwise(message_type):
            return write_method(self.pattern, self.alias, self.alias)
        kind = MESSAGES.get(message_type)
        own = starting.POLLS.get(message_type) or (kind and kind.method)
        tool = self.methods.get(message_type) or own or message_type
        return write_method(self.pattern, message_type, tool)

    def write(self, message: Message, request_id: int, tools: Tools | None = None) -> bytes:
        """A request."""
        message_type = WIRE_NAME[type(message)]
        if self.starts and self.starts != message_type and starting.is_assignment(message):
            return self._write_start(message, request_id, tools)
        if isinstance(message, LeagueQuery) and starting.is_poll(message):
            fields = starting.poll_fields(message, has_envelope=self._has_envelope)
            return self._wrap(message.query_type, _encode(fields), request_id, tools)
        body = _encode(message)
        if self.is_plain:
            body = trimmed(message_type, body)
        elif self.extends(message_type):
            extend = with_flat_fields if message_type in (REPORT, *METAS) else extended
            body = extend(message_type, body)
        if self.adds or self._calls_otherwise(message_type):
            body = self._respelled(message_type, msgspec.json.decode(body))
        return self._wrap(message_type, body, request_id, tools)

    def _calls_otherwise(self, message_type: str) -> bool:
        return bool(self.alias and message_like(self.alias, [message_type]))

    def _respelled(self, message_type: str, fields: dict[str, Any]) -> bytes:
        found = {name: field_called(name, message_type, fields) for name in self.adds}
        more = {name: value for name, value in found.items() if value is not None}
        if self.alias.isupper() and self._calls_otherwise(message_type):
            more["message_type"] = self.alias
        return _encode(fields | more)

    def extends(self, message_type: str) -> bool:
        """Whether it writes the content of this message under other names too."""
        if self.is_plain:
            return False
        is_at_path = message_type in METAS and message_type in self.paths
        always = is_at_path or message_type in (REPORT, *PUSHED)
        return always or (self.has_more and message_type in (*EXTENDED, *METAS))

    @property
    def _has_envelope(self) -> bool:
        """Whether a message that the documents do not have needs one, to say what it is."""
        return (self.form, self.pattern, self.key) != (OURS.form, OURS.pattern, "")

    def _wrap(self, message_type: str, body: bytes, request_id: int, tools: Tools | None) -> bytes:
        method = self.method(message_type)
        tool = (tools or {}).get(message_type, Tool(method)) if self.form is Form.TOOL else None
        if tool and (tool.takes or tool.is_closed):
            body = _encode(tool.arguments(msgspec.json.decode(body)))
        else:
            body = spelled(_nested(body, self.key), self.marks.replace(TEXT_IDS, ""))
        if self.form is Form.BARE:
            return body
        if tool:
            method, body = TOOLS_CALL, b'{"name":%b,"arguments":%b}' % (_encode(tool.name), body)
        request = jsonrpc.write_request(method, body, request_id)
        return _ID.sub(rb'"id":"\1"}', request) if TEXT_IDS in self.marks else request

    def _write_start(self, message: Any, request_id: int, tools: Tools | None) -> bytes:
        """One match, in a message that the documents do not have."""
        fields = starting.start_fields(message, self.starts, self.naming)
        tool = (tools or {}).get(self.starts) if self.form is Form.TOOL else None
        if tool:  # It may list some of the fields.
            has_objects = starting.takes_objects(tool.takes) or self.naming == starting.OBJECTS
            naming = starting.OBJECTS if has_objects else ""
            fields = starting.start_fields(message, self.starts, naming)
        elif self.is_plain and self._has_envelope:
            fields = starting.with_envelope(message, self.starts, fields)
        return self._wrap(self.starts, _encode(fields), request_id, tools)

    def writes_like(self, other: "Dialect", message_type: str) -> bool:
        """Whether both write this message alike."""
        return self._form_of(message_type) == other._form_of(message_type)

    def _form_of(self, message_type: str) -> tuple[object, ...]:
        has_more = self.extends(message_type)
        alias = self.alias * self._calls_otherwise(message_type)
        form = (self.form, self.key, self.marks, self.is_plain, has_more, alias, self.adds)
        return *form, self.method(message_type), self.paths.get(message_type)


_TABLE = (
    Dialect("tool", "tool names of the documents"),
    Dialect(
        "choose",
        "tool names, choose_parity",
        methods={
            "CHOOSE_PARITY_CALL": "choose_parity",
            "LEAGUE_REGISTER_REQUEST": "league_register",
            "REFEREE_REGISTER_REQUEST": "referee_register",
        },
    ),
    Dialect("type", "message type as method", pattern=MESSAGE_TYPE),
    Dialect(
        "message",
        "handle_message, message in params.message",
        pattern="handle_message",
        key="message",
    ),
    Dialect("bare", "bare messages, no JSON-RPC", Form.BARE),
    Dialect("lower", "message type in lower case as method", pattern=MESSAGE_TYPE.lower()),
    Dialect(MCP, "MCP tools/call", Form.TOOL),
    *(
        Dialect(
            name,
            f"bare messages, registration at {player}",
            Form.BARE,
            paths={
                "LEAGUE_REGISTER_REQUEST": player,
                "REFEREE_REGISTER_REQUEST": referee,
                **({"MATCH_RESULT_REPORT": report} if report else {}),
            },
        )
        for name, player, referee, report in (
            ("path", "/register", "/register", ""),  # Other messages go to the agent's own path.
            ("api", "/api/register", "/api/register", "/api/report"),
            ("named", "/register_player", "/register_referee", "/report_match_result"),
            ("role", "/register/player", "/register/referee", "/report"),
        )
    ),
)
OURS = _TABLE[0]


_VARIANTS = {"": "", PLAIN[1:]: "documented fields only", MORE[1:]: "content under other names too"}
_VARIANT = re.compile(r"|[A-Za-z]\w{2,31}|(\.[A-Za-z]\w{1,31}){1,3}", re.ASCII)
_START_TYPES = {method: start_type for start_type, method in starting.METHODS.items()}
_BASES = {each.name: each for each in _TABLE}
_SHOWN = re.compile(
    r"([\w./:-]{0,32})\((\w{0,12}(?:\.\w{1,12})?)\)", re.ASCII
)  # a name that is not there
_MARKS = {TEXT_IDS[1:]: "ids as text", CAMEL: "names in camel case"}
_ID = re.compile(rb'"id":(\d+)}$')


def name_of(form: Form, pattern: str, key: str, marks: str = "") -> str:
    """The name of a dialect that an agent shows; empty if it can have none."""
    same = (each for each in _TABLE if (each.form, each.pattern, each.key) == (form, pattern, key))
    named = next((each.name for each in same), "")
    shown = {Form.BARE: "", Form.TOOL: TOOLS_CALL}.get(form, pattern)
    name = named or f"{shown}({key})"
    return name + marks if named or _SHOWN.fullmatch(name) else ""


def _base(name: str) -> Dialect | None:
    """A dialect without variant: of the table, or one that an agent showed."""
    stem, *marks = name.split("#")
    found = _SHOWN.fullmatch(stem)
    base = _BASES.get(stem)
    if found:
        method, key = found.groups()
        form = {"": Form.BARE, TOOLS_CALL: Form.TOOL}.get(method, Form.JSONRPC)
        base = Dialect(stem, "", form, TOOL_NAME if form is Form.TOOL else method, key)
        like = base.method("GAME_INVITATION")
        how = {Form.BARE: "bare messages", Form.TOOL: "MCP tools/call"}.get(form, f"method {like}")
        base = replace(base, words=f"{how}, in {key}" if key else how)
    if base is None or stem == name:
        return base
    words = ", ".join([base.words, *(_MARKS.get(mark, f"type in {mark}") for mark in marks)])
    return replace(base, name=name, words=words, marks=name.removeprefix(stem))


def _nested(body: bytes, key: str) -> bytes:
    """A message under its key, or in two parts: envelope and the rest."""
    head, _, rest = key.encode().partition(b".")
    if not rest:
        return b'{"%b":%b}' % (head, body) if head else body
    fields: dict[str, Any] = msgspec.json.decode(body)
    parts: tuple[dict[str, Any], ...] = {}, {}
    for name, value in fields.items():
        parts[name not in ENVELOPE.split()][name] = value
    return _encode(dict(zip((head.decode(), rest.decode()), parts, strict=True)))


def start_name(start_type: str, base: str = "tool", naming: str = "") -> str:
    """The name of such a dialect in the journal."""
    method = starting.METHODS.get(start_type, OFFERED + start_type)
    return f"{method}/{base}" + (f"+{naming}" if naming else "")


def _start_type(start: str) -> str:
    """The message type of a start with this name, also of one that a referee named itself."""
    offered = start.removeprefix(OFFERED)
    is_offered = offered != start and OFFER.fullmatch(offered)
    return offered if is_offered else _START_TYPES.get(start, "")


@lru_cache(maxsize=1024)
def dialect_of(name: str) -> Dialect:
    """The dialect of that name; ours if there is none."""
    name = name.partition("~")[0]
    stem, _, variant = name.partition("+")
    start, _, rest = stem.partition("/")
    if (start_type := _start_type(start)) and (base := _base(rest)):
        return _starting(base, start_type, variant) or OURS
    found = _base(stem)
    alias = "" if variant in _VARIANTS or variant[0] == "." else variant
    is_like = not alias or message_like(alias, EXTENDED)
    if not (found and _VARIANT.fullmatch(variant) and is_like and len(name) <= NAME_MAX):
        return OURS
    if not variant:
        return found
    adds = tuple(variant[1:].split(".")) if variant[0] == "." else ()
    words = _VARIANTS.get(variant) or (f"with {', '.join(adds)}" if adds else f"as {alias}")
    how = {"is_plain": variant == PLAIN[1:], "has_more": variant == MORE[1:]}
    return replace(found, name=name, words=f"{found.words}, {words}", alias=alias, adds=adds, **how)


def _starting(base: Dialect, start_type: str, naming: str) -> Dialect | None:
    """The dialect of a referee that is started by this message, and otherwise speaks `base`."""
    if naming not in ("", *starting.namings_of(start_type)):
        return None
    method = starting.METHODS.get(start_type, start_type)
    is_announced = start_type == starting.ANNOUNCED
    words = "ROUND_ANNOUNCEMENT for each match" if is_announced else method
    form = "" if base is OURS else f", {base.words}"
    named = f", {starting.describe_naming(naming)}" if naming else ""
    return replace(
        base,
        name=start_name(start_type, base.name, naming),
        words=f"matches by {words}{form}{named}",
        methods={} if start_type in MESSAGES else {start_type: method},
        is_plain=naming not in ("", starting.OBJECTS),
        starts=start_type,
        naming=naming,
    )


# What is tried with an agent that did not show how it wants to be spoken to.
DIALECTS: dict[str, Dialect] = {
    name: dialect_of(name)
    for variant in ("", PLAIN, MORE)
    for name in (f"{base}{variant}" for base in _BASES)
}


def base_of(name: str) -> str:
    """The dialect without its variant and without how matches are started."""
    stem = name.partition("~")[0].partition("+")[0]
    start, _, rest = stem.partition("/")
    return rest if _start_type(start) else stem


def in_words(name: str) -> str:
    """A dialect as people talk of it."""
    marks = {BARE_ANSWERS: ", bare answers", NONE: "; it understood nothing so far"}
    marks[FAIL] = "; it answered with its own errors so far"
    return dialect_of(name).words + marks.get(name[-len(NONE) :], "")


def is_dialect(name: str) -> bool:
    """Whether a player can have this dialect."""
    found = dialect_of(name)
    name, tilde, mark = name.partition("~")
    is_marked = tilde + mark in ("", BARE_ANSWERS, *LOST)
    return found.name == name and is_marked and not found.starts
