"""Foreign players: python players.py MANAGER SHAPE [SHAPE …], with the standard library alone.

A shape is a list of traits, like `call=type,unknown=ok,answer=choice`. What is not said is as the
documents have it. Each shape is a player with a port of its own.

    call      what it understands: tool, choose, type, lower, message, bare, mcp, or own (MCP with
              names of its own), or Method(key): this method, which may have MessageType in it,
              with the message in that key; without a method no JSON-RPC
    takes     flat or one: its own tools list their parameters, and want no others
    unknown   what it says to the rest: rpc, ok, type, inside, or an HTTP status
    answer    documented, choice, ack, typed, bare, null, one (always id 1), push, first, or stray
              (it pushes with the token of an older run, and names itself only as the sender)
    register  tool, type, alias, message, mcp, bare, path, least, shared, nulls, or Method(key) as
              above
    yes       REGISTERED: it takes no other word for it, and asks until it is told so
    listens   so many seconds after it began to register
    ids       text: its ids are texts, and it wants no others
    types     what it calls an invitation
    strict    fields (none unknown), nulls, ids (integers only)
    needs     names of fields without which it does not work, joined by +
    context   the name under which it wants the context of a call for its move
    within    the name of an object in which it wants the match and the role of an invitation
    says      why: it says which field it misses
    busy      refuses a second invitation until it hears of the end of its match
    limit     requests after which it wants to be left alone once
    ends      it answers nobody after LEAGUE_COMPLETED
    path      it listens at /mcp and registers without that
    moves     even or odd
    at        the address and port that it listens at
"""

import json
import sys
import threading
from pathlib import Path

if __name__ == "__main__":  # It runs apart from everything else, and finds its neighbour by itself.
    sys.path.append(str(Path(__file__).parents[1]))

from foreign.http_agent import (
    at_mcp,
    not_understood,
    post,
    register,
    serve,
    spelled,
    traits_of,
)

TOOLS = {
    "handle_game_invitation": "GAME_INVITATION",
    "parity_choose": "CHOOSE_PARITY_CALL",
    "notify_match_result": "GAME_OVER",
}
KNOWN = ("GAME_INVITATION", "CHOOSE_PARITY_CALL", "GAME_OVER", "LEAGUE_COMPLETED")
OWN = {
    "join_game_invite": "GAME_INVITATION",
    "make_parity_decision": "CHOOSE_PARITY_CALL",
    "on_result": "GAME_OVER",
}
DOCUMENTED = {
    "GAME_INVITATION": "league_id round_id match_id game_type role_in_match opponent_id",
    "CHOOSE_PARITY_CALL": "match_id player_id game_type context deadline",
    "GAME_OVER": "match_id game_type game_result",
}
ENVELOPE = "protocol message_type sender timestamp conversation_id auth_token"
FLAT = {
    "join_game_invite": {"match": "string", "role": "string", "round": "string"},
    "make_parity_decision": {"matchId": "string", "opponent": "string"},
    "on_result": {"match_id": "string", "winner": "string"},
}


class Unknown(Exception):
    """It does not understand."""


class Broken(Exception):
    """It understands, and cannot work with it; the HTTP status, and the field that it misses."""


def methods(call):
    """Method -> the message it is for, as one of these has it."""
    if call == "choose":
        return {name.replace("parity_choose", "choose_parity"): TOOLS[name] for name in TOOLS}
    if call in ("type", "lower"):
        return {name if call == "type" else name.lower(): name for name in KNOWN}
    return OWN if call == "own" else TOOLS


def take_apart(call, body, invitation="GAME_INVITATION"):
    """The message in a request, for one that understands only `Method(key)`."""
    pattern, _, key = call.removesuffix(")").partition("(")
    params = body.get("params") if pattern else body
    message = (params or {}).get(key) if key else params
    if not isinstance(message, dict) or (not pattern and "jsonrpc" in body):
        raise Unknown
    name = message.get("message_type")
    if name == invitation:
        message = {**message, "message_type": "GAME_INVITATION"}
    elif name == "GAME_INVITATION":
        raise Unknown
    is_called = not pattern or body.get("method") == spelled(pattern, str(name))
    return known(message, is_called)


