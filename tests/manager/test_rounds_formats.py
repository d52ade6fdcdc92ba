"""A format other than round robin, whose pairings depend on results, needs no other code."""

from dataclasses import replace
from typing import ClassVar

from agentleague.games import even_odd
from agentleague.league.events import (
    LeagueEnded,
    LeagueOpened,
    LeagueStarted,
    RoundScheduled,
    StageStarted,
)
from agentleague.league.formats.format import (
    ADVANCE,
    Done,
    Format,
    Option,
    PlayedMatch,
    Round,
    Stage,
    Totals,
)
from agentleague.league.league import Phase
from agentleague.league.match_records import LeagueLimits
from agentleague.league.queries import answer
from agentleague.protocol.messages import LeagueCompleted, RoundCompleted
from agentleague.records.reading import event_of
from agentleague.records.verify import verify
from manager.test_assignments import events_of
from memory_league import MemoryLeague
from records.journals import changed, rows_of


class Knockout(Format):
    """Winners go on; the second seat goes on if nobody won. How long that takes is not said."""

    name, version, about = "test_knockout", 3, "Of these tests."
    options: ClassVar = {"advance": ADVANCE}

    def begin(self, entrants, options):
        return None

    def next_round(self, played, entrants, options):
        matches = [match for each in played.results for match in each.matches]
        out = {match.players[match.winner == match.players[0]] for match in matches}
        players = [each.player_id for each in entrants]
        left = [each for each in players if each not in out | played.removed]
        if len(left) == 1:
            return Done()
        pairs = tuple(zip(left[::2], left[1::2], strict=False))
        return Round(played.rounds + 1, pairs, tuple(left[2 * len(pairs) :]))

    def merits(self, played, entrants, options):
        """The winner of the last match, which nobody else won, is first."""
        if not played.rounds:
            return {}
        final = played.results[-1].matches[-1]
        return {final.players[final.winner != final.players[0]]: 1}


class Repeated(Knockout):
    """The same matches in each round, four or as many as set; `played` is what it was told."""

    name = "test_repeated"
    options: ClassVar = {"rounds": Option(4, ""), "advance": ADVANCE}

    def begin(self, entrants, options):
        rounds = options["rounds"]
        return Totals(rounds, 2 * rounds)

    def next_round(self, played, entrants, options):
        self.played = played
        if played.rounds == options["rounds"]:
            return Done()
        return Round(played.rounds + 1, (("P01", "P02"), ("P03", "P04")), ("P05",))

    def merits(self, played, entrants, options):
        return {}


KNOCKOUT = {"test_knockout": Knockout()}


def winner(league, match_id):
    match = league.matches[match_id]
    return match.players[match.result.winner_player_id != match.players[0]]


def a_league(play=None, **more):
    """Of five players who choose even and odd by turns, so that somebody wins each match."""
    play = play or Knockout()
    formats, name = {play.name: play}, play.name
    league = MemoryLeague(players=5, referees=1, formats=formats, format=name, **more)
    league.add_referee()
    for number in range(5):
        league.add_player(lambda turn, own=("even", "odd")[number % 2]: own, f"Player {number}")
    return league


def test_a_format_that_pairs_by_results_plays_a_whole_league_and_is_verified():
    league = a_league(at_hand=0)
    league.run_until(lambda: league.league.round_id == 2)
    league.restart_manager()
    league.play()

    state = league.league
    first, second, third = events_of(league, RoundScheduled)
    assert state.matches["R1M1"].result.status == "WIN"
    finalists = winner(state, "R1M1"), winner(state, "R1M2")
    assert [(m.player_a, m.player_b) for m in first.matches] == [("P01", "P02"), ("P03", "P04")]
    assert [(m.player_a, m.player_b) for m in second.matches] == [finalists]
    assert [(m.player_a, m.player_b) for m in third.matches] == [(winner(state, "R2M1"), "P05")]
    assert (first.byes, second.byes, third.byes) == (["P05"], ["P05"], [])
    assert (state.total_rounds, state.total_matches) == (3, 4)
    ends = [each for _, each in league.messages if isinstance(each, RoundCompleted)]
    assert {(each.round_id, each.next_round_id) for each in ends} == {(1, 2), (2, 3), (3, None)}

    rows = list(league.journal.read("league_test"))
    found = verify(rows, lambda name: even_odd, KNOCKOUT)
    assert found.difference is None
    assert (found.complete, found.rounds_ended, found.total_matches) == (True, 3, 4)
    assert found.champion == winner(state, "R3M1") == state.table.rows()[0].player_id
    assert "test_knockout" in verify(rows, lambda name: even_odd).difference.sentence


