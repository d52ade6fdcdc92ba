"""Results as foreign referees report them."""

import msgspec

from agentleague.dialects import requests
from agentleague.dialects.results import RUNNING, find_result, is_open, is_over
from agentleague.protocol import codec
from rules import rule
from tables import each_row

TAKEN = codec.taken_by("manager")


def read(**fields):
    message = {"message_type": "MATCH_RESULT_REPORT", "match_id": "R1M1", **fields}
    request = {"jsonrpc": "2.0", "method": "report_match_result", "params": message, "id": 1}
    return requests.read_request(msgspec.json.encode(request), TAKEN)


def details(**fields):
    return read(**fields).message.result.details


@rule("R-START-05")
@each_row(
    ("fields", "winner"),
    [
        ({"result": {"winner": "P01"}}, "P01"),
        ({"winner": "P01"}, "P01"),
        ({"winner_id": "P01"}, "P01"),
        ({"winner_player_id": "P01", "status": "WIN"}, "P01"),
        ({"result": {"winner_player_id": "P01"}}, "P01"),
        ({"result": {"winner_name": "Ann"}}, "Ann"),
        ({"game_result": {"winner_player_id": None, "status": "DRAW"}}, None),
        ({"result": {"status": "DRAW"}}, None),
        ({"result": "TIE"}, None),
        ({"outcome": "draw"}, None),
        ({"result": {"winner": ""}}, ""),  # Who that is, the league says.
        ({"winner": {"player_id": "P01", "display_name": "Ann"}}, "P01"),
        ({"data": {"match_result": {"winner": "P01"}}}, "P01"),
    ],
)
def test_the_winner_is_found_wherever_it_stands(fields, winner):
    assert read(**fields).message.result.winner == winner


@rule("R-START-05")
@each_row(
    "fields",
    [
        {},
        {"result": {"score": {"P01": 3}}},
        {"result": {"status": "WIN"}},  # By whom?
        {"result": {"winner": 7}},
        {"status": "COMPLETED"},
        {"status": "TECHNICAL_LOSS"},  # Whose?
        {"results": {"P01": "WIN", "P02": "WIN"}},
    ],
)
def test_a_report_without_a_winner_is_refused_as_ever(fields):
    incoming = read(**fields)

    assert incoming.message is None
    assert incoming.error.context["field"].startswith("result")


NOBODY = {"result": {"winner": None}}
LOST = "TECHNICAL_LOSS"
ROW = {"player_id": "A", "result": "WIN"}
FLAT = {"player_a_id": "P01", "player_b_id": "P02"}


@rule("R-START-05")
@each_row(
    "fields",
    [
        {"result": {"winner": None, "status": LOST}},
        {**NOBODY, "status": LOST},
        {"result": {"winner": None, "details": {"status": LOST}}},
        {"result": {"winner": None, "details": {"status": "technical_loss"}}},
        {"result": {"winner": None, "details": {"P01": LOST, "P02": LOST}}},
        {"result": {"winner": None, "details": {"status": "DRAW", "P01": 1}, "outcome": LOST}},
        {**NOBODY, **FLAT, "player_a_result": LOST, "player_b_result": LOST},
        {**FLAT, "player_a_status": "forfeit", "player_b_status": "timeout", "winner_id": None},
        {**FLAT, "player_a_result": LOST, "player_b_result": LOST},  # It names no winner at all.
        {**NOBODY, "results": {"P01": LOST, "P02": LOST}},
        {"winner": None, "players": [{"id": "P01", "result": LOST}, {"id": "P02", "result": LOST}]},
        {"result": {"P01": LOST, "P02": LOST}},
        {"outcomes": {"P01": {"status": LOST}, "P02": {"status": LOST}}, "status": "DRAW"},
        {"results": {"P01": "LOSS", "P02": "LOST"}},
        {"winner": None, "status": "BOTH_LOST"},
        {"winner": None, "player_a_result": LOST, "player_b_result": LOST},  # by seat, without ids
        {"winner": "", "player1_result": LOST, "player_two_status": LOST},
        {"result": {"winner": None, "player_a_result": LOST, "player_b_result": LOST}},
        {"winner": None, "player_A": {"status": LOST}, "player_B": {"status": LOST, "id": ""}},
        {**FLAT, "result": {"winner": None, "player_a_result": LOST, "player_b_result": LOST}},
        {
            "result": {"winner": None, "details": {"status": "ABORTED"}},
            "results": {"A": LOST, "B": LOST},
        },
        {
            "result": {"winner": None, "details": {"status": "DRAW"}},
            "results": {"P1": LOST, "P2": LOST},
        },
    ],
)
def test_a_match_that_both_lost_is_no_draw_wherever_that_is_said(fields):
    result = read(**fields).message.result

    assert (result.details.status, result.winner or None) == (LOST, None)


