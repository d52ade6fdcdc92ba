"""The course of a league, and what an agent's HTTP server takes: rules R-FLOW and R-HTTP."""

import http.client
import json
from itertools import count, pairwise

import pytest

import memory_league
from agentleague.protocol.messages import WIRE_NAME
from memory_league import MemoryLeague
from pages import Terminal
from rules import rule

OF_A_ROUND = ["ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED"]


class Diary:
    """When each agent was sent what."""

    def __init__(self, league):
        self.league, self.rows = league, []
        league.network.watch = self._note

    def _note(self, url, message):
        self.rows.append((self.league.clock.now(), url, WIRE_NAME[type(message)], message))

    def of(self, *types, url=None):
        return [row for row in self.rows if row[2] in types and url in (None, row[1])]


def silent(host):
    """The agent takes every message and answers none."""
    host._transport.listen(lambda *asked: None)


@rule("R-FLOW-01")
def test_a_round_is_announced_played_counted_and_ended_in_this_order():
    league = MemoryLeague(players=4, referees=2)
    diary = Diary(league)
    league.fill().play()

    for player in ("http://player3/mcp", "http://player6/mcp"):
        types = [row[2] for row in diary.of(*OF_A_ROUND, "GAME_OVER", url=player)]
        told = [name for name, after in pairwise([*types, ""]) if name != after]
        for name in OF_A_ROUND:
            assert told.count(name) >= 3
        assert types[0] == "ROUND_ANNOUNCEMENT"
        for before, after in pairwise(types):
            if after == "ROUND_COMPLETED":
                assert before == "LEAGUE_STANDINGS_UPDATE"
            if before == "ROUND_COMPLETED":
                assert after == "ROUND_ANNOUNCEMENT"
    first = [row[1] for row in diary.of("ROUND_ANNOUNCEMENT")][:6]
    assert [("player" in url) for url in first] == [True] * 4 + [False] * 2
    to_agents = [row[2] for row in diary.rows if row[1] != memory_league.MANAGER]
    assert set(to_agents[-6:]) == {"LEAGUE_COMPLETED"}


@rule("R-FLOW-02")
def test_a_player_that_lets_an_announcement_run_out_is_waited_for_once():
    league = MemoryLeague(players=4, referees=1)
    diary = Diary(league)
    league.fill()
    silent(league.hosts[-1])
    league.play()

    waited = []
    for round_id in (1, 2, 3):
        rows = [row for row in diary.of("ROUND_ANNOUNCEMENT") if row[3].round_id == round_id]
        to_players = min(row[0] for row in rows if "player" in row[1])
        waited.append(min(row[0] for row in rows if "referee" in row[1]) - to_players)
    assert waited == [pytest.approx(10.0), 0.0, 0.0]


@rule("R-FLOW-03")
def test_an_agent_gets_the_next_message_of_the_manager_when_it_answered_the_last_one():
    league = MemoryLeague(players=4, referees=1)
    diary = Diary(league)
    league.fill()
    silent(league.hosts[-1])
    league.play()

    times = [row[0] for row in diary.of(*OF_A_ROUND, url="http://player5/mcp")]
    assert len(times) > 2
    assert all(after - before >= 10.0 for before, after in pairwise(times))


def slow(league, host, seconds):
    """The agent answers everything, so much later."""
    clock = league.clock
    host._transport.listen(
        lambda *asked: clock.call_at(clock.now() + seconds, lambda: host.ask(*asked))
    )


@rule("R-FLOW-03")
def test_a_player_is_told_the_next_thing_when_it_has_answered_the_last_one():
    league = MemoryLeague(players=2, referees=1, cycles=3)
    diary = Diary(league)
    league.add_referee()
    for host in (league.add_player(), league.add_player()):
        slow(league, host, 1.0)
    league.play()

    rows = diary.of(*OF_A_ROUND, url="http://player2/mcp")
    at = next(number for number, row in enumerate(rows) if row[2] == "ROUND_COMPLETED")
    assert [row[2] for row in rows[at - 1 : at + 2]] == [
        *("LEAGUE_STANDINGS_UPDATE", "ROUND_COMPLETED", "ROUND_ANNOUNCEMENT")
    ]
    times = [row[0] - rows[at - 1][0] for row in rows[at - 1 : at + 2]]
    assert times == [0.0, pytest.approx(1.0), pytest.approx(2.0)]