def test_the_champion_is_who_the_format_says_for_everybody_and_after_a_ruling():
    league = a_league().play()
    state = league.league
    rows = list(league.journal.read("league_test"))
    second, champion = state.table.rows()[1].player_id, winner(state, "R3M1")
    news = list(league.manager.news)
    loser = next(each for each in state.matches["R3M1"].players if each != champion)

    said = [each.champion for _, each in league.messages if isinstance(each, LeagueCompleted)]
    assert {each.player_id for each in said} == {champion}
    assert any(f"{champion} Player 4 is the champion with 1 " in each for each in news)
    other = changed([event_of(row) for row in rows], LeagueEnded, champion=second)
    sentence = verify(
        rows_of(other, "league_test"), lambda name: even_odd, KNOCKOUT
    ).difference.sentence
    assert f"champion is {second!r}, but by the results {champion!r}" in sentence

    league.command("rule", match_id="R3M1", verdict="win", winner=loser, reason="seen on video")

    rows = list(league.journal.read("league_test"))
    assert verify(rows, lambda name: even_odd, KNOCKOUT).champion == state.champion == loser


def test_results_of_forgotten_rounds_are_told_with_the_rulings_and_not_looked_up():
    play = Repeated()
    league = a_league(play, at_hand=0, league_limits=LeagueLimits(rounds_at_hand=1))
    league.run_until(lambda: league.league.round_id == 3)
    assert "R1M2" not in list(league.league.matches)
    league.command("rule", match_id="R1M2", verdict="win", winner="P04", reason="seen on video")
    league.journal.find = None  # The archive cannot be read any more.
    league.play()

    results = play.played.results
    assert league.league.planned_round(1).pairings == (("P01", "P02"), ("P03", "P04"))
    assert league.league.planned_round(5) is None
    assert league.league.phase is Phase.COMPLETED
    assert [[each.players for each in one.matches] for one in results] == 4 * [
        [("P01", "P02"), ("P03", "P04")]
    ]
    assert results[0].matches[1] == PlayedMatch(("P03", "P04"), "P04")
    rows = list(league.journal.read("league_test"))
    assert verify(rows, lambda name: even_odd, {play.name: play}).difference is None


def test_byes_of_forgotten_rounds_are_known_where_nobody_can_compute_them():
    league = a_league(Repeated(), at_hand=0, league_limits=LeagueLimits(rounds_at_hand=1)).play()

    schedule = answer(league.league, "GET_SCHEDULE", {}, None)

    assert "R1M1" not in list(league.league.matches)
    assert [each["byes"] for each in schedule["rounds"]] == 4 * [["P05"]]


def test_how_many_rounds_there_are_may_be_known_before_who_meets_in_them():
    league = a_league(Repeated())
    league.run_until(lambda: league.league.round_id == 2)

    schedule, later = (
        answer(league.league, "GET_SCHEDULE", asked, None) for asked in ({}, {"round_id": 4})
    )
    assert [each["round_id"] for each in schedule["rounds"]] == [1, 2]
    assert (schedule["total_rounds"], schedule["total"]) == (4, 4)
    assert (later["rounds"], later["total"]) == ([], 0)
    assert answer(league.league, "GET_NEXT_MATCH", {}, "P05") == {"next_match": None}


def test_the_options_of_a_format_are_in_the_journal_and_hold_after_a_restart_and_for_verify():
    league = a_league(Repeated(), format_options={"rounds": 2})
    league.run_until(lambda: league.league.round_id == 2)
    league.settings = replace(league.settings, format_options={"rounds": 3})  # The journal's count.
    league.restart_manager()
    league.play()

    rows = list(league.journal.read("league_test"))
    assert b'"stages":[["test_repeated",3,{"rounds":2,"advance":0}]]' in rows[0].body
    assert (league.league.phase, league.league.round_id) == (Phase.COMPLETED, 2)
    assert verify(rows, lambda name: even_odd, {"test_repeated": Repeated()}).difference is None


