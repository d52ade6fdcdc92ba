"""The organiser's rulings in the table, and what is shown of rulings, disputes and misuses."""

import json
from itertools import permutations

import pytest

from agentleague.league import queries, stage_views
from agentleague.league.events import Disputed, MatchRuled, TokenMisused
from agentleague.league.match_result import dispute_in_words, misuse_in_words, ruling_in_words
from agentleague.league.standings import TIE_BREAKS, Points, Table
from league.decisions import Decisions
from league.staged import Staged
from league.test_league import replayed, state
from manager.test_broadcasts import broadcasts_of
from rules import rule


def asked(decisions, query_type, **params):
    return queries.answer(decisions.league, query_type, params, None)


def played():
    """Four players, one round: in R1M1 somebody won, in R1M2 P03 failed."""
    decisions = Decisions(4, referees=2).start()
    decisions.play("R1M1")
    decisions.play("R1M2", forfeits=[decisions.league.matches["R1M2"].players[0]])
    return decisions


def numbers(decisions, player_id):
    row = decisions.league.table.row(player_id)
    return row.played, row.wins, row.draws, row.losses, row.technical_losses, row.points


def sides(decisions, match_id):
    """Winner and loser of a match."""
    file = decisions.league.matches[match_id]
    winner = file.decided.result.winner_player_id
    return winner, next(each for each in file.players if each != winner)


@rule("R-ORG-07")
def test_a_ruled_winner_wins_and_the_other_loses():
    decisions = played()
    winner, loser = sides(decisions, "R1M1")

    decisions.record(MatchRuled("R1M1", "win", loser, "a bug of the game"))

    assert numbers(decisions, loser) == (1, 1, 0, 0, 0, 3)
    assert numbers(decisions, winner) == (1, 0, 0, 1, 0, 0)
    assert decisions.league.matches["R1M1"].decided.result.winner_player_id == winner


@rule("R-ORG-07")
@pytest.mark.parametrize(
    ("verdict", "winners", "losers"),
    [("draw", (1, 0, 1, 0, 0, 1), (1, 0, 1, 0, 0, 1)), ("no_contest", (0,) * 6, (0,) * 6)],
)
def test_a_technical_loss_that_is_ruled_on_is_none_any_more(verdict, winners, losers):
    decisions = played()
    winner, loser = sides(decisions, "R1M2")
    assert numbers(decisions, loser) == (1, 0, 0, 1, 1, 0)

    decisions.record(MatchRuled("R1M2", verdict, None, "the hall had no network"))

    assert (numbers(decisions, winner), numbers(decisions, loser)) == (winners, losers)


@rule("R-ORG-07")
def test_a_later_ruling_takes_the_place_of_an_earlier_one():
    decisions = played()
    winner, loser = sides(decisions, "R1M1")
    before = decisions.league.table.rows()

    decisions.record(MatchRuled("R1M1", "win", loser, "a"), MatchRuled("R1M1", "draw", None, "b"))
    assert numbers(decisions, loser) == numbers(decisions, winner) == (1, 0, 1, 0, 0, 1)
    decisions.record(MatchRuled("R1M1", "stand", None, ""))

    assert decisions.league.table.rows() == before
    assert not decisions.league.matches["R1M1"].is_overruled


def test_a_table_that_takes_back_is_as_if_it_had_never_counted():
    points = Points(3, 1, -1)
    matches = [("P01", "P02", "P01"), ("P02", "P03", None), ("P03", "P01", "P03")]
    names = {"P01": "a", "P02": "b", "P03": "c"}
    for taken, *others in permutations(matches):
        table, wanted = (Table(names, points, TIE_BREAKS) for _ in range(2))
        for a, b, winner in (taken, *others):
            table.count(a, b, winner=winner, technical=winner is None)
        for a, b, winner in others:
            wanted.count(a, b, winner=winner, technical=winner is None)

        table.count(taken[0], taken[1], winner=taken[2], technical=taken[2] is None, times=-1)

        assert table.rows() == wanted.rows()
        assert [table.why(p) for p in names] == [wanted.why(p) for p in names]


@rule("R-ORG-07", "R-LEAGUE-23")
def test_a_league_with_rulings_and_misuses_is_replayed_as_it_was():
    decisions = Decisions(4, referees=2).play_to_the_end()
    second = decisions.league.table.rows()[1].player_id
    for file in decisions.league.matches.of_player[second]:
        decisions.record(Disputed(file.match_id, "REF01", "another result"))
        decisions.record(MatchRuled(file.match_id, "win", second, "robbed"))
    decisions.record(TokenMisused("P01", "LOCK_REQUEST", "league"))

    assert state(replayed(decisions.events)) == state(decisions.league)
    assert decisions.league.champion == second


def test_no_match_is_ruled_on_before_it_has_a_result():
    decisions = Decisions(2).start()

    with pytest.raises(AssertionError, match="R1M1 is ruled on and has no result"):
        decisions.record(MatchRuled("R1M1", "draw", None, "early"))


@rule("R-LEAGUE-34")
def test_a_dispute_is_open_until_the_organiser_rules():
    decisions = played()
    decisions.record(Disputed("R1M1", "REF02", "not its referee"))
    file = decisions.league.matches["R1M1"]
    assert asked(decisions, "GET_STATUS")["disputed_matches"] == ["R1M1"]
    assert file.is_disputed

    decisions.record(MatchRuled("R1M1", "stand", None, ""))

    assert asked(decisions, "GET_STATUS")["disputed_matches"] == []
    assert asked(decisions, "GET_STATUS")["ruled_matches"] == ["R1M1"]
    assert not file.is_disputed
    decisions.record(Disputed("R1M1", "REF01", "another result"))
    assert file.is_disputed


