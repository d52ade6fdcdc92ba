"""Players that misbehave, on raw sockets: python players.py MANAGER BEHAVIOUR [BEHAVIOUR …].

A behaviour is what it does and when: `silent@join`, `silent@move`, `silent@all`; what it says may
be given in JSON: `says="Even"@move`. Apart from that the player is a good one. Each behaviour is a
player of its own with a port of its own. Needs the standard library and nothing of ours.

`players.py - BEHAVIOUR PORT` serves on that port without registering: a player that came back.
"""

import gzip
import json
import os
import socket
import sys
import threading
import time
import urllib.request

STEPS = {
    "handle_game_invitation": "join",
    "parity_choose": "move",
    "notify_game_error": "error",
    "notify_match_result": "over",
}
WAIT_SECONDS = 60  # for a peer that never closes its end
DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


class Ask:
    """One request, and the connection to answer it on."""

    def __init__(self, line, body):
        self.line = line
        self.id, self.params = body.get("id"), body.get("params", {})
        self.step = STEPS.get(body.get("method"), "news")
        self.number = 1  # How often this was asked of the player in this match.

    def send(self, status, body, *headers):
        """One HTTP answer."""
        lines = [f"HTTP/1.1 {status}", *headers, f"Content-Length: {len(body)}", "", ""]
        self.line.sendall("\r\n".join(lines).encode() + body)

    def json(self, value, status="200 OK", *headers):
        self.send(status, json.dumps(value).encode(), "Content-Type: application/json", *headers)

    def result(self, value):
        self.json({"jsonrpc": "2.0", "result": value, "id": self.id})

    def hold(self):
        """Say nothing until the peer gives up."""
        self.line.settimeout(WAIT_SECONDS)
        while self.line.recv(65536):
            pass

    def close(self):
        self.line.shutdown(socket.SHUT_RDWR)
        self.line.close()


def content(ask, choice="odd"):
    """What a good player answers."""
    match_id = ask.params.get("match_id")
    if ask.step == "join":
        return {"message_type": "GAME_JOIN_ACK", "match_id": match_id, "accept": True}
    if ask.step == "move":
        kind = "CHOOSE_PARITY_RESPONSE"
        return {"message_type": kind, "match_id": match_id, "parity_choice": choice}
    return {"status": "ok"}


def push(player, ask, choice="odd", **more):
    """The answer to the referee's own end point; the league may begin before we know our id."""
    player.registered.wait(WAIT_SECONDS)
    body = {**content(ask, choice), "player_id": player.player_id, **more}
    post(ask.params["referee_endpoint"], body)


def post(url, value):
    request = urllib.request.Request(url, json.dumps(value).encode())
    request.add_header("Content-Type", "application/json")
    with DIRECT.open(request, timeout=WAIT_SECONDS) as answer:
        return json.load(answer)


# What they do.


def well(player, ask):
    ask.result(content(ask))


def silent(player, ask):
    ask.hold()


def closes(player, ask):
    ask.close()


def trickles(player, ask):
    ask.line.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n")
    while True:
        ask.line.sendall(b" ")
        time.sleep(1)


def endless_headers(player, ask):
    ask.line.sendall(b"HTTP/1.1 200 OK\r\n")
    while True:
        ask.line.sendall(b"X-More: " + b"x" * 1000 + b"\r\n")


def long_body(player, ask):
    ask.result({**content(ask), "padding": "x" * 10_240})


def zipped(player, ask):
    text = json.dumps({"jsonrpc": "2.0", "result": content(ask), "id": ask.id}).encode()
    ask.send("200 OK", gzip.compress(text), "Content-Encoding: gzip")


def redirects(player, ask):
    ask.send("307 Temporary Redirect", b"", f"Location: http://127.0.0.1:{player.port}/other")


def html(player, ask):
    ask.send("200 OK", b"<html><body>It works!</body></html>", "Content-Type: text/html")


def not_found(player, ask):
    ask.send("404 Not Found", b"not found")


def breaks(player, ask):
    ask.send("500 Internal Server Error", b"Internal Server Error")


def rpc_error(player, ask):
    error = {"code": -32603, "message": "division by zero"}
    ask.json({"jsonrpc": "2.0", "error": error, "id": ask.id})


def empty_object(player, ask):
    ask.json({})


def status_ok(player, ask):
    ask.json({"status": "ok"})


def accepted(player, ask):
    ask.send("202 Accepted", b"")


def pushes(player, ask):
    ask.send("202 Accepted", b"")
    push(player, ask)


def pushes_signed(player, ask):
    ask.send("202 Accepted", b"")
    player.registered.wait(WAIT_SECONDS)
    push(player, ask, auth_token=player.token)


def pushes_first(player, ask):
    push(player, ask)
    ask.send("202 Accepted", b"")


def wrong_id(player, ask):
    ask.json({"jsonrpc": "2.0", "result": content(ask), "id": 4711})


