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
    ],
)
def test_a_report_without_a_winner_is_refused_as_ever(fields):
    incoming = read(**fields)

    assert incoming.message is None
    assert incoming.error.context["field"].startswith("result")


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
        ({"a": {"a": {"a": {"a": {"a": {"a": {"match_id": "M1", "status": "open"}}}}}}}, False),
    ],
)
def test_a_match_is_open_if_it_is_said_to_be_and_has_no_result(fields, is_so):
    assert is_open("M1", fields) == is_so


def test_a_match_that_is_only_planned_does_not_run():
    assert not is_open("M1", {"match_id": "M1", "status": "SCHEDULED"}, RUNNING)
