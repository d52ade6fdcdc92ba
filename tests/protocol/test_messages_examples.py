"""Every example of the five documents is taken, and nothing in it is lost."""

import json

import msgspec
import pytest

from agentleague.dialects import answers
from agentleague.errors import PeerRefused
from agentleague.protocol import codec
from agentleague.protocol.messages import MESSAGES, LeagueQuery
from protocol.wire import EXAMPLES, INCOMPLETE, MESSAGE_EXAMPLES, message_of, refused, taken
from rules import rule
from tables import each_row

ERROR_EXAMPLES = [n for n, e in EXAMPLES.items() if "error" in e["body"] and "jsonrpc" in e["body"]]
ASKING_EXAMPLES = [
    name
    for name in MESSAGE_EXAMPLES
    if MESSAGES[EXAMPLES[name]["message"]].method
    and not {"result", "error"} & EXAMPLES[name]["body"].keys()
]
RECEIVER = {"manager": "manager", "referee": "referee"}


def assert_within(part, whole, path="$"):
    """Everything in `part` is in `whole`, with the same value."""
    if isinstance(part, dict):
        for key, value in part.items():
            assert key in whole, f"{path}.{key} was lost"
            assert_within(value, whole[key], f"{path}.{key}")
    elif isinstance(part, list):
        assert len(part) == len(whole), path
        for index, (value, other) in enumerate(zip(part, whole, strict=True)):
            assert_within(value, other, f"{path}[{index}]")
    else:
        assert (part, type(part)) == (whole, type(whole)), path


@rule("R-MSG-03", "R-MSG-13")
@each_row("name", MESSAGE_EXAMPLES)
def test_an_example_decodes_into_its_class_and_keeps_every_field(name):
    example = EXAMPLES[name]
    message = message_of(example["body"])
    kind = MESSAGES[example["message"]]

    decoded = msgspec.json.decode(json.dumps(message).encode(), type=kind.cls)

    assert type(decoded) is kind.cls
    assert_within(message, json.loads(codec.encode(decoded)))


@rule("R-FORM-01", "R-FORM-03")
@each_row("name", ASKING_EXAMPLES)
def test_an_example_that_asks_is_taken_as_a_request(name):
    example = EXAMPLES[name]
    kind = MESSAGES[example["message"]]

    message = taken(json.dumps(example["body"]).encode(), RECEIVER.get(kind.receiver, "player"))

    assert type(message) is kind.cls


@rule("R-FORM-11")
@each_row("name", ERROR_EXAMPLES)
def test_an_example_of_an_error_is_the_peers_refusal(name):
    body = EXAMPLES[name]["body"]

    with pytest.raises(PeerRefused) as caught:
        answers.read_answer(LeagueQuery("GET_STANDINGS"), 200, json.dumps(body).encode())

    assert caught.value.context["number"] == body["error"]["code"]
    assert caught.value.context["data"] == body["error"].get("data", {})


@rule("R-MSG-04")
def test_a_registration_without_an_end_point_is_refused_by_name():
    answer = refused(json.dumps(EXAMPLES[INCOMPLETE]["body"]).encode())

    assert answer["error_code"] == "E003"
    assert answer["context"]["field"] == "player_meta.contact_endpoint"


def test_there_is_an_example_for_every_message_of_the_documents():
    shown = {example["message"] for example in EXAMPLES.values()} - {"error"}

    assert shown == {name for name, kind in MESSAGES.items() if not kind.ours}
