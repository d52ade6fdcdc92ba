"""Foreign referees: python referees.py MANAGER NAMES SHAPE [SHAPE …], standard library alone.

Several managers are joined by +, and have a referee each.

A shape is a list of traits, like `start=assign,unknown=ok,answer=result`. What is not said is as
most have it. Each shape is a referee with a port of its own; it plays even_odd with the players
it is told to, and calls players as document 001 has it, without the token of the match.

    call      what it understands: tool, type, message, bare, mcp, or own (MCP, a name of its own)
    start     by what it is started: start, assign, assignment, run, command, announce, or own (a
              method of its own)
    unknown   what it says to the rest: rpc, ok, type, inside, an HTTP status, or lists (its own)
    names     how it names the players: A, a, 1, url, or object (no ids); it breaks without them
    where     asked: it asks the manager where the players are
    sender    same: it is started only by who answered its registration, and has an id
    strict    fields: none but those it knows
    answer    started (and which match), ok, result (after the match), late (the same, and a report)
    report    documented, name, word, seat, flat, zero, bare, points, named (all by name), seats
              (flat, each player by itself), words (a score that is none), unnamed (no match)
    token     no: it never shows one; own: it invents one
    numbers   that it draws, one after another, joined by +
    lost      so many matches at first both players are said to have lost
    rule      A: it gives player A the match when both guess right
    busy      refuses a second match while it is at one
    fails     the first so many matches it drops without a word
    league    own: it has a league id of its own
    calls     how it calls players: tool, type, lower, beside (the message beside the method), bare,
              or wrapped (protocol/message, GAME_INVITE, the message in params.message)
    sends     nested (what belongs to a message in an object in it), null (all that it does not
              know), game (game_id for match_id), own (ids of its own), none (no ids at all),
              where (its end point)
    reads     of an answer: result, choice (another name), top (nothing but the top level), strict
              (all that the documents require), push (nothing: it waits for what is pushed)
    register  tool, type, alias, message, mcp, bare, path, shared, nulls, never
    listens   so many seconds after it began to register
"""

import itertools
import json
import sys
import threading
from pathlib import Path

if __name__ == "__main__":  # It runs apart from everything else, and finds its neighbour by itself.
    sys.path.append(str(Path(__file__).parents[1]))

from foreign.http_agent import at_mcp, not_understood, post, register, serve, traits_of

WAYS = {
    "start": ("start_match", "START_MATCH"),
    "assign": ("assign_match", "ASSIGN_MATCH"),
    "assignment": ("match_assignment", "MATCH_ASSIGNMENT"),
    "run": ("run_match", "RUN_MATCH"),
    "command": ("start_match_command", "START_MATCH_COMMAND"),
    "own": ("conduct_game", "CONDUCT_GAME"),
    "announce": ("notify_round", "ROUND_ANNOUNCEMENT"),
}
NAMES = {
    "A": ("player_A_id", "player_B_id", "player_A_endpoint", "player_B_endpoint"),
    "a": ("player_a", "player_b", "player_a_endpoint", "player_b_endpoint"),
    "1": ("player1_id", "player2_id", "player1_endpoint", "player2_endpoint"),
    "url": ("player1", "player2", "player1_url", "player2_url"),
    "object": ("player1", "player2"),
}
ANSWERS = {"GAME_INVITATION": "GAME_JOIN_ACK", "CHOOSE_PARITY_CALL": "CHOOSE_PARITY_RESPONSE"}
OWN = "begin_refereeing_a_match"


class Unknown(Exception):
    """It does not understand."""


class Broken(Exception):
    """It understands, and cannot work with it."""


