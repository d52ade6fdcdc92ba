"""What `verify` makes of rulings, of misused tokens, and of referees nobody vouches for."""

import pytest

from agentleague.league.events import (
    DialectLearnt,
    LeagueEnded,
    MatchAssigned,
    MatchClosed,
    MatchDecided,
    MatchRuled,
    RefereeApproved,
    RefereeRegistered,
    RefereeSetAside,
    RoundEnded,
    TokenMisused,
)
from agentleague.league.standings import Table
from agentleague.records.reading import folded
from league.decisions import Decisions
from records.journals import changed, place, rows_of
from records.test_verify import LEAGUE, found, inserted, lie


def score(findings, rows):
    """The points of everybody, as a true journal leaves them."""
    assert findings.difference is None
    league = folded(rows_of(rows))
    return {row.player_id: row.points for row in league.table.rows()}


@pytest.mark.parametrize("verdict", ["win", "draw", "no_contest"])
def test_a_ruling_counts_and_is_listed_also_after_the_end(verdict):
    decided = LEAGUE[place(LEAGUE, MatchDecided, "R1M1")]
    loser = next(p for p in decided.result.choices if p != decided.result.winner_player_id)
    ruling = MatchRuled("R1M1", verdict, loser if verdict == "win" else None, "so be it")
    before = score(found(LEAGUE), LEAGUE)

    findings = found([*LEAGUE, ruling])
    after = score(findings, [*LEAGUE, ruling])

    assert findings.ruled == ["R1M1"]
    assert after[loser] - before[loser] == {"win": 3, "draw": 1, "no_contest": 0}[verdict]
    assert findings.champion == folded(rows_of([*LEAGUE, ruling])).champion


def test_the_champion_is_the_player_that_leads_after_the_rulings():
    league = folded(rows_of(LEAGUE))
    second = league.table.rows()[1].player_id
    rulings = [
        MatchRuled(match.match_id, "win", second, "x") for match in league.matches.of_player[second]
    ]

    findings = found([*LEAGUE, *rulings])

    assert (findings.difference, findings.champion) == (None, second)
    assert findings.champion != found(LEAGUE).champion


def test_a_ruling_that_lets_the_result_stand_undoes_an_earlier_one():
    rulings = [MatchRuled("R1M1", "no_contest", None, "a"), MatchRuled("R1M1", "stand", None, "")]

    findings = found([*LEAGUE, *rulings])

    assert (findings.difference, findings.ruled) == (None, [])
    assert score(findings, [*LEAGUE, *rulings]) == score(found(LEAGUE), LEAGUE)


def test_a_no_contest_can_be_given_a_winner():
    decisions = Decisions(2).start()
    decisions.record(
        decisions.adjudicator.no_contest("R1M1", "nobody was there"), MatchClosed("R1M1", 1)
    )
    events = [*decisions.events, RoundEnded(1), MatchRuled("R1M1", "win", "P02", "it was there")]
    events.append(LeagueEnded("P02"))

    assert score(found(events), events) == {"P02": 3, "P01": 0}


def test_the_table_of_a_ruled_league_is_counted_twice(monkeypatch):
    ruling = MatchRuled("R1M1", "no_contest", None, "so be it")
    count = Table.count

    def count_only(table, *players, times, **how):
        if times > 0:
            count(table, *players, **how)

    monkeypatch.setattr(Table, "count", count_only)

    assert "by the results it is" in found([*LEAGUE, ruling]).difference.sentence


def test_a_ruling_that_makes_no_sense_is_refused():
    for ruling, why in [
        (MatchRuled("R1M1", "flogging", None, "x"), "the organiser's verdict 'flogging' is unk"),
        (MatchRuled("R1M1", "win", "P99", "x"), "verdict is win, with the winner P99"),
        (MatchRuled("R1M1", "win", None, "x"), "verdict is win, with the winner None"),
        (MatchRuled("R1M1", "draw", "P01", "x"), "verdict is draw, with the winner P01"),
    ]:
        assert why in found([*LEAGUE, ruling]).difference.sentence


def test_a_ruling_before_the_result_is_refused():
    ruling = MatchRuled("R1M1", "draw", None, "too early")

    assert lie(inserted(LEAGUE, MatchDecided, ruling)) == (
        "R1M1",
        "the organiser rules on it and it has no result",
    )


def test_a_misused_token_is_somebodys():
    true = [*LEAGUE, TokenMisused("P01", "LOCK_REQUEST", "league")]
    false = [*LEAGUE, TokenMisused("P77", "LOCK_REQUEST", "league")]

    assert found(true).difference is None
    assert found(false).difference.sentence == "nobody is registered as P77"


def test_a_dialect_is_somebodys():
    true = [*LEAGUE, DialectLearnt("P01", "type")]
    false = [*LEAGUE, DialectLearnt("P77", "type")]

    assert found(true).difference is None
    assert "P77" in found(false).difference.sentence


def of_anyone(journal):
    """The same league, with a referee for which nobody vouches."""
    return changed(journal, RefereeRegistered, anyone=True)


def silent_once():
    """The journal of a league in which P02 forfeited, by the word of its only referee."""
    decisions = Decisions(2).start()
    decisions.play("R1M1", forfeits=["P02"])
    return decisions.events


def test_a_loss_by_the_word_of_one_referee_that_nobody_vouches_for_is_marked():
    plain = silent_once()
    marked = changed(plain, MatchDecided, unconfirmed=True)

    assert (found(plain).difference, found(of_anyone(marked)).difference) == (None, None)
    assert found(of_anyone(marked)).unconfirmed == ["R1M1"]
    assert lie(of_anyone(plain))[1] == "it is not marked as lost by the word of REF01 alone"
    assert lie(marked)[1] == "it is marked as lost by the word of REF01 alone"


def test_referees_are_let_in_asked_and_set_aside_only_for_a_reason():
    claim = MatchAssigned("R1M1", 2, "REF01", "why not", claimed=[("P01", "timeout")])
    for event, why in [
        (RefereeApproved("REF01"), "REF01 is let in and did not wait"),
        (RefereeApproved("REF07"), "REF07 is let in and did not wait"),
        (RefereeSetAside("REF01", []), "REF01 is set aside, but contradicted about []"),
        (claim, "what REF01 said is not for REF01 to confirm"),
    ]:
        assert lie(inserted(LEAGUE, MatchDecided, event))[1] == why
    vouched = inserted(of_anyone(LEAGUE), MatchDecided, RefereeApproved("REF01"))
    assert found(vouched).difference is None