def test_a_format_pairs_removed_players_no_more():
    league = a_league()
    league.run_until(lambda: league.league.round_id == 1)
    league.command("remove", player_id="P05")
    league.play()

    _, final = events_of(league, RoundScheduled)
    assert [{m.player_a, m.player_b} for m in final.matches] == [
        {winner(league.league, "R1M1"), winner(league.league, "R1M2")}
    ]
    assert final.byes == []
    rows = list(league.journal.read("league_test"))
    found = verify(rows, lambda name: even_odd, KNOCKOUT)
    assert (found.difference, found.champion) == (None, winner(league.league, "R2M1"))


def test_only_rounds_that_are_known_are_told():
    league = a_league()
    league.run_until(lambda: league.league.round_id == 2)

    schedule = answer(league.league, "GET_SCHEDULE", {"offset": 1}, None)
    assert [[m["match_id"] for m in each["matches"]] for each in schedule["rounds"]] == [
        ["R1M2"],
        ["R2M1"],
    ]
    assert (schedule["total_rounds"], schedule["total"]) == (2, 3)
    resting = answer(league.league, "GET_NEXT_MATCH", {}, "P05")
    assert resting == {"next_match": None}
    sentences = list(league.manager.news)
    assert any("5 players, as many rounds as it takes." in each for each in sentences)
    assert any("Round 1 is over" in each for each in sentences)


def test_the_journal_names_every_format_but_the_first_round_robin():
    named, unnamed = MemoryLeague(formats=KNOCKOUT, format="test_knockout"), MemoryLeague()

    rows = [next(iter(each.journal.read("league_test"))).body for each in (named, unnamed)]

    assert b"stages" not in rows[1]
    assert events_of(named, LeagueOpened)[0].stages == [Stage("test_knockout", 3, {"advance": 0})]


def test_a_league_that_is_held_after_a_round_tells_nobody_of_an_end():
    league = MemoryLeague(2, 1, cycles=2)
    league.manager.rounds.is_trial = True
    assert not league.manager.is_held

    league.fill().run_until(lambda: league.manager.is_held)
    league.wait(100.0)

    said = [type(message) for _, message in league.messages]
    assert said.count(RoundCompleted) == 3  # to two players and a referee
    assert LeagueCompleted not in said


TWO_STAGES = ({"format": "round_robin", "advance": 2}, {"format": "round_robin", "cycles": 2})


def test_stages_follow_one_another_over_restarts_and_are_verified():
    league = MemoryLeague(players=4, referees=1, stages=TWO_STAGES, seeding="random").fill()
    for reached in (3, 4):
        league.run_until(lambda reached=reached: league.league.round_id == reached)
        league.restart_manager()
    league.play()

    state, (stage,) = league.league, events_of(league, StageStarted)
    assert (stage.stage, len(stage.players), state.round_id) == (2, 2, 5)
    assert [row.player_id for row in state.table.rows()][:2] == sorted(
        stage.players, key=lambda each: state.table.row(each).rank
    )
    assert {row.player_id for row in state.table.rows()[:2]} == set(stage.players)
    assert (state.total_rounds, state.total_matches) == (5, 8)
    rows = list(league.journal.read("league_test"))
    found = verify(rows, lambda name: even_odd)
    assert (found.difference, found.complete) == (None, True)


def test_a_stage_with_other_players_or_another_order_of_seeds_is_found_out():
    league = MemoryLeague(players=4, referees=1, stages=TWO_STAGES, seeding="random").fill().play()
    assert any(
        "Stage 2 of 2 begins: round_robin, 2 players." in each for each in league.manager.news
    )
    told = [event_of(row) for row in league.journal.read("league_test")]
    (stage,), (start,) = events_of(league, StageStarted), events_of(league, LeagueStarted)

    lies = [
        (StageStarted, {"players": stage.players[::-1]}, "but by the results it is stage 2 with"),
        (StageStarted, {"stage": 3}, "but by the results it is stage 2"),
        (LeagueStarted, {"players": start.players[::-1]}, "but by their seeds it is"),
        (LeagueStarted, {"seed": "00" * 32}, "does not open the commitment"),
    ]
    for kind, change, sentence in lies:
        rows = rows_of(changed(told, kind, **change), "league_test")
        assert sentence in verify(rows, lambda name: even_odd).difference.sentence
    early = [*told[: told.index(stage) - 1], stage]
    sentence = verify(rows_of(early, "league_test"), lambda name: even_odd).difference.sentence
    assert "begins before the one before it is over" in sentence
