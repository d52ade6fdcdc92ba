"""An HTTP end of somebody else's agent, with the standard library alone."""

import http.server as http_server
import json
import threading
import urllib.request
from contextlib import suppress

DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def traits_of(shape):
    """A shape like `call=type,unknown=ok` as a dictionary."""
    pairs = [trait.partition("=") for trait in shape.split(",")]
    return {name: value for name, _, value in pairs}


def serve(hear, host="127.0.0.1", port=0, after_seconds=0, *, http="", threads=True):
    """A server on a port of its own; `hear(path, body)` gives status and answer of each request.

    Before it listens, the port is its own, and nobody can connect to it. `http` is a way in which
    its HTTP is odd.
    """
    version = "HTTP/1.0" if http in ("1.0", "eof") or not threads else "HTTP/1.1"
    members = {"hear": staticmethod(hear), "http": http, "protocol_version": version}
    cls = http_server.ThreadingHTTPServer if threads else http_server.HTTPServer
    handler = type("Handler", (Handler,), members)
    server = cls((host, port), handler, bind_and_activate=False)
    server.daemon_threads = True
    server.server_bind()

    def listen():
        server.server_activate()
        server.serve_forever()

    begin = threading.Timer(after_seconds, listen)
    begin.daemon = True
    (begin.start if after_seconds else threading.Thread(target=listen, daemon=True).start)()
    return server


def at_mcp(answer):
    """For one that hears what is sent to /mcp, and has no other path."""
    return lambda path, body: answer(body) if path == "/mcp" else (404, {"detail": "?"})


class Handler(http_server.BaseHTTPRequestHandler):
    """Passes requests to the agent of its port."""

    hear, http = None, ""

    def handle(self):
        with suppress(ConnectionError):  # The other end may have what it wanted.
            super().handle()

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        try:
            body = json.loads(body)
        except ValueError:
            body = {}
        status, answer = self.hear(self.path, body)
        indent = 2 if self.http == "indent" else None
        text = answer if isinstance(answer, str) else json.dumps(answer, indent=indent)
        if self.http == "crlf":
            text += "\r\n"
        self.respond(201 if self.http == "201" and status == 200 else status, answer, text.encode())

    def respond(self, status, answer, text):
        """Send it, in this author's way."""
        name = str.lower if self.http == "lower" else str
        self.send_response(status)
        kind = "text/html" if isinstance(answer, str) else "application/json"
        kind = {"text": "text/plain", "charset": f"{kind}; charset=utf-8"}.get(self.http, kind)
        self.send_header(name("Content-Type"), kind)
        if self.http == "close":
            self.send_header("Connection", "close")
        if self.http == "chunked":
            self.send_header("Transfer-Encoding", "chunked")
            half = len(text) // 2 + 1
            chunks = [text[at : at + half] for at in (0, half) if text[at : at + half]]
            text = b"".join(b"%x\r\n%b\r\n" % (len(chunk), chunk) for chunk in [*chunks, b""])
        elif self.http != "eof":
            self.send_header(name("Content-Length"), str(len(text)))
        self.end_headers()
        self.wfile.write(text)

    def log_message(self, *arguments):
        pass


def not_understood(how, body, why="Method not found"):
    """Status and answer of one that does not understand, and says so in one of many ways."""
    if how.isdigit():
        return int(how), {"detail": "no" if why == "Method not found" else why}
    error = {"code": -32601 if why == "Method not found" else -32602, "message": why}
    missing = why.rpartition(" ")[2]
    return {
        "rpc": (200, {"jsonrpc": "2.0", "error": error, "id": body.get("id")}),
        "rpc400": (400, {"jsonrpc": "2.0", "error": error, "id": None}),
        "ok": (200, {"status": "ok"}),
        "type": (200, {"jsonrpc": "2.0", "result": {"status": "unknown_message_type"}, "id": 1}),
        "inside": (200, {"jsonrpc": "2.0", "result": {"error": "Unknown method"}, "id": 1}),
        "success": (200, {"success": False, "message": why}),
        "html": (500, "<!doctype html><title>500</title><h1>Internal Server Error</h1>"),
        "text": (400, why),
        "list": (422, {"detail": [{"loc": ["body", missing], "msg": "Field required"}]}),
    }[how]


def post(url, value):
    """What a request is answered with."""
    request = urllib.request.Request(url, json.dumps(value).encode())
    request.add_header("Content-Type", "application/json")
    with DIRECT.open(request, timeout=60) as answer:
        return json.load(answer)


def spelled(pattern, kind):
    """A method by a pattern in which MessageType, messageType or message-type is the type."""
    title = kind.title().replace("_", "")
    spellings = {
        "MessageType": title,
        "messageType": title[0].lower() + title[1:],
        "message-type": kind.lower().replace("_", "-"),
    }
    for place, name in spellings.items():
        pattern = pattern.replace(place, name)
    return pattern


def wrapped(call, message, request_id):
    """A message in a wrapper like `Method(key)`, without JSON-RPC if there is no method."""
    pattern, _, key = call.removesuffix(")").partition("(")
    params = {key: message} if key else message
    if not pattern:
        return params
    method = spelled(pattern, message["message_type"])
    return {"jsonrpc": "2.0", "method": method, "params": params, "id": request_id}


def register(manager, how, message, request_id=1):
    """Register in one of the ways that were seen; what the manager answered."""
    if "(" in how:
        return post(manager, wrapped(how, message, request_id))
    kind = "player" if "player_meta" in message else "referee"
    meta = message[f"{kind}_meta"]
    path = f"{manager.removesuffix('/mcp')}/register"
    if how == "least":
        return post(path, {"name": meta["display_name"], "endpoint": meta["contact_endpoint"]})
    if how == "shared":  # A path for both kinds of agents; a referee has no name there.
        said = {"agent_type": kind, "endpoint": meta["contact_endpoint"].removeprefix("http://")}
        name = {"display_name": meta["display_name"]} if kind == "player" else {"sender": "R7"}
        return post(path, {**said, **name})
    if how == "nulls":  # As a dataclass writes it.
        message = {**message, **dict.fromkeys(("auth_token", "sender", "timestamp", "protocol"))}
        message[f"{kind}_meta"] = {**meta, **dict.fromkeys(("version", "game_types", "join_code"))}
        how = "bare"
    if how == "path":
        return post(path, message)
    if how == "bare":
        return post(manager, message)
    aliases = {"player": "league_register", "referee": "referee_register"}
    method, params = {
        "tool": (f"register_{kind}", message),
        "type": (message["message_type"], message),
        "alias": (aliases[kind], {f"{kind}_meta": meta}),
        "message": ("handle_message", {"message": message}),
        "mcp": ("tools/call", {"name": f"register_{kind}", "arguments": message}),
    }[how]
    return post(manager, {"jsonrpc": "2.0", "method": method, "params": params, "id": request_id})
