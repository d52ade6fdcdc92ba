"""The rules for agents of any role: what nobody should send, slow networks, and MCP."""

import json
import socket
import struct
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, suppress
from itertools import pairwise
from typing import Any

from agentleague.conformance.bench import Bench, Fields
from agentleague.conformance.exchange import Answer
from agentleague.conformance.rules import Broken, NotApplicable, Rules, Tier
from agentleague.conformance.wire import (
    ANY,
    as_usual,
    body_of,
    expect_refusal,
    expect_survival,
    expect_taken,
    head,
    is_free,
    refusal,
    soon,
    spelled,
    try_message,
    written,
)
from agentleague.protocol.codec import encode
from agentleague.runtime.clock import stopwatch

HOSTILE = Rules(ANY)
MUST, SHOULD, ROBUST, PLUS = Tier
MESSAGE_MAX = 10_240  # bytes of a message, document 004 section 14.1
TOO_LONG = 4 << 20
HEAD_TOO_LONG = 3 << 19  # bytes; more than any usual web server takes by itself
AT_ONCE, SILENT = 20, 30
NAMES = "נועה 🎲 Ünïcödé 李"
READ_JSON = "Answer what cannot be read with -32700, and go on."


@HOSTILE.rule("limits.whole-message", SHOULD)
def whole_message(bench: Bench) -> None:
    """An agent takes messages of up to 10 KB.

    R-HTTP-02: document 004 section 14.1
    Mend: Take bodies of at least 10,240 bytes.
    """
    message = bench.control() | {"zz_note": ""}
    message["zz_note"] = "x" * (MESSAGE_MAX - len(body_of(bench, message)) - 8)
    try_message(bench, "a message of 10 KB", message, "it is taken")


@HOSTILE.rule("limits.too-large", ROBUST)
def too_large(bench: Bench) -> str | None:
    """An agent refuses a body far larger than any message, and goes on.

    R-HTTP-02: document 004 section 14.1
    Mend: Stop reading after 64 KB, answer HTTP 413 and close the connection.
    """
    message = bench.control() | {"zz_note": "x" * TOO_LONG}
    answer = bench.post("a message of 4 MB", written(bench, message))
    if answer.is_late or (answer.status is not None and refusal(answer) is None):
        raise Broken("HTTP 413, or a closed connection", is_late=answer.is_late)
    expect_survival(bench, answer, "a message of 4 MB")
    is_413 = answer.status in (None, 413)
    return None if is_413 else f"refused with HTTP {answer.status}; 413 says it better"


@HOSTILE.rule("limits.unicode", ROBUST)
def unicode_names(bench: Bench) -> None:
    """An agent takes names in any script, as UTF-8 and as escapes.

    R-LIM-01: document 004 section 14.4
    Mend: Decode the body as UTF-8 whatever the machine's own encoding is.
    """
    for is_escaped in (False, True):
        body = written(bench, bench.control() | {"zz_display_name": NAMES})
        spelled = json.dumps(body, ensure_ascii=is_escaped).encode()
        expect_taken(bench, bench.post("names in other scripts", spelled), "it is taken")


@HOSTILE.rule("limits.not-utf8", ROBUST, mend=READ_JSON)
def not_utf8(bench: Bench) -> None:
    """An agent goes on after bytes that are no UTF-8, and after a byte order mark.

    R-LIM-01: document 004 section 14.4
    """
    body = body_of(bench, bench.control() | {"zz_note": "here"})
    faults = {
        "a body that is no UTF-8": body.replace(b"here", b"\xff\xfe\xc0"),
        "a byte order mark": b"\xef\xbb\xbf" + body,
        "a body in UTF-16": body.decode().encode("utf-16"),
    }
    for what, fault in faults.items():
        expect_survival(bench, bench.post(what, fault), what, may_close=False)


@HOSTILE.rule("limits.lone-surrogate", PLUS, mend=READ_JSON)
def lone_surrogate(bench: Bench) -> None:
    """An agent goes on after half of a surrogate pair, and repeats it to nobody.

    R-LIM-02: ours
    """
    body = body_of(bench, bench.control() | {"zz_note": "here"}).replace(b"here", b"\\ud800")
    answer = bench.post("half of a surrogate pair", body)
    if b"\\ud800" in answer.body or b"\xed\xa0" in answer.body:
        raise Broken("an answer without it")
    expect_survival(bench, answer, "half of a surrogate pair", may_close=False)


