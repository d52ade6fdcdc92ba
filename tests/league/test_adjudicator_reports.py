"""A referee that does not lock is believed, and what speaks against its report is journalled."""

import pytest

from agentleague.errors import DuplicateReport, WrongType
from agentleague.games import rock_paper_scissors, tic_tac_toe
from agentleague.league.adjudicator import with_player_ids
from agentleague.league.events import Disputed, MatchClosed, MatchDecided, MatchRuled
from agentleague.protocol.messages import (
    MatchResultAck,
    MatchResultReport,
    ReportedResult,
    ResultDetails,
)
from league.decisions import Decisions
from rules import rule

EVEN = {"P01": "even", "P02": "odd"}


def reported(winner, score=None, *, game=None, **details):
    """A match of a referee that does not lock, after this report."""
    decisions = Decisions(2, locks=False, **({"game": game} if game else {})).start()
    result = ReportedResult(winner, score or {}, ResultDetails(**details))
    return decisions, decisions.heed(
        decisions.adjudicator.report("REF01", MatchResultReport("R1M1", result))
    )


def doubt_of(decisions):
    found = [event.why for event in decisions.events if isinstance(event, Disputed)]
    return found[0].removeprefix("reported what cannot be: ") if found else ""


@rule("R-LEAGUE-33")
def test_a_report_that_contradicts_itself_or_the_rules_counts_and_is_disputed():
    for winner, score, details, doubt in [
        (None, {}, {"status": "WIN"}, "the status is WIN and the winner nobody"),
        ("P01", {}, {"status": "DRAW"}, "the status is DRAW and the winner P01"),
        ("P01", {"P01": 0, "P02": 3}, {}, "P01 won, but the score does not say so"),
        (None, {"P01": 3, "P02": 0}, {}, "nobody won, but the score does not say so"),
        ("P01", {}, {"drawn_number": 99}, "the number 99 is not within 1 to 10"),
        ("P01", {"P02": 3}, {}, "P01 won, but the score does not say so"),
        ("P01", {"P01": 1, "P02": 1}, {}, "P01 won, but the score does not say so"),
        ("P01", {"P01": 3, "P09": 0}, {}, "it tells of players who do not play this match"),
        ("P01", {}, {"choices": {"P09": "odd"}}, "it tells of players who do not play this match"),
        (
            "P02",
            {},
            {"choices": EVEN, "drawn_number": 4},
            "by the rules P01 won, not P02",
        ),
        (None, {}, {"choices": EVEN, "drawn_number": 7}, "by the rules P02 won, not nobody"),
        (
            "P01",
            {},
            {"choices": EVEN, "drawn_number": 4, "status": "TECHNICAL_LOSS"},
            "everybody made a legal move, so nobody lost by default",
        ),
        (
            None,
            {},
            {"choices": EVEN, "status": "TECHNICAL_LOSS"},
            "everybody made a legal move, so nobody lost by default",
        ),
        (
            "P01",
            {},
            {"choices": {"P01": "odd", "P02": "odd"}, "drawn_number": 7},
            "by the rules nobody won, not P01",
        ),
        (
            "P01",
            {},
            {"choices": EVEN, "drawn_number": 12},
            "the number 12 is not within 1 to 10",
        ),
        ("P01", {}, {"ends": [("P01", "WIN"), ("P02", "WIN")]}, "P01 won, but it says WIN of P02"),
        (None, {}, {"ends": [("player_b", "WIN")]}, "nobody won, but it says WIN of P02"),
        ("P01", {}, {"ends": [("", "WIN")]}, "P01 won, but it says WIN of nobody"),
        ("P01", {}, {"ends": [("Agent 1", "LOSS")]}, "P01 won, but it says LOSS of P01"),
        ("P01", {}, {"ends": [("P02", "DRAW")]}, "P01 won, but it says DRAW of P02"),
        (None, {}, {"ends": [("P02", "LOSS")]}, "nobody won, but it says LOSS of P02"),
        (
            "P01",
            {},
            {"status": "TECHNICAL_LOSS", "ends": [(each, "TECHNICAL_LOSS") for each in EVEN]},
            "P01 won, but it says TECHNICAL_LOSS of P01",
        ),
    ]:
        decisions, ruling = reported(winner, score, **details)

        decided, disputed, closed = ruling.events
        assert isinstance(decided, MatchDecided)
        assert isinstance(closed, MatchClosed)
        assert (decided.result.winner_player_id, decided.verified) == (winner, False)
        by_default = details.get("status") == "TECHNICAL_LOSS"
        ending = "DRAW" if winner is None else "WIN"
        assert decided.result.status == ("TECHNICAL_LOSS" if by_default else ending)
        assert disputed == Disputed("R1M1", "REF01", f"reported what cannot be: {doubt}")
        assert isinstance(ruling.answer, MatchResultAck)
        assert list(decisions.league.disputed) == ["R1M1"]