def by_parameters(takes, name, arguments):
    """The message in the arguments of a tool that lists its parameters, and wants no others."""
    wanted = FLAT[name] if takes == "flat" else {"req": "object"}
    if set(arguments) - set(wanted) or (takes == "one" and "req" not in arguments):
        raise Broken(500)
    for each, kind in wanted.items() if takes == "flat" else ():
        if kind == "string" and not isinstance(arguments.get(each, ""), str):
            raise Broken(500)
        if each not in arguments and each != "winner":
            raise Broken(500, each)
    message = arguments.get("req", arguments)
    match_id = message.get("match") or message.get("matchId") or message["match_id"]
    return {**message, "match_id": match_id}


def unwrap(traits, body):
    """The message in a request, for one that understands only this."""
    method, params, call = body.get("method"), body.get("params"), traits.get("call", "tool")
    if "(" in call:
        return take_apart(call, body, traits.get("types", "GAME_INVITATION"))
    if call == "bare":
        return known(body, "jsonrpc" not in body)
    if call == "message":
        return known((params or {}).get("message", {}), method == "handle_message")
    if call in ("mcp", "own"):
        is_called = method == "tools/call"
        method, params = (params["name"], params["arguments"]) if is_called else ("", {})
        if is_called and "takes" in traits and method in FLAT:
            params = by_parameters(traits["takes"], method, params)
    return known({**(params or {}), "message_type": methods(call).get(method)}, method)


def known(message, is_right):
    if not is_right or message.get("message_type") not in KNOWN:
        raise Unknown
    return message


def check(traits, message):
    """Refuse what this author never thought of."""
    strict, name = traits.get("strict", ""), message["message_type"]
    if "fields" in strict and name in DOCUMENTED:
        allowed = f"{ENVELOPE} {DOCUMENTED[name]}".split()
        if set(message) - set(allowed):
            raise Broken(422)
    if "nulls" in strict and ": null" in json.dumps(message):
        raise Broken(500)
    if name in ("GAME_INVITATION", "CHOOSE_PARITY_CALL"):
        check_needs(traits, message, is_join=name == "GAME_INVITATION")


def check_needs(traits, message, is_join):
    needs = [each for each in traits.get("needs", "").split("+") if each]
    needs.append(traits.get("within" if is_join else "context", "match_id"))
    for field in needs:
        if not message.get(field):
            raise Broken(400, field)
    if is_join and "within" in traits and "role_in_match" not in message[traits["within"]]:
        raise Broken(400)
    if "needs" in traits and not isinstance(message.get("round_id", 1), int):
        raise Broken(400)


