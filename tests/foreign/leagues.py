"""Foreign leagues: python leagues.py PLAYERS SHAPE …, with the standard library alone.

Each takes in so many players and one referee, has the referee play every pair, and prints what it
was told of each match. A shape is a list of traits; what is not said is as the documents have it.

    form      how it wants to be spoken to: tool, league, type, lower, message, bare, mcp, or path,
              api, named, role (registrations at a path of their own)
    unknown   what it says to the rest: ok, rpc, … (http_agent.py), or an HTTP status
    needs     names beside the message without which it registers nobody, joined by +
    yes       how it takes somebody in: documented, registered, flat, id (no status), or without an
              id: unnamed, empty
    start     how it starts a match: start_match, assign_match, run_match, START_MATCH,
              MATCH_ASSIGNMENT, announce; or it is asked: get_assigned_matches, get_next_match,
              GET_MATCHES
    call      in which form it does so: flat, message, mcp, bare
    seats     how it names the players: documented, letters, numbers, list, map
    where     told with the players, or asked: the referee has to ask for it; or said nowhere
    result    report, or answer: what it is told in a report does not count
    reads     flat: of a report it reads only what stands beside `result`
    draw      empty or DRAW: the winner of a draw, which it otherwise refuses
    refuses   the HTTP status with which it does so, without saying why; 500: it breaks there
    fails     how it answers a report that it has counted: an HTTP status, rpc or error
    open      yes: it says which matches have no result yet
    host      the address that it listens at
    threads   no: it hears nobody while it waits for an answer
    players   added by hand, joined by +: URLs of players that do not register
    strict    fields: it refuses what the documents do not show
    rounds    told: it announces each match to its players too
"""

import itertools
import json
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext, suppress
from pathlib import Path

if __name__ == "__main__":  # It runs apart from everything else, and finds its neighbour by itself.
    sys.path.append(str(Path(__file__).parents[1]))

from foreign.http_agent import not_understood, post, serve, traits_of

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
POLLS = ("get_assigned_matches", "get_next_match", "GET_MATCHES")
DRAWS = {"null": None, "empty": "", "DRAW": "DRAW"}
LEAGUE = "league_elsewhere"
SECONDS = 120  # within which what it waits for happens, on however slow a machine


