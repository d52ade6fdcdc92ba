"""A foreign manager and referee: it takes a player in, and plays one match with it."""

import json
import threading

from foreign.http_agent import post, serve

METHODS = {
    "tool": "register_player",
    "league": "league_register",
    "type": "LEAGUE_REGISTER_REQUEST",
    "lower": "league_register_request",
    "nobody": "no such method",
}


def request(call, method, message):
    """A request as this make writes it."""
    if call == "bare":
        return message
    if call == "message":
        method, message = "handle_message", {"message": message}
    elif call == "mcp":
        method, message = "tools/call", {"name": method, "arguments": message}
    elif call in ("type", "lower"):
        method = message["message_type"]
        method = method.lower() if call == "lower" else method
    return {"jsonrpc": "2.0", "method": method, "params": message, "id": 7}


def content(call, answer):
    if call == "bare":
        return answer
    result = answer["result"]
    return json.loads(result["content"][0]["text"]) if call == "mcp" else result


class ForeignManager:
    """Understands registrations in one form, and calls players in the same."""

    def __init__(self, call, *, unknown=200, answer=None):
        self.call, self.unknown, self.asked = call, unknown, []
        self.answer = answer or {
            "message_type": "LEAGUE_REGISTER_RESPONSE",
            "status": "ACCEPTED",
            "player_id": "P07",
        }
        self.registered, self.endpoint = threading.Event(), ""
        self.server = serve(lambda path, body: self.hear(body))

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}/mcp"

    def stop(self):
        self.server.shutdown()
        self.server.server_close()

    def hear(self, body):
        """Status and answer to a request."""
        self.asked.append(body.get("method", "bare"))
        message = self.read(body)
        if message is None or "player_meta" not in message:
            error = {"code": -32601, "message": "Method not found"}
            no = {"status": "ok"} if self.unknown == "ok" else {"error": error, "id": 1}
            return 200 if self.unknown == "ok" else self.unknown, no
        self.endpoint = message["player_meta"]["contact_endpoint"]
        self.registered.set()
        if self.call == "bare":
            return 200, self.answer
        return 200, {"jsonrpc": "2.0", "result": self.answer, "id": body["id"]}

    def read(self, body):
        method, params = body.get("method"), body.get("params", {})
        if self.call == "bare":
            return body if "player_meta" in body else None
        if self.call == "message":
            return params.get("message") if method == "handle_message" else None
        if self.call == "mcp":
            return params.get("arguments") if method == "tools/call" else None
        return params if method == METHODS[self.call] else None

    def play(self):
        """One match with the player that registered: what it answered."""
        game = {"match_id": "M1", "game_type": "even_odd", "sender": "referee:REF01"}
        game |= {"round_id": "R1", "auth_token": None, "timestamp": "2025-01-15 10:30:00"}
        said = []
        for method, kind, more in (
            ("handle_game_invitation", "GAME_INVITATION", {"opponent_id": "P08"}),
            ("choose_parity", "CHOOSE_PARITY_CALL", {"player_id": "P07"}),
            ("notify_match_result", "GAME_OVER", {"result": {"winner": "DRAW"}}),
        ):
            message = {"message_type": kind, **game, **more}
            answer = post(self.endpoint, request(self.call, method, message))
            said.append(content(self.call, answer))
        return said
