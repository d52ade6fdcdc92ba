"""Our messages have every field that any of the five documents gives them."""

import typing

import msgspec
from msgspec import Struct

from agentleague.protocol.messages import MESSAGES, GameOver
from protocol.documented_fields import DOCUMENTED, ENVELOPE
from rules import rule
from tables import each_row

CASES = [
    (document, message, fields)
    for document, messages in DOCUMENTED.items()
    for message, fields in messages.items()
]


def options(hint):
    """A type without its bounds; each member of a union."""
    while typing.get_origin(hint) is typing.Annotated:
        hint = typing.get_args(hint)[0]
    if typing.get_origin(hint) in (typing.Union, type(int | str)):
        return [inner for member in typing.get_args(hint) for inner in options(member)]
    return [hint]


def steps(path):
    for name in path.split("."):
        yield name.removesuffix("[]")
        if name.endswith("[]"):
            yield "[]"


def has(hint, path):
    """Whether a value of that type can hold the path."""
    if not path:
        return True
    first, *rest = path
    return any(leads(member, first, rest) for member in options(hint))


def leads(member, first, rest):
    origin, arguments = typing.get_origin(member), typing.get_args(member)
    if origin is dict:
        return has(arguments[1], rest)
    if origin is list:
        return first == "[]" and has(arguments[0], rest)
    if isinstance(member, type) and issubclass(member, Struct):
        fields = {field.encode_name: field.type for field in msgspec.structs.fields(member)}
        if member.__struct_config__.tag:
            fields[member.__struct_config__.tag_field] = str
        return first in fields and has(fields[first], rest)
    return member is typing.Any


@rule("R-MSG-03", "R-ENV-05")
@each_row(("document", "message", "fields"), CASES)
def test_no_field_of_a_document_is_missing(document, message, fields):
    cls = MESSAGES[message].cls

    missing = [path for path in fields.split() if not has(cls, [*steps(path)])]

    assert missing == [], f"{message} lacks fields of document {document}"


@rule("R-ENV-01", "R-MSG-03")
@each_row("message", MESSAGES)
def test_every_message_has_the_envelope(message):
    missing = [name for name in ENVELOPE.split() if not has(MESSAGES[message].cls, [name])]

    assert missing == []


@each_row(
    "path",
    [
        "game_results",  # no such field
        "game_result.winner",  # no such field inside
        "match_id.number",  # inside a text
        "game_result[].status",  # no list
    ],
)
def test_the_comparison_notices_what_is_missing(path):
    assert not has(GameOver, [*steps(path)])
