"""Bad input to a real manager: each kind gets its own documented error and changes nothing."""

import asyncio
import http.client
import json
import socket
import threading

import pytest

from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.managers import Home, open_manager
from agentleague.runtime.processes import Place

GOOD = {
    "jsonrpc": "2.0",
    "method": "register_player",
    "params": {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": "player:ann",
        "timestamp": "2025-01-15T10:30:00Z",
        "conversation_id": "conv-1",
        "player_meta": {
            "display_name": "Ann",
            "version": "1.0.0",
            "game_types": ["even_odd"],
            "contact_endpoint": "http://127.0.0.1:8101/mcp",
        },
    },
    "id": 7,
}


class RealManager:
    """A manager on a real port, in a thread of its own."""

    def __init__(self, directory):
        self._ready, self._directory = threading.Event(), directory
        self._thread = threading.Thread(target=lambda: asyncio.run(self._main()))
        self._thread.start()
        assert self._ready.wait(20)

    async def _main(self):
        self._loop, self._stopped = asyncio.get_running_loop(), asyncio.Event()
        settings = ManagerSettings(league_id="league_test", players=500)
        running = await open_manager(
            settings, Home(self._directory), Place(18400, hosts=("127.0.0.1",))
        )
        self.role = running.host.role
        self.port = int(running.url.split(":")[2].split("/")[0])
        self._ready.set()
        await self._stopped.wait()
        await running.stop()

    def stop(self):
        self._loop.call_soon_threadsafe(self._stopped.set)
        self._thread.join(20)

    def post(self, body, path="/mcp", headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=20)
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        connection.request(
            "POST", path, body, {"Content-Type": "application/json", **(headers or {})}
        )
        answer = connection.getresponse()
        text = answer.read()
        connection.close()
        return answer.status, json.loads(text) if text else None


@pytest.fixture(scope="module")
def manager(tmp_path_factory):
    running = RealManager(tmp_path_factory.mktemp("cup"))
    yield running
    running.stop()


def changed(**fields):
    return {**GOOD, "params": {**GOOD["params"], **fields}}


def without(path):
    message = json.loads(json.dumps(GOOD))
    *outer, last = path.split(".")
    part = message
    for name in outer:
        part = part[name]
    del part[last]
    return message


TEXT = json.dumps(GOOD)
BAD = [
    # what, body, HTTP status, JSON-RPC code, E-code, id that comes back
    ("too big", changed(padding="x" * 10_240), 413, -32600, "E048", None),
    ("not JSON", b"hello", 200, -32700, "E049", None),
    ("cut off", TEXT[:-5].encode(), 200, -32700, "E049", None),
    ("empty", b"", 200, -32700, "E049", None),
    ("too deep", b"[" * 17 + b"]" * 17, 200, -32700, "E049", None),
    (
        "a key twice",
        TEXT.replace('"id": 7', '"id": 7, "id": 8').encode(),
        200,
        -32700,
        "E049",
        None,
    ),
    ("NaN", TEXT.replace('"id": 7', '"id": NaN').encode(), 200, -32700, "E049", None),
    ("lone surrogate", TEXT.replace("Ann", "\\ud800").encode(), 200, -32700, "E049", None),
    ("not UTF-8", TEXT.replace("Ann", "\xff").encode("latin-1"), 200, -32700, "E049", None),
    ("a batch", [GOOD], 200, -32600, "E050", None),
    ("no version", without("jsonrpc"), 200, -32600, "E050", 7),
    ("unknown method", {"jsonrpc": "2.0", "method": "dance", "id": 7}, 200, -32601, "E051", 7),
    ("missing field", without("params.player_meta.contact_endpoint"), 200, -32602, "E003", 7),
    ("missing object", without("params.player_meta"), 200, -32602, "E003", 7),
    ("wrong type", changed(player_meta=[]), 200, -32602, "E003", 7),
    ("wrong protocol", changed(protocol="chess.v1"), 200, -32602, "E018", 7),
    ("local time", changed(timestamp="2025-01-15T10:30:00+02:00"), 200, -32602, "E021", 7),
    ("no time zone", changed(timestamp="2025-01-15T10:30:00"), 200, -32602, "E021", 7),
]