class Player:
    """One shape at one port."""

    def __init__(self, shape):
        self.traits = traits_of(shape)
        self.name, self.match, self.asked = shape[:50], None, 0
        self.limit, self.is_over = int(self.traits.get("limit", 0)), False
        self.host, _, port = self.traits.get("at", "127.0.0.1:0").partition(":")
        late = float(self.traits.get("listens", 0))
        self.server = serve(at_mcp(self.hear), self.host, int(port), late)

    @property
    def url(self):
        path = "" if "path" in self.traits else "/mcp"
        return f"http://{self.host}:{self.server.server_port}{path}"

    def hear(self, body):
        return (503, {"detail": "gone"}) if self.is_over else self.answer(body)

    def answer(self, body):
        """Status and body of an answer to a request."""
        self.asked += 1
        if self.limit and self.asked > self.limit:
            self.limit = 0
            error = {"code": -32000, "message": "Rate limit exceeded"}
            return 200, {"jsonrpc": "2.0", "error": error, "id": body.get("id")}
        call = self.traits.get("call", "tool")
        if body.get("method") == "tools/list" and call in ("mcp", "own"):
            names = OWN if call == "own" else TOOLS
            return self.wrap(body, {"tools": [self.described(name) for name in names]})
        if "ids" in self.traits.get("strict", "") and not isinstance(body.get("id", 1), int):
            return 500, "an id is a number"
        if self.traits.get("ids") == "text" and not isinstance(body.get("id", ""), str):
            return 422, {"detail": [{"loc": ["body", "id"], "msg": "Input should be a string"}]}
        try:
            message = unwrap(self.traits, body)
            check(self.traits, message)
        except Unknown:
            return not_understood(self.traits.get("unknown", "rpc"), body)
        except Broken as error:
            status, *missing = error.args
            if missing and "says" in self.traits:
                place = {"loc": ["body", "params", *missing], "msg": "Field required"}
                return 422, {"detail": [{"type": "missing", **place}]}
            return status, {"detail": "unexpected"}
        return self.respond(body, message)

    def described(self, name):
        """A row of tools/list."""
        if "takes" not in self.traits:
            return {"name": name}
        takes = FLAT[name] if self.traits["takes"] == "flat" else {"req": "object"}
        properties = {each: {"type": kind} for each, kind in takes.items()}
        return {"name": name, "inputSchema": {"type": "object", "properties": properties}}

    def respond(self, body, message):
        kind, how = message["message_type"], self.traits.get("answer", "documented")
        if kind in ("GAME_OVER", "LEAGUE_COMPLETED"):
            self.match, self.is_over = None, "ends" in self.traits and kind == "LEAGUE_COMPLETED"
            return self.wrap(body, {"status": "ok"})
        if kind == "GAME_INVITATION":
            if "busy" in self.traits and self.match not in (None, message["match_id"]):
                return self.wrap(body, {"accept": False, "reason": "in a match"})
            self.match = message["match_id"]
        content = self.content(kind, message, how)
        if how in ("push", "first", "stray"):
            pushed = {**content, "match_id": message["match_id"], "player_id": message["player_id"]}
            if how == "stray":
                own = {"sender": f"player:{pushed.pop('player_id')}"}
                pushed |= {**own, "auth_token": "tok-of-an-older-run"}
            send = threading.Thread(target=post, args=(message["referee_endpoint"], pushed))
            send.start()
            if how == "first":
                send.join()
            return 200, {"status": "ok"}
        return self.wrap(body, content)

    def content(self, kind, message, how):
        is_join, move = kind == "GAME_INVITATION", self.traits.get("moves", "even")
        if how == "choice":
            return {"accepted": True} if is_join else {"choice": move, "player_id": "P01"}
        if how == "ack":
            return {"status": "ACK"} if is_join else {"parity_choice": move}
        if how == "typed":
            typed = "GAME_JOIN_ACK" if is_join else "CHOOSE_PARITY_RESPONSE"
            return {"message_type": typed} | ({} if is_join else {"parity_choice": move})
        more = {"accept": True} if is_join else {"parity_choice": move}
        return {
            "message_type": "GAME_JOIN_ACK" if is_join else "CHOOSE_PARITY_RESPONSE",
            "timestamp": "20250115T103000Z",
            "sender": "player:P01",
            **more,
        }

    def wrap(self, body, content):
        how, call = self.traits.get("answer", "documented"), self.traits.get("call", "tool")
        if call == "bare" or call.startswith("(") or how == "bare":
            return 200, content
        answer = {"jsonrpc": "2.0", "result": content, "id": body.get("id")}
        if how == "one":
            answer["id"] = 1
        if how == "null":
            answer["error"] = None
        if call in ("mcp", "own") and "tools" not in content:
            answer["result"] = {"content": [{"type": "text", "text": json.dumps(content)}]}
        return 200, answer

    def register(self, manager):
        meta = {"display_name": self.name, "contact_endpoint": self.url}
        message = {"message_type": "LEAGUE_REGISTER_REQUEST", "player_meta": meta}
        request_id = "one" if self.traits.get("ids") == "text" else 1
        for _ in range(5 if "yes" in self.traits else 1):
            said = register(manager, self.traits.get("register", "tool"), message, request_id)
            if said.get("status") == self.traits.get("yes"):
                return
        assert "yes" not in self.traits, said


def main(manager, *shapes):
    for shape in shapes:
        player = Player(shape)
        print(player.url, flush=True)
        if manager != "-" and player.traits.get("register") != "never":
            player.register(manager)
    print("ready", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
