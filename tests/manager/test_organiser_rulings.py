"""`rule`: the organiser's word on a match, while the league runs and after it."""

import msgspec
import pytest

from agentleague.errors import MatchMismatch, UnexpectedMessage, WrongType
from agentleague.games import even_odd
from agentleague.league.events import Disputed, MatchRuled
from agentleague.protocol.messages import (
    GameOver,
    LeagueCompleted,
    LeagueStandingsUpdate,
    MatchResultReport,
    ReportedResult,
)
from agentleague.records.verify import verify
from manager.test_assignments import assert_complete, events_of
from manager.test_role_abuse import a_referee, ask, with_players
from memory_league import MemoryLeague
from rules import rule


def after_one_match(**settings):
    """Four players, and one match has its result."""
    league = MemoryLeague(4, 2, **settings).fill()
    return league.run_until(lambda: league.league.decided_total == 1)


def the_match(league):
    """Id, winner (or who comes first) and the other one of the first match that is decided."""
    file = next(file for file in league.league.matches.values() if file.decided)
    winner = file.decided.result.winner_player_id or file.players[0]
    return file.match_id, winner, next(each for each in file.players if each != winner)


def sent(league, kind):
    return [message for _, message in league.messages if isinstance(message, kind)]


def is_true(league):
    rows = list(league.journal.read("league_test"))
    return verify(rows, lambda name: even_odd).difference is None


@rule("R-ORG-01", "R-ORG-06", "R-ORG-07")
def test_the_organiser_gives_a_match_to_the_other_player():
    league = after_one_match()
    match_id, _, other = the_match(league)

    said = league.command(
        "rule", match_id=match_id, verdict="win", winner=other, reason=" it\nwas\tjust "
    ).said
    league.play()

    assert said.startswith(f"{match_id}: the organiser ruled: {other} won (it was just).")
    assert events_of(league, MatchRuled) == [MatchRuled(match_id, "win", other, "it was just")]
    assert league.league.matches[match_id].result.winner_player_id == other
    assert_complete(league)
    assert is_true(league)


@rule("R-ORG-08")
def test_everybody_sees_the_new_table_and_nobody_is_told_the_match_anew():
    league = after_one_match(standings_seconds=1000.0)
    match_id, _, other = the_match(league)
    league.command("pause")
    league.play()
    tables, ends = len(sent(league, LeagueStandingsUpdate)), len(sent(league, GameOver))
    before = league.league.table.row(other).points

    league.command("rule", match_id=match_id, verdict="win", winner=other, reason="so be it")
    league.wait(1.0)

    new = sent(league, LeagueStandingsUpdate)[tables:]
    assert len(new) == 4
    (shown,) = [
        row["points"] for row in msgspec.json.decode(new[0].standings) if row["player_id"] == other
    ]
    assert shown == league.league.table.row(other).points != before
    assert len(sent(league, GameOver)) == ends


@rule("R-ORG-06", "R-ORG-08")
def test_a_ruling_after_the_end_changes_the_champion_and_says_that_nobody_is_told():
    league = MemoryLeague(2, 1).fill().play()
    told = len(sent(league, LeagueCompleted)), len(sent(league, LeagueStandingsUpdate))
    first, second = (row.player_id for row in league.league.table.rows())

    said = league.command(
        "rule", match_id="R1M1", verdict="win", winner=second, reason="seen on video"
    ).said
    league.wait(5.0)

    assert f"the champion is {second}. LEAGUE_COMPLETED was sent before that" in said
    assert league.league.champion == second != first
    assert (len(sent(league, LeagueCompleted)), len(sent(league, LeagueStandingsUpdate))) == told
    assert is_true(league)


@rule("R-ORG-06")
@pytest.mark.parametrize("heard", [0, 1])
def test_while_the_end_is_being_told_nobody_rules_and_everybody_hears_of_one_champion(heard):
    """Also if the manager dies then, and tells everybody again."""
    league = MemoryLeague(2, 1).fill()
    league.run_until(lambda: len(sent(league, LeagueCompleted)) >= heard and is_over(league))
    second = league.league.table.rows()[1].player_id
    ruling = {"match_id": "R1M1", "verdict": "win", "winner": second, "reason": "on video"}

    answer = league.command("rule", **ruling)
    league.restart_manager()
    league.play()

    assert len({said.champion.player_id for said in sent(league, LeagueCompleted)}) == 1
    assert isinstance(answer, UnexpectedMessage)
    assert "is being told" in str(answer)
    assert f"the champion is {second}." in league.command("rule", **ruling).said
    assert is_true(league)


