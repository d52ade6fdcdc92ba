"""How rules for agents of any role write a message with one fault, and judge what came back."""

import json
import re
from typing import Any

import msgspec
from msgspec import Struct

from agentleague.conformance.bench import Bench, Fields
from agentleague.conformance.exchange import Answer
from agentleague.conformance.rules import Broken, NotApplicable
from agentleague.dialects.table import OURS
from agentleague.protocol.codec import encode
from agentleague.protocol.jsonrpc import Form
from agentleague.protocol.messages import MESSAGES
from agentleague.runtime.clock import stopwatch

ANY = "any"  # stands for the role in the ids of these rules
SHOWN_MAX = 100  # characters of a value in a sentence
BESIDE = 5  # so much shorter than any other deadline is that for whoever waits beside others
_E_CODE = re.compile(r"\bE\d{3}\b")


class Refusal(Struct):
    """How a message was refused, in JSON-RPC or without."""

    number: Any = None  # of JSON-RPC
    code: str = ""  # E021
    text: Any = None
    status: int = 200


def written(bench: Bench, message: Fields, **around: Any) -> Fields:
    """A message like `control` in the form that the agent understands; `around` replaces keys."""
    if bench.dialect is OURS:
        return bench.request(message, **around)
    usual = bench.usual()
    known = msgspec.convert(usual, MESSAGES[usual["message_type"]].cls)
    body: Fields = msgspec.json.decode(bench.dialect.write(known, bench.next_id(), bench.tools))
    inner = _nearest(body, usual)
    for name in usual.keys() | message.keys():
        if name not in message:
            inner.pop(name, None)
        elif name in inner or name not in usual:
            inner[name] = message[name]
    return body | around


def request(bench: Bench, message: Fields | None = None, **around: Any) -> Fields:
    """The same, for rules about JSON-RPC."""
    if bench.dialect.form is Form.BARE:
        raise NotApplicable("it is spoken to without JSON-RPC")
    return written(bench, message or bench.control(), **around)


def spelled(value: Any) -> str:
    """A value as JSON, for what is said to the author of an agent."""
    text = encode(value).decode()
    return text if len(text) <= SHOWN_MAX else f"{text[:SHOWN_MAX]}…"


def instead(fields: Fields, name: str) -> str:
    """The end of a sentence that says what a field should be: what it is."""
    return f", not {spelled(fields[name])}" if name in fields else "; it is missing"


def without(body: Fields, *names: str) -> Fields:
    """The same without these keys."""
    return {name: value for name, value in body.items() if name not in names}


def _nearest(body: Fields, message: Fields) -> Fields:
    """The object in a body that holds the message."""
    places = [body]
    for place in places:  # It grows while it is walked.
        places += [each for each in place.values() if isinstance(each, dict)]
    return max(places, key=lambda place: len(place.keys() & message.keys()))


def head(bench: Bench, length: int | None = None, *lines: str, version: str = "1.1") -> bytes:
    """The head of a POST as raw bytes."""
    peer = bench.peer
    usual = [f"{name}: {value}" for name, value in (peer.headers | {"Connection": "close"}).items()]
    said = [f"POST {peer.path} HTTP/{version}", f"Host: {peer.authority}", *usual, *lines]
    if length is not None:
        said.append(f"Content-Length: {length}")
    return "\r\n".join([*said, "", ""]).encode()


def body_of(bench: Bench, message: Fields | None = None) -> bytes:
    """A message as bytes."""
    return encode(written(bench, message or bench.control()))


def expect_taken(bench: Bench, answer: Answer, expected: str) -> None:
    """Break the rule unless the message was taken."""
    if not bench.is_taken(answer):
        raise Broken(expected, is_late=answer.is_late)


def try_message(bench: Bench, what: str, message: Fields, expected: str) -> None:
    """Break the rule unless this message is taken."""
    expect_taken(bench, bench.post(what, written(bench, message)), expected)


def refusal(answer: Answer) -> Refusal | None:
    """How an answer refuses; None if it does not."""
    body = answer.fields() or {}
    inner = body.get("result") if isinstance(body.get("result"), dict) else body
    error = body.get("error")
    status = answer.status or 0
    if isinstance(error, dict):
        data = error.get("data")
        inside = data.get("error_code") if isinstance(data, dict) else None
        said = [inside, *_E_CODE.findall(str(error.get("message")))]
        code = next((each for each in said if isinstance(each, str)), "")
        return Refusal(error.get("code"), code, error.get("message"), status)
    named = inner.get("error_code") if isinstance(inner, dict) else None
    if error or isinstance(named, str):
        return Refusal(None, named if isinstance(named, str) else "", error, status)
    return Refusal(status=status) if status >= 400 else None


def soon(bench: Bench) -> float:
    """The seconds in which a small thing is done that needs none of the league's deadlines."""
    return bench.limits.reply / BESIDE


def as_usual(bench: Bench) -> float:
    """The seconds in which it answers an ordinary message, found by asking, and `soon`."""
    return bench.ask(bench.control()).seconds + soon(bench)


def is_free(bench: Bench, seconds: float) -> bool:
    """Whether it takes a message in so many seconds, now or a little later; this waits for it."""
    until = stopwatch() + bench.limits.connect
    while stopwatch() < until:
        if bench.is_taken(bench.ask(bench.control(), seconds=seconds)):
            return True
    return False


def expect_refusal(bench: Bench, answer: Answer, number: int, code: str = "") -> None:
    """Break the rule unless it was refused for this reason, and an ordinary message is not."""
    bench.expect_answer(answer)
    found = refusal(answer)
    expected = f"an error with the code {number}" + (f" or {code}" if code else "")
    if found is None or not (found.number == number or (code and found.code == code)):
        raise Broken(expected)
    bench.still_takes("it")


def expect_survival(bench: Bench, answer: Answer, what: str, *, may_close: bool = True) -> None:
    """Break the rule unless it answered like a server that is well, and goes on."""
    has_failed = answer.status is not None and answer.status >= 500 and answer.status != 501
    if has_failed or answer.is_late or (answer.status is None and not may_close):
        raise Broken(f"an answer to {what}, and not HTTP 500 or the like", is_late=answer.is_late)
    bench.still_takes(what)


def reordered(body: Fields) -> bytes:
    """The same JSON, spread over lines, its keys the other way round."""
    turned = {
        name: dict(reversed(value.items())) if isinstance(value, dict) else value
        for name, value in reversed(body.items())
    }
    return json.dumps(turned, indent=4).encode()
