"""The rules for agents of any role: envelope, times, JSON-RPC and forms.

A fault that only a manager has to find, because it decides for others, is no fault of any other
agent that takes such a message: the rule does not apply to it then.
"""

from typing import Any

from msgspec.structs import replace

from agentleague.conformance.bench import Bench, Fields
from agentleague.conformance.exchange import Answer
from agentleague.conformance.hostile_rules import HOSTILE
from agentleague.conformance.http_rules import HTTP
from agentleague.conformance.rules import Broken, NotApplicable, Rule, Rules, Tier
from agentleague.conformance.wire import (
    ANY,
    body_of,
    expect_refusal,
    expect_taken,
    refusal,
    reordered,
    request,
    spelled,
    try_message,
    without,
    written,
)
from agentleague.protocol.codec import encode
from agentleague.protocol.jsonrpc import Form

WIRE = Rules(ANY)
MUST, SHOULD, ROBUST, PLUS = Tier
FIRST = "any.http.takes-post"  # Without these two nothing else can be tried.
SECOND = "any.message.is-taken"
MANAGERS_OWN = ("any.envelope.other-protocol", "any.time.local", "any.rpc.wrong-version")
BIG = 2**53 - 1
STRICT = ("E003", "E018")  # how a league says that it wants what document 004 has


def add_first_rules(rules: Rules, *names: str) -> None:
    """Add the two rules that all others need, or the first, where the role has its own second."""
    for rule in HTTP:
        if rule.id in (names or (FIRST, SECOND)):
            rules.add(_for_role(rule, rules.role, (FIRST,) if rule.id == SECOND else ()))


def add_wire_rules(rules: Rules, control: str = SECOND) -> None:
    """Add the rules that hold for every role, the first two only if they are not there yet."""
    if FIRST.replace(ANY, rules.role, 1) not in [rule.id for rule in rules]:
        add_first_rules(rules)
    for table in (HTTP, WIRE, HOSTILE):
        for rule in table:
            if rule.id not in (FIRST, SECOND):
                rules.add(_for_role(rule, rules.role, (FIRST, control)))


