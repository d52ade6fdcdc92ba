"""Foreign leagues: python leagues.py PLAYERS SHAPE …, with the standard library alone.

Each takes in so many players and one referee, has the referee play every pair, and prints what it
was told of each match. A shape is a list of traits; what is not said is as the documents have it.

    form      how it wants to be spoken to: tool, league, type, lower, message, bare, mcp, or path,
              api, named, role (registrations at a path of their own)
    unknown   what it says to the rest: ok, rpc, or an HTTP status
    yes       how it takes somebody in: documented, registered, flat
    start     how it starts a match: start_match, assign_match, run_match, START_MATCH,
              MATCH_ASSIGNMENT, announce
    call      in which form it does so: flat, message, mcp, bare
    names     documented, letters, numbers, list, map
    where     told with the players, or asked: the referee has to ask for it
    result    report, or answer: what it is told in a report does not count
    threads   no: it hears nobody while it waits for an answer
    players   added by hand, joined by +: URLs of players that do not register
    strict    fields: it refuses what the documents do not show
"""

import itertools
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path

if __name__ == "__main__":  # It runs apart from everything else, and finds its neighbour by itself.
    sys.path.append(str(Path(__file__).parents[1]))

from foreign.http_agent import post, serve

METHODS = {
    "tool": ("register_player", "register_referee", "report_match_result"),
    "league": ("league_register", "referee_register", "report_match_result"),
    "type": ("LEAGUE_REGISTER_REQUEST", "REFEREE_REGISTER_REQUEST", "MATCH_RESULT_REPORT"),
}
METHODS["lower"] = tuple(name.lower() for name in METHODS["type"])
PATHS = {
    "path": ("/register", "/register"),
    "api": ("/api/register", "/api/register"),
    "named": ("/register_player", "/register_referee"),
    "role": ("/register/player", "/register/referee"),
}
META = {"display_name", "version", "game_types", "contact_endpoint", "max_concurrent_matches"}
LEAGUE = "league_elsewhere"


