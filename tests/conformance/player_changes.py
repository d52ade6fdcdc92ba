"""What a relay can change of what a player says and hears: each returns the hooks of a relay."""

import json
import re
import urllib.request
from contextlib import suppress
from types import SimpleNamespace

from conformance.between import IN, Cut, nothing

INVITATION, CALL, OVER = "GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER"
ROUND, TABLE, ROUND_OVER = "ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED"
ANSWERS = {"GAME_JOIN_ACK": INVITATION, "CHOOSE_PARITY_RESPONSE": CALL}
INSIDE = ("arguments", "message", "structuredContent")
ENVELOPE = ("protocol", "sender", "timestamp", "conversation_id")


def message_in(said):
    """The message, in whatever form."""
    found = said.message
    while inner := next((found[name] for name in INSIDE if isinstance(found.get(name), dict)), {}):
        found = inner
    return found


def is_for(*names):
    """Whether a request is of one of these types, or of any if there are none."""
    return lambda passing: (
        passing.direction == IN
        and (not names or message_in(passing.request).get("message_type") in names)
    )


def is_answer_to(passing, *names):
    """Whether this is an answer to one of these messages, in whatever form it was asked."""
    answer = ANSWERS.get(message_in(passing.answer).get("message_type"))
    return passing.direction == IN and (is_for(*names)(passing) or answer in names)


def answers(changed, *names):
    """After: change fields of the answers to these messages, wherever they stand."""

    def after(passing):
        if is_answer_to(passing, *names) and isinstance(passing.answer.fields, dict):
            passing.answer.fields = changed_in(passing.answer.fields, changed)

    return lambda around: (nothing, after)


def changed_in(found, changed):
    """The same with these fields changed in each message in it; ... leaves a field out."""
    if not isinstance(found, dict):
        return found
    said = {name: changed_in(value, changed) for name, value in found.items()}
    if isinstance(said.get("structuredContent"), dict):
        text = json.dumps(said["structuredContent"])
        said["content"] = [{"type": "text", "text": text}]
    if ("timestamp" in said and "sender" in said) or said.get("status") == "ACKNOWLEDGED":
        said |= changed
    return {name: value for name, value in said.items() if value is not ...}


def refuses(is_meant, number=-32602, **said):
    """Before: refuse what is meant with this error."""

    def before(passing):
        if passing.direction == IN and not passing.is_raw and is_meant(passing):
            asked = passing.request.fields
            ident = asked.get("id") if isinstance(asked, dict) else None
            error = {"code": number, "message": "no", **said}
            passing.reply({"jsonrpc": "2.0", "id": ident, "error": error})

    return lambda around: (before, nothing)


def breaks(is_meant):
    """Before: fail with HTTP 500 at what is meant."""

    def before(passing):
        if passing.direction == IN and not passing.is_raw and is_meant(passing):
            passing.reply(status=500, body=b"Internal Server Error")

    return lambda around: (before, nothing)


def on_raw(meant, reply):
    """Before: do something to requests that are no POST with a length."""

    def before(passing):
        if passing.direction == IN and re.search(meant, passing.head):
            reply(passing)

    return lambda around: (before, nothing)


def cut(passing):
    raise Cut


def has(name, test):
    """Whether a field of the message is so."""
    return lambda passing: (
        name in message_in(passing.request) and test(message_in(passing.request)[name])
    )


def contains(pattern):
    return lambda passing: re.search(pattern, passing.request.body)


def lacks(name, *names):
    """Whether a message of these types lacks a field."""
    return lambda passing: is_for(*names)(passing) and name not in message_in(passing.request)


def meta(**changed):
    """A registration in which this is changed; ... leaves a field out."""

    def registers(body):
        said = body["params"]["player_meta"]
        said |= changed
        for name in [name for name, value in said.items() if value is ...]:
            del said[name]
        return [body]

    return registers


def params(**changed):
    """The same around `player_meta`."""

    def registers(body):
        body["params"] |= changed
        return [body]

    return registers


