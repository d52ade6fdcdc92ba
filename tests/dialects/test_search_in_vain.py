"""What it costs when a player understands nothing: one search in a league, whoever referees.

A real manager and real referees over the memory transport; the player is raw bytes.
"""

import json

from agentleague.league.events import DialectLearnt, read_event
from memory_league import MANAGER, MemoryLeague
from rules import rule
from tables import each_row

URL = "http://raw/mcp"
NO_METHOD = {"jsonrpc": "2.0", "error": {"code": -32601, "message": "?"}, "id": 1}
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
        message = json.dumps(json.loads(body))
        if "GAME_INVITATION" in message:
            self.asked.append(source)
        respond(json.dumps(self.answer).encode())


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
    ("answer", "seconds"),
    [
        (NO_METHOD, (2.0, 2.0)),  # The first match has one retry, after two seconds.
        (OK, (5.0, 20.0)),  # In each of four matches a push is waited for.
    ],
)
def test_a_player_that_understands_nothing_is_searched_in_one_match_and_asked_once_in_others(
    answer, seconds
):
    league, raw = league_with(answer)
    began = league.clock.now()

    league.run_until(lambda: learnt(league) == ["tool~none"])
    first, searched = league.clock.now() - began, list(raw.asked)
    league.play()

    assert len(set(searched)) == 1  # One of the two referees.
    assert len(searched) > 10
    assert len(raw.asked) == len(searched) + 3  # Once in each of its other matches.
    assert (round(first, 1), round(league.clock.now() - began, 1)) == seconds
    assert learnt(league) == ["tool~none"]
    assert len(league.league.matches) == 10


@rule("R-DIA-11")
def test_what_it_understands_later_is_learnt_and_searched_anew_when_it_comes_back():
    league, raw = league_with(NO_METHOD)
    league.run_until(lambda: learnt(league) == ["tool~none"])
    raw.register()

    assert learnt(league) == ["tool~none", "tool"]
    raw.answer = JOIN
    league.play()

    lost = [match for match in league.league.matches.values() if match.decided.forfeits]
    assert len(lost) == 1


@rule("R-DIA-11")
def test_at_another_end_point_it_is_searched_anew():
    league, raw = league_with(NO_METHOD, referees=1)
    league.run_until(lambda: learnt(league) == ["tool~none"])

    league.network.agents["http://new/mcp"] = raw
    league.command("set_endpoint", agent_id="P01", url="http://new/mcp")

    assert learnt(league) == ["tool~none", "tool"]
