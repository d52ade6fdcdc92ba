"""Agents that steal tokens: plain HTTP servers that keep all they are sent, and attack."""

import json
import threading
import time
import urllib.error
import urllib.request
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))
SECONDS = 30
ANSWERS = {
    "GAME_INVITATION": ("GAME_JOIN_ACK", {"accept": True}),
    "CHOOSE_PARITY_CALL": ("CHOOSE_PARITY_RESPONSE", {"parity_choice": "even"}),
}


def message(name, sender="player:somebody", **fields):
    """A message as any program could write it; a field that is None is left out."""
    written = {
        "protocol": "league.v2",
        "message_type": name,
        "sender": sender,
        "timestamp": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "conversation_id": "conv-spy",
        **fields,
    }
    return {field: value for field, value in written.items() if value is not None}


def post(url, said):
    """What comes back: the result, or the error's message."""
    body = json.dumps({"jsonrpc": "2.0", "method": said["message_type"], "params": said, "id": 1})
    request = urllib.request.Request(
        url, body.encode(), {"Content-Type": "application/json"}, method="POST"
    )
    try:
        with DIRECT.open(request, timeout=SECONDS) as came:
            answer = json.loads(came.read())
    except urllib.error.HTTPError as error:
        answer = json.loads(error.read())
    return answer["result"] if "result" in answer else answer["error"]["data"]


def register(manager, kind, name, endpoint, token=None, **meta):
    """What the manager answers to an agent that says this of itself."""
    types = {"player": "LEAGUE_REGISTER_REQUEST", "referee": "REFEREE_REGISTER_REQUEST"}
    told = {"display_name": name, "contact_endpoint": endpoint, "version": "1.0.0", **meta}
    told["game_types"] = ["even_odd"]
    said = message(types[kind], f"{kind}:{name}", auth_token=token, **{f"{kind}_meta": told})
    return post(manager, said)


def report(match_id, winner, token, sender="referee:REF01"):
    result = {"winner": winner, "score": {winner: 3}, "details": {}}
    return message(
        "MATCH_RESULT_REPORT", sender, match_id=match_id, result=result, auth_token=token
    )


def lock(match_id, moves, token, sender="referee:REF01"):
    return message(
        "LOCK_REQUEST", sender, match_id=match_id, epoch=1, index=0, moves=moves, auth_token=token
    )


UNKNOWN = {"code": -32601, "message": "no such method"}


class Spy:
    """One HTTP server; `received` holds each message, `on` what to do when one comes."""

    def __init__(self, redirect_to=""):
        self.received, self.bodies = [], []
        self.on = {}  # message type -> called with the message, before it is answered
        self.knows = None  # message types that it takes, if not all
        self.says = {}  # message type -> of the message, fields of the answer that differ
        self._redirect_to = redirect_to
        spy = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                spy._serve(self)

            def log_message(self, *args):
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}/mcp"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self._thread.start()

    def close(self):
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def tokens(self):
        """All that could be a token in what it was sent."""
        found = set()
        for each in self.received:
            _collect(each, found)
        return found

    def _serve(self, handler):
        body = handler.rfile.read(int(handler.headers["Content-Length"]))
        self.bodies.append(body)
        request = json.loads(body)
        said = request["params"]
        self.received.append(said)
        attack = self.on.get(said["message_type"])
        if attack:
            attack(said)
        handler.close_connection = True
        if self._redirect_to:
            handler.send_response(307)
            handler.send_header("Location", self._redirect_to)
            answer = b""
        else:
            handler.send_response(200)
            handler.send_header("Content-Type", "application/json")
            is_known = self.knows is None or said["message_type"] in self.knows
            result = {"result": self._answer(said)} if is_known else {"error": UNKNOWN}
            answer = json.dumps({"jsonrpc": "2.0", "id": request["id"], **result}).encode()
        handler.send_header("Content-Length", str(len(answer)))
        handler.end_headers()
        handler.wfile.write(answer)

    def _answer(self, said):
        name, fields = ANSWERS.get(said["message_type"], ("", {}))
        if not name:
            return {"status": "OK"}
        own = self.says.get(said["message_type"], lambda said: {})
        return message(name, "player:spy", match_id=said["match_id"], **{**fields, **own(said)})


def _collect(value, found):
    if isinstance(value, dict):
        for each in value.values():
            _collect(each, found)
    elif isinstance(value, list):
        for each in value:
            _collect(each, found)
    elif isinstance(value, str) and value.startswith(("tok_", "mtok_", "ses_", "adm_")):
        found.add(value)