def error_as(passing, ident=None, **said):
    passing.reply({"jsonrpc": "2.0", "id": ident, "error": {"message": "no", **said}})


# Players that remember something.


def remembers(name, is_meant, act, *, over=OVER):
    """Before: `act` on a message of this type about which `is_meant(matches, match)` says so."""

    def make(around):
        seen = {}

        def before(passing):
            if passing.direction != IN or passing.is_raw:
                return
            message = message_in(passing.request)
            match, kind = message.get("match_id"), message.get("message_type")
            if not isinstance(match, str):
                return
            if kind == name and is_meant(seen.get(match, [])):
                act(passing)
            seen.setdefault(match, []).append(kind)

        return before, nothing

    return make


def fail(passing):
    passing.reply(status=500, body=b"oh")


def no(passing):
    asked = passing.request.fields or {}
    error_as(passing, asked.get("id"), code=-32602)


def one_match_for_all(around):
    state = SimpleNamespace(last="")

    def before(passing):
        if is_for(INVITATION)(passing):
            state.last = message_in(passing.request).get("match_id", "")

    def after(passing):
        if is_for(CALL)(passing) and message_in(passing.answer).get("match_id"):
            passing.answer.say(match_id=state.last)

    return before, after


def tells_the_manager(around):
    def after(passing):
        choice = message_in(passing.answer).get("parity_choice")
        if is_for(CALL)(passing) and choice:
            said = {"jsonrpc": "2.0", "id": 1, "method": "CHOOSE_PARITY_RESPONSE"}
            body = json.dumps(said | {"params": {"parity_choice": choice}}).encode()
            request = urllib.request.Request(around.manager(), body)
            with suppress(OSError), urllib.request.urlopen(request, timeout=5):
                pass

    return nothing, after


def needs_its_manager(around):
    def before(passing):
        if is_for(CALL)(passing) and around.manager_is_away():
            fail(passing)

    return before, nothing


def swaps_ids(around):
    def after(passing):
        asked = passing.request.fields
        if is_for(INVITATION)(passing) and type(asked.get("id")) is int and around.is_busy():
            passing.answer.fields = passing.answer.fields | {"id": asked["id"] - 2}

    return nothing, after


def pushes_anew(around):
    """A whole other way, which the documents allow: acknowledge, and bring the answer later."""

    def after(passing):
        said, url = message_in(passing.answer), message_in(passing.request).get("referee_endpoint")
        found = passing.answer.fields
        url = url or around.url(passing.request.body)
        if is_answer_to(passing, INVITATION, CALL) and "match_id" in said and type(url) is str:
            around.push(url, said)
            ack = {"status": "ACKNOWLEDGED"}
            text = {"type": "text", "text": json.dumps(ack)}
            is_tool = "content" in (found.get("result") or {})
            result = {"content": [text], "structuredContent": ack} if is_tool else ack
            rpc = {"jsonrpc": "2.0", "id": found.get("id"), "result": result}
            passing.answer.fields = rpc if "jsonrpc" in found else ack

    return nothing, after


def pushes_without_its_name(around):
    """The same, and its choice does not say who makes it."""

    def push(url, message):
        is_choice = "parity_choice" in message
        left_out = ("player_id",) if is_choice else ()
        around.push(url, {name: value for name, value in message.items() if name not in left_out})

    return pushes_anew(SimpleNamespace(url=around.url, push=push))


def tires(matches):
    """A player that breaks at this match of those that come right after one another."""
    order = [INVITATION, CALL, OVER]

    def make(around):
        heard = []

        def before(passing):
            if passing.direction != IN or passing.is_raw:
                return
            kind = message_in(passing.request).get("message_type")
            if kind != order[len(heard) % 3]:
                heard.clear()
            heard.append(kind)
            if len(heard) > 3 * matches - 3:
                fail(passing)

        return before, nothing

    return make