@pytest.mark.parametrize(
    ("body", "status", "number", "code", "request_id"),
    [row[1:] for row in BAD],
    ids=[row[0] for row in BAD],
)
def test_bad_input_gets_its_own_error_and_changes_nothing(
    manager, body, status, number, code, request_id
):
    before = manager.role.league.seq

    got, answer = manager.post(body)

    assert got == status
    assert answer["error"]["code"] == number
    assert answer["error"]["data"]["error_code"] == code
    assert answer["error"]["data"]["message_type"] == "LEAGUE_ERROR"
    assert answer["error"]["data"]["action_required"]
    assert answer["id"] == request_id
    assert manager.role.league.seq == before


def test_endless_headers_are_refused_and_the_connection_is_closed(manager):
    with socket.create_connection(("127.0.0.1", manager.port), timeout=20) as peer:
        peer.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\n")
        answer = b""
        try:
            for _ in range(1000):
                peer.sendall(b"X-Filler: " + b"x" * 100 + b"\r\n")
        except OSError:
            pass
        try:
            while piece := peer.recv(65536):
                answer += piece
        except OSError:
            pass
    assert answer.startswith(b"HTTP/1.1 431 ")


@pytest.mark.thorough  # The deadline is five seconds.
def test_a_trickling_request_is_closed_at_its_deadline(manager):
    with socket.create_connection(("127.0.0.1", manager.port), timeout=20) as peer:
        peer.sendall(b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{")

        answer = peer.recv(65536)

    assert answer.startswith(b"HTTP/1.1 408 ")


def test_after_all_that_a_good_request_is_served(manager):
    before = manager.role.league.seq

    status, answer = manager.post(GOOD)

    assert status == 200
    assert (answer["id"], answer["result"]["status"]) == (7, "ACCEPTED")
    assert manager.role.league.seq == before + 1


@pytest.mark.parametrize(
    ("request_id", "echoed"), [(0, 0), (-3, -3), ("7", "7"), ("", ""), (2**53, 2**53)]
)
def test_the_id_comes_back_with_its_type(manager, request_id, echoed):
    query = {"method": "league_query", "params": {"query_type": "GET_STATUS"}}

    _, answer = manager.post({"jsonrpc": "2.0", **query, "id": request_id})

    assert answer["id"] == echoed
    assert type(answer["id"]) is type(echoed)


def test_a_notification_is_taken_and_answered_with_nothing(manager):
    before = manager.role.league.seq
    notification = {**GOOD}
    del notification["id"]

    assert manager.post(notification) == (202, None)
    assert manager.role.league.seq == before + 1


@pytest.mark.parametrize("path", ["/mcp", "/", "/register"])
def test_a_bare_message_is_answered_bare(manager, path):
    status, answer = manager.post(GOOD["params"], path)

    assert status == 200
    assert answer["message_type"] == "LEAGUE_REGISTER_RESPONSE"
    assert "jsonrpc" not in answer


def test_an_end_point_that_may_not_be_called_is_refused(manager):
    meta = {**GOOD["params"]["player_meta"], "contact_endpoint": "http://192.0.2.1:8101/mcp"}

    _, answer = manager.post(changed(player_meta=meta))

    assert (answer["result"]["status"], answer["result"]["error_code"]) == ("REJECTED", "E043")
    assert answer["result"]["player_id"] is None
    assert answer["result"]["code"] == 2003


def test_a_browser_from_elsewhere_is_refused(manager):
    status, _ = manager.post(GOOD, headers={"Origin": "http://elsewhere.example"})

    assert status == 403
