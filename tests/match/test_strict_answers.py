"""Each rule of document 004 for a player's answer, in a strict league and in any other."""

import json

from msgspec.structs import replace

from agentleague.dialects.answers import read_answer
from agentleague.match.transcript import Transcript
from agentleague.protocol.messages import ChooseParityCall, GameError, GameInvitation
from match.ann_and_bob import RULES, answer, calls, joining
from rules import rule
from tables import each_row

STRICT = replace(RULES, missing_fields="refuse")
LEFT_OUT = object()
ENVELOPE = {
    "protocol": "league.v2",
    "sender": "player:P01",
    "timestamp": "2026-01-15T10:30:00Z",
    "conversation_id": "conv-r1m1-001",
    "auth_token": "mtok_from_ann",
    "match_id": "R1M1",
    "player_id": "P01",
}
JOIN = {"message_type": "GAME_JOIN_ACK", "arrival_timestamp": "20260115T10:30:00Z", "accept": True}
MOVE = {"message_type": "CHOOSE_PARITY_RESPONSE", "parity_choice": "even"}


def read(content, changes):
    fields = {**ENVELOPE, **content, **changes}
    body = json.dumps({name: at for name, at in fields.items() if at is not LEFT_OUT}).encode()
    return read_answer(GameInvitation() if content is JOIN else ChooseParityCall(), 200, body)


BOB = {"sender": "player:P02", "player_id": "P02", "auth_token": "mtok_from_bob"}


def complaints(content, changes, rules):
    """The errors that Ann is told after this answer."""
    match, step = joining(rules=rules), "join"
    if content is MOVE:
        step = "move"
        answer(match, "join", "P01", read(JOIN, {}))
        answer(match, "join", "P02", read(JOIN, BOB))
    effects = answer(match, step, "P01", read(content, changes))
    return [each.message for each in calls(effects) if isinstance(each.message, GameError)]


@rule("R-MATCH-32")
@each_row(
    ("changes", "code", "field"),
    [
        ({"protocol": "league.v1"}, "E018", "protocol"),
        ({"protocol": 2}, "E003", "protocol"),
        ({"sender": LEFT_OUT}, "E003", "sender"),
        ({"sender": "player:P02"}, "E003", "sender"),
        ({"sender": "P01"}, "E003", "sender"),  # not type:id
        ({"timestamp": LEFT_OUT}, "E003", "timestamp"),
        ({"timestamp": "2026-01-15T10:30:00+02:00"}, "E021", "timestamp"),
        ({"timestamp": "2026-01-15T10:30:00"}, "E021", "timestamp"),
        ({"conversation_id": LEFT_OUT}, "E003", "conversation_id"),
        ({"auth_token": LEFT_OUT}, "E011", "auth_token"),
        ({"auth_token": "mtok_from_bob"}, "E012", "auth_token"),
        ({"auth_token": 7}, "E012", "auth_token"),
        ({"match_id": LEFT_OUT}, "E003", "match_id"),
        ({"player_id": LEFT_OUT}, "E003", "player_id"),
        ({"player_id": "P02"}, "E005", "player_id"),
    ],
)
def test_an_answer_that_document_004_forbids_is_refused_only_in_a_strict_league(
    changes, code, field
):
    for content in (JOIN, MOVE):
        (told,) = complaints(content, changes, STRICT)

        assert told.error_code == code
        assert told.context.get("field") == field
        assert told.retryable
        assert complaints(content, changes, RULES) == []


@rule("R-MATCH-32")
def test_so_is_a_join_that_does_not_say_in_utc_when_it_came():
    for when, code in ((LEFT_OUT, "E003"), ("2026-01-15T10:30:00+02:00", "E021")):
        (told,) = complaints(JOIN, {"arrival_timestamp": when}, STRICT)
        assert (told.error_code, told.context["field"]) == (code, "arrival_timestamp")
        assert complaints(JOIN, {"arrival_timestamp": when}, RULES) == []


@rule("R-ERR-09")
def test_of_a_wrong_token_only_the_beginning_is_said_and_what_it_should_be():
    (told,) = complaints(MOVE, {"auth_token": "mtok_of_somebody_else"}, STRICT)

    shown = {"provided_token": "mtok…", "expected_format": "mtok_{hash}", "player_id": "P01"}
    assert told.context == {"field": "auth_token", **shown}


@rule("R-MATCH-32")
def test_an_answer_as_document_004_has_it_is_taken_with_any_token_of_the_player():
    for content in (JOIN, MOVE):
        for token in ("mtok_from_ann", "tok_P01_ann", "mtok_ann"):  # The last is the call's.
            assert complaints(content, {"auth_token": token}, STRICT) == []


@rule("R-MATCH-32")
def test_all_that_an_answer_lacks_is_named_and_by_which_setting():
    bare = dict.fromkeys(("sender", "timestamp", "conversation_id", "auth_token"), LEFT_OUT)

    (told,) = complaints(MOVE, bare, STRICT)

    assert told.error_message == (
        "this league has missing_fields=refuse, and the answer lacks sender, timestamp, "
        "conversation_id, auth_token"
    )


@rule("R-REG-20")
@each_row(
    ("changes", "note"),
    [
        ({}, ""),
        ({"player_id": "P02"}, "as P02"),
        ({"sender": "player:P02"}, "as P02"),
        ({"sender": "ann's own"}, ""),
        ({"sender": ["P02"]}, ""),
        ({"player_id": LEFT_OUT}, "without player_id"),
    ],
)
def test_who_answers_in_the_name_of_another_is_noted(changes, note):
    notes = Transcript(["P01", "P02"])
    line = notes.begin(0, "CHOOSE_PARITY_CALL", 1, 0.0)

    notes.hear(line, 0.0, read(MOVE, changes))

    assert line.note == note