def answers_all(is_meant, result):
    """Before: answer what is meant with a result."""

    def before(passing):
        if passing.direction == IN and not passing.is_raw and is_meant(passing):
            asked = passing.request.fields
            ident = asked.get("id") if isinstance(asked, dict) else None
            passing.reply({"jsonrpc": "2.0", "id": ident, "result": result})

    return lambda around: (before, nothing)


def asks(test):
    """Whether the body is an object for which this holds."""
    return lambda passing: isinstance(passing.request.fields, dict) and test(passing.request.fields)


def is_result(answer):
    return isinstance(answer.fields, dict) and "result" in answer.fields


def every_answer(change):
    """After: change every answer of the player that is JSON."""

    def after(passing):
        if passing.direction == IN and isinstance(passing.answer.fields, dict):
            change(passing.answer, passing)

    return lambda around: (nothing, after)


def with_key(name, value):
    def change(answer, passing):
        if is_result(answer):
            answer.fields = answer.fields | {name: value}

    return change


def id_as(kind, make):
    def change(answer, passing):
        if is_result(answer) and type(answer.fields.get("id")) is kind:
            answer.fields = answer.fields | {"id": make(answer.fields["id"])}

    return change


def without_key(name):
    def change(answer, passing):
        answer.fields = {key: value for key, value in answer.fields.items() if key != name}

    return change


def head_says(pattern):
    return lambda passing: re.search(pattern, passing.head)


def deeper_than(levels):
    return lambda passing: passing.request.body.count(b"[") > levels


def form_is(form):
    def is_it(passing):
        asked = passing.request.fields
        if not isinstance(asked, dict):
            return False
        inner = asked.get("params")
        forms = {
            "bare": "jsonrpc" not in asked and "message_type" in asked,
            "tool": asked.get("method") == "tools/call",
            "nested": isinstance(inner, dict) and "message" in inner,
            "type": asked.get("method") == INVITATION and "match_id" in (inner or {}),
            "flat": str(asked.get("method", "")).islower() and asked["method"] != "tools/call",
        }
        return forms[form]

    return is_it


def after_for(is_meant, change):
    def after(passing):
        if passing.direction == IN and not passing.is_raw and is_meant(passing):
            change(passing.answer, passing)

    return lambda around: (nothing, after)


def as_bare(answer, passing):
    answer.fields = answer.message


def as_text(answer, passing):
    answer.body = b"<html>bad request</html>"
    answer.status = 400


def as_rpc(answer, passing):
    answer.fields = {"jsonrpc": "2.0", "id": 1, "result": answer.message}


def as_plain_result(answer, passing):
    found = answer.fields or {}
    inner = found.get("result", {}).get("structuredContent")
    if inner:
        answer.fields = found | {"result": inner}


def mcp(method, change):
    """After: change the result of this method."""

    def after(passing):
        asked = passing.request.fields
        is_it = isinstance(asked, dict) and asked.get("method") == method
        if passing.direction == IN and is_it and is_result(passing.answer):
            result = passing.answer.fields["result"]
            change(result)
            passing.answer.fields = passing.answer.fields | {"result": result}

    return lambda around: (nothing, after)


def drop(name):
    return lambda result: result.pop(name, None)


def no_schemas(result):
    for tool in result["tools"]:
        tool["inputSchema"] = None


def heard(rewrite):
    """Before: the player hears something else than was said."""

    def before(passing):
        if passing.direction == IN and not passing.is_raw:
            passing.request.body = rewrite(passing.request.body)

    return lambda around: (before, nothing)


def header(name, value, *, when=lambda passing: True):
    def after(passing):
        if passing.direction == IN and when(passing):
            passing.answer.headers = {name: value}

    return lambda around: (nothing, after)


def without_id(answer):
    answer.fields = answer.fields | {"id": None}


def standings_in(context):
    """Whether a context that is no fault of another kind tells the standings."""
    return context is None or "your_standings" in context


def error_as_text(answer):
    found = answer.fields
    found["error"]["code"] = str(found["error"]["code"])
    answer.fields = found