@HOSTILE.rule("limits.deep", ROBUST)
def deep(bench: Bench) -> None:
    """An agent goes on after JSON that is thousands of levels deep.

    R-LIM-06: document 001 section 8.4
    Mend: Catch what your JSON parser raises for it, and answer -32700.
    """
    levels = 4_000
    inner = b"[" * levels + b"]" * levels
    body = body_of(bench, bench.control() | {"zz_note": "here"}).replace(b'"here"', inner)
    for what, fault in (("JSON 4,000 levels deep", body), ("4,000 open brackets", b"[" * levels)):
        expect_survival(bench, bench.post(what, fault), what, may_close=False)


@HOSTILE.rule("limits.duplicate-key", PLUS)
def duplicate_key(bench: Bench) -> None:
    """An agent refuses an object that has a key twice, for parsers differ on it.

    R-LIM-04: ours
    Mend: Answer -32700 to an object with a key twice.
    """
    body = body_of(bench, bench.control() | {"zz_note": 1})
    answer = bench.post("a key twice", body.replace(b'"zz_note":1', b'"zz_note":1,"zz_note":2'))
    if bench.is_taken(answer):
        raise NotApplicable("it takes an object that has a key twice")
    expect_refusal(bench, answer, -32700, "E049")


@HOSTILE.rule("limits.not-a-number", PLUS)
def not_a_number(bench: Bench) -> None:
    """An agent refuses NaN and Infinity, which are no JSON.

    R-LIM-05: ours
    Mend: Answer -32700 to NaN and Infinity.
    """
    for word in (b"NaN", b"-Infinity"):
        body = body_of(bench, bench.control() | {"zz_note": 1})
        answer = bench.post(word.decode(), body.replace(b'"zz_note":1', b'"zz_note":' + word))
        if bench.is_taken(answer):
            raise NotApplicable("its parser takes NaN")
        expect_refusal(bench, answer, -32700, "E049")


@HOSTILE.rule("limits.huge-number", ROBUST)
def huge_number(bench: Bench) -> None:
    """An agent goes on after numbers that no integer of 32 bits holds.

    R-LIM-07: document 004 section 14.4
    Mend: Refuse or ignore numbers that are too large, and go on.
    """
    for number in (b"9" * 5_000, b"1e999", b"-0.0", b"4294967296"):
        body = body_of(bench, bench.control() | {"zz_note": 1})
        fault = body.replace(b'"zz_note":1', b'"zz_note":' + number)
        answer = bench.post("a huge number", fault)
        expect_survival(bench, answer, "a huge number", may_close=False)


@HOSTILE.rule("limits.wrong-types", ROBUST)
def wrong_types(bench: Bench) -> None:
    """An agent goes on after fields of another type than they should have.

    R-MSG-05: document 004 section 10.5
    Mend: Check the type of a field before you use it.
    """
    for value in (None, 7, True, [1], {"a": 1}, ""):
        message = bench.control()
        kept = ("message_type", "protocol")
        fault = message | dict.fromkeys((each for each in message if each not in kept), value)
        what = f"{spelled(value)} in every field"
        expect_survival(bench, bench.post(what, written(bench, fault)), what, may_close=False)


@HOSTILE.rule("limits.long-texts", ROBUST)
def long_texts(bench: Bench) -> None:
    """An agent goes on after ids and names of thousands of characters.

    R-HTTP-02: document 004 section 14.1
    Mend: Put a limit on the length of texts, or let them be as long as they are.
    """
    long = bench.control() | {"conversation_id": "c" * 3_000, "sender": "s" * 3_000}
    answer = bench.post("texts of 3,000 characters", written(bench, long))
    expect_survival(bench, answer, "texts of 3,000 characters", may_close=False)


@HOSTILE.rule("limits.empty-body", ROBUST, mend=READ_JSON)
def empty_body(bench: Bench) -> None:
    """An agent goes on after an empty body, and after JSON that is no object.

    R-RPC-01, R-FORM-07: document 001 section 1.1
    """
    for fault in (b"", b"null", b"7", b'"text"', b"[]", b"{}"):
        answer = bench.post("a body that is no message", fault)
        if bench.is_taken(answer):
            raise Broken("an error: there is no message in it")
        expect_survival(bench, answer, "a body that is no message", may_close=False)


@HOSTILE.rule("robust.in-pieces", ROBUST)
def in_pieces(bench: Bench) -> None:
    """An agent takes a message that arrives in many pieces.

    R-HTTP-01: document 001 section 1.1
    Mend: Read until Content-Length bytes are there, not once.
    """
    body = body_of(bench)
    whole = head(bench, len(body)) + body
    step = len(whole) // 12 + 1
    pieces = [whole[at : at + step] for at in range(0, len(whole), step)]

    def pause() -> None:
        threading.Event().wait(0.01)

    answer = bench.send("a message in pieces", pieces, pause=pause)
    expect_taken(bench, answer, "it is taken like any other")