class Referee:
    """One shape at one port."""

    def __init__(self, shape):
        self.traits, self.name = traits_of(shape), shape[:50]
        self.manager = self.token = ""
        self.numbers = itertools.cycle(self.traits.get("numbers", "4+7+2+9").split("+"))
        self.league_id, self.at, self.dropped = "", set(), int(self.traits.get("fails", 0))
        self.lost, self.chief = int(self.traits.get("lost", 0)), ""
        self.pushed, self.heard = {}, threading.Condition()
        self.server = serve(at_mcp(self.answer), after_seconds=float(self.traits.get("listens", 0)))

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_port}/mcp"

    def answer(self, body):
        """Status and body of an answer to a request."""
        if body.get("method") == "tools/list" and self.call in ("mcp", "own"):
            return self.wrap(body, {"tools": [self.tool()]})
        pushed = str(body.get("method")).upper()
        if self.traits.get("reads") == "push" and pushed in ANSWERS.values():
            return self.hear(pushed, body["params"])
        try:
            match = self.read(self.unwrap(body))
        except Unknown:
            return self.not_understood(body)
        except (Broken, KeyError, TypeError) as error:
            fault = {"code": -32602, "message": f"Invalid params: {error}"}
            return 200, {"jsonrpc": "2.0", "error": fault, "id": body.get("id")}
        return self.wrap(body, self.start(match))

    def not_understood(self, body):
        how = self.traits.get("unknown", "rpc")
        if how != "lists":
            return not_understood(how, body)
        own = WAYS[self.traits["start"]][self.call == "type"]
        said = f"Unknown method: {body.get('method')}. Expected one of: get_state, {own}, shutdown"
        error = {"code": -32601, "message": said}
        return 200, {"jsonrpc": "2.0", "error": error, "id": body.get("id")}

    @property
    def call(self):
        return self.traits.get("call", "tool")

    def tool(self):
        how = self.traits.get("names", "A")
        kind, match = ("object", "game_id") if how == "object" else ("string", "match_id")
        schema = {name: {"type": "string"} for name in (match, "round_id")}
        schema = {"properties": schema | {name: {"type": kind} for name in NAMES[how]}}
        if self.traits.get("start") == "announce":
            schema = {"properties": {"round_id": {}, "matches": {"type": "array"}}}
        own = OWN if self.call == "own" else WAYS[self.traits.get("start", "start")][0]
        return {"name": own, "inputSchema": schema}

    def unwrap(self, body):
        """The message in a request that starts a match; Unknown for all else."""
        tool, kind = WAYS[self.traits.get("start", "start")]
        method, params = body.get("method"), body.get("params") or {}
        if self.call == "bare":
            is_right, params = body.get("message_type") == kind, body
        elif self.call == "message":
            params = params.get("message", {})
            is_right = method == "handle_message" and params.get("message_type") == kind
        elif self.call in ("mcp", "own"):
            is_right = method == "tools/call" and params["name"] == self.tool()["name"]
            params = params.get("arguments")
        else:
            is_right = method == {"tool": tool, "type": kind}[self.call]
        if not is_right:
            raise Unknown
        return params

    def read(self, message):
        """The match it is told of: its id, its players and their end points."""
        if self.traits.get("start") == "announce":
            return self.announced(message)
        names = NAMES[self.traits.get("names", "A")]
        known = {"match_id", "round_id", "league_id", "game_type", *names}
        if self.traits.get("strict") and set(message) - known:
            raise Broken("unexpected keyword argument")
        if self.traits.get("sender") and message["sender"] != self.chief:
            raise Broken(f"{message['sender']} is not {self.chief}")
        if self.traits.get("names") == "object":
            players = [message[name] for name in names]
            names = [each["display_name"] for each in players if each["version"] is not None]
            return message["game_id"], *names, *(each["endpoint"] for each in players)
        if self.traits.get("where") == "asked":
            return message["match_id"], *(message[name] for name in names[:2])
        return message["match_id"], *(message[name] for name in names)

    def announced(self, message):
        """Of all matches of a round those are its own that have exactly its end point."""
        own = [each for each in message["matches"] if each["referee_endpoint"] == self.url]
        if len(own) != 1:
            raise Unknown
        return own[0]["match_id"], *(own[0][name] for name in NAMES["A"])

    def start(self, match):
        how = self.traits.get("answer", "started")
        if "busy" in self.traits and self.at:
            return {"error": "busy with another match"}
        self.at.add(match[0])
        if self.dropped:
            self.dropped -= 1
            self.at.discard(match[0])
            return {"status": "started", "match_id": match[0]}
        if how in ("result", "late"):
            result = self.play(match)
            if how == "late":
                self.report(result)
            return {"status": "completed", **self.told(result)}
        threading.Thread(target=lambda: self.report(self.play(match)), daemon=True).start()
        return {"status": "started", "match_id": match[0]} if how == "started" else {"status": "ok"}

    def hear(self, kind, message):
        with self.heard:
            self.pushed.setdefault((kind, message["player_id"]), message)
            self.heard.notify_all()
        return 200, {"status": "ok"}

    def play(self, match):
        """One match of even_odd by its rules, or nearly."""
        match_id, *seats = match
        ids, urls = seats[:2], seats[2:]
        if self.lost:
            self.lost -= 1
            self.at.discard(match_id)
            return match_id, ids, None, None, {}
        if not urls:
            urls = self.directory(ids)
        for player_id, other_id, url in zip(ids, ids[::-1], urls, strict=True):
            more = {"role_in_match": "PLAYER_A", "opponent_id": other_id}
            self.ask(url, "handle_game_invitation", "GAME_INVITATION", match_id, player_id, more)
        context = {"context": {}, "deadline": ""}
        choices = {
            player_id: self.ask(
                url, "parity_choose", "CHOOSE_PARITY_CALL", match_id, player_id, context
            )
            for player_id, url in zip(ids, urls, strict=True)
        }
        number = int(next(self.numbers))
        parity = "odd" if number % 2 else "even"
        right = [player_id for player_id in ids if choices[player_id] == parity]
        winner = right[0] if len(right) == 1 else None
        if len(right) == 2 and self.traits.get("rule") == "A":
            winner = ids[0]
        over = {"status": "WIN" if winner else "DRAW", "winner_player_id": winner}
        for player_id, url in zip(ids, urls, strict=True):
            more = {"game_result": {**over, "drawn_number": number, "choices": choices}}
            self.ask(url, "notify_match_result", "GAME_OVER", match_id, player_id, more)
        self.at.discard(match_id)
        return match_id, ids, winner, number, choices

    def directory(self, ids):
        """The end points of these players, as the manager tells them."""
        query = {"message_type": "LEAGUE_QUERY", "query": "get_player_directory"}
        query |= {"league_id": self.league_id, "query_params": None}
        if self.traits.get("token") != "no":
            query["auth_token"] = self.token
        request = {"jsonrpc": "2.0", "method": "league_query", "params": query, "id": 1}
        players = post(self.manager, request)["result"]["data"]["players"]
        return [players[player_id] for player_id in ids]

    def ask(self, url, method, kind, match_id, player_id, more):
        message = {
            "protocol": "league.v2",
            "message_type": kind,
            "sender": "referee:REF01",
            "timestamp": "2025-01-15T10:30:00Z",
            "conversation_id": "conv-1",
            "auth_token": self.token,
            "league_id": self.league_id,
            "match_id": match_id,
            "player_id": player_id,
            "game_type": "even_odd",
            **more,
        }
        if self.traits.get("names") == "object":  # It never heard of ids.
            del message["player_id"]
        answer = post(url, self.request(method, kind, self.spelled(kind, message)))
        return self.content(kind, player_id, answer) if kind in ANSWERS else None

    def spelled(self, kind, message):
        """A message to a player, in this one's words."""
        how, match_id = self.traits.get("sends"), message["match_id"]
        if how == "null":
            unknown = ("auth_token", "league_id", "round_id", "epoch", "deadline", "context")
            return {**message, **dict.fromkeys(unknown), "referee_endpoint": None}
        if how == "nested" and kind in ANSWERS:
            names = ("match_id", "role_in_match", "opponent_id", "player_id", "context")
            inner = {name: message.pop(name) for name in names if name in message}
            name = "game_invitation" if kind == "GAME_INVITATION" else "parity_context"
            return {**message, name: inner}
        if how == "game":
            return {**message, "game_id": message.pop("match_id")}
        if how == "own":
            return {**message, "match_id": f"match_{sum(map(ord, match_id))}"}
        if how == "where":
            return {**message, "referee_endpoint": self.url}
        if how == "none":
            return {name: message[name] for name in message if not name.endswith("_id")}
        return message

    def request(self, method, kind, message):
        how, rpc = self.traits.get("calls", "tool"), {"jsonrpc": "2.0", "id": 1}
        if how == "wrapped":
            message["message_type"] = kind.replace("INVITATION", "INVITE")
            return {**rpc, "method": "protocol/message", "params": {"message": message}}
        if how == "beside":
            return {**message, **rpc, "method": kind}
        methods = {"tool": method, "type": kind, "lower": kind.lower()}
        return message if how == "bare" else {**rpc, "method": methods[how], "params": message}

    def content(self, kind, player_id, answer):
        """The choice in an answer, or in what was pushed; it breaks where a join is none."""
        how = self.traits.get("reads", "result")
        said = answer if how == "top" else answer.get("result", answer)
        if how == "push":
            key = (ANSWERS[kind], player_id)
            with self.heard:
                assert self.heard.wait_for(lambda: key in self.pushed, 30)
                said = self.pushed.pop(key)
        if how == "strict":
            required = ("protocol", "message_type", "sender", "timestamp", "auth_token")
            assert all(said[name] for name in (*required, "match_id", "player_id"))
        if kind == "GAME_INVITATION":
            assert said["accepted" if how in ("choice", "top") else "accept"] is True
        return said.get("choice" if how in ("choice", "top") else "parity_choice")

    def told(self, result):
        """A result as this one tells it."""
        match_id, ids, winner, number, choices = result
        how = self.traits.get("report", "documented")
        if how == "seats":
            return self.told_by_seat(result)
        if number is None:
            return {"match_id": match_id, "result": {"winner": None, "status": "TECHNICAL_LOSS"}}
        if how == "flat":
            status = "WIN" if winner else "DRAW"
            return {"match_id": match_id, "winner_player_id": winner, "status": status}
        if how == "named":
            ids = [NAMES_OF.get(each, each) for each in ids]
            choices = {NAMES_OF.get(each, each): choice for each, choice in choices.items()}
            winner = NAMES_OF.get(winner, winner)
        names = {"name": NAMES_OF.get(winner, winner or ""), "word": winner or "DRAW"}
        said = names.get(how, winner)
        if how == "seat" and winner:
            said = f"player_{'ab'[ids.index(winner)]}"
        win, draw = (1, 0) if how in ("points", "zero") else (3, 1)
        score = {each: draw if winner is None else win * (each == winner) for each in ids}
        details = {"drawn_number": number, "choices": choices}
        if how == "words":
            score, details["status"] = choices, "finished"
        if how in ("zero", "word", "name", "seat"):
            details = {}
        result = {"winner": said, "score": score, "details": details}
        named = {} if how == "unnamed" else {"match_id": match_id}
        return {**named, "round_id": "R1", "result": result}

    def told_by_seat(self, result):
        match_id, ids, winner, number, choices = result
        said = {"match_id": match_id, "winner_id": winner, "drawn_number": number}
        for seat, player_id in zip("ab", ids, strict=True):
            ended = "WIN" if player_id == winner else "LOSS" if winner else "DRAW"
            said[f"player_{seat}_id"] = player_id
            said[f"player_{seat}_choice"] = choices.get(player_id)
            said[f"player_{seat}_result"] = ended if choices else "TECHNICAL_LOSS"
        return said

    def report(self, result):
        how = self.traits.get("report", "documented")
        message = {"message_type": "MATCH_RESULT_REPORT", "sender": "referee", **self.told(result)}
        if self.traits.get("token") != "no":
            message["auth_token"] = self.token
        if how == "bare":
            post(self.manager, message)
        else:
            request = {"jsonrpc": "2.0", "method": "report_match_result", "params": message}
            post(self.manager, {**request, "id": 1})

    def wrap(self, body, content):
        if self.call == "bare":
            return 200, content
        answer = {"jsonrpc": "2.0", "result": content, "id": body.get("id")}
        if self.call in ("mcp", "own") and "tools" not in content:
            answer["result"] = {"content": [{"type": "text", "text": json.dumps(content)}]}
        return 200, answer

    def register(self, manager):
        meta = {"display_name": self.name, "contact_endpoint": self.url}
        message = {"message_type": "REFEREE_REGISTER_REQUEST", "referee_meta": meta}
        said = register(manager, self.traits.get("register", "tool"), message)
        said = said.get("result", said)
        said = said.get("structuredContent", said)
        self.manager, self.token = manager, said["auth_token"]
        if self.traits.get("token") == "own":
            self.token = "tok-of-my-own"
        self.league_id = said["league_id"] if self.traits.get("league") != "own" else "league_own"
        assert "sender" not in self.traits or said["sender"].startswith("league_manager:")
        self.chief = said.get("sender", "")


NAMES_OF = {}  # player id -> name, as somebody who knows both may tell it


def main(managers, names, *shapes):
    NAMES_OF.update(json.loads(names))
    for manager, shape in zip(itertools.cycle(managers.split("+")), shapes, strict=False):
        referee = Referee(shape)
        referee.manager = manager
        print(referee.url, flush=True)
        if referee.traits.get("register") != "never":
            referee.register(manager)
    print("ready", flush=True)
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