def other_player(player, ask):
    ask.result({**content(ask), "player_id": "P01", "sender": "player:P01"})


def error_null(player, ask):
    ask.json({"jsonrpc": "2.0", "result": content(ask), "error": None, "id": ask.id})


def other_match(player, ask):
    ask.result({**content(ask), "match_id": "R9M9"})


def says(player, ask):
    ask.result({**content(ask), "parity_choice": player.given})


def lacks(player, ask):
    """A choice answer by its type, without a choice."""
    ask.result({"message_type": "CHOOSE_PARITY_RESPONSE", "match_id": ask.params["match_id"]})


def lacks_then_well(player, ask):
    lacks(player, ask) if ask.number == 1 else well(player, ask)


def lacks_and_pushes(player, ask):
    """Acknowledges under the type of the answer, and pushes later than it could be asked again."""
    ask.result({"message_type": "CHOOSE_PARITY_RESPONSE", "status": "RECEIVED"})
    time.sleep(2.5)
    push(player, ask)


def says_then_well(player, ask):
    says(player, ask) if ask.number == 1 else well(player, ask)


def corrects(player, ask):
    """An illegal move, and the legal one in the answer to GAME_ERROR."""
    if ask.step == "error":
        ask.result({"status": "ACKNOWLEDGED", "parity_choice": "odd"})
    else:
        ask.result(content(ask, "Odd"))


def answers_and_pushes(player, ask):
    ask.result(content(ask, "odd"))
    player.registered.wait(WAIT_SECONDS)
    push(player, ask, "even", auth_token=player.token)


def pushes_and_answers(player, ask):
    player.registered.wait(WAIT_SECONDS)
    push(player, ask, "odd", auth_token=player.token)
    ask.result(content(ask, "even"))


def late(player, ask):
    """Answers the first call after its time, and no other."""
    if ask.number > 1:
        ask.hold()
    time.sleep(float(player.given))
    well(player, ask)


def declines(player, ask):
    ask.result({**content(ask), "accept": False})


def limits(player, ask):
    if ask.number > 1:
        well(player, ask)
    else:
        ask.send("429 Too Many Requests", b"slow down", "Retry-After: 1")


def limits_in_json(player, ask):
    if ask.number > 1:
        well(player, ask)
    else:
        error = {"code": -32000, "message": "Rate limit exceeded", "data": {"retry_after": 0.1}}
        ask.json({"jsonrpc": "2.0", "error": error, "id": ask.id})


def dies(player, ask):
    """Answers, and is gone."""
    well(player, ask)
    os._exit(1)


ALSO = {"corrects": ("error",)}  # steps at which a behaviour acts beside its own


class Player:
    """One behaviour at one port."""

    def __init__(self, behaviour, port=0):
        doing, self._step = behaviour.rsplit("@", 1)
        name, _, given = doing.partition("=")
        self.given = json.loads(given) if given else None
        self._do, self._also = globals()[name], ALSO.get(name, ())
        self.name, self.player_id, self.token = behaviour, "", ""
        self.registered = threading.Event()
        self._counts = {}
        self._server = socket.create_server(("127.0.0.1", port), backlog=256)
        self.port = self._server.getsockname()[1]
        threading.Thread(target=self._serve, daemon=True).start()

    def register(self, manager):
        meta = {
            "display_name": self.name,
            "contact_endpoint": f"http://127.0.0.1:{self.port}/mcp",
            "game_types": ["even_odd"],
        }
        params = {"message_type": "LEAGUE_REGISTER_REQUEST", "player_meta": meta}
        body = {"jsonrpc": "2.0", "method": "register_player", "params": params, "id": 1}
        answer = post(manager, body)["result"]
        self.player_id, self.token = answer["player_id"], answer["auth_token"]
        self.registered.set()

    def _serve(self):
        while True:
            line, _ = self._server.accept()
            threading.Thread(target=self._listen, args=(line,), daemon=True).start()

    def _listen(self, line):
        try:
            with line, line.makefile("rb") as reader:
                while body := read_request(reader):
                    self._answer(Ask(line, json.loads(body)))
        except OSError:
            pass  # The peer has had enough of us.

    def _answer(self, ask):
        key = (ask.params.get("match_id"), ask.params.get("epoch"), ask.step)
        ask.number = self._counts[key] = self._counts.get(key, 0) + 1
        mine = self._step in ("all", ask.step) or ask.step in self._also
        (self._do if mine else well)(self, ask)


def read_request(reader):
    """The body of the next request; nothing where the peer has hung up."""
    length = 0
    while (line := reader.readline().strip().lower()) != b"":
        name, _, value = line.partition(b":")
        length = int(value) if name == b"content-length" else length
    return reader.read(length)


def main(manager, *arguments):
    if manager == "-":
        behaviour, port = arguments
        Player(behaviour, int(port)).registered.set()  # It had an id before.
    else:
        for behaviour in arguments:
            player = Player(behaviour)
            print(player.port, flush=True)
            player.register(manager)
    threading.Event().wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