def _for_role(rule: Rule, role: str, needed: tuple[str, ...]) -> Rule:
    def named(ids: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(each.replace(ANY, role, 1) for each in ids)

    is_stricter = role == "manager" and rule.id in MANAGERS_OWN
    return replace(
        rule,
        id=rule.id.replace(ANY, role, 1),
        tier=SHOULD if is_stricter else rule.tier,
        says=rule.says.replace("An agent", f"A {role}", 1),
        needs=named((*needed, *rule.needs)),
        implies=named(rule.implies),
    )


def _not_needed(bench: Bench, answer: Answer, what: str) -> None:
    """The rule does not apply where somebody who decides nothing takes what is not right."""
    if bench.role != "manager" and bench.is_taken(answer):
        raise NotApplicable(f"it takes {what}; only a manager has to refuse that")


def _try_unless_strict(
    bench: Bench, what: str, message: Fields, fields: tuple[str, ...], expected: str
) -> None:
    """Break the rule unless this is taken, or refused for these fields as document 004 wants it."""
    answer = bench.post(what, written(bench, message))
    found = refusal(answer)
    if found and found.code in STRICT and any(each in str(found.text) for each in fields):
        bench.still_takes(what)
        raise NotApplicable(f"it refuses {what}, as document 004 does: {found.code}")
    expect_taken(bench, answer, expected)


@WIRE.rule("envelope.unknown-fields", MUST)
def unknown_fields(bench: Bench) -> None:
    """An agent ignores fields that it does not know.

    R-ENV-04: document 004 section 14.5
    Mend: Read the fields that you need, and ignore all others.
    """
    more: Fields = {"zz_new": 1, "zz_object": {"deep": [None, {"x": 1}]}, "zz_null": None}
    what = "a message with fields that no document has"
    try_message(bench, what, bench.control() | more, "it is taken, and the new fields are ignored")


@WIRE.rule("envelope.missing-fields", SHOULD)
def missing_fields(bench: Bench) -> None:
    """An agent takes a message without `protocol`, `sender`, `timestamp`, `conversation_id`.

    R-ENV-02: document 003 section 4.12.1
    Mend: Treat these fields as optional: document 003 shows messages without them.
    """
    fields = ("protocol", "sender", "timestamp", "conversation_id")
    what, bare = "a message without the envelope", without(bench.control(), *fields)
    _try_unless_strict(bench, what, bare, fields, "it is taken all the same")


@WIRE.rule("envelope.minor-version", PLUS)
def minor_version(bench: Bench) -> None:
    """An agent takes a minor version of the protocol, league.v2.1.

    R-ENV-03: document 000 section 2.10.2
    Mend: Take any `protocol` that begins with league.v2.
    """
    newer = bench.control() | {"protocol": "league.v2.1"}
    what, expected = "protocol league.v2.1", "it is taken like league.v2"
    _try_unless_strict(bench, what, newer, ("protocol", "league.v2"), expected)


@WIRE.rule("envelope.other-protocol", PLUS)
def other_protocol(bench: Bench) -> None:
    """An agent refuses another protocol with E018.

    R-ENV-03: document 000 section 2.10.2
    Mend: Answer E018 if `protocol` is neither league.v2 nor a minor version of it.
    """
    other = bench.control() | {"protocol": "league.v1"}
    answer = bench.post("protocol league.v1", written(bench, other))
    _not_needed(bench, answer, "any `protocol`")
    _expect_code(bench, answer, "E018")


@WIRE.rule("envelope.any-sender", SHOULD)
def any_sender(bench: Bench) -> None:
    """An agent takes a sender with and without its kind: `referee:REF01`, `REF01`.

    R-ENV-06: document 000 section 2.4.4
    Mend: Do not split `sender`, or allow for one without a colon.
    """
    message = bench.control()
    short = message | {"sender": str(message["sender"]).rpartition(":")[2]}
    what, expected = "a sender without its kind", "it is taken: documents differ in this"
    _try_unless_strict(bench, what, short, ("sender",), expected)


@WIRE.rule("time.any-utc", SHOULD)
def time_any_utc(bench: Bench) -> None:
    """An agent takes a timestamp that ends with +00:00, and one with fractions of a second.

    R-TIME-02: document 000 section 2.4.2
    Mend: Take ISO 8601 times with Z or +00:00, with and without fractions.
    """
    for what, end in (("+00:00 for Z", "+00:00"), ("3 digits", ".123Z"), ("6 digits", ".123456Z")):
        _try_time(bench, what, lambda time, end=end: time.replace("Z", end))


@WIRE.rule("time.compact-date", SHOULD)
def time_compact(bench: Bench) -> None:
    """An agent takes a date without separators, as document 004 writes it.

    R-TIME-03: document 004 section 6.1.1
    Mend: Take 20260115T10:30:00Z too.
    """
    _try_time(bench, "a date without separators", lambda time: time.replace("-", ""))


@WIRE.rule("time.local", PLUS)
def time_local(bench: Bench) -> None:
    """An agent refuses a local time, and a time without zone, with E021.

    R-TIME-04: document 000 section 2.4.2
    Mend: Answer E021 if `timestamp` does not end with Z or +00:00.
    """
    for zone in ("+02:00", ""):
        message = bench.control()
        local = message | {"timestamp": str(message["timestamp"]).replace("Z", zone)}
        answer = bench.post(f"a timestamp with the zone {spelled(zone)}", written(bench, local))
        _not_needed(bench, answer, "a local time")
        _expect_code(bench, answer, "E021")


def _try_time(bench: Bench, what: str, change: Any) -> None:
    message = bench.control()
    changed = message | {"timestamp": change(str(message["timestamp"]))}
    try_message(bench, f"a timestamp with {what}", changed, "it is taken: that time is UTC")


def _expect_code(bench: Bench, answer: Answer, code: str) -> None:
    bench.expect_answer(answer)
    found = refusal(answer)
    if found is None or found.code != code:
        raise Broken(f"an error with {code}")
    bench.still_takes("it")


@WIRE.rule("rpc.spelling", ROBUST)
def rpc_spelling(bench: Bench) -> None:
    """An agent reads JSON by its meaning: order of keys, spaces and line breaks do not matter.

    R-RPC-01: document 001 section 1.1
    Mend: Read messages with a JSON parser, not by searching in the text.
    """
    answer = bench.post("JSON over many lines, its keys turned", reordered(request(bench)))
    expect_taken(bench, answer, "it is taken: the JSON means the same")


@WIRE.rule("rpc.answers-2-0", SHOULD)
def answers_2_0(bench: Bench) -> None:
    """An agent answers with `jsonrpc` "2.0".

    R-RPC-01: document 001 section 1.1
    Mend: Put "jsonrpc": "2.0" into every answer to JSON-RPC.
    Leniency: an answer is read by its content alone
    """
    answer = bench.post("a request", request(bench))
    bench.expect_answer(answer)
    if (answer.fields() or {}).get("jsonrpc") != "2.0":
        raise Broken('`jsonrpc`: "2.0"')


@WIRE.rule("rpc.result-or-error", SHOULD)
def result_or_error(bench: Bench) -> None:
    """An agent answers JSON-RPC with `result` or `error`, never both, never neither.

    R-FORM-05: document 001 section 1.1
    Mend: Put the answering message into `result`, and leave `error` out.
    Leniency: the content counts wherever it stands, and `error`: null is no error
    """
    answer = bench.post("a request", request(bench))
    bench.expect_answer(answer)
    said = answer.fields() or {}
    if not isinstance(said.get("result"), dict) or "error" in said:
        raise Broken("an object in `result`, and no `error`")


def _expect_ids(bench: Bench, *ids: Any) -> None:
    for each in ids:
        answer = bench.post(f"a request with the id {spelled(each)}", request(bench, id=each))
        said = answer.fields() or {}
        if "id" not in said or (type(said["id"]), said["id"]) != (type(each), each):
            raise Broken(f"`id` {spelled(each)} in the answer", is_late=answer.is_late)


@WIRE.rule("rpc.repeats-id", SHOULD)
def repeats_id(bench: Bench) -> None:
    """An agent repeats the `id` of a request in its answer, whatever integer or text it is.

    R-RPC-02: document 001 section 1.1
    Mend: Copy `id` from the request into the answer, and do not make a number of a text.
    Leniency: `id` is not compared
    """
    number = bench.next_id() + 4_000
    _expect_ids(bench, number, 0, -7, BIG, f"req-{number}", "7", "ä 🎲")


@WIRE.rule("rpc.repeats-null-id", PLUS)
def repeats_null_id(bench: Bench) -> None:
    """An agent repeats an `id` that is null, if it takes one at all.

    R-RPC-02: document 001 section 1.1
    Mend: Copy `id` from the request into the answer, also if it is null.
    """
    answer = bench.post("a request with the id null", request(bench, id=None))
    if refusal(answer) or not answer.body.strip():
        raise NotApplicable("it takes no `id` that is null")
    _expect_ids(bench, None)


@WIRE.rule("rpc.notification", SHOULD)
def notification(bench: Bench) -> None:
    """An agent answers nothing to a request without `id`.

    R-RPC-03: document 001 section 1.1
    Mend: Answer a request without `id` with HTTP 204 or 202, and an empty body.
    """
    answer = bench.post("a request without `id`", without(request(bench), "id"))
    bench.expect_answer(answer)
    is_refused = bench.dialect.form is Form.TOOL and answer.status in (400, 405)  # as MCP has it
    if answer.body.strip() and not is_refused:
        raise Broken("an empty body: nobody waits for an answer")
    bench.still_takes("it")


@WIRE.rule("rpc.batch", PLUS)
def batch(bench: Bench) -> None:
    """An agent refuses a batch of requests, or answers it with a list.

    R-RPC-04: ours
    Mend: Answer a list of requests with the error -32600.
    """
    asked = [request(bench, each) for each in bench.controls(2)]
    answer = bench.post("a batch of two requests", encode(asked))
    if not answer.is_late and (answer.status is None or answer.status >= 400):
        bench.still_takes("a batch")
        raise NotApplicable("it takes no batches, as no document has any")
    bench.expect_answer(answer)
    if answer.body.lstrip()[:1] == b"[":
        raise NotApplicable("it takes batches")
    if refusal(answer) is None:
        raise Broken("an error, or a list of answers")
    bench.still_takes("a batch")


@WIRE.rule("rpc.params-list", SHOULD)
def params_list(bench: Bench) -> None:
    """An agent refuses `params` that is no object with -32602.

    R-RPC-06: document 001 section 1.1
    Mend: Answer -32602 if `params` is not an object.
    """
    for params in ([1, 2], "text"):
        answer = bench.post("params that are no object", request(bench, params=params))
        expect_refusal(bench, answer, -32602, "E003")


@WIRE.rule("rpc.unknown-method", SHOULD)
def unknown_method(bench: Bench) -> None:
    """An agent refuses a method that it does not know with -32601.

    R-RPC-07: document 001 section 8.4
    Mend: Answer -32601 to any method that is none of yours, instead of acknowledging it.
    Leniency: an acknowledgement of a call counts as no answer
    """
    answer = bench.post("an unknown method", _nonsense(bench))
    expect_refusal(bench, answer, -32601, "E051")


def _nonsense(bench: Bench) -> Fields:
    if bench.dialect.form is Form.BARE:
        raise NotApplicable("it is spoken to without JSON-RPC")
    message = bench.message("NO_SUCH_MESSAGE")
    return bench.request(message, method="no_such_method")


@WIRE.rule("rpc.wrong-version", PLUS)
def wrong_version(bench: Bench) -> None:
    """An agent refuses a request with another `jsonrpc` than "2.0" with -32600.

    R-RPC-01: document 001 section 1.1
    Mend: Answer -32600 unless `jsonrpc` is "2.0".
    """
    answer = bench.post('jsonrpc "1.0"', request(bench, jsonrpc="1.0"))
    _not_needed(bench, answer, "any `jsonrpc`")
    expect_refusal(bench, answer, -32600, "E050")


@WIRE.rule("rpc.no-method", SHOULD)
def no_method(bench: Bench) -> None:
    """An agent refuses JSON-RPC without a method with -32600.

    R-RPC-01: document 001 section 1.1
    Mend: Answer -32600 if `method` is missing or no text.
    """
    request(bench)  # It has to speak JSON-RPC.
    asked = {"jsonrpc": "2.0", "id": bench.next_id()}
    for body in (asked, asked | {"method": 7}):
        expect_refusal(bench, bench.post("a request without a method", body), -32600, "E050")


@WIRE.rule("rpc.parse-error", SHOULD)
def parse_error(bench: Bench) -> None:
    """An agent answers -32700 to what is no JSON.

    R-LIM-06: document 001 section 8.4
    Mend: Answer {…, id: null, error: {code: -32700, …}} where a body cannot be parsed.
    """
    body = body_of(bench)
    for fault in (body[:-7], b"no json"):
        expect_refusal(bench, bench.post("a body that is no JSON", fault), -32700, "E049")


@WIRE.rule("rpc.error-object", SHOULD)
def error_object(bench: Bench) -> None:
    """An agent refuses with an `error` that has an integer `code` and a text `message`.

    R-ERR-02: document 001 section 1.1
    Mend: Refuse with "error": {"code": -32601, "message": "…"} beside `id`.
    """
    answer = bench.post("an unknown method", _nonsense(bench))
    bench.expect_answer(answer)
    found = refusal(answer)
    if found is None:
        raise NotApplicable("it refuses no method")
    if type(found.number) is not int or not isinstance(found.text, str):
        raise Broken("`error` with an integer `code` and a text `message`")


@WIRE.rule("rpc.refusal-keeps-id", PLUS)
def refusal_keeps_id(bench: Bench) -> None:
    """An agent repeats the `id` of a request that it refuses.

    R-RPC-05: ours
    Mend: Copy `id` into errors too.
    """
    asked = _nonsense(bench)
    answer = bench.post("an unknown method", asked)
    if refusal(answer) is None:
        raise NotApplicable("it refuses no method")
    if (answer.fields() or {}).get("id") != asked["id"]:
        raise Broken(f"`id` {asked['id']} beside the error")


@WIRE.rule("forms.flat", SHOULD)
def form_flat(bench: Bench) -> None:
    """An agent takes JSON-RPC as document 001 has it: its method, the message in `params`.

    R-FORM-01: document 001 section 1.1
    Mend: Take the methods of document 001, with the message as `params`.
    Leniency: who does not understand it is asked in all other forms that were ever seen
    """
    answer = bench.post("document 001's form", bench.request(bench.control()))
    expect_taken(bench, answer, "document 001's form is taken")


def _try_form(bench: Bench, what: str, body: Fields, is_right: Any, expected: str) -> None:
    answer = bench.post(what, body)
    if answer.is_late:
        raise Broken("any answer", is_late=True)
    if not bench.is_taken(answer):
        bench.still_takes(what)
        raise NotApplicable(f"it does not take {what}")
    if not is_right(answer.fields() or {}):
        raise Broken(expected)


@WIRE.rule("forms.nested", PLUS)
def form_nested(bench: Bench) -> None:
    """An agent that takes a message in `params.message` answers it with a `result`.

    R-FORM-02: ours
    Mend: Answer in the form of the request.
    """
    message = bench.control()
    body = bench.request(message, params={"message": message}, method=message["message_type"])
    _try_form(
        bench, "a message in params.message", body, lambda said: "result" in said, "a `result`"
    )


@WIRE.rule("forms.bare", PLUS)
def form_bare(bench: Bench) -> None:
    """An agent that takes a message without JSON-RPC answers it without.

    R-FORM-03: documents 000, 003 and 004, throughout
    Mend: Answer a bare message with a bare message.
    """
    _try_form(
        bench, "a bare message", bench.control(), lambda said: "jsonrpc" not in said,
        "a message without JSON-RPC, like the request",
    )  # fmt: skip


@WIRE.rule("forms.type-as-method", PLUS)
def form_type_as_method(bench: Bench) -> None:
    """An agent that takes the message type as method answers it with a `result`.

    R-FORM-06: document 002 "Request Format"
    Mend: Answer in the form of the request.
    """
    message = bench.control()
    body = bench.request(message, method=message["message_type"])
    _try_form(
        bench, "the message type as method", body, lambda said: "result" in said, "a `result`"
    )


@WIRE.rule("forms.tool", PLUS, implies=("any.mcp.tools-call",))
def form_tool(bench: Bench) -> None:
    """An agent that takes a message as `tools/call` answers as a tool.

    R-FORM-04: document 000 section 2.2
    Mend: Answer tools/call with `content` and `structuredContent` in `result`.
    """
    asked = bench.request(bench.control())
    called = {"name": asked["method"], "arguments": asked["params"]}
    body = asked | {"method": "tools/call", "params": called}

    def is_of_tool(said: Fields) -> bool:
        result = said.get("result")
        return isinstance(result, dict) and isinstance(result.get("content"), list)

    _try_form(bench, "a message as tools/call", body, is_of_tool, "`content` in `result`")