@rule("R-FLOW-04")
def test_the_table_is_sent_once_a_second_while_a_round_runs_and_once_at_its_end():
    league = MemoryLeague(players=12, referees=1, cycles=1)
    league.think_seconds = count(0.25, 0.25).__next__  # So matches end one after another.
    diary = Diary(league)
    league.fill()
    league.run_until(lambda: bool(diary.of("ROUND_COMPLETED")))

    times = [row[0] for row in diary.of("LEAGUE_STANDINGS_UPDATE", url="http://player2/mcp")]
    *running, last = times
    assert len(running) >= 2
    assert all(after - before >= 1.0 for before, after in pairwise(running))
    assert last == diary.of("ROUND_COMPLETED")[0][0]


@pytest.fixture
def manager(tmp_path):
    terminal = Terminal(tmp_path)
    terminal.serve("league manager --players 2")
    return terminal.port


def ask(port, method="POST", path="/mcp", body=b"", **headers):
    """The status, and the JSON of the body if there is any."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    sent = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, path, body, sent)
    answer = connection.getresponse()
    text = answer.read()
    connection.close()
    is_json = "json" in (answer.getheader("Content-Type") or "")
    return answer.status, json.loads(text) if is_json and text else None


STATUS = b'{"message_type": "LEAGUE_QUERY", "query_type": "GET_STATUS"}'


@rule("R-HTTP-01")
def test_messages_are_taken_at_three_paths_and_nowhere_else(manager):
    for path in ("/mcp", "/", "/register"):
        status, answer = ask(manager, path=path, body=STATUS)
        assert (status, answer["success"]) == (200, True)

    assert ask(manager, path="/other", body=STATUS)[0] == 404
    assert ask(manager, "GET")[0] == 405
    assert ask(manager, "GET", "/health")[0] == 200


CHESS = {"display_name": "Eve", "contact_endpoint": "http://127.0.0.1:9/mcp", "games": ["chess"]}
NAMELESS = {"endpoint": "http://127.0.0.1:9/mcp"}
REGISTER = {"jsonrpc": "2.0", "method": "register_player", "id": 1}
BARE = {"message_type": "LEAGUE_REGISTER_REQUEST"}


@rule("R-REG-16")
@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/register", CHESS, 403),
        ("/register", NAMELESS, 400),
        ("/register", {**REGISTER, "params": CHESS}, 403),
        ("/mcp", {**BARE, "player_meta": CHESS}, 403),
        ("/mcp", {**BARE, "player_meta": NAMELESS}, 400),
        ("/mcp", {**REGISTER, "params": {"player_meta": CHESS}}, 200),
        ("/mcp", {**REGISTER, "params": {"player_meta": NAMELESS}}, 200),
        ("/mcp", {"message_type": "LEAGUE_QUERY", "query_type": "GET_NEXT_MATCH"}, 200),
    ],
)
def test_a_refused_registration_has_an_http_status_of_its_own_without_json_rpc(
    manager, path, body, status
):
    got, answer = ask(manager, path=path, body=json.dumps(body).encode())

    assert got == status
    told = answer.get("result", answer)
    assert told.get("status") == "REJECTED" or "error" in told or "error_code" in told


@rule("R-HTTP-02")
def test_a_long_body_is_refused_and_one_within_the_limit_is_read(manager):
    padded = STATUS[:-1] + b', "x": "%b"}'
    room = 10_240 - len(padded % b"")

    assert ask(manager, body=padded % (b"x" * room))[0] == 200
    status, answer = ask(manager, body=padded % (b"x" * (room + 1)))
    assert (status, answer["error"]["data"]["error_code"]) == (413, "E048")


@rule("R-HTTP-03")
def test_foreign_names_foreign_pages_and_compressed_bodies_are_refused(manager):
    for host in ("127.0.0.1", "localhost", "192.168.1.10"):
        assert ask(manager, body=STATUS, Host=host)[0] == 200
    assert ask(manager, body=STATUS, Host="rebound.example")[0] == 403
    assert ask(manager, body=STATUS, Origin="https://elsewhere.example")[0] == 403
    assert ask(manager, body=STATUS, Content_Encoding="gzip")[0] == 415
    assert ask(manager, body=STATUS, Content_Type="text/plain")[0] == 200
