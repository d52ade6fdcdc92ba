"""Tokens shown where they give no right are refused, and the organiser hears of it, once."""

import pytest
from msgspec.structs import replace

from agentleague.errors import LeagueError, TokenInvalid
from agentleague.league.events import TokenMisused
from agentleague.protocol.messages import (
    Exchange,
    LeagueCommand,
    LeagueQuery,
    LeagueRegisterRequest,
    LockRequest,
    MatchResultAck,
    MatchResultReport,
    PlayerMeta,
    RefereeMeta,
    RefereeRegisterRequest,
    RefereeStatus,
    ReportedResult,
)
from agentleague.protocol.tokens import channel_key, league_token, match_token
from manager.test_assignments import events_of
from manager.test_role_abuse import ask
from memory_league import SECRETS, MemoryLeague
from rules import rule


def token_of(agent_id, generation=1):
    return league_token(SECRETS.token_secret, "league_test", agent_id, generation)


def of_match(player_id, direction="ref>player", match_id="R1M1", epoch=1):
    key = channel_key(token_of(player_id))
    return match_token(key, direction, "league_test", match_id, player_id, epoch)


def playing():
    league = MemoryLeague(2, 1).fill()
    return league.run_until(lambda: league.league.round_id == 1)


LOCK = LockRequest("R1M1", 1, 0, [], [])
REPORT = MatchResultReport("R1M1", ReportedResult("P01"))


@rule("R-LEAGUE-35")
@pytest.mark.parametrize(
    ("message", "agent_id", "name"),
    [
        (LOCK, "P01", "LOCK_REQUEST"),
        (REPORT, "P01", "MATCH_RESULT_REPORT"),
        (RefereeStatus("ses"), "P02", "REFEREE_STATUS"),
        (LeagueCommand("abort"), "P02", "LEAGUE_COMMAND"),
        (LeagueCommand("abort"), "REF01", "LEAGUE_COMMAND"),
    ],
)
def test_a_token_gives_no_right_beyond_its_role(message, agent_id, name):
    league = playing()
    table = league.league.table.rows()

    answers = [ask(league, message, token_of(agent_id)) for _ in range(3)]

    assert {type(answer) for answer in answers} == {TokenInvalid}
    assert events_of(league, TokenMisused) == [TokenMisused(agent_id, name, "league")]
    assert league.league.table.rows() == table
    assert list(league.manager.news)[-1] == (
        f"{agent_id}: its token came with {name}, which it gives no right to; it was refused."
    )


@rule("R-LEAGUE-35")
def test_a_wrong_token_that_a_referee_let_count_as_none_is_noted_once():
    league = playing()
    wrong = {"P01": "GAME_JOIN_ACK", "P02": "LOCK_REQUEST", "P09": "GAME_JOIN_ACK"}
    locked = ask(league, replace(LOCK, forfeits=[("P02", "declined")]), token_of("REF01"))

    for _ in range(2):
        report = replace(REPORT, wrong_tokens=wrong)
        assert isinstance(ask(league, report, token_of("REF01")), MatchResultAck), locked
    refused = ask(league, replace(report, match_id="R9M9"), token_of("REF01"))

    assert isinstance(refused, LeagueError)
    assert events_of(league, TokenMisused) == [TokenMisused("P01", "GAME_JOIN_ACK", "unknown")]
    said = "P01: an unknown token came with a GAME_JOIN_ACK of it, which counted as if with none."
    assert said in league.manager.news


@rule("R-REG-20")
def test_the_organiser_is_told_who_answered_a_referee_in_the_name_of_another():
    league = playing()
    ask(league, replace(LOCK, forfeits=[("P02", "declined")]), token_of("REF01"))
    row = Exchange(0, "P01", "GAME_INVITATION", 1, "ok", note="as P02")
    rows = [row, row, replace(row, player_id="P09"), replace(row, player_id="P02", note="")]
    league.manager.news.clear()

    ask(league, replace(REPORT, transcript=rows), token_of("REF01"))

    assert "Contradiction of P01: it answered as P02 (E012)." in league.manager.news
    assert sum("Contradiction" in each for each in league.manager.news) == 1


