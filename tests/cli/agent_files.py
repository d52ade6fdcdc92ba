"""Agents as their authors write them, and one that listens at a URL."""

import json
import threading
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# As in the README: a program that runs when it is loaded.
TEN_LINES = """
from agentleague import Player

player = Player("Agent Alpha")

@player.plays("even_odd")
def choose(turn):
    return "even"

player.run()
"""
FUNCTION = """
def choose(turn):
    return turn.rng.choice(turn.legal_moves)
"""


class _Even(BaseHTTPRequestHandler):
    """Joins, and says even."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.asked.append(request["method"])
        match_id = request["params"].get("match_id")
        result = {"match_id": match_id, "accept": True, "parity_choice": "even"}
        body = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@contextmanager
def listening_agent():
    """An agent that somebody else runs: its URL, and the methods it was asked for so far."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Even)
    server.daemon_threads = True
    server.asked = []
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/mcp", server.asked
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
