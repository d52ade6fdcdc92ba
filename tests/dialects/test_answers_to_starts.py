"""What a foreign referee answers when it is told to run a match."""

import json

import pytest

from agentleague.dialects.answers import CLEAR, read_started
from agentleague.errors import NoConnection, PeerRefused, RateLimited
from agentleague.protocol.messages import (
    MatchResultReport,
    RoundAnnouncement,
    RoundAnnouncementAck,
    RoundMatch,
)
from rules import rule
from tables import each_row

REQUEST = RoundAnnouncement(matches=[RoundMatch("R1M1")], session="s")


def read(body, status=200, request=REQUEST):
    text = body if isinstance(body, bytes) else json.dumps(body).encode()
    return read_started(request, status, text)


def rpc(result):
    return {"jsonrpc": "2.0", "result": result, "id": 1}


def tool(result):
    return rpc({"content": [{"type": "text", "text": json.dumps(result)}]})


@rule("R-START-02")
@each_row("wrap", [rpc, tool, lambda result: result, lambda r: rpc({"data": r})])
@each_row(
    "said",
    [
        {"match_id": "R1M1"},
        {"status": "started", "match_id": "R1M1"},
        {"status": "accepted", "match_id": "R1M1", "winner": None},
    ],
)
def test_an_answer_that_names_the_match_says_that_it_was_taken(wrap, said):
    assert read(wrap(said)) == RoundAnnouncementAck(CLEAR)


@rule("R-START-03")
@each_row("wrap", [rpc, tool, lambda result: result])
@each_row(
    ("said", "winner"),
    [
        ({"match_id": "R1M1", "result": {"winner": "P01"}}, "P01"),
        ({"status": "completed", "winner": "P01"}, "P01"),
        ({"status": "DRAW"}, None),
        ({"status": "finished", "winner": "DRAW", "score": {"P01": [1]}}, "DRAW"),
        ({"game_result": {"status": "WIN", "winner_player_id": "P02"}}, "P02"),
        ({"winner": "P01", "choices": {"x" * 65: "even"}}, "P01"),
        ({"status": "completed", "match_id": "R1M1", "result": {"winner": None}}, None),
        ({"player_a_id": "P01", "player_a_result": "WIN"}, "P01"),
        ({"status": "completed", "matchId": "R1M1", "winnerId": "P01"}, "P01"),
    ],
)
def test_an_answer_with_a_winner_is_a_report_of_the_match_it_was_told_of(wrap, said, winner):
    report = read(wrap(said))

    assert isinstance(report, MatchResultReport)
    assert (report.match_id, report.result.winner) == ("R1M1", winner)


@each_row("choices", [{"P01": 1, "P02": "x" * 70}, {"a" * 64: None}])
def test_of_a_result_only_what_can_be_read_is_kept(choices):
    report = read(rpc({"winner": "P01", "choices": choices, "status": "WIN"}))

    assert report.result.details.choices == choices


def test_a_winner_that_cannot_be_one_makes_no_report():
    assert read(rpc({"winner": ["P01", "P02"]})).status != CLEAR


@rule("R-START-02")
@each_row(
    ("body", "said"),
    [
        ({"status": "ok"}, '{"status":"ok"}'),
        (rpc({"status": "ok", "timestamp": "2025"}), '{"status":"ok"}'),
        (rpc({"status": "accepted"}), '{"status":"accepted"}'),
        (rpc({"status": "completed"}), '{"status":"completed"}'),  # And who won?
        (rpc({"match_id": "R9M9"}), "{}"),
        (b"", "{}"),
        (b"ACKNOWLEDGED", "text ACKNOWLEDGED"),
        (rpc("done"), 'text "done"'),
    ],
)
def test_of_any_other_answer_it_is_kept_what_was_said(body, said):
    assert read(body).status == said


@rule("R-START-01")
@each_row(
    ("body", "status", "number"),
    [
        ({"jsonrpc": "2.0", "error": {"code": -32601, "message": "no"}, "id": 1}, 200, -32601),
        (rpc({"error": {"code": -32602, "message": "no"}}), 200, -32602),
        (rpc({"error": "Unknown method"}), 200, -32601),
        (rpc({"status": "unknown_message_type"}), 200, -32601),
        (rpc({"status": "error", "message": "not implemented"}), 200, -32601),
        (rpc({"success": False}), 200, None),
        (rpc({"accepted": False, "message": "busy"}), 200, None),
        (rpc({"status": "error", "message": "no players"}), 200, None),
        ({"detail": "Not Found"}, 404, None),
        ({"error": {"code": -32601}}, 400, -32601),
        (b"<html>", 500, None),
    ],
)
def test_a_refusal_is_one_wherever_it_stands(body, status, number):
    with pytest.raises(PeerRefused) as refused:
        read(body, status)

    assert refused.value.context["number"] == number


def test_what_is_busy_or_behind_a_wall_is_asked_again():
    with pytest.raises(RateLimited):
        read({}, 429)
    with pytest.raises(NoConnection):
        read(b"bad gateway", 502)


def test_an_answer_to_nonsense_names_no_match():
    nonsense = RoundAnnouncement(matches=[], session="s")

    assert read(rpc({"match_id": ""}), request=nonsense).status == "{}"


@each_row("wrap", [rpc, tool])
def test_a_result_that_is_nested_deeper_than_a_request_may_be_is_none(wrap):
    deep = json.loads("[" * 20 + "]" * 20)
    said = {"status": "completed", "match_id": "R1M1", "winner": "P01", "choices": {"P01": deep}}

    assert isinstance(read(wrap(said)), RoundAnnouncementAck)
    assert isinstance(read(wrap({**said, "choices": {}})), MatchResultReport)