class ForeignManager:
    """Manager of one league."""

    def __init__(self, players, shape):
        pairs = [trait.partition("=") for trait in shape.split(",")]
        self.traits = {name: value for name, _, value in pairs}
        by_hand = [url for url in self.traits.get("players", "").split("+") if url]
        self.where = {f"P{number:02d}": url for number, url in enumerate(by_hand, 1)}
        self.wanted, self.referee, self.results = int(players), "", {}
        self.changed = threading.Condition()
        self.busy = threading.Lock() if self.trait("threads") == "no" else None
        self.server = serve(self.hear)

    def trait(self, name, default=""):
        return self.traits.get(name, default)

    # What it hears

    def hear(self, path, body):
        """Status and answer to a request."""
        if self.busy:
            with self.busy:
                pass
        if path not in ("/mcp", *PATHS.get(self.trait("form"), ())):
            return 404, {"detail": "Not Found"}
        message = self.unwrap(path, body)
        kind = (message or {}).get("message_type")
        if kind in ("LEAGUE_REGISTER_REQUEST", "REFEREE_REGISTER_REQUEST"):
            return self.register(body, message, kind)
        if kind == "MATCH_RESULT_REPORT":
            with self.changed:
                if self.trait("result") != "answer":
                    self.results.setdefault(message["match_id"], []).append(message["result"])
                    self.changed.notify_all()
            return self.wrap(body, {"status": "ok"})
        if kind == "LEAGUE_QUERY" and self.trait("where") == "asked":
            url = self.where.get(message["query_params"].get("player_id"))
            return self.wrap(body, {"player": {"name": "?", "url": url}})
        return self.not_understood(body)

    def unwrap(self, path, body):
        """The message in a request, for one that understands only this."""
        form, method, params = self.trait("form", "tool"), body.get("method"), body.get("params")
        if form in PATHS:
            is_registration = "player_meta" in body or "referee_meta" in body
            is_right = is_registration == (path != "/mcp") and "jsonrpc" not in body
            return body if is_right else None
        if form == "bare":
            return None if "jsonrpc" in body else body
        if form == "message":
            return params.get("message") if method == "handle_message" else None
        if form == "mcp":
            return params.get("arguments") if method == "tools/call" else None
        return params if method in (*METHODS[form], "league_query", "LEAGUE_QUERY") else None

    def register(self, body, message, kind):
        is_player = kind == "LEAGUE_REGISTER_REQUEST"
        meta = message["player_meta" if is_player else "referee_meta"]
        if self.trait("strict") == "fields" and set(meta) - META:
            return 422, {"detail": [{"loc": ["body"], "msg": "extra fields not permitted"}]}
        with self.changed:
            agent_id = f"P{len(self.where) + 1:02d}" if is_player else "REF07"
            if is_player:
                self.where[agent_id] = meta["contact_endpoint"]
            else:
                self.referee = meta["contact_endpoint"]
            self.changed.notify_all()
        name = "player_id" if is_player else "referee_id"
        yes = {
            "documented": {
                "message_type": kind.replace("REQUEST", "RESPONSE"),
                "status": "ACCEPTED",
                name: agent_id,
                "auth_token": f"tok-{agent_id}",
                "league_id": LEAGUE,
            },
            "registered": {"status": "REGISTERED", "agent_id": agent_id, "token": "abc"},
            "flat": {"status": "ok", "id": agent_id},
        }
        return self.wrap(body, yes[self.trait("yes", "documented")])

    def wrap(self, body, content):
        if "jsonrpc" not in body:
            return 200, content
        if self.trait("form") == "mcp":
            content = {"content": [{"type": "text", "text": json.dumps(content)}]}
        return 200, {"jsonrpc": "2.0", "result": content, "id": body.get("id")}

    def not_understood(self, body):
        how = self.trait("unknown", "rpc")
        if how == "ok":
            return 200, {"status": "ok"}
        error = {"code": -32601, "message": "Method not found"}
        no = {"jsonrpc": "2.0", "error": error, "id": body.get("id")}
        return (200, no) if how == "rpc" else (int(how), {"detail": "no"})

    # What it does

    def wait_for(self, is_so):
        with self.changed:
            assert self.changed.wait_for(is_so, 120)

    def run(self):
        """The whole league; match id -> players, results, and what the start was answered."""
        self.wait_for(lambda: self.referee and len(self.where) >= self.wanted)
        told = {}
        pairs = itertools.combinations(sorted(self.where), 2)
        for number, (a, b) in enumerate(pairs, 1):
            match_id = f"R{number}M1"
            answer = self.start(match_id, number, a, b)
            if self.trait("result") == "answer":
                self.results[match_id] = [{"winner": answer["winner"], **answer["result"]}]
            self.wait_for(lambda match_id=match_id: self.results.get(match_id))
            told[match_id] = {"players": [a, b], "answer": answer}
        for url in (*self.where.values(), self.referee):
            with suppress(OSError, KeyError):  # Many foreign agents know no such message.
                self.tell(url, "LEAGUE_COMPLETED", {"league_id": LEAGUE})
        return {name: {**each, "results": self.results[name]} for name, each in told.items()}

    def start(self, match_id, number, a, b):
        row = {"match_id": match_id, "game_type": "even_odd", **self.named(a, b)}
        way = self.trait("start", "start_match")
        if way == "announce":
            row["referee_endpoint"] = self.referee
            fields = {"league_id": LEAGUE, "round_id": number, "matches": [row]}
            return self.tell(self.referee, "ROUND_ANNOUNCEMENT", fields)
        return self.tell(self.referee, way, {"round_id": number, **row})

    def named(self, a, b):
        """The players, as this make names them."""
        urls = (self.where[a], self.where[b]) if self.trait("where", "told") == "told" else None
        names = {
            "documented": ("player_A_id", "player_B_id", "player_A_endpoint", "player_B_endpoint"),
            "letters": ("player_a", "player_b", "player_a_url", "player_b_url"),
            "numbers": ("player1_id", "player2_id", "player1_endpoint", "player2_endpoint"),
        }.get(self.trait("names", "documented"))
        if names:
            return dict(zip(names, (a, b, *(urls or ())), strict=False))
        if self.trait("names") == "map":
            return {"players": [a, b], "player_endpoints": dict(zip((a, b), urls, strict=True))}
        seats = zip((a, b), urls or (None, None), strict=True)
        return {"players": [{"id": who, "endpoint": url} for who, url in seats]}

    def tell(self, url, name, fields):
        """Send it in this make's form; what was answered, unwrapped."""
        call = self.trait("call", "flat")
        message = {"message_type": name, "timestamp": "20250115T103000Z", **fields}
        body = {
            "flat": {"method": name, "params": fields},
            "message": {"method": "handle_message", "params": {"message": message}},
            "mcp": {"method": "tools/call", "params": {"name": name, "arguments": fields}},
            "bare": message,
        }[call]
        wrapped = body if call == "bare" else {"jsonrpc": "2.0", "id": 3, **body}
        if self.busy:
            with self.busy:
                answer = post(url, wrapped)
        else:
            answer = post(url, wrapped)
        if call == "bare":
            return answer
        result = answer["result"]
        return json.loads(result["content"][0]["text"]) if call == "mcp" else result


def main(players, *shapes):
    managers = [ForeignManager(players, shape) for shape in shapes]
    for manager in managers:
        print(f"http://127.0.0.1:{manager.server.server_port}/mcp", flush=True)
    with ThreadPoolExecutor(len(managers)) as pool:
        for told in pool.map(ForeignManager.run, managers):
            print(json.dumps(told), flush=True)
    sys.stdin.read()  # Until then agents may still ask whether it is over.


if __name__ == "__main__":
    main(*sys.argv[1:])
