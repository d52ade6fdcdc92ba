"""What `league schema` prints, held by an independent validator against leagues really played."""

import asyncio
import json
import re
from datetime import datetime
from urllib.parse import urlsplit

import msgspec
import pytest
from jsonschema import Draft202012Validator, FormatChecker

from agentleague.league.queries import QUERIES
from agentleague.protocol.codec import DECODERS
from agentleague.protocol.field_docs import example
from agentleague.protocol.messages import (
    MESSAGES,
    PROTOCOL,
    ReportedResult,
    RoundMatch,
    StartMatch,
    StartMatchResponse,
)
from commands import league
from contracts.whole_league import BROKEN_BODIES, play_everything
from rules import rule

ENVELOPE = {"sender": "league_manager", "timestamp": "2026-03-04T09:00:00Z"}
# Said only in foreign leagues: what our referee is asked there, and answers.
ELSEWHERE = {
    "START_MATCH": StartMatch([RoundMatch("R1M1", player_A_id="P01", player_B_id="P02")]),
    "START_MATCH_RESPONSE": StartMatchResponse(
        "COMPLETED",
        match_id="R1M1",
        referee_id="REF01",
        result=ReportedResult("P01", {"P01": 3, "P02": 0}),
        winner="P01",
        winner_player_id="P01",
        score={"P01": 3, "P02": 0},
        drawn_number=8,
        choices={"P01": "even", "P02": "odd"},
    ),
}
FORMATS = FormatChecker(formats=())
LONG_TABLES = ("ROUND_ANNOUNCEMENT", "LEAGUE_STANDINGS_UPDATE", "LEAGUE_COMPLETED")


@FORMATS.checks("date-time", ValueError)
def _is_time(text):
    return not isinstance(text, str) or datetime.fromisoformat(text).utcoffset() is not None


@FORMATS.checks("uri", ValueError)
def _is_url(text):
    return not isinstance(text, str) or urlsplit(text).hostname is not None


@pytest.fixture(scope="module")
def printed():
    """The one schema for everything, as the command prints it."""
    return json.loads(league("schema", "--jsonrpc").stdout)


@pytest.fixture(scope="module")
def traffic(tmp_path_factory):
    """Every request and answer of whole leagues, from the wire."""
    return asyncio.run(play_everything(tmp_path_factory.mktemp("contracts")))


@pytest.fixture(scope="module")
def sound(traffic):
    """Those that were meant to be read, with the type of what was asked."""
    wrong = (*BROKEN_BODIES, b"{no JSON")
    asked = [e for e in traffic if e.request not in wrong and "jsonrpc" in e.asked]
    return [(e.asked["params"]["message_type"], e) for e in asked]


@pytest.fixture(scope="module")
def messages(sound):
    """Type -> every message of that type, whichever way it went."""
    found = {name: [] for name in MESSAGES} | {
        name: [{**example(name), **msgspec.to_builtins(message), **ENVELOPE}, example(name)]
        for name, message in ELSEWHERE.items()
    }
    for name, exchange in sound:
        found[name].append(exchange.asked["params"])
        if exchange.answer:
            said = exchange.said
            answer = said["result"] if "result" in said else said["error"]["data"]
            found[answer["message_type"]].append(answer)
    return found


def validator(printed, name):
    schema = {**printed, "anyOf": [{"$ref": f"#/$defs/{name}"}]}
    return Draft202012Validator(schema, format_checker=FORMATS)


def complaints(checker, bodies):
    return [(error.json_path, error.message) for b in bodies for error in checker.iter_errors(b)]


@rule("R-MSG-14")
@pytest.mark.parametrize("name", MESSAGES)
def test_every_message_of_the_table_is_sent_in_a_league_and_satisfies_its_schema(
    name, printed, messages
):
    assert messages[name] != []
    assert complaints(validator(printed, name), messages[name]) == []


ASKED = [name for name, kind in MESSAGES.items() if kind.method]
# A player pushes an answer only where it could not give it; our own players always can.
NEVER_PUSHED = {"GAME_MOVE_RESPONSE"}


@rule("R-MSG-14")
@pytest.mark.parametrize("name", sorted(set(ASKED) - NEVER_PUSHED - set(ELSEWHERE)))
def test_every_request_and_every_answer_satisfies_the_schema_of_its_json_rpc(name, printed, sound):
    exchanges = [exchange for asked, exchange in sound if asked == name]
    answered = [exchange for exchange in exchanges if exchange.answer]

    assert answered != []
    assert complaints(validator(printed, f"{name}.request"), [e.asked for e in exchanges]) == []
    assert complaints(validator(printed, f"{name}.answer"), [e.said for e in answered]) == []
    assert [e.said["id"] for e in answered] == [e.asked["id"] for e in answered]