@rule("R-LEAGUE-34")
def test_the_schedule_marks_what_is_disputed_ruled_or_not_verified():
    decisions = Decisions(4, referees=2, locks=False).start()
    decisions.report("P01", match_id="R1M1", details={"status": "DRAW"})

    def shown():
        (each,) = asked(decisions, "GET_SCHEDULE", round_id=1)["rounds"]
        return each["matches"]

    assert (shown()[0]["unverified"], shown()[0]["disputed"]) == (True, True)
    assert not {"unverified", "disputed", "ruled", "no_contest"} & set(shown()[1])
    decisions.record(MatchRuled("R1M1", "no_contest", None, "who knows"))

    first = shown()[0]
    assert (first["ruled"], first["no_contest"], first["winner_player_id"]) == (True, True, None)
    assert "disputed" not in first


@rule("R-ORG-07")
def test_a_match_shows_the_result_and_the_ruling():
    decisions = played()
    winner, loser = sides(decisions, "R1M1")
    assert asked(decisions, "GET_MATCH", match_id="R1M1")["match"]["ruling"] is None

    decisions.record(MatchRuled("R1M1", "win", loser, "a bug"))

    match = asked(decisions, "GET_MATCH", match_id="R1M1")["match"]
    assert match["result"]["winner_player_id"] == winner
    assert match["ruling"] == {
        "verdict": "win",
        "winner_player_id": loser,
        "reason": "a bug",
        "words": f"the organiser ruled: {loser} won (a bug)",
    }


def test_the_summary_of_a_round_counts_what_counts():
    decisions = played()
    decisions.record(MatchRuled("R1M2", "draw", None, "no network"))

    summary = broadcasts_of(decisions).round_completed(1, is_last=False).summary

    drawn = decisions.league.matches["R1M1"].decided.result.status == "DRAW"
    assert (summary.draws, summary.technical_losses) == (1 + drawn, 0)


@rule("R-LEAGUE-35")
def test_an_agent_shows_where_its_token_was_refused():
    decisions = Decisions(2).start()
    decisions.record(TokenMisused("P01", "LOCK_REQUEST", "league"))
    decisions.record(TokenMisused("P01", "LEAGUE_QUERY", "match"))

    rows = {row["agent_id"]: row for row in asked(decisions, "GET_AGENTS")["agents"]}
    agent = asked(decisions, "GET_AGENT", agent_id="P01")["agent"]

    assert rows["P01"]["misuses"] == 2
    assert "misuses" not in rows["P02"]
    assert agent["misused"] == [
        "its token came with LOCK_REQUEST, which it gives no right to",
        "a match token came with LEAGUE_QUERY, which it gives no right to",
    ]
    assert asked(decisions, "GET_STATUS")["misused_tokens_of"] == ["P01"]


def test_words():
    ruled = {v: ruling_in_words(MatchRuled("R1M1", v, None, "")) for v in ("draw", "no_contest")}
    assert ruled == {
        "draw": "the organiser ruled: a draw",
        "no_contest": "the organiser ruled: no contest",
    }
    stands = MatchRuled("R1M1", "stand", None, "nothing wrong")
    assert ruling_in_words(stands) == "the organiser ruled: the result stands (nothing wrong)"
    assert dispute_in_words(Disputed("R1M1", "REF01", "lied")) == "REF01 lied"
    assert "not its referee" in dispute_in_words(Disputed("R1M1", "REF01", "not its referee"))
    assert misuse_in_words(TokenMisused("P01", "X", "match")).startswith("a match token")


@rule("R-QUERY-07")
def test_the_worst_answers_still_fit():
    decisions = Decisions(
        40, referees=12, locks=False, name=lambda n: "\N{GRINNING FACE}" * 50
    ).start()
    for match_id in list(decisions.league.open_matches):
        holder = decisions.league.matches[match_id].referee_id
        decisions.report(None, match_id=match_id, referee=holder, details={"status": "WIN"})
        for number in range(1, 13):
            decisions.record(Disputed(match_id, f"REF{number:02}", "x" * 500))
        decisions.record(MatchRuled(match_id, "no_contest", None, "\N{GRINNING FACE}" * 200))
        decisions.record(Disputed(match_id, "REF12", "x" * 500))

    for query, params in (
        ("GET_SCHEDULE", {}),
        ("GET_MATCH", {"match_id": "R1M1"}),
        ("GET_STATUS", {}),
        ("GET_AGENT", {"agent_id": "P01"}),
    ):
        data = asked(decisions, query, **params)
        flat = {key: value for key, value in data.items() if key in queries.FLAT}
        size = len(json.dumps({"data": data, **flat}, ensure_ascii=False).encode())
        assert size < 9_500, (query, size)


@rule("R-ORG-07")
def test_a_final_on_which_is_ruled_after_the_end_is_not_played_again():
    cup = Staged(3, {"format": "knockout"}).begin().play_on()
    assert cup.league.champion == "P01"

    cup.record(MatchRuled("R2M1", "no_contest", None, "both cheated"))

    (tie,) = [row for row in stage_views.stage_rows(cup.league, 1) if row["round"] == "Final"]
    assert (tie["winner"], tie["is_over"], tie["by"]) == ("P01", True, "seed")
    assert cup.league.champion == "P01"  # P02 has won more points.
    assert cup.league.table.row("P02").points > cup.league.table.row("P01").points
