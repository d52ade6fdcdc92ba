"""What the report tells of how it went: one row per attempt, within limits."""

import msgspec
import pytest

from agentleague.errors import MissingField, NoConnection, PeerRefused, RateLimited
from agentleague.match.transcript import MatchLimits, Transcript
from agentleague.protocol.messages import ChooseParityResponse, Exchange, GameJoinAck
from agentleague.roles.stimuli import Caller
from games.throwaway import THROWAWAY
from match.ann_and_bob import JOINED
from match.virtual_match import EVEN, SILENCE, Stage
from rules import rule

GONE = NoConnection("refused")
CALL = "CHOOSE_PARITY_CALL"


def anns(stage, step=CALL):
    """Ann's rows of one kind of call."""
    return [
        (row.at, row.attempt, row.verdict, row.move, row.answered_after)
        for row in stage.report.transcript
        if (row.player_id, row.message) == ("P01", step)
    ]


@rule("R-MATCH-26")
@pytest.mark.parametrize(
    ("ann", "rows"),
    [
        ([(0.25, EVEN)], [(0, 1, "ok", "even", 250)]),
        ([SILENCE], [(0, 1, "E001", None, None), (32000, 2, "ok", "even", 0)]),
        ([(1.0, GONE)], [(0, 1, "E009", None, None), (3000, 2, "ok", "even", 0)]),
        ([(31.0, EVEN)], [(0, 1, "late", "even", 31000)]),
        (
            [(33.0, EVEN), SILENCE],
            [(0, 1, "late", "even", 33000), (32000, 2, "dropped", None, None)],
        ),
        (
            [(1.0, MissingField("{}"))],
            [(0, 1, "no content", None, 1000), (32000, 2, "ok", "even", 0)],
        ),
        (
            [RateLimited("429", retry_after=3.0)],
            [(0, 1, "rate limited", None, 0), (3000, 2, "ok", "even", 0)],
        ),
        (
            [ChooseParityResponse("Even"), ChooseParityResponse("even", "R9M9")],
            [(0, 1, "E004", "Even", 0), (0, 2, "E015", "even", 0), (0, 3, "ok", "even", 0)],
        ),
    ],
)
def test_each_attempt_is_a_row_with_its_verdict(ann, rows):
    assert anns(Stage({"move": ann}).run()) == rows


@rule("R-MATCH-26")
def test_declined_and_pushed_answers_are_rows_too():
    declined = Stage({"join": [(0.5, GameJoinAck(accept=False))]}).run()
    silent = {"move": [MissingField("{}"), SILENCE], "error": [SILENCE] * 2}
    pushed = Stage(silent, pushes=[(2.0, EVEN, Caller("", "mtok_from_ann"))]).run()
    later = Stage(silent, pushes=[(31.0, EVEN, Caller("", "mtok_from_ann"))]).run()

    assert anns(declined, "GAME_INVITATION") == [(0, 1, "declined", None, 500)]
    assert anns(pushed) == [(0, 1, "pushed", "even", 0)]
    assert anns(later) == [(0, 1, "pushed", "even", 0)]


@rule("R-MATCH-26")
def test_a_push_after_a_failed_attempt_and_a_move_in_the_answer_to_an_error_have_rows():
    push = [(31.0, EVEN, Caller("", "mtok_from_ann"))]
    pushed = Stage({"move": [SILENCE]}, pushes=push).run()
    told = Stage({"move": [ChooseParityResponse(1)], "error": [(0.5, EVEN)]}).run()

    assert anns(pushed) == [(0, 1, "E001", None, None), (31000, 1, "pushed", "even", 0)]
    assert anns(told) == [(0, 1, "E004", 1, 0), (500, 2, "ok", "even", 0)]  # It was a move again.


@rule("R-MATCH-26")
def test_a_player_that_was_in_the_match_already_has_a_row_that_says_so():
    refused = PeerRefused("already in R1M1", number=4005, data={})
    stage = Stage({"join": [refused]}, epoch=2).run(until=0.0)

    row = stage.match._notes.rows(0.0)[0][0]
    assert (row.message, row.verdict) == ("GAME_INVITATION", "in it already")