class ForeignManager:
    """Manager of one league."""

    def __init__(self, players, shape):
        self.traits = traits_of(shape)
        by_hand = [url for url in self.traits.get("players", "").split("+") if url]
        self.where = {f"P{number:02d}": url for number, url in enumerate(by_hand, 1)}
        self.wanted, self.referee, self.results, self.waiting = int(players), "", {}, {}
        self.changed = threading.Condition()
        self.busy = threading.Lock() if self.trait("threads") == "no" else None
        self.server = serve(self.hear, self.trait("host", "127.0.0.1"), http=self.trait("http"))

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
            return self.take_report(body, message)
        asked = self.find(message) if kind else None
        if asked is None:
            return not_understood(self.trait("unknown", "rpc"), body)
        return self.wrap(body, asked)

    def find(self, query):
        """What a query asks for; None if it is not understood."""
        kind, params = query["message_type"], query.get("query_params", query)
        asked = query.get("query_type") if kind == "LEAGUE_QUERY" else kind.lower()
        if asked == self.trait("start") and params["referee_id"] == "REF07":
            rows = [row for name, row in self.waiting.items() if name not in self.results]
            return {"match": rows[0] if rows else None} if asked == POLLS[1] else {"matches": rows}
        if asked in ("GET_MATCH", "GET_SCHEDULE") and self.trait("open") == "yes":
            status = "COMPLETED" if self.results.get(params["match_id"]) else "PENDING"
            return {"match": {"match_id": params["match_id"], "status": status}}
        if kind == "LEAGUE_QUERY" and self.trait("where") == "asked" and "player_id" in params:
            return {"player": {"name": "?", "url": self.where.get(params["player_id"])}}
        return None

    def take_report(self, body, message):
        """Count a report once it is read; then the answer."""
        result = message["result"]
        if self.trait("reads") == "flat":
            if "winner_id" not in message:
                return 500, {"detail": "Internal Server Error"}
            result = self.flat(message)
        winner = DRAWS[self.trait("draw", "null")]
        if result["winner"] not in (*self.where, winner):
            status = self.trait("refuses")
            why = {"loc": ["body", "result", "winner"], "msg": "Input should be a valid string"}
            return (int(status), {"detail": "no"}) if status else (422, {"detail": [why]})
        with self.changed:
            if self.trait("result") != "answer":
                told = {
                    **result,
                    "winner": None if result["winner"] == winner else result["winner"],
                }
                self.results.setdefault(message["match_id"], []).append(told)
                self.changed.notify_all()
        fails = self.trait("fails")
        if fails.isdigit():
            return int(fails), {"detail": "Internal Server Error"}
        if fails == "rpc":
            error = {"code": -32603, "message": "Internal error"}
            return 200, {"jsonrpc": "2.0", "error": error, "id": body.get("id")}
        return self.wrap(body, {"error": "the table is locked"} if fails else {"status": "ok"})

    def flat(self, told):
        """A result from the names beside it."""
        points = {"WIN": 3, "DRAW": 1, "LOSS": 0}
        seats = ("player_a", "player_b")
        return {
            "winner": told["winner_id"],
            "score": {told[f"{seat}_id"]: points[told[f"{seat}_result"]] for seat in seats},
            "details": {
                "drawn_number": told["drawn_number"],
                "choices": {told[f"{seat}_id"]: told[f"{seat}_choice"] for seat in seats},
            },
        }

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
        if form in ("type", "lower") and str(method).lower() in POLLS:
            return {"message_type": method.upper(), **params}
        if method in POLLS:  # It looks at nothing but what it needs.
            return {"message_type": method.upper(), "referee_id": params["referee_id"]}
        return params if method in (*METHODS[form], "league_query", "LEAGUE_QUERY") else None

    def register(self, body, message, kind):
        is_player = kind == "LEAGUE_REGISTER_REQUEST"
        meta = message["player_meta" if is_player else "referee_meta"]
        if self.trait("strict") == "fields" and set(meta) - META:
            return 422, {"detail": [{"loc": ["body"], "msg": "extra fields not permitted"}]}
        missing = set(filter(None, self.trait("needs").split("+"))) - set(message)
        if missing or message.get("agent_type") not in (None, "player" if is_player else "referee"):
            return 422, {"detail": [{"loc": ["body", *missing], "msg": "Field required"}]}
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
            "id": {"success": True, "agent_id": agent_id},
            "unnamed": {"status": "registered"},
            "empty": {"status": "ACCEPTED", name: "", "auth_token": None},
        }
        return self.wrap(body, yes[self.trait("yes", "documented")])

    def wrap(self, body, content):
        if "jsonrpc" not in body:
            return 200, content
        if self.trait("form") == "mcp":
            content = {"content": [{"type": "text", "text": json.dumps(content)}]}
        return 200, {"jsonrpc": "2.0", "result": content, "id": body.get("id")}

    # What it does

    def wait_for(self, is_so):
        with self.changed:
            assert self.changed.wait_for(is_so, SECONDS)

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
        if self.trait("rounds") == "told":
            rows = [{**row, "referee_endpoint": self.referee}]
            for player in (a, b):
                fields = {"league_id": LEAGUE, "round_id": number, "matches": rows}
                with suppress(OSError, KeyError):
                    self.tell(self.where[player], "ROUND_ANNOUNCEMENT", fields)
        way = self.trait("start", "start_match")
        if way == "announce":
            row["referee_endpoint"] = self.referee
            fields = {"league_id": LEAGUE, "round_id": number, "matches": [row]}
            return self.tell(self.referee, "ROUND_ANNOUNCEMENT", fields)
        if way in POLLS:
            self.waiting[match_id] = {"round_id": number, "referee_id": "REF07", **row}
            return None
        return self.tell(self.referee, way, {"round_id": number, **row})

    def named(self, a, b):
        """The players, as this make names them."""
        urls = (self.where[a], self.where[b]) if self.trait("where", "told") == "told" else None
        names = {
            "documented": ("player_A_id", "player_B_id", "player_A_endpoint", "player_B_endpoint"),
            "letters": ("player_a", "player_b", "player_a_url", "player_b_url"),
            "numbers": ("player1_id", "player2_id", "player1_endpoint", "player2_endpoint"),
        }.get(self.trait("seats", "documented"))
        if names:
            return dict(zip(names, (a, b, *(urls or ())), strict=False))
        if self.trait("seats") == "map":
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
        answer = self.send(url, wrapped)
        if call == "bare":
            return answer
        result = answer["result"]
        return json.loads(result["content"][0]["text"]) if call == "mcp" else result

    def send(self, url, body):
        """What was answered; some hear nobody until then."""
        with self.busy or nullcontext():
            return post(url, body)


def main(players, *shapes, cls=ForeignManager):
    managers = [cls(players, shape) for shape in shapes]
    for manager in managers:
        host, port = manager.server.server_address
        print(f"http://{host}:{port}/mcp", flush=True)
    leagues = []
    with ThreadPoolExecutor(len(managers)) as pool:
        for told in pool.map(cls.run, managers):
            leagues.append(told)
            print(json.dumps(told), flush=True)
    sys.stdin.read()  # Until then agents may still ask whether it is over, and tell more.
    for told in leagues:
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
