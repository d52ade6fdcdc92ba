"""How one agent wants to be spoken to: a dialect is a value, and all of them are one table.

Our own form is the dialect `tool`. An agent that does not understand it is asked again in others,
in an order that depends on what it said: whoever knows no such method may know another one, whoever
does not like the fields may like fewer. Each dialect has a plain variant with the fields that the
documents show and nothing else, and one with more: `context` under other names. To add a dialect,
add it to the table.

A dialect that `starts` is a referee's: it says, too, how a match is started with it (assigned.py).
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from agentleague.dialects import starting
from agentleague.dialects.fields import EXTENDED, extended, trimmed
from agentleague.dialects.requests import with_flat_fields
from agentleague.dialects.tools import NESTED_IN, Tool, Tools
from agentleague.errors import (
    InternalError,
    InvalidRequest,
    LeagueError,
    MissingField,
    NoConnection,
    PeerRefused,
    UnknownMethod,
    UnreadableJson,
    WrongType,
)
from agentleague.protocol import jsonrpc
from agentleague.protocol.jsonrpc import Form
from agentleague.protocol.messages import (
    MESSAGES,
    WIRE_NAME,
    ChooseParityCall,
    GameError,
    GameInvitation,
    GameMoveCall,
    GameOver,
    LeagueCompleted,
    LeagueRegisterRequest,
    LeagueStandingsUpdate,
    MatchResultReport,
    Message,
    RefereeRegisterRequest,
    RoundAnnouncement,
    RoundCompleted,
)

QUESTIONS = (GameInvitation, ChooseParityCall, GameMoveCall)  # only their content tells
NOTICES = (
    *(RoundAnnouncement, LeagueStandingsUpdate, RoundCompleted, LeagueCompleted),
    *(GameOver, GameError),
)
REGISTRATIONS = (LeagueRegisterRequest, RefereeRegisterRequest)  # ours, at another's manager
TO_A_MANAGER = (*REGISTRATIONS, MatchResultReport)
HANDLER = "handle_message"
PLAIN = "+plain"
MORE = "+more"
BARE_ANSWERS = "~bare"  # behind the name of a dialect: it answers without JSON-RPC
SAID_MAX = 200  # characters of an answer that are repeated

_encode = msgspec.json.Encoder().encode


class Dialect(Struct, frozen=True):
    """How a message is written; `words` says it to a person."""

    name: str
    words: str
    form: Form = Form.JSONRPC
    is_type: bool = False  # the method is the message type
    is_lower: bool = False  # and in lower case
    names: Mapping[str, str] = {}  # message type -> method, where it is not ours
    is_plain: bool = False
    has_more: bool = False  # what some want under other names, where there is any
    starts: str = ""  # the message type by which a match is started
    manner: str = ""  # of naming its players, where they are not named in all manners
    paths: Mapping[str, str] = {}  # message type -> where it goes instead of the agent's own path

    def where(self, url: str, message_type: str) -> str:
        """Where it is sent, to an agent with this URL."""
        path = self.paths.get(message_type)
        return urlsplit(url)._replace(path=path).geturl() if path else url

    def method(self, message_type: str) -> str:
        """What it is called by."""
        if self.form is Form.NESTED:
            return HANDLER
        if self.is_type:
            return message_type.lower() if self.is_lower else message_type
        return self.names.get(message_type) or MESSAGES[message_type].method or message_type

    def write(self, message: Message, request_id: int, tools: Tools | None = None) -> bytes:
        """A request."""
        message_type = WIRE_NAME[type(message)]
        if self.starts and self.starts != message_type and starting.is_assignment(message):
            return self._write_start(message, request_id, tools)
        body = _encode(message)
        if self.is_plain:
            body = trimmed(message_type, body)
        elif self.has_more:
            body = extended(message_type, body)
        elif message_type in self.paths:
            body = with_flat_fields(message_type, body)
        return self._wrap(message_type, body, request_id, tools)

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
        """One match in the words of a message that the documents do not have."""
        fields = starting.start_fields(message, self.starts, self.manner)
        tool = (tools or {}).get(self.starts)
        if self.form is Form.TOOL and tool and tool.takes:  # It says what it wants.
            whole = starting.start_fields(message, self.starts)
            fields = {name: whole[name] for name in tool.takes if name in whole} or whole
        elif self.manner and (self.is_type or self.form is not Form.JSONRPC):
            fields = starting.with_envelope(message, self.starts, fields)
        return self._wrap(self.starts, _encode(fields), request_id, tools)

    def says_the_same(self, other: "Dialect", message_type: str) -> bool:
        """Whether both write this message alike."""
        return self._way_of(message_type) == other._way_of(message_type)

    def _way_of(self, message_type: str) -> tuple[Form, bool, bool, str, str | None]:
        has_more = self.has_more and message_type in EXTENDED
        path = self.paths.get(message_type)
        return self.form, self.is_plain, has_more, self.method(message_type), path


_TABLE = (
    Dialect("tool", "tool names of the documents"),
    Dialect(
        "choose",
        "tool names, choose_parity",
        names={
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
            ("path", "/register", "/register", ""),  # All else goes where it always goes.
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
        *(_variant(base, MORE, "context under other names too") for base in _TABLE),
    )
}


def _starting(base: Dialect, way: str, manner: str) -> Dialect:
    """How a referee is spoken to that is started in this way, and else understands `base`."""
    tool = starting.METHODS[way]
    words = "ROUND_ANNOUNCEMENT for each match" if way == starting.ANNOUNCED else tool
    told = "" if base is OURS else f", {base.words}"
    named = f", {starting.describe_naming(manner)}" if manner else ""
    return msgspec.structs.replace(
        base,
        name=start_name(way, base.name, manner),
        words=f"matches by {words}{told}{named}",
        names={} if way in MESSAGES else {way: tool},
        is_plain=bool(manner),
        starts=way,
        manner=manner,
    )


def start_name(way: str, base: str = "tool", manner: str = "") -> str:
    """What the dialect of such a referee is called in the journal."""
    return f"{starting.METHODS[way]}/{base}" + (f"+{manner}" if manner else "")


STARTING: dict[str, Dialect] = {
    each.name: each
    for base in _TABLE
    if not base.names
    for way in starting.METHODS
    for manner in ("", *starting.namings_of(way))
    for each in [_starting(base, way, manner)]
}


def dialect_of(name: str) -> Dialect:
    """The dialect of that name, however it answers; one that nobody knows is ours."""
    name = name.removesuffix(BARE_ANSWERS)
    return DIALECTS.get(name) or STARTING.get(name) or OURS


# What came back -> what to try first; the others follow in the order of the table.
UNKNOWN_METHOD, UNFIT, BROKEN, EMPTY = "unknown method", "unfit", "broken", "empty"
_FIRST: dict[str, tuple[str, ...]] = {
    UNKNOWN_METHOD: ("tool", "choose", "type", "message", "mcp", "lower", "bare"),
    UNFIT: (PLAIN, MORE, "tool", "message", "bare", "type"),
    BROKEN: ("tool", "message", "bare", "type", PLAIN, MORE),
    EMPTY: ("tool", "choose", "type", "bare", "message", "lower", "mcp"),
}
_ADVICE = {
    UNKNOWN_METHOD: "Is that a league manager, and is the path of its URL right? Its organiser "
    "knows how agents register.",
    EMPTY: "That gives this agent no id; its organiser knows how agents register.",
    BROKEN: "Its organiser's log says at what it breaks.",
    UNFIT: "It knows that form, and wants other fields; its organiser knows which.",
}
_NEARNESS = (UNKNOWN_METHOD, EMPTY, BROKEN, UNFIT)
_MEANS = {
    EMPTY: "which it takes and answers with nothing",
    BROKEN: "at which it breaks",
    UNFIT: "which it knows, with other fields",
}
_NUMBERS = {
    UnknownMethod.number: UNKNOWN_METHOD,
    InvalidRequest.number: UNFIT,
    MissingField.number: UNFIT,
    UnreadableJson.number: UNFIT,
    InternalError.number: BROKEN,
    -32000: BROKEN,  # a server's own error, whatever that is
}
_CODES = (
    *("", MissingField.code, UnreadableJson.code, InvalidRequest.code, UnknownMethod.code),
    "E002",  # Document 001 has it for a field that is missing.
)
_STATUSES = {
    **dict.fromkeys((404, 405, 501), UNKNOWN_METHOD),
    **dict.fromkeys((400, 406, 415, 422), UNFIT),
    500: BROKEN,
}


def guess(form: str, method: str) -> str:
    """The dialect of an agent that registered like this; empty where that is our own."""
    if form == Form.JSONRPC:
        kind = dict.fromkeys(MESSAGES, "type") | {name.lower(): "lower" for name in MESSAGES}
        return kind.get(method, "")
    by_form: dict[str, str] = {Form.NESTED: "message", Form.TOOL: "mcp", Form.BARE: "bare"}
    return by_form.get(form, "")


def trouble(message: Message, error: LeagueError | None) -> str | None:
    """What an answer says of the form of our message; None where it says nothing of that kind.

    A refusal with a meaning of its own, a rate limit, silence: none of them gets better by saying
    the same thing in other words.
    """
    if isinstance(error, PeerRefused):
        return _refused(error, is_question=isinstance(message, (*QUESTIONS, *TO_A_MANAGER)))
    if isinstance(error, NoConnection):
        return _STATUSES.get(error.context.get("status", 0))
    if isinstance(error, WrongType) and not isinstance(message, REGISTRATIONS):
        return None  # A join or a move, if not one that counts.
    return EMPTY if isinstance(error, MissingField) else None


def base_of(name: str) -> str:
    """The dialect without what is said of fields and of how matches are started."""
    return name.removesuffix(BARE_ANSWERS).rpartition("/")[2].partition("+")[0]


def order(used: str, message_type: str, why: str) -> Iterator[Dialect]:
    """The other dialects, the likeliest first; none that says the same again."""
    said = [dialect_of(used)]
    base = base_of(said[0].name)
    first = (base + name if name in (PLAIN, MORE) else name for name in _FIRST[why])
    at_home = ("bare",) if message_type in said[0].paths else ()  # The same, where all else goes.
    for name in (*at_home, *first, *DIALECTS):
        dialect = DIALECTS[name]
        if dialect.has_more and message_type not in EXTENDED:
            continue
        if not any(dialect.says_the_same(each, message_type) for each in said):
            said.append(dialect)
            yield dialect


class Tried(Struct, frozen=True):
    """A form in which an agent did not understand us, and what it said."""

    name: str
    why: str
    came: str
    said: str = ""

    @property
    def means(self) -> str:
        """What it seems to make of this form, which is not the worst."""
        return _MEANS[self.why]


def tried(dialect: Dialect, why: str, error: LeagueError) -> Tried:
    """What came of one form."""
    number, status = error.context.get("number"), error.context.get("status")
    came = f"HTTP {status}" if status else "nothing in it"
    if number is not None:
        came = f"error {str(number)[:12]}"
    said = str(error.context.get("said") or error)[:SAID_MAX]
    return Tried(dialect.name, why, came, "".join(filter(str.isprintable, said)))


def search_in_words(forms: Sequence[Tried]) -> str:
    """What was tried and what came back, and which form was nearest to being understood."""
    listed = ", ".join(f"{each.name} ({each.came})" for each in forms)
    best = nearest(forms)
    return f"tried {listed}" + (f"; nearest: {best.name}, {best.means}" if best else "")


def nearest(forms: Sequence[Tried]) -> Tried | None:
    """The form that was nearest to being understood; none where all were equally far."""
    best = _nearest(forms)
    return best if any(each.why != best.why for each in forms) else None


def what_to_do(forms: Sequence[Tried]) -> str:
    """What came back to which form, what the nearest was answered with, and who can help."""
    by_answer: dict[str, list[str]] = {}
    for each in forms:
        by_answer.setdefault(each.came, []).append(each.name)
    listed = "; ".join(f"{came} to {', '.join(names)}" for came, names in by_answer.items())
    best = _nearest(forms)
    return f"{listed}. Nearest was {best.name}, to which it said: {best.said}. {_ADVICE[best.why]}"


def in_words(name: str) -> str:
    """What a dialect is called when people talk of it."""
    answers = ", bare answers" if name.endswith(BARE_ANSWERS) else ""
    return dialect_of(name).words + answers


def is_dialect(name: str) -> bool:
    """Whether a player can be spoken to so."""
    return name.removesuffix(BARE_ANSWERS) in DIALECTS


def _nearest(forms: Sequence[Tried]) -> Tried:
    return max(forms, key=lambda each: _NEARNESS.index(each.why))


def _refused(error: PeerRefused, *, is_question: bool) -> str | None:
    number, code = error.context.get("number"), error.context.get("code")
    if isinstance(code, str) and code not in _CODES:
        return None  # It understood, and does not want to.
    if isinstance(number, int) and number in _NUMBERS:
        return _NUMBERS[number]
    status = error.context.get("status")
    if status in _STATUSES:
        return _STATUSES[status]
    return EMPTY if is_question and number is None else None


def _arguments(tool: Tool, body: bytes) -> bytes:
    arguments = b'{"%b":%b}' % (NESTED_IN.encode(), body) if tool.is_nested else body
    return b'{"name":%b,"arguments":%b}' % (_encode(tool.name), arguments)
