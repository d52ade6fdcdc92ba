"""An MCP server is judged as one: in a session, by its own tools, in streams of events."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from agentleague.conformance.check import Selection, check
from agentleague.conformance.identify import identify
from agentleague.conformance.limits import Limits
from agentleague.conformance.rules import Verdict
from agentleague.conformance.target import Target

TEXT = {"type": "string"}
TOOLS = {
    "join_game": ("match_id", "conversation_id"),
    "choose_parity": ("match_id", "conversation_id"),
    "game_over": ("match_id",),
}
ENVELOPE = {"protocol": "league.v2", "sender": "player:P01", "player_id": "P01"}
SAYS = {
    "join_game": {"message_type": "GAME_JOIN_ACK", "accept": True},
    "choose_parity": {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": "even"},
    "game_over": {"message_type": "GAME_OVER_ACK", "status": "ACKNOWLEDGED"},
}


def listed(name, parameters):
    schema = {"type": "object", "properties": dict.fromkeys(parameters, TEXT)}
    return {"name": name, "inputSchema": schema | {"additionalProperties": False}}


def called(name, arguments):
    """The result of a tool, which takes its own parameters alone."""
    if set(arguments) != set(TOOLS.get(name, ())):
        return {"content": [{"type": "text", "text": "no"}], "isError": True}
    said = ENVELOPE | SAYS[name] | arguments
    return {"content": [{"type": "text", "text": json.dumps(said)}], "structuredContent": said}


class Strict(BaseHTTPRequestHandler):
    """An MCP server that insists on all that the revision of 2025-11-25 allows it."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        takes, session = self.headers.get("Accept", ""), self.headers.get("Mcp-Session-Id")
        if "text/event-stream" not in takes:
            self.answer(406)
        elif session != "s-1" and asked["method"] != "initialize":
            self.answer(400, {"error": {"code": -32600, "message": "Missing session ID"}})
        elif asked["method"] == "initialize":
            said = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}}
            self.answer(200, {"id": asked["id"], "result": said | {"serverInfo": {}}})
        elif asked["method"] == "tools/list":
            tools = [listed(*each) for each in TOOLS.items()]
            self.answer(200, {"id": asked["id"], "result": {"tools": tools}})
        elif asked["method"] == "tools/call":
            self.answer(200, {"id": asked["id"], "result": called(**asked["params"])})
        else:
            self.answer(202)

    def answer(self, status, fields=None):
        said = json.dumps({"jsonrpc": "2.0"} | (fields or {}))
        body = f"event: message\r\ndata: {said}\r\n\r\n".encode() if fields else b""
        self.send_response(status)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Content-Length", str(len(body)))
        self.send_header("Mcp-Session-Id", "s-1")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@contextmanager
def strict_player():
    server = ThreadingHTTPServer(("127.0.0.1", 0), Strict)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield Target(url=f"http://127.0.0.1:{server.server_port}/mcp")
    finally:
        server.shutdown()
        server.server_close()


def test_an_mcp_server_with_tools_and_a_session_of_its_own_passes():
    passing = {
        "player.choice.is-legal",
        "player.http.keep-alive",
        "player.http.header-case",
        "player.robust.in-pieces",
        "player.mcp.initialize",
    }

    with strict_player() as target:
        kind = identify(target, Limits())
        report = check("player", target, Selection(only=tuple(passing)), Limits())

    doubts = {each.rule.id: each.said for each in report.outcomes if each.verdict != Verdict.PASS}
    assert (kind, report.speaks, doubts) == ("player", ["mcp"], {})
    assert passing <= {each.rule.id for each in report.outcomes}