@HOSTILE.rule("robust.slow-request", ROBUST)
def slow_request(bench: Bench) -> None:
    """An agent answers others while somebody sends a request slowly.

    R-MATCH-09: document 000 section 2.7
    Mend: Serve each connection for itself: a thread each, or an asynchronous server.
    """
    seconds = as_usual(bench)
    slow, *asked = bench.controls(5)  # before anybody could be kept by others
    body = body_of(bench, slow)
    whole = head(bench, len(body)) + body
    cuts = (0, 20, len(whole) - len(body), len(whole) - 5, len(whole))
    answer = Answer(problem="no connection")
    with suppress(OSError), bench.peer.connect(stopwatch() + bench.limits.connect) as line:
        for message, (start, end) in zip(asked, pairwise(cuts), strict=True):
            line.sendall(whole[start:end])
            answer = bench.ask(message, seconds=seconds)
            if not bench.is_served(answer):
                break
    _expect_beside(bench, answer, seconds, "others are answered while one sends slowly")


def _expect_beside(bench: Bench, answer: Answer, seconds: float, expected: str) -> None:
    """Break the rule unless others were served; wait until it is free again.

    Whoever is free as soon as the others have left was kept by them: no second try is needed.
    """
    shown = bench.exchanges[-1] if bench.exchanges else None
    if bench.is_served(answer):
        return
    raise Broken(expected, shown, is_late=not is_free(bench, seconds))


@HOSTILE.rule("robust.silent-connections", ROBUST, needs=("any.robust.slow-request",))
def silent_connections(bench: Bench) -> None:
    """An agent answers while 30 connections are open on which nothing is said.

    R-MATCH-09: document 000 section 2.7
    Mend: Serve each connection for itself, and close silent ones after some seconds.
    """
    seconds = as_usual(bench)
    asked, expected = bench.control(), f"an ordinary message is taken beside {SILENT} silent ones"
    with ExitStack() as stack:
        with suppress(OSError):  # It may refuse some of them.
            for _ in range(SILENT):
                stack.enter_context(bench.peer.connect(stopwatch() + soon(bench) / SILENT * 2))
        answer = bench.ask(asked, seconds=seconds)
    _expect_beside(bench, answer, seconds, expected)


@HOSTILE.rule("robust.at-once", ROBUST)
def at_once(bench: Bench) -> None:
    """An agent answers 20 requests at once, each with its own id.

    R-RPC-02: document 001 section 1.1
    Mend: Keep nothing of one request in a variable that another one changes.
    """
    asked = [written(bench, each) for each in bench.controls(AT_ONCE)]
    with ThreadPoolExecutor(AT_ONCE) as pool:
        answers = list(pool.map(lambda body: bench.peer.post(encode(body)), asked))
    for body, answer in zip(asked, answers, strict=True):
        bench.keep(f"one of {AT_ONCE} at once", encode(body), answer)
        if not bench.is_served(answer):
            expect_taken(bench, answer, f"each of {AT_ONCE} requests at once is taken")
        said = answer.fields() or {}
        if "id" in body and said.get("id") in [each.get("id") for each in asked if each != body]:
            raise Broken(f"`id` {body['id']}, not that of another request")


@HOSTILE.rule("robust.leaves", ROBUST)
def leaves(bench: Bench) -> None:
    """An agent goes on when a client leaves in the middle of its request or its answer.

    R-HTTP-01: document 001 section 1.1
    Mend: Expect that a connection ends at any moment, and go on with the others.
    """
    body = body_of(bench)
    whole = head(bench, len(body)) + body
    for sent in (b"", whole[:30], whole[:-9], whole):
        for is_reset in (False, True):
            _leave(bench, sent, is_reset=is_reset)
    bench.still_takes("clients that left")


def _leave(bench: Bench, sent: bytes, *, is_reset: bool) -> None:
    with suppress(OSError), bench.peer.connect(stopwatch() + bench.limits.connect) as line:
        line.sendall(sent)
        if is_reset:
            line.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


@HOSTILE.rule("robust.no-http", ROBUST)
def no_http(bench: Bench) -> None:
    """An agent goes on after bytes that are no HTTP.

    R-HTTP-01: document 001 section 1.1
    Mend: Answer HTTP 400 or close the connection, and go on with the others.
    """
    faults = {
        "a hello of TLS": b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(64) + b"\r\n\r\n",
        "bytes that are no HTTP": bytes(range(256)) + b"\r\n\r\n",
        "a request line of one word": b"POST\r\n\r\n",
        "a header without a colon": head(bench, 0)[:-2] + b"no colon here\r\n\r\n",
    }
    for what, sent in faults.items():
        bench.send(what, sent, seconds=bench.limits.quiet)
        bench.still_takes(what)


