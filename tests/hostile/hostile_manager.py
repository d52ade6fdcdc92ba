"""A manager that says nasty things to agents that register or ask."""

import json
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.error import URLError
from urllib.request import Request, urlopen

NOW = "2026-03-04T09:00:00Z"


@contextmanager
def hostile_manager(nasty, *, accepts):
    """Serves it; its URL. It rejects agents with a nasty reason, or `accepts` and harasses them."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self):
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            message = asked["params"]
            answer = {"jsonrpc": "2.0", "id": asked["id"], **_answer(message, nasty, accepts)}
            body = json.dumps(answer).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
            if accepts and "player_meta" in message:
                endpoint = message["player_meta"]["contact_endpoint"]
                Thread(target=_harass, args=(endpoint, nasty), daemon=True).start()

        def log_message(self, *arguments):
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/mcp"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _message(name, nasty, **fields):
    short = nasty[:64]
    envelope = {"protocol": "league.v2", "message_type": name, "sender": short, "timestamp": NOW}
    return {**envelope, "conversation_id": short, **fields}


def _answer(message, nasty, accepts):
    asked, short = message["message_type"], nasty[:64]
    if asked.endswith("REGISTER_REQUEST"):
        kind = asked.removesuffix("_REQUEST")
        status = {"status": "ACCEPTED" if accepts else "REJECTED", "reason": nasty, "hint": nasty}
        ids = {"player_id": short, "referee_id": short, "league_id": short}
        more = {"display_name_effective": nasty, "warnings": [nasty], "error_code": short}
        return {"result": _message(f"{kind}_RESPONSE", nasty, **status, **ids, **more)}
    if accepts:
        data = {
            "status": "LEAGUE_COMPLETED",
            "league_id": nasty,
            "game_type": nasty,
            "champion": nasty,
        }
        return {
            "result": _message("LEAGUE_QUERY_RESPONSE", nasty, data=data, status=data["status"])
        }
    return {"error": {"code": -32000, "message": nasty, "data": {"error_message": nasty}}}


def _harass(endpoint, nasty):
    """All that a referee and a manager may tell a player, in their words."""
    short = nasty[:64]
    match = {"match_id": short, "player_id": short, "league_id": short, "round_id": 1}
    error = {"error_name": short, "error_message": nasty, "error_code": short}
    result = {
        "status": "WIN",
        "winner_player_id": short,
        "reason": nasty,
        "choices": {short: nasty},
    }
    row = {"rank": 1, "player_id": short, "display_name": nasty, "points": 3}
    pairing = {"match_id": short, "player_A_id": short, "player_B_id": short}
    for method, name, fields in (
        ("notify_round", "ROUND_ANNOUNCEMENT", {"matches": [pairing], "round_id": 1}),
        ("handle_game_invitation", "GAME_INVITATION", {**match, "game_type": "even_odd"}),
        ("parity_choose", "CHOOSE_PARITY_CALL", {**match, "game_type": "even_odd"}),
        ("notify_game_error", "GAME_ERROR", {**match, **error}),
        ("notify_match_result", "GAME_OVER", {**match, "game_result": result}),
        ("update_standings", "LEAGUE_STANDINGS_UPDATE", {"standings": [row]}),
        (short, short, {}),
        ("notify_league_completed", "LEAGUE_COMPLETED", {"final_standings": [row], **match}),
    ):
        params = _message(name, nasty, **fields)
        request = {"jsonrpc": "2.0", "method": method, "params": params, "id": 1}
        try:
            urlopen(Request(endpoint, json.dumps(request).encode(), _HEADERS), timeout=30).read()
        except URLError:
            return  # It had enough.


_HEADERS = {"Content-Type": "application/json"}