def test_the_traffic_has_all_that_can_happen_to_a_league(messages):
    def some(name, **fields):
        return any(fields.items() <= message.items() for message in messages[name])

    for kind in ("LEAGUE", "REFEREE"):
        assert some(f"{kind}_REGISTER_RESPONSE", status="ACCEPTED")
        assert some(f"{kind}_REGISTER_RESPONSE", status="REJECTED")
    for query in QUERIES:
        assert some("LEAGUE_QUERY_RESPONSE", query_type=query, success=True)
    assert some("LEAGUE_QUERY_RESPONSE", success=False)
    assert some("GAME_ERROR", error_code="E001", retry_count=1)
    assert some("GAME_ERROR", error_code="E004")
    ends = {message["game_result"]["status"] for message in messages["GAME_OVER"]}
    assert {"WIN", "TECHNICAL_LOSS"} <= ends
    refused = {message["error_code"] for message in messages["LEAGUE_ERROR"]}
    assert {"E011", "E012", "E040"} <= refused
    senders = {message["sender"].split(":")[0] for message in messages["LEAGUE_ERROR"]}
    assert senders == {"league_manager", "player"}


@rule("R-MSG-14")
@pytest.mark.parametrize("body", BROKEN_BODIES)
def test_what_the_manager_cannot_read_the_schema_refuses_too(body, printed, traffic):
    answers = [exchange.said for exchange in traffic if exchange.request == body]

    assert answers != []
    assert all("error" in answer for answer in answers)
    assert not Draft202012Validator(printed).is_valid(json.loads(body))
    refusals = validator(printed, "JsonRpcRefusal")
    assert complaints(refusals, answers) == []


@rule("R-MSG-14")
@pytest.mark.parametrize("name", MESSAGES)
def test_the_schema_refuses_exactly_what_the_decoder_refuses(name, printed, messages):
    checker = Draft202012Validator(validator(printed, name).schema)
    refused = accepted = 0
    for message in varied(messages[name]):
        for broken in mutations(message):
            # The match refuses what `accept` must not be, so that its transcript says so.
            is_join = type(broken.get("accept", True)) is bool or name != "GAME_JOIN_ACK"
            is_read = can_read(name, broken) and is_join

            assert checker.is_valid(broken) == is_read, broken
            refused, accepted = refused + (not is_read), accepted + is_read

    assert refused > 10
    assert accepted > 0


def can_read(name, message):
    try:
        DECODERS[name].decode(json.dumps(message))
    except msgspec.ValidationError:
        return False
    # The codec, not the decoder, sees to these two; a message in a request may lack its type.
    says = (message.get("message_type"), f"{message.get('protocol', PROTOCOL)}.")
    return says[0] == name and says[1].startswith(f"{PROTOCOL}.")


def varied(found):
    """One message for each set of fields."""
    return {tuple(sorted(message)): message for message in found}.values()


LOOKED_AT = 2  # of the items of a list
VALUES = (..., None, True, 7, 2**31, "x" * 129, "x" * 501, [], [[]], {}, {"a": []})


def mutations(value):
    """A value with one thing in it changed or gone, in every place and way."""
    places = value.items() if isinstance(value, dict) else enumerate(value[:LOOKED_AT])
    for key, inner in places:
        for other in VALUES:
            copy = dict(value) if isinstance(value, dict) else list(value)
            if other is ...:
                del copy[key]
            else:
                copy[key] = other
            yield copy
        if isinstance(inner, dict | list) and inner:
            for changed in mutations(inner):
                copy = dict(value) if isinstance(value, dict) else list(value)
                copy[key] = changed
                yield copy


# What depends on the moment, or on who shares rank 1.
SOMETIMES = {
    *("REFEREE_STATUS.states", "REFEREE_STATUS.awaited", "REFEREE_STATUS.receipt"),
    "LEAGUE_COMPLETED.champion_draw",
}
# What only a table of more rows than fit, a longer match or a foreign agent brings about.
UNSEEN = {
    *(f"{name}.{field}" for name in LONG_TABLES for field in ("total", "truncated")),
    "MATCH_RESULT_REPORT.transcript_left_out",
    "MATCH_RESULT_REPORT.dialects",
    "MATCH_RESULT_REPORT.wrong_tokens",
    "LEAGUE_REGISTER_RESPONSE.game_options",
    "LEAGUE_REGISTER_RESPONSE.seat",
    "MATCH_RESULT_ACK.warnings",
    "REFEREE_REGISTER_RESPONSE.waiting",
    "REFEREE_STATUS_ACK.waiting",
    "LEAGUE_ERROR.consequence",  # only GAME_ERROR has it; document 000 shows it in both
}


