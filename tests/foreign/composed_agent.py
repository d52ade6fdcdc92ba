"""What composed players and referees have in common: how they are reached, answer and register.

A shape is a list of traits, like `seed=7,call=handler,under=payload`. wrappers.py has the traits of
requests, http_agent.py the ways to say no; those of every agent are these. What is not said is as
the documents have it.

    register  same (in its own wrapper), or tool, type, alias, message, mcp, bare, path, least
    meta      where name and end point stand in a registration: flat, or the name of the object
    name      how it names its name; endpoint: how its end point
    lacks     what its messages leave out, joined by +
    nulls     yes: what is unset is null
    stamp     how it writes times
    unknown   what it says to what it does not understand; unfit: to what does not fit
    place     where in an answer its content is, as names joined by a dot; text: as a JSON string;
              top: without JSON-RPC
    returns   the id of an answer: one, none, text
    late      seconds before it begins to listen; it registers at once
    path      of its end point: none (it listens at /mcp), root, deep
    threads   one
    http      what is odd in its HTTP
"""

import json
import threading
import urllib.error

from foreign import http_agent, wrappers
from foreign.http_agent import not_understood, post, serve, traits_of
from foreign.wrappers import Unknown, plain, spelled

STAMPS = {
    "utc": "2025-01-15T10:30:00Z",
    "micros": "2025-01-15T10:30:00.123456Z",
    "compact": "20250115T103000Z",
    "offset": "2025-01-15T10:30:00+00:00",
    "epoch": 1736937000.25,
}
TYPES = {
    "context": "object",
    "game_result": "object",
    "players": "array",
    "round_id": "integer",
}
PATHS = {"root": "/", "deep": "/agents/one/mcp"}