def test_an_illegal_choice_in_a_report_is_disputed():
    decisions, _ = reported("P01", choices={"P01": "even", "P02": "blue"}, drawn_number=4)

    assert "blue" in doubt_of(decisions) or "even" in doubt_of(decisions)


def test_a_report_that_may_be_true_is_not_disputed():
    for winner, score, details in [
        ("P01", {}, {}),
        (None, {}, {}),
        ("P01", {"P01": 3, "P02": 0}, {"choices": EVEN, "drawn_number": 4, "status": "WIN"}),
        ("P01", {"P01": 3}, {"choices": EVEN}),  # without a number nothing follows
        (None, {"P01": 1, "P02": 1}, {"status": "DRAW"}),
        ("P01", {}, {"choices": {"P01": "odd", "P02": None}, "status": "TECHNICAL_LOSS"}),
        (None, {"P01": 0, "P02": 0}, {"status": "TECHNICAL_LOSS"}),
        ("P01", {}, {"choices": {"P01": "odd", "P02": "red"}, "status": "TECHNICAL_LOSS"}),
        ("P01", {}, {"choices": {"P01": "odd"}, "drawn_number": 4}),  # a move is missing
        ("P01", {}, {"ends": [("P01", "WIN"), ("Agent 1", "WIN"), ("player_b", "LOSS")]}),
        ("P01", {}, {"ends": [("a name of its own", "WIN")]}),
        (None, {}, {"ends": [("tie", "WIN"), ("P01", "DRAW")]}),
        (None, {}, {"ends": [("P01", "LOSS"), ("P02", "LOSS")], "status": "TECHNICAL_LOSS"}),
    ]:
        decisions, ruling = reported(winner, score, **details)

        assert doubt_of(decisions) == ""
        assert len(ruling.events) == 2


@rule("R-LEAGUE-33")
def test_the_same_report_again_is_a_duplicate_though_it_contradicts_itself():
    decisions, _ = reported("P01", status="DRAW")
    rows = len(decisions.events)

    again = decisions.report("P01", details={"status": "DRAW"})

    assert again.answer.duplicate is True
    assert len(decisions.events) == rows


def test_the_same_report_again_is_no_other_result_though_it_tells_details_of_the_game():
    details = {"game_details": {"wins": [2, 1]}}
    decisions, _ = reported("P01", game=rock_paper_scissors, **details)
    again = ReportedResult("P01", {}, ResultDetails(**details))

    ruling = decisions.adjudicator.report("REF01", MatchResultReport("R1M1", again))

    assert not ruling.events
    assert not isinstance(ruling.answer, DuplicateReport)


def test_a_game_of_many_turns_is_not_judged_by_its_last_moves():
    for game in (rock_paper_scissors, tic_tac_toe):
        moves = [game.legal_moves(game.start({}), seat)[0] for seat in game.seats]
        decisions, _ = reported(
            "P01", game=game, choices=dict(zip(("P01", "P02"), moves, strict=True))
        )

        assert doubt_of(decisions) == ""