@rule("R-MSG-14")
def test_no_field_is_sent_that_the_schema_does_not_name_and_none_is_named_in_vain(
    printed, messages
):
    named = {name: set(printed["$defs"][name]["properties"]) for name in MESSAGES}
    sent = {name: {key for each in found for key in each} for name, found in messages.items()}
    for name in ("LEAGUE_ERROR", "GAME_ERROR"):  # What is in the context stands beside it too.
        sent[name] -= {key for each in messages[name] for key in each["context"]} - named[name]

    assert {name: extra for name in MESSAGES if (extra := sent[name] - named[name])} == {}
    unsent = {f"{name}.{field}" for name in MESSAGES for field in named[name] - sent[name]}
    unsent = {field for field in unsent if not field.endswith(".auth_token")}
    assert unsent - SOMETIMES == UNSEEN


@rule("R-MSG-14")
@pytest.mark.parametrize("name", MESSAGES)
def test_the_example_of_a_message_has_the_fields_of_one_that_was_sent(name, printed, messages):
    schema = printed["$defs"][name]
    (example,) = schema["examples"]

    assert complaints(validator(printed, name), [example]) == []
    assert can_read(name, example)
    seen = [set(each) & set(schema["properties"]) for each in messages[name]]
    if name == "REFEREE_STATUS":  # Which of these it has depends on the moment.
        now_and_then = {"states", "awaited", "receipt"}
        seen = [each | now_and_then for each in seen]
        example |= dict.fromkeys(now_and_then)
    assert set(example) in seen


# Null where a document shows it, where a question of ours has no answer, and in moves and boards.
NULLS = {
    *("player_id", "referee_id", "reason", "next_round_id", "winner", "winner_player_id"),
    *("drawn_number", "number_parity", "next_match", "champion", "champion_name", "you", "value"),
    *("activity", "matches", "ruling", "kept", "threshold", "move", "parity_choice"),
    *("choices.P02", "board.", "transcript..", "context.invalid_choice"),
}
# What the documents call it, or a rule of the page.
CONTEXT = {
    *("action", "player_id", "provided_token", "expected_format", "field", "kind", "known"),
    *("invalid_choice", "valid_choices", "said"),
}
NUMBER = re.compile(rb"[:,\[] *(-?\d[\d.eE+-]*)")
PLAIN = re.compile(rb"-?\d+(\.\d{1,4})?")


def walk(value, path=""):
    """Every value inside, with its path; items of lists have no name."""
    yield path, value
    inside = value if isinstance(value, dict) else {}
    pairs = [("", each) for each in value] if isinstance(value, list) else inside.items()
    for key, inner in pairs:
        yield from walk(inner, f"{path}.{key}")


@rule("R-MSG-15")
def test_what_is_not_there_is_not_sent_as_null_and_times_are_plain_decimals(traffic):
    bodies = [body for each in traffic for body in (each.request, each.answer) if body]
    nulls = {
        path
        for body in bodies
        if not body.startswith(b"{no")
        for path, value in walk(json.loads(body))
        if value is None and not path.startswith((".id", ".params.query"))
    }
    odd = [number for body in bodies for number in NUMBER.findall(body)]

    assert {path for path in nulls if not path.endswith(tuple(NULLS))} == set()
    assert [number for number in odd if not PLAIN.fullmatch(number)] == []


@rule("R-MSG-15")
def test_a_query_is_answered_with_data_or_with_an_error(messages):
    answers = messages["LEAGUE_QUERY_RESPONSE"]

    assert {"data" in each for each in answers} == {True, False}
    assert [
        e for e in answers if ("data" in e, "error" in e) != (e["success"], not e["success"])
    ] == []


@rule("R-ERR-06", "R-ERR-09", "R-ENV-01")
def test_every_answer_has_a_conversation_and_a_sender_and_errors_only_words_of_the_wire(traffic):
    answers = [
        each
        for exchange in traffic
        if exchange.answer
        for _, each in walk(exchange.said)
        if isinstance(each, dict) and "message_type" in each
    ]
    errors = [each for each in answers if each["message_type"] in ("LEAGUE_ERROR", "GAME_ERROR")]

    assert [each for each in answers if not each["conversation_id"]] == []
    assert {each["sender"] for each in answers if not each["sender"].partition(":")[2]} == {
        "league_manager"
    }
    assert {key for each in errors for key in each["context"]} - CONTEXT == set()
    assert [each for each in errors if "action" in each or "aliases" in each] == []
