"""The table of dialects: how a message is written for one agent.

Our own form is the dialect `tool`. Each dialect has a plain variant, with the fields that the
documents show and no others, and one with the content under other names too. A dialect that
`starts` is a referee's: it also says how a match is started. To add one, add it to the table.
"""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from agentleague.dialects import starting
from agentleague.dialects.fields import EXTENDED, extended, trimmed
from agentleague.dialects.requests import METAS, REPORT, with_flat_fields
from agentleague.dialects.tools import Tool, Tools
from agentleague.protocol import jsonrpc
from agentleague.protocol.jsonrpc import Form
from agentleague.protocol.messages import MESSAGES, WIRE_NAME, Message

HANDLER = "handle_message"
PLAIN = "+plain"
MORE = "+more"
BARE_ANSWERS = "~bare"  # after the name of a dialect: the agent answers without JSON-RPC

_encode = msgspec.json.Encoder().encode


class Dialect(Struct, frozen=True):
    """How a message is written; `words` says it to a person."""

    name: str
    words: str
    form: Form = Form.JSONRPC
    is_type: bool = False  # the method is the message type
    is_lower: bool = False  # and in lower case
    methods: Mapping[str, str] = {}  # message type -> method, if it is not ours
    is_plain: bool = False
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
        if self.form is Form.NESTED:
            return HANDLER
        if self.is_type:
            return message_type.lower() if self.is_lower else message_type
        return self.methods.get(message_type) or MESSAGES[message_type].method or message_type

    def write(self, message: Message, request_id: int, tools: Tools | None = None) -> bytes:
        """A request."""
        message_type = WIRE_NAME[type(message)]
        if self.starts and self.starts != message_type and starting.is_assignment(message):
            return self._write_start(message, request_id, tools)
        body = _encode(message)
        if self.is_plain:
            body = trimmed(message_type, body)
        elif self.extends(message_type):
            extend = extended if message_type in EXTENDED else with_flat_fields
            body = extend(message_type, body)
        return self._wrap(message_type, body, request_id, tools)

    def extends(self, message_type: str) -> bool:
        """Whether it writes the content of this message under other names too."""
        if self.is_plain:
            return False
        always = message_type == REPORT or (message_type in METAS and message_type in self.paths)
        return always or (self.has_more and message_type in (*EXTENDED, *METAS))

    def _wrap(self, message_type: str, body: bytes, request_id: int, tools: Tools | None) -> bytes:
        method = self.method(message_type)
        if self.form is Form.BARE:
            return body
        if self.form is Form.NESTED:
            body = b'{"message":%b}' % body
        elif self.form is Form.TOOL:
            tool = (tools or {}).get(message_type, Tool(method))
            method, body = "tools/call", _arguments(tool, body)
        return jsonrpc.write_request(method, body, request_id)

    def _write_start(self, message: Any, request_id: int, tools: Tools | None) -> bytes:
        """One match, in a message that the documents do not have."""
        fields = starting.start_fields(message, self.starts, self.naming)
        if self.form is Form.TOOL and (tools or {}).get(self.starts):
            fields = starting.start_fields(message, self.starts)  # The tool may list some of them.
        elif self.naming and (self.is_type or self.form is not Form.JSONRPC):
            fields = starting.with_envelope(message, self.starts, fields)
        return self._wrap(self.starts, _encode(fields), request_id, tools)

    def writes_like(self, other: "Dialect", message_type: str) -> bool:
        """Whether both write this message alike."""
        return self._form_of(message_type) == other._form_of(message_type)

    def _form_of(self, message_type: str) -> tuple[Form, bool, bool, str, str | None]:
        has_more, path = self.extends(message_type), self.paths.get(message_type)
        return self.form, self.is_plain, has_more, self.method(message_type), path


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
    Dialect("type", "message type as method", is_type=True),
    Dialect("message", "handle_message, message in params.message", Form.NESTED),
    Dialect("bare", "bare messages, no JSON-RPC", Form.BARE),
    Dialect("lower", "message type in lower case as method", is_type=True, is_lower=True),
    Dialect("mcp", "MCP tools/call", Form.TOOL),
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


def _variant(base: Dialect, suffix: str, words: str) -> Dialect:
    return msgspec.structs.replace(
        base,
        name=base.name + suffix,
        words=f"{base.words}, {words}",
        is_plain=suffix == PLAIN,
        has_more=suffix == MORE,
    )


DIALECTS: dict[str, Dialect] = {
    each.name: each
    for each in (
        *_TABLE,
        *(_variant(base, PLAIN, "documented fields only") for base in _TABLE),
        *(_variant(base, MORE, "content under other names too") for base in _TABLE),
    )
}


def _starting(base: Dialect, start_type: str, naming: str) -> Dialect:
    """The dialect of a referee that is started by this message, and otherwise speaks `base`."""
    method = starting.METHODS[start_type]
    is_announced = start_type == starting.ANNOUNCED
    words = "ROUND_ANNOUNCEMENT for each match" if is_announced else method
    form = "" if base is OURS else f", {base.words}"
    named = f", {starting.describe_naming(naming)}" if naming else ""
    return msgspec.structs.replace(
        base,
        name=start_name(start_type, base.name, naming),
        words=f"matches by {words}{form}{named}",
        methods={} if start_type in MESSAGES else {start_type: method},
        is_plain=bool(naming),
        starts=start_type,
        naming=naming,
    )


def start_name(start_type: str, base: str = "tool", naming: str = "") -> str:
    """The name of such a dialect in the journal."""
    return f"{starting.METHODS[start_type]}/{base}" + (f"+{naming}" if naming else "")


STARTING: dict[str, Dialect] = {
    each.name: each
    for base in _TABLE
    if not base.methods
    for start_type in starting.METHODS
    for naming in ("", *starting.namings_of(start_type))
    for each in [_starting(base, start_type, naming)]
}


def dialect_of(name: str) -> Dialect:
    """The dialect of that name; ours if there is none."""
    name = name.removesuffix(BARE_ANSWERS)
    return DIALECTS.get(name) or STARTING.get(name) or OURS


def base_of(name: str) -> str:
    """The dialect without its variant and without how matches are started."""
    return name.removesuffix(BARE_ANSWERS).rpartition("/")[2].partition("+")[0]


def in_words(name: str) -> str:
    """A dialect as people talk of it."""
    answers = ", bare answers" if name.endswith(BARE_ANSWERS) else ""
    return dialect_of(name).words + answers


def is_dialect(name: str) -> bool:
    """Whether a player can have this dialect."""
    return name.removesuffix(BARE_ANSWERS) in DIALECTS


def _arguments(tool: Tool, body: bytes) -> bytes:
    arguments = _encode(tool.arguments(msgspec.json.decode(body))) if tool.takes else body
    return b'{"name":%b,"arguments":%b}' % (_encode(tool.name), arguments)