def test_a_game_that_stumbles_over_a_report_does_not_stop_the_league():
    class Clumsy:
        name, seats = "clumsy", ("A", "B")

        def start(self, options):
            raise RuntimeError("no")

    decisions = Decisions(2, locks=False).start()
    decisions.adjudicator.game = Clumsy()
    decisions.report("P01")

    assert doubt_of(decisions) == "the game stumbled over its choices"


@rule("R-LEAGUE-33")
def test_after_a_ruling_the_same_referee_may_dispute_again_but_not_for_ever():
    decisions, _ = reported(None, status="WIN")
    another = MatchResultReport("R1M1", ReportedResult("P01"))

    for _ in range(20):
        decisions.heed(decisions.adjudicator.report("REF01", another))
        decisions.record(MatchRuled("R1M1", "stand", None, ""))

    assert len(decisions.league.matches["R1M1"].disputes) == decisions.league.limits.disputes_max
    assert not decisions.league.matches["R1M1"].is_disputed


def test_one_illegal_choice_is_enough_for_a_dispute():
    decisions, _ = reported("P01", choices={"P02": "blue"})

    assert "blue" in doubt_of(decisions)


@rule("R-LEAGUE-36")
def test_a_winner_may_be_called_by_name_and_a_draw_by_many():
    for said, winner, status in [
        ("P02", "P02", "WIN"),
        ("Agent 2", "P02", "WIN"),
        ("", None, "DRAW"),
        ("DRAW", None, "DRAW"),
        ("Tie", None, "DRAW"),
        ("none", None, "DRAW"),
        ("player_b", "P02", "WIN"),
        ("player_A", "P01", "WIN"),
        (None, None, "DRAW"),
    ]:
        decisions = Decisions(2, locks=False).start()

        assert decisions.report(said).answer.status == "ACCEPTED"
        again = decisions.report(said).answer

        result = decisions.league.matches["R1M1"].decided.result
        assert (result.winner_player_id, result.status) == (winner, status)
        assert again.duplicate is True


def test_a_name_that_both_players_have_is_nobodys():
    decisions = Decisions(2, locks=False, name=lambda number: "Twin").start()

    assert isinstance(decisions.report("Twin").answer, WrongType)


def test_a_referee_that_locks_says_it_by_id():
    decisions = Decisions(2).start()
    decisions.lock([(0, "P01", "even"), (0, "P02", "even")])

    assert isinstance(decisions.report("DRAW").answer, DuplicateReport)


def test_a_player_that_is_called_like_the_others_seat_gains_nothing_by_it():
    names = {"P01": "Ann", "P02": "player_a"}

    def winner(said):
        return with_player_ids(MatchResultReport("R1M1", ReportedResult(said)), names).result.winner

    assert winner("player_a") == "player_a"  # Which of the two nobody can tell: it is refused.
    assert (winner("player_b"), winner("Ann")) == ("P02", "P01")


@rule("R-LEAGUE-36")
def test_scores_and_choices_may_be_told_by_name_too():
    decisions = Decisions(2, locks=False).start()
    decisions.report(
        "Agent 2",
        score={"Agent 1": 0, "player_b": 3},
        details={"choices": {"Agent 1": "odd", "Agent 2": "even"}, "drawn_number": 8},
    )

    result = decisions.league.matches["R1M1"].decided.result
    assert result.choices == {"P01": "odd", "P02": "even"}
    assert not decisions.league.matches["R1M1"].disputes


@rule("R-LEAGUE-36")
@pytest.mark.parametrize("said", [None, "", "DRAW"])
def test_a_match_that_both_lost_brings_nobody_a_point(said):
    decisions = Decisions(2, locks=False).start()

    decisions.report(said, score={"P01": 0, "P02": 0}, details={"status": "TECHNICAL_LOSS"})

    rows = decisions.league.table.rows()
    assert [(row.points, row.draws, row.losses, row.technical_losses) for row in rows] == [
        (0, 0, 1, 1),
        (0, 0, 1, 1),
    ]
