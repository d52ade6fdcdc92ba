"""How composed agents wrap and name what they send, and what they understand: by traits.

call    tool, choose, TYPE, lower, Pascal, camel, camel_tool, handle_, on_, dotted: a method a
        message; handler: one method for all; bare; mcp: tools of the documented names; own:
        tools of other names
method  of a handler
under   where a handler has the message, or where a tool takes it; flat, or envelope: in two
names   snake or camel: how it names all fields
kind    how it names the type of a message
id      of a request: same (a number), str (it takes texts only), int (numbers only)
"""

import json
import re

TOOLS = {
    "LEAGUE_REGISTER_REQUEST": "register_player",
    "REFEREE_REGISTER_REQUEST": "register_referee",
    "GAME_INVITATION": "handle_game_invitation",
    "CHOOSE_PARITY_CALL": "parity_choose",
    "GAME_OVER": "notify_match_result",
    "GAME_JOIN_ACK": "game_join_ack",
    "CHOOSE_PARITY_RESPONSE": "choose_parity_response",
    "MATCH_RESULT_REPORT": "report_match_result",
    "ROUND_ANNOUNCEMENT": "notify_round",
    "START_MATCH": "start_match",
    "ASSIGN_MATCH": "assign_match",
    "MATCH_ASSIGNMENT": "match_assignment",
    "RUN_MATCH": "run_match",
    "LEAGUE_COMPLETED": "notify_league_completed",
}
ENVELOPE = ("protocol", "message_type", "sender", "timestamp", "conversation_id", "auth_token")
NO_MESSAGE = (None, {})


class Unknown(Exception):
    """It does not understand."""


def camel(name):
    head, *rest = name.split("_")
    return head + "".join(part.capitalize() for part in rest)


def pascal(kind):
    return "".join(part.capitalize() for part in kind.split("_"))


def lower_first(name):
    return name[:1].lower() + name[1:]


def is_to_manager(kind):
    return "REGISTER" in kind or "REPORT" in kind


STYLES = {
    "tool": lambda kind: TOOLS.get(kind, kind.lower()),
    "choose": lambda kind: {"CHOOSE_PARITY_CALL": "choose_parity"}.get(kind) or TOOLS[kind],
    "TYPE": str,
    "lower": str.lower,
    "Pascal": pascal,
    "camel": lambda kind: lower_first(pascal(kind)),
    "camel_tool": lambda kind: camel(TOOLS[kind]),
    "handle_": lambda kind: TOOLS[kind] if is_to_manager(kind) else f"handle_{kind.lower()}",
    "on_": lambda kind: TOOLS[kind] if is_to_manager(kind) else f"on_{kind.lower()}",
    "dotted": lambda kind: f"league.{kind.lower()}",
}


def method_of(traits, kind):
    """The method, or the tool, of a message of this type."""
    style = traits.get("call", "tool")
    return STYLES.get(style, STYLES["tool"])(kind)


def spelled(traits, value):
    """The fields of a value under the names that this author gives them."""
    if isinstance(value, list):
        return [spelled(traits, each) for each in value]
    if not isinstance(value, dict):
        return value
    kind = traits.get("kind")
    return {
        (
            kind if kind and name == "message_type" else camel(name) if is_camel(traits) else name
        ): spelled(traits, each)
        for name, each in value.items()
    }


def is_camel(traits):
    return traits.get("names") == "camel"


def plain(value):
    """The same with the documented names, as far as they are in another style."""
    if isinstance(value, dict):
        return {
            re.sub("(?<=[a-zA-Z0-9])([A-Z])", r"_\1", name).lower(): plain(each)
            for name, each in value.items()
        }
    return [plain(each) for each in value] if isinstance(value, list) else value


def plain_name(name):
    return next(iter(plain({name: 0})))


def request(traits, kind, message, number=1):
    """A request as this author writes it."""
    call, message = traits.get("call", "tool"), spelled(traits, message)
    if call == "bare":
        return message
    method = method_of(traits, kind)
    params = message
    if call == "handler":
        method, params = traits.get("method", "handle_message"), nested(traits, message)
    elif call in ("mcp", "own"):
        method, params = "tools/call", {"name": method, "arguments": nested(traits, message)}
    identity = f"req-{number:03}" if traits.get("id") == "str" else number
    return {"jsonrpc": "2.0", "method": method, "params": params, "id": identity}


def nested(traits, message):
    under = traits.get("under", "flat")
    if under == "flat":
        return message
    if under != "envelope":
        return {under: message}
    names = {name for each in ENVELOPE for name in (each, camel(each), traits.get("kind"))}
    parts = {True: {}, False: {}}
    for name, value in message.items():
        parts[name in names][name] = value
    return {"envelope": parts[True], "payload": parts[False]}


def read(traits, body, known):
    """Type and message of a request, for one that understands only this.

    `known`: method or tool -> type. Raises Unknown.
    """
    call, params = traits.get("call", "tool"), body.get("params")
    params = params if isinstance(params, dict) else {}
    method, by_type = body.get("method"), call in ("handler", "bare")
    if call == "bare":
        message = {} if "jsonrpc" in body else body
    elif call == "handler":
        is_called = method == traits.get("method", "handle_message")
        message = unnested(traits, params) if is_called else {}
    elif call in ("mcp", "own"):
        is_called = method == "tools/call"
        method = params.get("name") if is_called else None
        message = unnested(traits, params.get("arguments") or {})
    else:
        message = params
    name = traits.get("kind") or spelled_name(traits, "message_type")
    kind = message.get(name) if by_type else known.get(method)
    if kind not in known.values():
        raise Unknown
    return kind, message


def spelled_name(traits, name):
    return camel(name) if is_camel(traits) else name


def unnested(traits, params):
    under = traits.get("under", "flat")
    if under == "flat":
        return params
    if under == "envelope":
        parts = params.get("envelope"), params.get("payload")
        return {**parts[0], **parts[1]} if all(isinstance(p, dict) for p in parts) else {}
    inner = params.get(under)
    return inner if isinstance(inner, dict) else {}


def content_of(answer):
    """What an answer holds, for one that reads it leniently."""
    result = answer.get("result", answer) if isinstance(answer, dict) else {}
    if isinstance(result, dict) and isinstance(result.get("structuredContent"), dict):
        return result["structuredContent"]
    if isinstance(result, dict) and isinstance(result.get("content"), list):
        return json.loads(result["content"][0]["text"])
    return result
