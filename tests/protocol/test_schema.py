"""The JSON Schema of every message, against the examples of the documents."""

import copy
import json

import msgspec
import pytest
from jsonschema import Draft202012Validator

from agentleague.protocol import codec
from agentleague.protocol.messages import MESSAGES
from agentleague.protocol.schema import message_schema
from protocol.wire import EXAMPLES, MESSAGE_EXAMPLES, message_of
from rules import rule


def problems(name, message):
    validator = Draft202012Validator(message_schema(name))
    return sorted((error.validator, list(error.path)) for error in validator.iter_errors(message))


@rule("R-MSG-14")
@pytest.mark.parametrize("name", MESSAGES)
def test_every_message_has_a_schema_of_its_own(name):
    schema = message_schema(name)

    Draft202012Validator.check_schema(schema)
    assert schema["title"] == name
    assert schema["properties"]["message_type"] == {"const": name}
    assert schema["description"]
    json.dumps(schema)


@rule("R-MSG-14")
@pytest.mark.parametrize("example", MESSAGE_EXAMPLES)
def test_the_examples_of_the_documents_satisfy_it(example):
    name, body = EXAMPLES[example]["message"], EXAMPLES[example]["body"]

    assert problems(name, message_of(body)) == []


@rule("R-MSG-14")
@pytest.mark.parametrize(
    ("example", "path", "value", "problem"),
    [
        ("001_game_over", ["message_type"], "GAME_OVERS", "const"),  # another message
        ("001_game_over", ["message_type"], ..., "required"),
        ("001_game_over", ["game_result"], ..., "required"),
        ("001_game_over", ["game_result", "status"], "win", "enum"),
        ("001_game_over", ["game_result", "drawn_number"], "3", "anyOf"),
        ("001_game_over", ["sender"], 7, "type"),
        ("001_match_result_report", ["result", "winner"], ..., "required"),
        ("001_match_result_report", ["result", "score", "P07"], 1.5, "type"),
        ("001_match_result_report", ["round_id"], 2**31, "maximum"),
        ("001_match_result_report", ["round_id"], True, "type"),
        ("001_player_register_request", ["player_meta", "display_name"], "x" * 501, "maxLength"),
        ("001_referee_register_request", ["referee_meta", "max_concurrent_matches"], 0, "minimum"),
        ("001_league_query", ["query_type"], ..., "required"),
        ("003_game_join_ack", ["accept"], "true", "type"),
    ],
)
def test_a_broken_message_does_not(example, path, value, problem):
    name = EXAMPLES[example]["message"]
    message = copy.deepcopy(message_of(EXAMPLES[example]["body"]))
    *way, last = path
    inside = message
    for step in way:
        inside = inside[step]
    if value is ...:
        del inside[last]
    else:
        inside[last] = value

    assert [found for found, _ in problems(name, message)] == [problem]


@rule("R-MSG-14")
@pytest.mark.parametrize("example", MESSAGE_EXAMPLES)
def test_what_we_write_satisfies_it_too(example):
    name, body = EXAMPLES[example]["message"], EXAMPLES[example]["body"]
    message = msgspec.convert(message_of(body), MESSAGES[name].cls)

    assert problems(name, json.loads(codec.encode(message))) == []


def test_an_unknown_message_has_no_schema():
    with pytest.raises(KeyError):
        message_schema("HELLO")