def is_over(league):
    return league.league.phase == "LEAGUE_COMPLETED"


@rule("R-ORG-07")
def test_a_ruling_outlives_the_manager():
    league = after_one_match()
    match_id, _, _ = the_match(league)
    league.command("rule", match_id=match_id, verdict="no_contest", reason="no")
    rows = league.league.table.rows()

    league.restart_manager()

    assert league.league.table.rows() == rows
    league.play()
    assert_complete(league)
    assert is_true(league)


@rule("R-ORG-06")
def test_to_let_a_result_stand_closes_its_dispute_and_changes_no_table():
    league = MemoryLeague(2, 1)
    token = a_referee(league)
    with_players(league).run_until(lambda: league.league.round_id == 1)
    league.wait(1.0)
    ask(league, MatchResultReport("R1M1", ReportedResult("P01", {"P02": 3})), token)
    assert list(league.league.disputed) == ["R1M1"]
    assert events_of(league, Disputed)
    assert "R1M1 is disputed: REF01 reported what cannot be" in " ".join(league.manager.news)
    league.wait(15.0)

    said = league.command("rule", match_id="R1M1", verdict="stand").said

    assert said == "R1M1: the organiser ruled: the result stands. The table is as it was."
    assert not league.league.disputed
    assert isinstance(league.command("rule", match_id="R1M1", verdict="stand"), UnexpectedMessage)


WIN = {"match_id": "R1M1", "verdict": "win", "winner": "P01", "reason": "why not"}


@rule("R-ORG-06")
def test_a_ruling_that_makes_no_sense_is_refused_and_changes_nothing():
    for params, error, why in [
        ({"match_id": 7}, WrongType, "params.match_id must name a match"),
        ({"match_id": "R9M9"}, MatchMismatch, "there is no match 'R9M9'"),
        ({"verdict": "flogging"}, WrongType, "params.verdict must be one of"),
        ({"verdict": None}, WrongType, "params.verdict must be one of"),
        ({"verdict": ["win"]}, WrongType, "params.verdict must be one of"),
        ({"winner": None}, WrongType, "the winner of R1M1 can only be P01 or P02"),
        ({"winner": "P03"}, WrongType, "the winner of R1M1 can only be P01 or P02"),
        ({"winner": {}}, WrongType, "the winner of R1M1 can only be P01 or P02"),
        ({"verdict": "draw"}, WrongType, "only with the verdict 'win'"),
        ({"reason": "  "}, WrongType, "params.reason must say why"),
        ({"reason": "\x1b\u202e"}, WrongType, "params.reason must say why"),
        ({"reason": 5}, WrongType, "params.reason must say why"),
    ]:
        league = MemoryLeague(2, 1).fill().play()
        rows = league.league.seq

        answer = league.command("rule", **WIN | params)

        assert type(answer) is error
        assert why in str(answer)
        assert league.league.seq == rows


@rule("R-ORG-06")
def test_a_match_without_a_result_cannot_be_ruled_on():
    league = MemoryLeague(2, 1).fill()
    league.run_until(lambda: league.league.round_id == 1)

    early = league.command("rule", **WIN)
    league.command("abort")
    late = league.command("rule", **WIN)

    assert isinstance(early, UnexpectedMessage)
    assert str(early) == "R1M1 has no result yet: wait for it"
    assert str(late) == "R1M1 has no result and will have none"


@rule("R-ORG-06")
def test_the_same_ruling_twice_is_refused():
    league = MemoryLeague(2, 1).fill().play()
    league.command("rule", **WIN)
    rows = league.league.seq

    again = league.command("rule", **WIN)
    other = league.command("rule", **WIN | {"reason": "better words"})

    assert "that counts already" in str(again)
    assert "The table is as it was" in other.said
    assert league.league.seq == rows + 1


def test_a_very_long_reason_is_cut():
    league = MemoryLeague(2, 1).fill().play()

    league.command("rule", **WIN | {"reason": "x" * 450})

    assert events_of(league, MatchRuled)[0].reason == "x" * 200
