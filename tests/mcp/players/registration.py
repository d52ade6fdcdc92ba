"""How these players register: a plain POST, as the documents show it."""

import json
import urllib.request


def register(name, port, manager):
    """Tell the manager the name and the end point of a player."""
    meta = {
        "display_name": name,
        "version": "1.0.0",
        "game_types": ["even_odd"],
        "contact_endpoint": f"http://127.0.0.1:{port}/mcp",
    }
    request = {"jsonrpc": "2.0", "id": 1, "method": "register_player"}
    params = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": f"player:{name}",
        "timestamp": "2026-01-01T12:00:00Z",
        "conversation_id": f"conv-{name}",
        "player_meta": meta,
    }
    post = urllib.request.Request(
        manager,
        json.dumps({**request, "params": params}).encode(),
        {"Content-Type": "application/json"},
    )
    with urllib.request.urlopen(post) as answer:
        print(json.load(answer)["result"]["status"], flush=True)