class Agent:
    """One composition at one port; a role says what it takes, and what it does then."""

    role, types, own_tools = "", (), ()

    def __init__(self, shape):
        self.traits = traits_of(shape)
        self.name, self.id, self.token = shape[:50], None, None
        self.manager, self.league_id = "", ""
        self.known = {wrappers.method_of(self.traits, kind): kind for kind in self.types}
        if self.trait("call") == "own":
            own = self.own_tools[int(self.trait("seed", "0")) % len(self.own_tools)]
            self.known = dict(zip(own, self.types, strict=False))
        odd = {"http": self.trait("http"), "threads": self.trait("threads") != "one"}
        self.server = serve(self.hear, after_seconds=float(self.trait("late", "0")), **odd)

    def trait(self, name, default=""):
        return self.traits.get(name, default)

    def listed(self, name):
        return [each for each in self.trait(name).split("+") if each]

    @property
    def url(self):
        path = {"none": "", "root": ""}.get(self.trait("path"), self.path)
        return f"http://127.0.0.1:{self.server.server_port}{path}"

    @property
    def path(self):
        return PATHS.get(self.trait("path"), "/mcp")

    @property
    def has_tools(self):
        return self.trait("call") in ("mcp", "own")

    # What it hears

    def hear(self, path, body):
        """Status and answer to a request."""
        if path != self.path:
            return 404, {"detail": "Not Found"}
        if not isinstance(body, dict):
            return not_understood(self.trait("unknown", "rpc"), {})
        if body.get("method") == "tools/list" and self.has_tools:
            return self.wrap(body, {"tools": self.tools()}, is_list=True)
        wanted = {"str": str, "int": int}.get(self.trait("id"))
        if wanted and "jsonrpc" in body and not isinstance(body.get("id"), wanted):
            return not_understood(self.trait("unfit", "list"), body, "id: wrong type id")
        try:
            kind, message = wrappers.read(self.traits, body, self.known)
        except Unknown:
            return not_understood(self.trait("unknown", "rpc"), body)
        lacking = [name for name in self.needs(kind) if message.get(name) in (None, "")]
        lacking = lacking or self.lacking(plain(message))
        if lacking:
            why = f"Field required: {lacking[0]}"
            return not_understood(self.trait("unfit", "list"), body, why)
        return self.wrap(body, self.respond(kind, plain(message)))

    def tools(self):
        """What tools/list says."""
        rows = []
        for name, kind in self.known.items():
            fields = self.listed_fields(kind)
            properties = {each: {"type": self.type_of(each)} for each in fields}
            schema = {"type": "object", "properties": properties, "required": fields}
            rows.append({"name": name, "description": f"For {kind}", "inputSchema": schema})
        return rows

    def listed_fields(self, kind):
        under = self.trait("under", "flat")
        if under != "flat":
            return ["envelope", "payload"] if under == "envelope" else [under]
        return [wrappers.spelled_name(self.traits, name) for name in self.takes(kind)]

    def type_of(self, name):
        """What a parameter of a tool holds."""
        is_whole = self.trait("under", "flat") != "flat"
        return "object" if is_whole else TYPES.get(wrappers.plain_name(name), "string")

    def needs(self, kind):
        """The fields without which it does not work."""
        is_listed = self.has_tools and self.trait("under", "flat") == "flat"
        return self.listed_fields(kind) if is_listed else []

    def lacking(self, message):
        """Fields that are there, and hold nothing it can use."""
        return []

    def takes(self, kind):
        raise NotImplementedError

    def respond(self, kind, message):
        raise NotImplementedError

    # What it says

    def enveloped(self, kind, fields):
        """A message without what this author leaves out."""
        is_null = self.trait("nulls") == "yes"
        message = {
            "protocol": "league.v2",
            "message_type": kind,
            "sender": f"{self.role}:{self.id or 'new'}",
            "timestamp": STAMPS[self.trait("stamp", "utc")],
            "conversation_id": "conv-17",
            "auth_token": self.token,
            **({"error": None, "reason": None, "metadata": None} if is_null else {}),
            **fields,
        }
        lacks = self.listed("lacks")
        return {
            name: value
            for name, value in message.items()
            if name not in lacks and (is_null or value is not None or name in fields)
        }

    def wrap(self, body, content, *, is_list=False):
        """Status and body of an answer."""
        place = self.trait("place")
        if not is_list:
            content = spelled(self.traits, content)
            for name in reversed(place.removeprefix("top").split(".")):
                content = json.dumps(content) if name == "text" else nested_in(name, content)
        if "jsonrpc" not in body or place == "top":
            return 200, content if isinstance(content, dict) else json.dumps(content)
        if self.has_tools and not is_list:
            text = content if isinstance(content, str) else json.dumps(content)
            content = {"content": [{"type": "text", "text": text}]}
        answer = {"jsonrpc": "2.0", "result": content}
        if self.trait("returns") != "none":
            returned = {"one": 1, "text": str(body.get("id"))}
            answer["id"] = returned.get(self.trait("returns"), body.get("id"))
        return 200, answer | ({"error": None} if self.trait("nulls") == "yes" else {})

    # What it does

    def register(self, manager):
        """Register; what the manager said if it did not take it."""
        self.manager, how = manager, self.trait("register", "same")
        kind = {"player": "LEAGUE", "referee": "REFEREE"}[self.role] + "_REGISTER_REQUEST"
        meta = {
            self.trait("name", "display_name"): self.name,
            self.trait("endpoint", "contact_endpoint"): self.url,
            "version": "1.0.0",
            "game_types": ["even_odd"],
        }
        where = self.trait("meta", f"{self.role}_meta")
        message = self.enveloped(kind, meta if where == "flat" else {where: meta})
        try:
            if how == "same":
                answer = post(manager, wrappers.request(self.traits, kind, message))
            else:
                meta = {"display_name": self.name, "contact_endpoint": self.url}
                message = {"message_type": kind, f"{self.role}_meta": meta}
                answer = http_agent.register(manager, how, message)
        except urllib.error.HTTPError as error:
            return f"HTTP {error.code} {error.read()[:300].decode()}"
        said = plain(wrappers.content_of(answer))
        self.id, self.token = said.get(f"{self.role}_id"), said.get("auth_token")
        self.league_id = said.get("league_id")
        return None if self.id else json.dumps(answer)[:300]


def nested_in(name, content):
    return {name: content} if name else content


def run(agent_type, manager, *shapes):
    """Agents of these shapes: all are registered, and serve until the process ends."""
    for shape in shapes:
        agent = agent_type(shape)
        refused = agent.register(manager)
        if refused:  # Its league goes on, and it is counted as one that could not register.
            agent.traits["register"] = "tool"
            agent.register(manager)
        print(json.dumps([agent.id, shape, refused]), flush=True)
    print("ready", flush=True)
    threading.Event().wait()