@HOSTILE.rule("robust.wrong-length", ROBUST)
def wrong_length(bench: Bench) -> None:
    """An agent goes on after a Content-Length that is none, and after one that is too long.

    R-HTTP-01: document 001 section 1.1
    Mend: Answer HTTP 400 to a Content-Length that is no number, and do not wait for ever.
    """
    body = body_of(bench)
    for length in ("-5", "many", str(10**20), str(len(body) + 100)):
        sent = head(bench, None, f"Content-Length: {length}") + body
        bench.send(f"Content-Length: {length}", sent, seconds=bench.limits.quiet)
        bench.still_takes(f"Content-Length: {length}")


@HOSTILE.rule("robust.endless-head", ROBUST)
def endless_head(bench: Bench) -> None:
    """An agent bounds the head of a request, and goes on.

    R-HTTP-02: document 004 section 14.1
    Mend: Answer HTTP 431 after 16 KB of headers, or close the connection.
    """
    body = body_of(bench)
    sent = head(bench, len(body), "X-Long: " + "x" * HEAD_TOO_LONG) + body
    answer = bench.send("a head of 1.5 MB", sent)
    if bench.is_taken(answer):
        raise Broken("HTTP 431, or a closed connection")
    expect_survival(bench, answer, "a head of 1.5 MB")


def _mcp(bench: Bench, method: str, params: Fields) -> Answer:
    asked: Fields = {"jsonrpc": "2.0", "id": bench.next_id(), "method": method, "params": params}
    return bench.post(method, asked)


def _tools(bench: Bench) -> list[Any]:
    """The tools that it lists; the rule does not apply where it is no MCP server."""
    found = bench.list_tools().result
    if found is None or not isinstance(found.get("tools"), list):
        raise NotApplicable("it is no MCP server: it lists no tools")
    return list(found["tools"])


@HOSTILE.rule("mcp.initialize", PLUS)
def mcp_initialize(bench: Bench) -> None:
    """An agent that is an MCP server says in `initialize` which, and what it can do.

    R-MCP-01: document 000 section 2.2
    Mend: Answer initialize with protocolVersion, capabilities and serverInfo.
    """
    _tools(bench)
    hello = bench.exchanges[-2].answer.result or {}
    is_version = isinstance(hello.get("protocolVersion"), str)
    if not is_version or not isinstance(hello.get("serverInfo"), dict):
        raise Broken("`protocolVersion` and `serverInfo`", bench.exchanges[-2])
    offers = hello.get("capabilities")
    if not isinstance(offers, dict) or "tools" not in offers:
        raise Broken("`tools` among its `capabilities`", bench.exchanges[-2])


@HOSTILE.rule("mcp.tools-list", PLUS)
def mcp_tools_list(bench: Bench) -> None:
    """An agent that is an MCP server has a tool for the messages of this league.

    R-MCP-03: ours
    Mend: List a tool for each message, called like its method, with an inputSchema.
    """
    tools = [each for each in _tools(bench) if isinstance(each, dict)]
    method = bench.request(bench.control())["method"]
    if method not in [each.get("name") for each in tools]:
        raise Broken(f"a tool {spelled(method)}")
    for tool in tools:
        schema = tool.get("inputSchema")
        if not isinstance(schema, dict) or schema.get("type") != "object":
            raise Broken(f"an `inputSchema` of type object for {spelled(tool.get('name'))}")


@HOSTILE.rule("mcp.tools-call", PLUS)
def mcp_tools_call(bench: Bench) -> None:
    """An agent that is an MCP server answers a tool with the same as data and as text.

    R-MCP-04: ours
    Mend: Put the answer into `structuredContent`, and its JSON into content[0].text.
    """
    _tools(bench)
    asked = bench.request(bench.control())
    answer = _mcp(bench, "tools/call", {"name": asked["method"], "arguments": asked["params"]})
    expect_taken(bench, answer, "the tool takes the message")
    result = answer.result or {}
    content = result.get("content")
    parts = content if isinstance(content, list) else []
    texts = [each.get("text") for each in parts if isinstance(each, dict)]
    if not isinstance(result.get("structuredContent"), dict) or not texts:
        raise Broken("`structuredContent`, and the same as text")
    with suppress(ValueError, TypeError):
        if json.loads(str(texts[0])) == result["structuredContent"]:
            return
    raise Broken("the JSON of `structuredContent` in content[0].text")
