"""What it costs when a player understands nothing: one search in a league, whoever referees.

A real manager and real referees over the memory transport; the player is raw bytes.
"""

import json
from itertools import cycle

from agentleague.league.events import DialectLearnt, read_event
from memory_league import MANAGER, MemoryLeague
from rules import rule
from tables import each_row

URL = "http://raw/mcp"
NO_METHOD = {"jsonrpc": "2.0", "error": {"code": -32601, "message": "?"}, "id": 1}
FAILS = {"jsonrpc": "2.0", "error": {"code": -32603, "message": "loading"}, "id": 1}
OK = {"status": "ok"}
JOIN = {"result": {"accept": True, "parity_choice": "even"}}


class Raw:
    """Answers everything alike."""

    def __init__(self, league, answer, url=URL):
        self._league, self._url, self.answer, self.asked = league, url, answer, []
        league.network.agents[url] = self
        self.register()

    def register(self):
        meta = {"display_name": "Raw", "contact_endpoint": self._url}
        request = {"method": "register_player", "params": {"player_meta": meta}}
        body = json.dumps({"jsonrpc": "2.0", "id": 1, **request}).encode()
        manager = self._league.network.agents[MANAGER]
        manager.receive(body, self._url, lambda answer: None)

    def receive(self, body, source, respond, head=b""):
        request = json.loads(body)
        if "GAME_INVITATION" in json.dumps(request):
            self.asked.append(source)
        answer = self.answer(request) if callable(self.answer) else self.answer
        respond(json.dumps(answer).encode())


def league_with(answer, players=5, referees=2):
    league = MemoryLeague(players=players, referees=referees)
    for _ in range(referees):
        league.add_referee()
    raw = Raw(league, answer)
    for number in range(players - 1):
        league.add_player(name=f"Player {number}")
    return league, raw


def learnt(league):
    rows = league.journal.read("league_test")
    events = [read_event(row.kind, row.version, row.body) for row in rows]
    return [event.dialect for event in events if isinstance(event, DialectLearnt)]


@rule("R-DIA-11")
@each_row(
    ("answer", "dialect", "seconds"),
    [
        (NO_METHOD, "tool~none", (2.0, 2.0)),  # The first match has one retry, after two seconds.
        (OK, "tool~none", (5.0, 20.0)),  # In each of four matches a push is waited for.
        (FAILS, "tool~fail", (6.0, 6.0)),  # It may pass: the first match has all retries.
    ],
)
def test_a_player_that_understands_nothing_is_searched_in_one_match_and_asked_once_in_others(
    answer, dialect, seconds
):
    league, raw = league_with(answer)
    began = league.clock.now()

    league.run_until(lambda: learnt(league) == [dialect])
    first, searched = league.clock.now() - began, list(raw.asked)
    league.play()

    assert len(set(searched)) == 1  # One of the two referees.
    assert len(searched) > 10
    assert len(raw.asked) == len(searched) + 3  # Once in each of its other matches.
    assert (round(first, 1), round(league.clock.now() - began, 1)) == seconds
    assert learnt(league) == [dialect]
    assert len(league.league.matches) == 10


def nested_only(request):
    """Understands one method, which holds the message."""
    return JOIN if request.get("method") == "handle_message" else NO_METHOD


def lost_by_default(league):
    return [match for match in league.league.matches.values() if match.decided.forfeits]


@rule("R-DIA-11")
@each_row("seconds", [1.0, 3.0, 5.0])
def test_a_player_that_fails_while_it_starts_is_searched_when_it_answers_otherwise(seconds):
    league, raw = league_with(FAILS)
    league.run_until(lambda: raw.asked)
    ready = league.clock.now() + seconds
    raw.answer = lambda request: FAILS if league.clock.now() < ready else nested_only(request)

    league.play()

    assert (learnt(league), lost_by_default(league)) == (["message"], [])


@rule("R-DIA-11")
def test_a_player_that_failed_a_whole_match_is_searched_in_the_next_if_it_answers_otherwise():
    league, raw = league_with(FAILS)
    league.run_until(lambda: learnt(league) == ["tool~fail"])
    raw.answer = nested_only

    league.play()

    assert learnt(league) == ["tool~fail", "message"]
    assert len(lost_by_default(league)) == 1


@rule("R-DIA-11")
def test_a_player_that_fails_now_one_way_now_another_is_searched_twice_at_most():
    league, raw = league_with(FAILS)
    league.run_until(lambda: learnt(league) == ["tool~fail"])
    searched, turns = len(raw.asked), cycle([NO_METHOD, FAILS])
    raw.answer = lambda request: next(turns)

    league.play()

    assert learnt(league)[0] == "tool~fail"
    assert learnt(league)[1].endswith("~none")
    assert len(learnt(league)) == 2
    assert len(raw.asked) < 3 * searched


@rule("R-DIA-11")
def test_what_it_understands_later_is_learnt_and_searched_anew_when_it_comes_back():
    league, raw = league_with(NO_METHOD)
    league.run_until(lambda: learnt(league) == ["tool~none"])
    raw.register()

    assert learnt(league) == ["tool~none", "tool"]
    raw.answer = JOIN
    league.play()

    assert len(lost_by_default(league)) == 1


@rule("R-DIA-11")
def test_at_another_end_point_it_is_searched_anew():
    league, raw = league_with(NO_METHOD, referees=1)
    league.run_until(lambda: learnt(league) == ["tool~none"])

    league.network.agents["http://new/mcp"] = raw
    league.command("set_endpoint", agent_id="P01", url="http://new/mcp")

    assert learnt(league) == ["tool~none", "tool"]