@rule("R-START-05")
@each_row(
    ("fields", "winner", "status"),
    [
        ({"results": {"P01": "WIN", "P02": "LOSS"}}, "P01", None),
        ({"player_a_result": "won", "player_a": "P01", "player_b_result": "lost"}, "P01", None),
        ({**FLAT, "player_a_result": "TECHNICAL_LOSS"}, "P02", LOST),
        ({**FLAT, "player_a_result": LOST, "player_b_result": "TECHNICAL_WIN"}, "P02", LOST),
        (
            {"winner": None, "player1": {"id": "P01", "outcome": LOST}, "player2": "P02"},
            "P02",
            LOST,
        ),
        ({"results": {"P01": "TIE", "P02": "DRAW"}}, None, "DRAW"),
        ({"winner": "P01", "status": "WIN_BY_FORFEIT"}, "P01", LOST),
        ({"winner": "", "results": {"P01": "WIN", "P02": "LOSS"}}, "P01", None),
        ({"result": {"winner": "DRAW", "status": "DRAW"}}, "DRAW", "DRAW"),
        ({"player_a_result": "WIN", "player_b_result": "LOSS"}, "player_a", None),
        (
            {"player_result_1": "LOSS", "result_player_2": "x", "playerResultB": "WIN"},
            "player_b",
            None,
        ),
        ({"winner": None, "result_1": "WIN", "result_2": "LOSS"}, None, None),  # of turns
        ({"result": {"player_a": None, "player_a_result": "WIN"}, "player_a": "P01"}, "P01", None),
        (
            {"result": {"winner": None}, "results": [ROW, {"name": "B", "status": "LOST"}]},
            "A",
            None,
        ),
        ({"result": {"winner": None}, "history": [ROW]}, None, None),  # of other matches
        ({"winner": None, "standings": [ROW, {"name": "B", "status": "timeout"}]}, None, None),
        ({"winner": None, "last_results": {"A": "WIN", "B": "LOSS"}}, None, None),
        ({"winner": None, "results": [ROW, {}, ROW]}, None, None),
        ({"results": [ROW, {"seat": 2}]}, "A", None),
        ({"results": [{"seat": "player_b", "result": "won"}, {"seat": []}]}, "player_b", None),
    ],
)
def test_how_each_player_ended_says_who_won(fields, winner, status):
    result = read(**fields).message.result

    assert (result.winner, result.details.status) == (winner, status)


@rule("R-START-05")
@each_row(
    "fields",
    [
        {"result": {"winner": None, "details": {"status": "ABORTED"}}},
        {"result": {"winner": None, "score": {}, "details": {}}, "status": "no contest"},
        {"winner": "", "status": "match_cancelled"},
        {"winner_id": None, "outcome": "DRAW", "status": "Error"},
    ],
)
def test_a_match_that_was_called_off_is_no_draw_and_stays_open(fields):
    incoming = read(**fields)

    assert incoming.message is None
    assert incoming.error.context["field"] == "result.winner"


@rule("R-LEAGUE-33")
@each_row(
    ("fields", "ends"),
    [
        ({"winner": "P01", "winner_player_id": "P02"}, [("P01", "WIN"), ("P02", "WIN")]),
        ({"result": {"winner": None, "details": {}}, "winner_id": "P02"}, [("P02", "WIN")]),
        (
            {"winner": "P01", "results": {"P01": "LOSS", "P02": "WIN"}},
            [("P01", "WIN"), ("P01", "LOSS"), ("P02", "WIN")],
        ),
        ({"winner": "P01", "status": "ABORTED"}, [("P01", "WIN"), ("", "WIN")]),
        (
            {"result": {"winner": "P01", "details": {"status": "WIN"}}, "player_a_result": LOST},
            [("P01", "WIN"), ("player_a", LOST)],
        ),
    ],
)
def test_all_that_a_report_says_of_who_won_is_kept(fields, ends):
    assert details(**fields).ends == ends


@rule("R-LEAGUE-33")
def test_a_whole_report_keeps_what_it_says_in_the_documented_places():
    chosen = {"P01": {"row": 1}, "P02": None}
    result = {"winner": "P01", "details": {"status": "WIN", "choices": chosen}}

    assert details(result=result, winner_id="P02").choices == chosen
    assert details(result=result, winner_id="P02", epoch=1).ends is msgspec.UNSET  # one of ours


@rule("R-START-05")
@each_row(
    "fields",
    [
        {"result": {"winner": "P01", "score": {"P01": "even", "P02": "odd"}}},
        {"result": {"winner": "P01", "score": [], "details": "fine"}},
        {"result": {"winner": "P01", "details": {"status": 7, "drawn_number": "8"}}},
        {"result": {"winner": "P01"}, "round_id": "R1", "league_id": None, "sender": 7},
        {"result": {"winner": "P01"}, "timestamp": None, "transcript": [{}]},
        {"result": {"winner": "P01"}, "auth_token": None},
    ],
)
def test_what_does_not_fit_a_side_field_is_left_out(fields):
    report = read(**fields).message

    assert (report.match_id, report.result.winner) == ("R1M1", "P01")
    assert (report.result.score, report.round_id) == ({}, 0)