@rule("R-LEAGUE-35")
@pytest.mark.parametrize("direction", ["ref>player", "player>ref"])
@pytest.mark.parametrize("message", [LOCK, REPORT])
def test_a_match_token_gives_no_right_at_the_manager(message, direction):
    league = playing()
    token = of_match("P02", direction)

    answers = [ask(league, message, token) for _ in range(2)]

    assert {type(answer) for answer in answers} == {TokenInvalid}
    (noted,) = events_of(league, TokenMisused)
    assert (noted.agent_id, noted.scope) == ("P02", "match")
    assert token not in repr(league.events()) + repr(noted) + repr(list(league.manager.news))


@rule("R-LEAGUE-35")
def test_a_match_token_in_a_query_is_refused_and_found_by_the_sender():
    league = playing()
    query = LeagueQuery("GET_NEXT_MATCH", sender="player:P01")

    assert isinstance(ask(league, query, of_match("P01")), TokenInvalid)
    assert events_of(league, TokenMisused) == [TokenMisused("P01", "LEAGUE_QUERY", "match")]


def test_a_match_token_of_an_earlier_epoch_is_known_too():
    league = playing()
    file = league.league.matches["R1M1"]
    file.epoch = 2

    ask(league, LOCK, of_match("P01", epoch=1))

    assert [event.agent_id for event in events_of(league, TokenMisused)] == ["P01"]


def test_a_match_token_of_a_player_that_has_come_back_since_is_known_too():
    # Found by liveness, seed 612: the token was stolen before the player registered again.
    league = playing()
    token = of_match("P01")
    members = league.league.roster.players
    members["P01"] = replace(members["P01"], generation=3)

    ask(league, LOCK, token)

    assert [event.agent_id for event in events_of(league, TokenMisused)] == ["P01"]


@rule("R-LEAGUE-35")
@pytest.mark.parametrize(
    ("message", "token"),
    [
        (LOCK, "mtok_" + "0" * 64),  # nobody's
        (LOCK, "mtok_\u00fc"),
        (LOCK, "tok_P01_" + "0" * 64),
        (MatchResultReport("R9M9", ReportedResult("P01")), of_match("P01")),
        (LeagueQuery("GET_STATUS", sender="player:P09"), of_match("P01")),
    ],
)
def test_a_token_that_is_nobodys_is_refused_and_fills_no_journal(message, token):
    league = playing()
    rows = league.league.seq

    assert isinstance(ask(league, message, token), TokenInvalid)
    assert league.league.seq == rows


def test_a_wrong_join_code_is_no_misuse_of_a_token():
    league = MemoryLeague(2, 1)
    league.settings = type(league.settings)(
        league_id="league_test", players=2, referees=1, join_code="open sesame"
    )
    league.restart_manager()
    meta = PlayerMeta("A", "http://a/mcp", "1", ["even_odd"], join_code="open sesame")
    first = ask(league, LeagueRegisterRequest(meta))
    other = RefereeMeta("B", "http://b/mcp", "1", ["even_odd"], join_code="guess")

    refused = ask(league, RefereeRegisterRequest(other), token_of("P01"))

    assert first.status == "ACCEPTED"
    assert isinstance(refused, TokenInvalid)
    assert not events_of(league, TokenMisused)


@rule("R-LEAGUE-35")
def test_the_rows_of_one_agent_are_bounded_however_often_it_tries():
    league = playing()
    for _ in range(50):
        for message in (LOCK, REPORT, RefereeStatus("ses"), LeagueCommand("abort")):
            for token in (token_of("P01"), of_match("P01")):
                ask(league, message, token)

    assert len(events_of(league, TokenMisused)) <= 8
