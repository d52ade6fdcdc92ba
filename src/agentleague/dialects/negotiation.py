"""Finding the dialect that an agent understands: which one is tried first, which one next.

An agent that does not understand our form is asked again in others, in an order that depends on
what it answered: one that does not know the method may know another name, one that does not accept
the fields may accept fewer. A foreign referee is told to run a match first by messages that can
mean nothing else; the announcement, which many acknowledge and ignore, comes last.

Nothing here waits or sends: `transport/fallback.py` does.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from enum import Enum
from itertools import chain

from msgspec import Struct

from agentleague import errors
from agentleague.dialects import table
from agentleague.dialects.answers import ACKNOWLEDGEMENTS
from agentleague.dialects.complaints import variants_in
from agentleague.dialects.fields import PUSHED
from agentleague.dialects.methods import pattern_of
from agentleague.dialects.requests import METAS
from agentleague.dialects.sessions import Session
from agentleague.dialects.starting import ANNOUNCED, NONSENSE, START, START_METHODS, namings_of
from agentleague.dialects.table import (
    DIALECTS,
    MCP,
    MORE,
    OURS,
    PLAIN,
    Dialect,
    base_of,
    dialect_of,
)
from agentleague.dialects.tools import Tools, start_methods
from agentleague.errors import LeagueError
from agentleague.protocol import messages
from agentleague.protocol.jsonrpc import Form
from agentleague.protocol.messages import MatchResultReport, Message
from agentleague.protocol.printable import log_text


def _answered_by(answers: Collection[str]) -> tuple[type[Message], ...]:
    return tuple(kind.cls for kind in messages.MESSAGES.values() if kind.answer in answers)


QUESTIONS = _answered_by(PUSHED)
NOTICES = _answered_by(ACKNOWLEDGEMENTS)
# Ours, at a foreign manager.
REGISTRATIONS = (messages.LeagueRegisterRequest, messages.RefereeRegisterRequest)
TO_A_MANAGER: tuple[type[Message], ...] = (*REGISTRATIONS, MatchResultReport)
WITH_CONTENT: tuple[type[Message], ...] = (*QUESTIONS, *TO_A_MANAGER)  # only content answers them
NEGOTIATED: tuple[type[Message], ...] = (*WITH_CONTENT, *NOTICES)  # may be sent in other dialects
WANTED_MAX = 8  # complaints could ask for something else for ever
NOTICE_FORMS_MAX = 4  # of one notice; anything else goes through all there are
SEARCH_MAX = 400  # characters about a search, so that they fit into a report
OFFERS_MAX = 2_000  # characters of a refusal that are looked through for methods

# Variants with the names that some have for a message.
SHORT = {
    "GAME_INVITATION": "+GAME_INVITE",
    "CHOOSE_PARITY_CALL": "+CHOOSE_PARITY",
    "GAME_MOVE_CALL": "+GAME_MOVE",
}
_LIKE_THE_FIRST = ("handle_message_type()", "on_message_type()")  # handle_game_invitation, …
# How a message was misunderstood.
UNKNOWN_METHOD, UNFIT, BROKEN, EMPTY = "unknown method", "unfit", "broken", "empty"

# What to try first; the other dialects follow in the order of the table.
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
_MEANS = {  # of all but the farthest
    EMPTY: "which it takes and answers with nothing",
    BROKEN: "at which it breaks",
    UNFIT: "which it knows, with other fields",
}
_UNFIT = (errors.InvalidRequest, errors.MissingField, errors.UnreadableJson)
_NUMBERS = {
    **{each.number: UNFIT for each in _UNFIT},
    errors.UnknownMethod.number: UNKNOWN_METHOD,
    errors.InternalError.number: BROKEN,
    -32000: BROKEN,  # a server's own error, whatever that is
}
# Document 001 has E002 for a field that is missing.
_CODES = ("", "E002", errors.UnknownMethod.code, *(each.code for each in _UNFIT))
_STATUSES = {
    **dict.fromkeys((404, 405, 501), UNKNOWN_METHOD),
    **dict.fromkeys((400, 406, 415, 422), UNFIT),
    500: BROKEN,
}
_A_REPORT = MatchResultReport("", messages.ReportedResult(None))
_OF_MCP = re.compile(r"session.?id|event-stream|mcp-protocol-version|initiali[sz]e", re.IGNORECASE)
_OF_CALL = re.compile(
    r"unknown|not.?found|no such|unexpected|missing|required|validation|invalid|argument|keyerror",
    re.IGNORECASE,
)
_OF_FIELDS = re.compile(r"required|missing|extra|unexpected|permitted", re.IGNORECASE)
_NOT_COUNTED = re.compile(r"unknown|unsupported|invalid|not.?found|required|missing", re.IGNORECASE)
_START_BASES = ("tool", "type", "message", "bare", "mcp", "lower")
_START_ADVICE = (
    "start_match with match_id, player_A_id, player_A_endpoint, player_B_id, player_B_endpoint"
)


def guess(message_type: str, form: str, method: str, key: str, *, has_text_id: bool) -> str:
    """The dialect of an agent that registered like this; empty if it is our own."""
    of_form = {Form.BARE: Form.BARE, Form.TOOL: Form.TOOL}.get(Form(form), Form.JSONRPC)
    pattern = pattern_of(method, message_type) if of_form is Form.JSONRPC else OURS.pattern
    key, *marks = re.split("(?=#)", key, maxsplit=1)
    name = table.name_of(of_form, pattern, key, table.TEXT_IDS * has_text_id + "".join(marks))
    return "" if name == OURS.name else name


def misunderstanding(message: Message, error: LeagueError | None) -> str | None:
    """How it was misunderstood; None: another dialect changes nothing, or counts a report twice."""
    if is_draw_refused(message, error) or (
        isinstance(message, MatchResultReport) and may_have_counted(error)
    ):
        return None
    return _misunderstanding(message, error)


def may_have_counted(error: LeagueError | None) -> bool:
    """Whether a report may count for a manager that answered it with this error."""
    problem = _misunderstanding(_A_REPORT, error)
    is_unclear = problem == EMPTY and isinstance(error, errors.PeerRefused)
    return problem == BROKEN or (is_unclear and not _NOT_COUNTED.search(str(error)))


def is_draw_refused(message: Message, error: LeagueError | None) -> bool:
    """Whether a report was understood, and how its draw is written is refused."""
    if error is None or not isinstance(message, MatchResultReport) or may_have_counted(error):
        return False
    result = message.result
    said = str(error.context.get("said") or f"{error} {error.context.get('data')}")
    is_drawn = result.details.status == "DRAW" or not result.winner
    return is_drawn and "winner" in said.lower() and not _OF_FIELDS.search(said)


def _misunderstanding(message: Message, error: LeagueError | None) -> str | None:
    if isinstance(error, errors.PeerRefused):
        return _misunderstood_refusal(error, needs_content=isinstance(message, WITH_CONTENT))
    if isinstance(error, errors.NoConnection):
        return _STATUSES.get(error.context.get("status", 0))
    if isinstance(error, errors.WrongType) and not isinstance(message, REGISTRATIONS):
        return None  # It is an answer to the question, though not a valid one.
    return EMPTY if isinstance(error, errors.MissingField) else None


def is_misunderstood(message: Message, error: LeagueError) -> bool:
    """Whether another dialect may do better."""
    return isinstance(message, NEGOTIATED) and misunderstanding(message, error) is not None


def _misunderstood_refusal(error: errors.PeerRefused, *, needs_content: bool) -> str | None:
    number, code = error.context.get("number"), error.context.get("code")
    if isinstance(code, str) and code not in _CODES:
        return None  # It understood, and refuses.
    if error.context.get("is_of_tool") and not _OF_CALL.search(str(error)):
        return None  # The tool ran, and failed.
    if isinstance(number, int) and number in _NUMBERS:
        return _NUMBERS[number]
    status = error.context.get("status")
    if status in _STATUSES:
        return _STATUSES[status]
    return EMPTY if needs_content and number is None else None


def other_dialects(used: str, message_type: str, problem: str) -> Iterator[Dialect]:
    """The other dialects, the likeliest first; none that writes the same message again."""
    seen = [dialect_of(used)]
    base = base_of(seen[0].name).partition("#")[0]
    first = (base + name if name in (PLAIN, MORE) else name for name in _FIRST[problem])
    own_path = ("bare",) if message_type in seen[0].paths else ()  # The same, at the agent's path.
    short = (each + SHORT.get(message_type, "") for each in (base, "type", "message", "bare"))
    names: Sequence[str] = (*own_path, *first, base, base + PLAIN, base + MORE, *DIALECTS, *short)
    names = (*names, *(_LIKE_THE_FIRST if message_type in SHORT else ()))
    if seen[0].marks:
        marked = (re.sub(r"^[^+]+", rf"\g<0>{seen[0].marks}", name) for name in names)
        names = (base, *marked, *names)
    for name in names:
        dialect = dialect_of(name)
        if dialect.has_more and not dialect.extends(message_type):
            continue
        # Whoever answers a registration without a complaint may have taken it: fewer are tried.
        if problem == EMPTY and message_type in METAS and "+" in name:
            continue
        if not any(dialect.writes_like(each, message_type) for each in seen):
            seen.append(dialect)
            yield dialect


def is_found_from(known: str, dialect: str) -> bool:
    """Whether a search that began with `known` can end with this dialect."""
    # A method, key or names of its own only the agent itself shows, when it registers.
    shown, _, own_marks = base_of(known).partition("#")
    base, _, marks = base_of(dialect).partition("#")
    is_ours = "(" not in base or base in _LIKE_THE_FIRST
    return table.is_dialect(dialect) and (is_ours or base == shown) and marks in ("", own_marks)


class Attempt(Struct, frozen=True):
    """A dialect that an agent did not understand, and what it answered."""

    dialect: str
    problem: str
    answer: str
    said: str = ""
    offers: tuple[str, ...] = ()  # methods in it that may start a match


def failed_attempt(dialect: str, problem: str, error: LeagueError) -> Attempt:
    """What came of one dialect."""
    number, status = error.context.get("number"), error.context.get("status")
    answer = f"HTTP {status}" if status else "nothing in it"
    if number is not None:
        answer = f"error {str(number)[:12]}"
    said = error.context.get("said") or log_text(str(error))
    offers = start_methods(f"{said} {error.context.get('data')}"[:OFFERS_MAX])
    return Attempt(dialect, problem, answer, said, offers)


def describe_search(attempts: Sequence[Attempt]) -> str:
    """What was tried and what came back, and which dialect was nearest to being understood."""
    listed = ", ".join(f"{names} ({answer})" for answer, names in _by_answer(attempts).items())
    return f"tried {listed}{_nearest_in_words(attempts)}"[:SEARCH_MAX]


def what_to_do(attempts: Sequence[Attempt]) -> str:
    """What the nearest dialect was answered with, and who can help."""
    best = _nearest(attempts)
    return f"it said: {best.said}. {_ADVICE[best.problem]}"


def _by_answer(attempts: Sequence[Attempt]) -> dict[str, str]:
    """Answer -> the dialects that brought it, the first ones by name."""
    found: dict[str, list[str]] = {}
    for each in attempts:
        found.setdefault(each.answer, []).append(each.dialect)
    return {
        answer: ", ".join(names[:4]) + f" and {len(names) - 4} more" * (len(names) > 4)
        for answer, names in found.items()
    }


def _nearest(attempts: Sequence[Attempt]) -> Attempt:
    """Of those that are equally near, the answer that came least often says most."""
    said = Counter(each.said for each in attempts)
    return max(attempts, key=lambda each: (_NEARNESS.index(each.problem), -said[each.said]))


def _nearest_in_words(attempts: Sequence[Attempt]) -> str:
    """Empty if all were equally far from being understood."""
    best = _nearest(attempts)
    if all(each.problem == best.problem for each in attempts):
        return ""
    return f"; nearest: {best.dialect}, {_MEANS[best.problem]}"


class PeerDialect(Struct):
    """What is known of the agent at one address."""

    given: str  # the dialect that the caller was told
    url: str
    dialect: str = ""  # understood last
    worked: dict[str, str] = {}  # message type -> dialect that brought its content
    tried: set[tuple[str, str]] = set()  # message type and dialect that did not work
    tools: Tools | None = None
    session: Session | None = None  # of MCP
    pushes: str = ""  # the last question that was left to it to answer later, by itself
    was_searched: bool = False  # for a dialect in which it takes notices

    @property
    def is_lost(self) -> bool:
        """Whether no dialect was understood: it is asked in the nearest, and in no other."""
        return (self.dialect or self.given).endswith(table.LOST)

    def fails_otherwise(self) -> None:
        """If it broke at every dialect before, it can be searched now."""
        before = self.dialect or self.given
        if before.endswith(table.FAIL):
            self.dialect, self.tried = before.removesuffix(table.FAIL), set()

    def first_for(self, message_type: str) -> Dialect:
        """The dialect to begin with."""
        return dialect_of(self.worked.get(message_type) or self.dialect or self.given)


class Next(Enum):
    """What to do after an answer."""

    ASK = "ask in the next dialect"
    WAIT = "wait for a push, then go on"
    LAST = "this answer counts"
    FIRST = "the first answer counts"


class Negotiation:
    """One message to one agent, in as many dialects as it takes; `dialect` is the one in use."""

    def __init__(self, peer: PeerDialect, message: Message) -> None:
        self.dialect = OURS
        self._peer, self._message, self._type = peer, message, messages.WIRE_NAME[type(message)]
        self._forms = 1
        self._problem = ("", "")  # the last one, and the dialect in which it came up
        self._first: LeagueError | None = None  # the first dialect that was misunderstood
        self._attempts: list[Attempt] = []
        self._asked_for: list[str] = []  # dialects by what it complained of
        self._acknowledged = ""  # the last dialect that was answered without content
        self._was_refused = False  # by any answer: then a push is waited for once

    def begin(self) -> Dialect:
        """The dialect to ask in first."""
        self.dialect = self._peer.first_for(self._type)
        return self.dialect

    def understood(self, *, is_bare: bool) -> str:
        """The dialect brought an answer: its name, if that shows that it is the right one."""
        name, peer = self.dialect.name, self._peer
        has_content = isinstance(self._message, WITH_CONTENT)
        if has_content or not peer.is_lost:  # Some acknowledge what they do not understand.
            peer.dialect = name
        if not has_content:
            peer.was_searched |= self._forms > 1
            return ""
        peer.worked[self._type], peer.pushes = name, ""
        self._forget_tried()
        return name + table.BARE_ANSWERS if is_bare and self.dialect.form is not Form.BARE else name

    def failed(self, error: LeagueError) -> Next:
        """The dialect brought an error."""
        problem = misunderstanding(self._message, error)
        if problem:
            self._attempts.append(failed_attempt(self.dialect.name, problem, error))
            self._asked_for += self._variants_wanted()
            if problem != BROKEN:
                self._peer.fails_otherwise()
        else:  # It was not heard in this dialect, or says nothing of it; nor where it broke before.
            broken = (each.dialect for each in self._attempts if each.problem == BROKEN)
            self._peer.tried -= {(self._type, each) for each in (self.dialect.name, *broken)}
        is_valid_form = isinstance(error, errors.WrongType) and problem is None
        if is_valid_form or is_draw_refused(self._message, error):
            self._peer.worked[self._type] = self.dialect.name
        if problem is None or not self._may_go_on(problem):
            return self._give_up(error)
        self._first = self._first or error
        self._was_refused |= problem != EMPTY
        may_push = problem == EMPTY and not (self._was_refused and self._acknowledged)
        self._acknowledged = self.dialect.name if problem == EMPTY else self._acknowledged
        may_push &= isinstance(self._message, QUESTIONS)
        return Next.WAIT if may_push else self.go_on(problem)

    def _variants_wanted(self) -> list[str]:
        said, base = self._attempts[-1].said, base_of(self.dialect.name)
        if _OF_MCP.search(said) and self.dialect.form is not Form.TOOL:
            return [MCP]
        if not isinstance(self._message, QUESTIONS) or len(self._asked_for) >= WANTED_MAX:
            return []
        wanted = variants_in(said, self._message, self.dialect.adds)
        return [base + each for each in wanted if table.is_dialect(base + each)]

    def go_on(self, problem: str = EMPTY) -> Next:
        """Choose the next dialect, if there is one."""
        known, asked = self._peer.tried, {each.dialect for each in self._attempts}
        if problem != self._problem[0]:
            first = dialect_of(self._attempts[0].dialect)
            used = first if first.marks else self.dialect
            self._problem = (problem, used.name)
        wanted = (dialect_of(each) for each in self._asked_for)
        for dialect in chain(wanted, other_dialects(self._problem[1], self._type, problem)):
            if (self._type, dialect.name) not in known and dialect.name not in asked:
                known.add((self._type, dialect.name))
                self._forms += 1
                self.dialect = dialect
                return Next.ASK
        assert self._first
        mark = table.FAIL if all(each.problem == BROKEN for each in self._attempts) else table.NONE
        concluding = WITH_CONTENT if mark == table.FAIL else QUESTIONS
        if isinstance(self._message, concluding) and self._type not in self._peer.worked:
            self._peer.dialect = _nearest(self._attempts).dialect + mark
        self._give_up(self._first)
        return Next.FIRST

    @property
    def in_vain(self) -> str:
        """The nearest dialect, if a question was understood in none."""
        peer = self._peer
        is_lost = peer.is_lost and self._attempts and isinstance(self._message, QUESTIONS)
        return peer.dialect or peer.given if is_lost else ""

    def cancelled(self) -> None:
        """An agent that acknowledged without content, or not yet, must have pushed its answer."""
        name = self._acknowledged or self.dialect.name * self._was_refused
        if name and self._type not in self._peer.worked:
            self._leave_to_it(name)

    def _may_go_on(self, problem: str) -> bool:
        peer = self._peer
        if isinstance(self._message, TO_A_MANAGER):
            return True  # It is not sent again after a refusal.
        if peer.is_lost or not isinstance(self._message, NEGOTIATED):
            return False
        if isinstance(self._message, QUESTIONS):
            # Asked again, it has pushed nothing: another dialect is the right one.
            if problem != EMPTY or peer.pushes in ("", self._question):
                return True
            self._leave_to_it(self.dialect.name)
            return False
        # Many agents know only some notices: that does not disprove a dialect that is known.
        is_known = peer.worked or peer.pushes or peer.was_searched
        return not is_known and self._forms < NOTICE_FORMS_MAX

    @property
    def _question(self) -> str:
        return f"{self._type} {getattr(self._message, 'match_id', '')}"

    def _leave_to_it(self, dialect: str) -> None:
        """It answers what it is asked in this dialect later, by itself."""
        self._peer.dialect, self._peer.pushes = dialect, self._question
        self._forget_tried()

    def _forget_tried(self) -> None:
        self._peer.tried = {each for each in self._peer.tried if each[0] != self._type}

    def _give_up(self, error: LeagueError) -> Next:
        """No dialect brought an answer: the first error counts, unless the last says more."""
        self._peer.was_searched |= self._forms > 1
        is_refused = misunderstanding(self._message, error) is None
        is_final = isinstance(error, errors.WrongType) or isinstance(self._message, TO_A_MANAGER)
        says_more = isinstance(error, errors.RateLimited) or (is_refused and is_final)
        counts = error if says_more else self._first or error
        if len(self._attempts) > 1:
            counts.context["tried"] = describe_search(self._attempts)
            counts.context["forms"] = ", ".join(each.dialect for each in self._attempts)
            counts.context["said"] = _nearest(self._attempts).said
            is_unknown = misunderstanding(self._message, counts) is not None
            if isinstance(self._message, REGISTRATIONS) and is_unknown:
                counts.context["what_to_do"] = what_to_do(self._attempts)
        return Next.LAST if counts is error else Next.FIRST


def first_start(known: str) -> str:
    """The dialect in which a referee is first told to run a match, by what is known of it."""
    if dialect_of(known).starts:
        return known
    base = base_of(known)
    is_known = base.partition("#")[0] in _START_BASES or "(" in base
    return table.start_name(START, base if is_known else OURS.name)


def nonsense_start(used: str) -> str:
    """The dialect in which the same referee is sent nonsense, to see what its answers are worth."""
    return table.start_name(NONSENSE, base_of(used))


def next_start(used: str, attempts: Sequence[Attempt]) -> str | None:
    """What to try after these attempts, the first of which was `used`; None: that was all."""
    asked = [dialect_of(each.dialect) for each in attempts]
    for name in _start_order(used, attempts):
        dialect = dialect_of(name)
        is_same = (
            dialect.starts == each.starts
            and dialect.naming == each.naming
            and dialect.writes_like(each, dialect.starts)
            for each in asked
        )
        if not any(is_same):
            return name
    return None


def _start_order(used: str, attempts: Sequence[Attempt]) -> Iterator[str]:
    base, last = base_of(used), attempts[-1]
    for each in attempts:
        yield from (_offered_start(method, base_of(each.dialect)) for method in each.offers)
    doubted = [each for each in attempts if each.problem in (UNFIT, BROKEN) and not _naming(each)]
    answers = [each.answer for each in attempts]
    for each in doubted:
        if answers.count(each.answer) * 2 <= len(answers):  # Most others are refused otherwise.
            yield from _with_fewer_fields(each)
    if last.problem == BROKEN and not _naming(last):
        yield from (
            table.start_name(_start_type(last), other) for other in ("message", "bare", "type")
        )
    if last.problem == EMPTY:
        yield from (table.start_name(start_type, base) for start_type in (START, ANNOUNCED))
    like = (each + dialect_of(used).marks for each in _LIKE_THE_FIRST)
    for other in (base, *_START_BASES, *like):
        yield from (table.start_name(start_type, other) for start_type in START_METHODS)
    for each in doubted:
        yield from _with_fewer_fields(each)


def _offered_start(method: str, base: str) -> str:
    """A start by a method that the referee named: as it is written, where it is the method."""
    used = dialect_of(base)
    if used.form is Form.JSONRPC and not used.key:
        base = "type" if method in START_METHODS else "tool"
    known = method.upper()
    return table.start_name(known if known in START_METHODS else method, base)


def _with_fewer_fields(each: Attempt) -> Iterator[str]:
    base, start_type = base_of(each.dialect), _start_type(each)
    return (table.start_name(start_type, base, naming) for naming in namings_of(start_type))


def _start_type(each: Attempt) -> str:
    return dialect_of(each.dialect).starts


def _naming(each: Attempt) -> str:
    return dialect_of(each.dialect).naming


def describe_start_search(attempts: Sequence[Attempt]) -> str:
    """What was tried and what came back, the nearest, and what would work."""
    by_answer: dict[str, dict[str, None]] = {}  # answer -> the methods that brought it
    for each in attempts:
        method = each.dialect.partition("/")[0]
        by_answer.setdefault(each.answer, {})[method] = None
    listed = "; ".join(f"{', '.join(methods)}: {answer}" for answer, methods in by_answer.items())
    forms = len({base_of(each.dialect) for each in attempts})
    said, nearest = _nearest(attempts).said, _nearest_in_words(attempts)
    tried = f"tried in {forms} forms {listed}{nearest}; it would work if it took {_START_ADVICE}"
    return f"it said: {said}; {tried}" if said else tried