@rule("R-START-05", "R-START-06")
def test_a_token_that_does_not_fit_is_never_left_out():
    incoming = read(winner="P01", auth_token=7)

    assert incoming.error.context["field"] == "auth_token"


@rule("R-START-05")
@each_row(
    ("fields", "match_id"),
    [({"match_id": None}, ""), ({"match_id": 7}, ""), ({"match_id": None, "game_id": "M1"}, "M1")],
)
def test_a_report_may_lack_the_id_of_its_match(fields, match_id):
    assert read(**fields, winner="P01").message.match_id == match_id


@rule("R-START-05")
@each_row(
    ("fields", "choices", "number"),
    [
        ({"choices": {"P01": "even", "P02": "odd"}}, {"P01": "even", "P02": "odd"}, None),
        ({"choices": {"P01": {"choice": "even"}, "P02": {}}}, {"P01": "even", "P02": None}, None),
        ({"moves": [{"player_id": "P01", "parity_choice": "odd"}, 5]}, {"P01": "odd"}, None),
        ({"moves": [5], "drawn_number": 8}, {}, 8),
        ({"choices": "even", "number": 8}, {}, 8),
        ({"number": True, "drawn": -1}, {}, None),
        ({"random_number": 3}, {}, 3),
        ({"drawn": 3}, {}, 3),
        ({"player_choices": {"P01": "odd"}}, {"P01": "odd"}, None),
        ({"parity_choices": {"P01": {"move": "odd"}}}, {"P01": "odd"}, None),
        (
            {**FLAT, "player_a_choice": "even", "player_b_choice": "odd"},
            {"P01": "even", "P02": "odd"},
            None,
        ),
        ({"player_a": "P01", "player_a_move": {"choice": "odd"}}, {"P01": "odd"}, None),
        ({"player1": {"name": "Ann", "choice": "odd"}, "player_2": 5}, {"Ann": "odd"}, None),
    ],
)
def test_choices_and_number_are_taken_where_they_can_be_read(fields, choices, number):
    found = details(winner="P01", **fields)

    assert (found.choices, found.drawn_number) == (choices, number)


@each_row(
    ("score", "taken"),
    [
        ({"P01": 1, "P02": 0}, {"P01": 1, "P02": 0}),
        ({"P01": 1.0, "P02": 0.0}, {"P01": 1, "P02": 0}),
        ({"P01": 0.5, "P02": 0}, {}),
        ({"P01": "win"}, {}),
        ([1, 0], {}),
    ],
)
def test_a_score_beside_its_place_is_taken_if_it_can_be_read(score, taken):
    assert read(winner="P01", scores=score).message.result.score == taken


def test_what_is_in_its_place_is_left_as_it_is():
    assert read(result={"winner": None}, winner="P01").message.result.winner is None


@each_row(
    ("fields", "over"),
    [
        ({"status": "completed"}, True),
        ({"status": "complete"}, True),
        ({"status": "FINISHED"}, True),
        ({"outcome": "ended"}, True),
        ({"result": "over"}, True),
        ({"result_type": "done"}, True),
        ({"status": "game_over"}, True),
        ({"status": "forfeit"}, True),
        ({"player_a": "P01", "player_a_result": "TECHNICAL_LOSS"}, True),
        ({"winner": "P01"}, True),
        ({"result": {"drawn_number": 4}}, True),
        ({"status": "running", "winner": None}, False),
        ({"result": {"result": {"result": {"result": {"winner": "P01"}}}}}, False),  # Too deep.
    ],
)
def test_a_match_that_runs_is_told_from_one_that_is_over(fields, over):
    assert is_over(fields) is over


def test_a_result_without_a_winner_is_none():
    assert find_result({"status": "COMPLETED", "choices": {}}) is None


@rule("R-GUEST-06")
@each_row(
    ("fields", "is_so"),
    [
        ({"match": {"match_id": "M1", "status": "pending"}}, True),
        ({"matches": [{"id": "M2", "status": "DONE"}, {"id": "M1", "state": "Running"}]}, True),
        ({"rounds": [{"matches": {"M1": {"status": "SCHEDULED", "winner": None}}}]}, True),
        ({"match_id": "M1", "status": "pending", "winner": "P01"}, False),  # It has a result.
        ({"match_id": "M1", "status": "COMPLETED"}, False),
        ({"match_id": "M1"}, False),
        ({"match_id": "M2", "status": "pending"}, False),
        ({"M1": "pending"}, False),
        (None, False),
        ({"M1": {"status": "open"}, "match": {"match_id": "M1", "status": "done"}}, True),
    ],
)
def test_a_match_is_open_if_it_is_said_to_be_and_has_no_result(fields, is_so):
    assert is_open("M1", fields) == is_so


def test_a_match_that_is_only_planned_does_not_run():
    assert not is_open("M1", {"match_id": "M1", "status": "SCHEDULED"}, RUNNING)
