"""Players of one process say its name: it is kept with them, and told to nobody."""

import msgspec

from agentleague.league.events import PlayerReturned
from agentleague.manager.registration import Terms, admit_player
from agentleague.protocol.messages import LeagueRegisterRequest, PlayerMeta
from agentleague.protocol.tokens import digest
from agentleague.records.event_text import shown
from league.decisions import TOKEN_SECRET, Decisions, token
from memory_league import MemoryLeague
from rules import rule

URL = "http://127.0.0.1:9000/mcp"
TERMS = Terms(TOKEN_SECRET, 3, 2, lambda url, source: None)


def register(decisions, house, proof=None):
    request = LeagueRegisterRequest(PlayerMeta("Ann", URL, house=house))
    event, _ = admit_player(decisions.league, TERMS, request, "10.0.0.9", proof)
    decisions.record(event)
    return event


def house_of(decisions, player_id="P01"):
    return decisions.league.roster.players[player_id].house


@rule("R-REG-16")
def test_a_player_is_of_the_house_that_it_named_last():
    decisions = Decisions(0)

    register(decisions, "h_1")
    assert house_of(decisions) == "h_1"
    register(decisions, "h_2", token("P01"))
    assert house_of(decisions) == "h_2"


@rule("R-REG-16")
def test_who_comes_back_without_its_token_is_of_no_house():
    decisions = Decisions(0)
    register(decisions, "h_1")

    decisions.record(PlayerReturned("P01", digest("another"), 2))

    assert house_of(decisions) == ""


@rule("R-REG-16")
def test_nobody_is_told_the_name_of_a_house():
    league = MemoryLeague(players=2, referees=1)
    league.add_referee()
    league.add_player(house="h_secret")
    league.add_player(house="h_secret")
    league.play()

    told = [msgspec.json.encode(m) for to, m in league.messages if to != "manager"]
    assert told
    assert not any(b"h_secret" in text for text in told)
    assigned = next(text for text in told if b'"seats"' in text)
    assert assigned.count(f'"house":"{digest("h_secret")[:16]}"'.encode()) == 2
    assert "h_secret" not in str(shown(register(Decisions(0), "h_secret")))
