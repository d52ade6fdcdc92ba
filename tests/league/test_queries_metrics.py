"""GET_METRICS: the measures of document 004 section 13."""

import pytest

from agentleague.league.events import MatchAssigned, MatchClosed
from agentleague.league.queries_metrics import MATCHES_MAX
from agentleague.protocol.messages import Exchange
from league.decisions import Decisions
from league.querying import ask
from rules import rule


def told(*rows):
    """A match with this transcript, each row a player, message, attempt, verdict and time."""
    decisions = Decisions(2, 2).start()
    winner = decisions.lock([(0, "P01", "even"), (0, "P02", "odd")]).answer.result.winner
    transcript = [
        Exchange(0, who, what, n, verdict, None, ms) for who, what, n, verdict, ms in rows
    ]
    decisions.report(winner, transcript=transcript)
    return decisions


def measured(decisions):
    rows = ask(decisions, "GET_METRICS")["metrics"]
    return {row["metric"]: (row["value"], row["kept"]) for row in rows}


def move(attempt, verdict, ms=None, player="P01"):
    return (player, "CHOOSE_PARITY_CALL", attempt, verdict, ms)


def join(attempt, verdict, ms=None, player="P01"):
    return (player, "GAME_INVITATION", attempt, verdict, ms)


@rule("R-QUERY-06")
def test_before_anything_was_played_nothing_is_measured():
    answer = ask(Decisions(2), "GET_METRICS")

    assert (answer["matches_measured"], answer["matches_completed"]) == (0, 0)
    for row in answer["metrics"]:
        assert row["value"] == (0 if row["unit"] == "count" else None)
        assert row["kept"] is None


@rule("R-QUERY-06")
def test_the_thresholds_are_those_of_document_004():
    rows = ask(Decisions(2), "GET_METRICS")["metrics"]

    assert {
        row["metric"]: (row["threshold"], row["source"]) for row in rows if row["threshold"]
    } == {
        "validation_success_rate": ("> 0.99", "document 004 section 13.1"),
        "field_error_rate": ("< 0.01", "document 004 section 13.1"),
        "retry_success_rate": ("> 0.8", "document 004 section 13.2"),
        "timeout_rate": ("< 0.05", "document 004 section 13.2"),
        "invalid_choice_rate": ("< 0.05", "document 004 section 13.2"),
        "round_trip_ms": ("< 500", "document 004 section 13.3"),
    }
    assert {row["source"] for row in rows if not row["threshold"]} == {"ours"}


@rule("R-QUERY-06")
def test_a_match_that_went_well_keeps_every_threshold():
    decisions = told(
        join(1, "ok", 4), join(1, "ok", 6, "P02"), move(1, "ok", 100), move(1, "pushed", 300)
    )

    values = measured(decisions)

    assert values["validation_success_rate"] == (1.0, True)
    assert values["field_error_rate"] == (0.0, True)
    assert values["retry_success_rate"] == (None, None)
    assert values["timeout_rate"] == (0.0, True)
    assert values["invalid_choice_rate"] == (0.0, True)
    assert values["round_trip_ms"] == (5.0, True)
    assert values["move_p50_ms"] == (100, None)
    assert values["move_p95_ms"] == (300, None)
    assert values["technical_loss_rate"] == (0.0, None)
    assert ask(decisions, "GET_METRICS")["matches_measured"] == 1


@rule("R-QUERY-06")
@pytest.mark.parametrize(
    ("rows", "metric", "value", "kept"),
    [
        ([move(1, "E001"), move(2, "ok", 5)], "timeout_rate", 0.5, False),
        ([move(1, "late", 5), move(1, "ok", 5)], "timeout_rate", 0.5, False),
        ([move(1, "E001"), move(2, "ok", 5)], "retry_success_rate", 1.0, True),
        ([move(1, "E001"), move(2, "ok", 5)], "validation_success_rate", 1.0, True),
        ([move(1, "E001"), move(2, "E009")], "retry_success_rate", 0.0, False),
        ([move(1, "E001"), move(2, "E001")], "validation_success_rate", None, None),
        ([move(1, "E001"), move(2, "E001"), move(3, "E001")], "retries", 2, None),
        ([move(1, "E004", 5), move(2, "ok", 5)], "invalid_choice_rate", 0.5, False),
        ([join(1, "ok", 5), move(1, "ok", 5)], "invalid_choice_rate", 0.0, True),
        ([join(1, "no content", 5), join(2, "ok", 5)], "field_error_rate", 0.5, False),
        ([join(1, "E015", 5), join(2, "ok", 5)], "validation_success_rate", 0.5, False),
        ([join(1, "ok", 600), join(1, "ok", 400)], "round_trip_ms", 500.0, False),
        ([join(1, "ok", 499), move(1, "ok", 29_000)], "round_trip_ms", 499.0, True),
        ([join(1, "ok", n) for n in range(1, 101)], "round_trip_p95_ms", 95, None),
        # Another turn of the same player is another question, and so is another player's.
        ([move(1, "ok", 1), move(1, "ok", 1)], "retry_success_rate", None, None),
        ([move(1, "E001"), move(1, "ok", 1, "P02")], "retry_success_rate", None, None),
        (
            [move(1, "E001"), move(2, "ok", 1), move(1, "E001"), move(2, "E001")],
            *("retry_success_rate", 0.5, False),
        ),
    ],
)
def test_each_measure_is_taken_from_the_transcripts(rows, metric, value, kept):
    assert measured(told(*rows))[metric] == (value, kept)


@rule("R-QUERY-06")
def test_what_became_of_matches_is_counted():
    decisions = Decisions(4, 2).start()
    decisions.record(MatchAssigned("R1M1", 2, "REF02", "lease"))
    decisions.record(decisions.adjudicator.no_contest("R1M1", "no referee"))
    decisions.record(MatchClosed("R1M1", 2, told="manager"))
    decisions.play("R1M2")
    decisions.report("nobody", match_id="R1M2", referee="REF02")

    values = measured(decisions)

    assert values["technical_loss_rate"] == (0.5, None)
    assert values["no_contests"] == (1, None)
    assert values["reassigned_matches"] == (1, None)
    assert values["disputed_matches"] == (1, None)


@rule("R-QUERY-06")
def test_only_the_last_matches_are_measured_so_that_the_answer_costs_the_same():
    decisions = Decisions(40).start()
    decisions.play("R1M1", forfeits=["P01", "P02"])
    while decisions.league.decided_total < MATCHES_MAX + 1:
        if not decisions.league.open_matches:
            decisions.schedule(decisions.league.round_id + 1)
        decisions.play(min(decisions.league.open_matches))

    answer = ask(decisions, "GET_METRICS")

    assert answer["matches_measured"] == MATCHES_MAX
    assert answer["matches_completed"] == MATCHES_MAX + 1
    assert measured(decisions)["technical_loss_rate"] == (0.0, None)
