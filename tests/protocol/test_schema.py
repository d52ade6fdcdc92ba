"""The JSON Schema of every message, against the examples of the documents."""

import copy
import json
from functools import cache

import msgspec
import pytest
from click.testing import CliRunner
from jsonschema import Draft202012Validator

from agentleague.cli.app import app
from agentleague.protocol import codec
from agentleague.protocol.field_docs import NOTES
from agentleague.protocol.messages import MESSAGES
from agentleague.protocol.schema import all_schemas, answer_of, message_schema
from protocol.wire import EXAMPLES, MESSAGE_EXAMPLES, message_of
from rules import rule
from tables import each_row


@cache
def validator_of(name):
    return Draft202012Validator(message_schema(name))


def problems(name, message):
    validator = validator_of(name)
    return sorted((error.validator, list(error.path)) for error in validator.iter_errors(message))


@rule("R-MSG-14")
@each_row("name", MESSAGES)
def test_every_message_has_a_schema_of_its_own(name):
    schema = message_schema(name)

    Draft202012Validator.check_schema(schema)
    assert schema["title"] == name
    assert schema["properties"]["message_type"] == {"const": name}
    assert schema["description"]
    json.dumps(schema)


@rule("R-MSG-14")
@each_row("example", MESSAGE_EXAMPLES)
def test_the_examples_of_the_documents_satisfy_it(example):
    name, body = EXAMPLES[example]["message"], EXAMPLES[example]["body"]

    assert problems(name, message_of(body)) == []