@rule("R-MATCH-26")
@pytest.mark.parametrize(
    ("ann", "silence"),
    [
        ({}, (0, True)),
        ({"join": [SILENCE] * 4}, (4, False)),
        ({"move": [GONE] * 4}, (4, True)),
        ({"move": [SILENCE, GONE]}, (0, True)),  # it answered in the end
        ({"join": [GONE, GameJoinAck(accept=False)]}, (0, True)),
        ({"join": [MissingField("{}")] * 4}, (0, True)),  # it is there
        ({"move": [(33.0, EVEN), SILENCE]}, (0, True)),  # the second was dropped
        ({"move": [MissingField("{}"), GONE, GONE, GONE]}, (3, True)),
        ({"join": [NoConnection("HTML", status=200)] * 4}, (4, False)),
    ],
)
def test_the_report_says_how_often_a_player_was_silent_at_the_end(ann, silence):
    stage = Stage(ann).run()

    assert stage.report.silences == {"P01": silence, "P02": (0, True)}


@rule("R-MATCH-26")
def test_the_rows_have_at_most_4_kb_and_the_rest_is_counted():
    notes = Transcript(["P01", "P02"])
    for number in range(1, 201):
        notes.begin(number % 2, CALL, number, 100.0 + number).verdict = "E004"

    rows, left_out = notes.rows(100.0)

    assert (
        MatchLimits.transcript_bytes - 60
        < len(msgspec.json.encode(rows))
        <= MatchLimits.transcript_bytes
    )
    assert len(rows) + left_out == 200
    assert rows[0] == Exchange(1000, "P02", CALL, 1, "E004", None, None)


@rule("R-MATCH-26")
def test_what_was_left_out_stands_in_the_report():
    made = [ChooseParityResponse("x" * 1000)] * 2
    few = Stage({"move": made}).run().report
    assert few.transcript_left_out is msgspec.UNSET

    notes = Transcript(["P01", "P02"])
    for number in range(200):
        notes.begin(0, CALL, number, 0.0)
    assert notes.rows(0.0)[1] > 0


@rule("R-MATCH-26")
@pytest.mark.parametrize(
    ("move", "kept"),
    [
        ("x" * 98, "x" * 98),
        ("x" * 99, '"' + "x" * 96 + "…"),
        (["é" * 30] * 9, '["' + "é" * 30 + '","' + "é" * 16 + "…"),
        (msgspec.json.decode("[" * 8 + "]" * 8), msgspec.json.decode("[" * 8 + "]" * 8)),
        (
            msgspec.json.decode("[" * 20 + "]" * 20),
            "[" * 20 + "]" * 20,
        ),  # The manager reads 16 levels.
    ],
)
def test_long_and_deep_moves_are_cut_short(move, kept):
    stage = Stage({"move": [ChooseParityResponse(move)]}).run()

    assert anns(stage)[0][3] == kept


def test_times_that_no_integer_holds_are_cut_off():
    notes = Transcript(["P01"])
    notes.begin(0, CALL, 1, 9e9)

    assert notes.rows(0.0)[0][0].at == 2**31 - 1


@rule("R-MATCH-26")
def test_moves_of_other_games_are_called_by_their_own_message():
    ann, bob = {"move": [SILENCE] * 4}, {"move": [SILENCE] * 4, "join": [JOINED]}
    stage = Stage(ann, bob, game=THROWAWAY["race"]).run()

    assert {row.message for row in stage.report.transcript} == {"GAME_INVITATION", "GAME_MOVE_CALL"}


@rule("R-MATCH-26")
@pytest.mark.parametrize(
    ("said", "note"),
    [("P01", ""), ("", "without player_id"), ("P77", "as P77"), ("x" * 64, "as " + "x" * 20)],
)
def test_who_an_answer_says_it_is_from_is_noted_and_changes_nothing(said, note):
    stage = Stage({"move": [ChooseParityResponse("even", "R1M1", said)]}).run()

    (row,) = [r for r in stage.report.transcript if (r.player_id, r.message) == ("P01", CALL)]
    assert (row.verdict, row.move, row.note) == ("ok", "even", note)