@rule("R-MSG-14")
@each_row(
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
@each_row("example", MESSAGE_EXAMPLES)
def test_what_we_write_satisfies_it_too(example):
    name, body = EXAMPLES[example]["message"], EXAMPLES[example]["body"]
    message = msgspec.convert(message_of(body), MESSAGES[name].cls)

    assert problems(name, json.loads(codec.encode(message))) == []


def test_an_unknown_message_has_no_schema():
    with pytest.raises(KeyError):
        message_schema("HELLO")


WHOLE, BODIES = all_schemas(), all_schemas(jsonrpc=True)
OBJECTS = {
    name: schema
    for name, schema in WHOLE["$defs"].items()
    if "properties" in schema or "prefixItems" in schema
}


@rule("R-MSG-14")
@each_row("name", OBJECTS)
def test_every_field_says_what_it_means(name):
    schema = OBJECTS[name]
    fields = {**schema.get("properties", {})}
    fields.pop("message_type", None)
    fields |= {about["title"]: about for about in schema.get("prefixItems", ())}

    assert schema["description"]
    assert [field for field, about in fields.items() if not about.get("description")] == []


@rule("R-MSG-14")
@each_row("name", OBJECTS)
def test_the_example_of_every_field_satisfies_its_own_schema(name):
    for field, about in OBJECTS[name].get("properties", {}).items():
        checker = Draft202012Validator({**about, "$defs": WHOLE["$defs"]})

        assert [each for each in about.get("examples", ()) if not checker.is_valid(each)] == [], (
            field
        )


def test_no_note_is_left_of_a_field_that_is_gone():
    classes = {kind.cls.__name__: name for name, kind in MESSAGES.items()}
    fields = {name: set(schema.get("properties", ())) for name, schema in OBJECTS.items()}
    fields["Exchange"] = {about["title"] for about in OBJECTS["Exchange"]["prefixItems"]}
    everywhere = set().union(*fields.values())

    for key in NOTES:
        owner, _, field = key.rpartition(".")
        assert field in (fields[classes.get(owner, owner)] if owner else everywhere), key


@rule("R-MSG-14")
@each_row("schema", [WHOLE, BODIES, *(message_schema(name, jsonrpc=True) for name in MESSAGES)])
def test_a_schema_of_many_is_valid_has_an_id_and_stands_alone(schema):
    Draft202012Validator.check_schema(schema)

    assert schema["$id"].startswith("urn:agentleague:league.v2")
    text = json.dumps(schema)
    referred = {each.split('"')[0] for each in text.split("#/$defs/")[1:]}
    assert referred <= schema["$defs"].keys()
    assert all("$id" not in part for part in schema["$defs"].values())


@rule("R-MSG-14")
@each_row("example", MESSAGE_EXAMPLES)
def test_the_one_schema_of_all_messages_takes_each_of_them_once(example):
    name, message = EXAMPLES[example]["message"], message_of(EXAMPLES[example]["body"])
    Draft202012Validator(WHOLE).validate(message)

    taken = [
        each
        for each in MESSAGES
        if Draft202012Validator({**WHOLE, "oneOf": [{"$ref": f"#/$defs/{each}"}]}).is_valid(message)
    ]
    assert taken == [name]


@rule("R-MSG-14")
@each_row("example", [name for name in MESSAGE_EXAMPLES if "jsonrpc" in EXAMPLES[name]["body"]])
def test_the_bodies_of_the_documents_satisfy_the_schema_of_json_rpc(example):
    name, body = EXAMPLES[example]["message"], EXAMPLES[example]["body"]

    assert list(Draft202012Validator(BODIES).iter_errors(body)) == []
    schema = message_schema(name, jsonrpc=True)
    assert list(Draft202012Validator(schema).iter_errors(body)) == []


@rule("R-MSG-14")
@each_row(
    ("change", "problem"),
    [
        ({"jsonrpc": "1.0"}, "const"),
        ({"jsonrpc": ...}, "required"),
        ({"method": "parity_chose"}, "enum"),
        ({"method": ...}, "required"),
        ({"params": []}, "type"),
        ({"params": ...}, "required"),
        ({"id": 1.5}, "anyOf"),
        ({"id": "x" * 65}, "anyOf"),
    ],
)
def test_a_broken_request_does_not(change, problem):
    example = message_schema("GAME_INVITATION")["examples"][0]
    body = {"jsonrpc": "2.0", "method": "handle_game_invitation", "params": example, "id": 1}
    broken = {key: at for key, at in {**body, **change}.items() if at is not ...}
    schema = {**BODIES, "anyOf": [{"$ref": "#/$defs/GAME_INVITATION.request"}]}

    assert Draft202012Validator(schema).is_valid(body)
    assert not Draft202012Validator(BODIES).is_valid(broken)
    found = [
        error
        for outer in Draft202012Validator(schema).iter_errors(broken)
        for error in outer.context
    ]
    assert problem in [error.validator for error in found]


@rule("R-MSG-14")
def test_every_request_has_an_answer_and_each_carries_what_it_should():
    for name, kind in MESSAGES.items():
        request = BODIES["$defs"].get(f"{name}.request")
        assert (request is not None) == (kind.method is not None) == (answer_of(kind) is not None)
        if request:
            assert kind.method in request["properties"]["method"]["enum"]
            result, refusal = BODIES["$defs"][f"{name}.answer"]["oneOf"]
            assert result["properties"]["result"] == {"$ref": f"#/$defs/{answer_of(kind)}"}
            assert refusal == {"$ref": "#/$defs/JsonRpcRefusal"}


@rule("R-MSG-14")
def test_an_answer_is_a_result_or_a_refusal_and_never_both():
    schema = {**BODIES, "anyOf": [{"$ref": "#/$defs/GAME_INVITATION.answer"}]}
    result = {"result": message_schema("GAME_JOIN_ACK")["examples"][0]}
    refusal = {"error": {"code": -32602, "message": "no"}}
    checker = Draft202012Validator(schema)

    assert checker.is_valid({"jsonrpc": "2.0", "id": 1, **result})
    assert checker.is_valid({"jsonrpc": "2.0", "id": None, **refusal})
    assert not checker.is_valid({"jsonrpc": "2.0", "id": 1, **result, **refusal})
    assert not checker.is_valid({"jsonrpc": "2.0", "id": 1})


def test_schemas_are_the_callers_own():
    message_schema("GAME_OVER")["properties"].clear()
    all_schemas()["$defs"].clear()

    assert message_schema("GAME_OVER")["properties"]
    assert all_schemas() == WHOLE


def test_an_example_of_every_message_is_written_where_document_002_has_it(tmp_path):
    done = CliRunner().invoke(app, ["schema", "--examples", str(tmp_path)])
    both = CliRunner().invoke(app, ["schema", "--examples", str(tmp_path), "--jsonrpc"])

    found = {path.stem.upper(): path for path in tmp_path.glob("*/*.json")}
    assert (done.exit_code, both.exit_code) == (0, 2)
    assert found.keys() == MESSAGES.keys()
    assert {path.name for path in tmp_path.iterdir()} == {"registration", "gameflow", "errors"}
    assert found["LEAGUE_ERROR"].parent.name == "errors"
    assert found["REFEREE_REGISTER_RESPONSE"].parent.name == "registration"
    for name, path in found.items():
        message = json.loads(path.read_text(encoding="utf-8"))
        Draft202012Validator(message_schema(name)).validate(message)
