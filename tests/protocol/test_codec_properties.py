"""Whatever a message holds survives the wire; whatever arrives is answered."""

import contextlib
import json

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect

from agentleague.dialects import answers, requests
from agentleague.errors import MissingField, NoConnection, PeerRefused, RateLimited
from agentleague.protocol import codec, jsonrpc
from agentleague.protocol.messages import (
    MESSAGES,
    ChooseParityCall,
    GameInvitation,
    LeagueQuery,
    LeagueRegisterRequest,
    PlayerMeta,
)
from examples import examples
from protocol.wire import FIXTURES, NOW, registration
from rules import rule
from tables import each_row

TEXT = st.characters(codec="utf-8")
ANYTHING = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53), 2**53)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(TEXT, max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(TEXT, max_size=4), inner, max_size=3)
    ),
    max_leaves=5,
)


# type -> values of it, from its description
VALUES = {
    inspect.AnyType: lambda kind: ANYTHING,
    inspect.Metadata: lambda kind: values(kind.type),
    inspect.NoneType: lambda kind: st.none(),
    inspect.BoolType: lambda kind: st.booleans(),
    inspect.IntType: lambda kind: st.integers(kind.ge, kind.le),
    inspect.FloatType: lambda kind: st.floats(allow_nan=False, allow_infinity=False),
    inspect.StrType: lambda kind: st.text(TEXT, max_size=min(kind.max_length or 8, 80)),
    inspect.LiteralType: lambda kind: st.sampled_from(kind.values),
    inspect.ListType: lambda kind: st.lists(values(kind.item_type), max_size=3),
    inspect.TupleType: lambda kind: st.tuples(*map(values, kind.item_types)),
    inspect.DictType: lambda kind: st.dictionaries(
        values(kind.key_type), values(kind.value_type), max_size=3
    ),
    inspect.UnionType: lambda kind: st.one_of(*map(values, kind.types)),
    inspect.StructType: lambda kind: structs(kind),
}


def values(kind):
    return VALUES[type(kind)](kind)


def structs(kind):
    """Structs with some of their optional fields; the rest has its default."""
    required = {f.name: values(f.type) for f in kind.fields if f.required}
    optional = {f.name: values(f.type) for f in kind.fields if not f.required}
    fields = st.fixed_dictionaries(required, optional=optional)
    return fields.map(lambda given: kind.cls(**given))


few = settings(max_examples=examples(25))
many = settings(max_examples=examples(400))

MESSAGES_OF = {name: structs(inspect.type_info(kind.cls)) for name, kind in MESSAGES.items()}


@rule("R-MSG-13", "R-ENV-01")
@each_row("name", MESSAGES)
@few
@given(st.data())
def test_a_message_survives_being_written_and_read(name, data):
    message = data.draw(MESSAGES_OF[name])

    text = codec.encode(message)

    assert msgspec.json.decode(text, type=MESSAGES[name].cls) == message
    sent = json.loads(text)
    assert {"protocol", "sender", "timestamp", "conversation_id"} <= set(sent)
    assert sent["message_type"] == name
    assert ("auth_token" in sent) is (message.auth_token is not msgspec.UNSET)


@rule("R-MSG-13", "R-RPC-08")
# Whatever is always respelled is looked for in other places too where it is empty.
@each_row("name", {n for n, kind in MESSAGES.items() if kind.method} - requests.RESPELLED)
@few
@given(st.data())
def test_a_request_survives_the_whole_way(name, data):
    message = data.draw(MESSAGES_OF[name])
    message = msgspec.structs.replace(message, protocol="league.v2", timestamp=NOW)
    if name == "MATCH_RESULT_REPORT":  # One of ours: in a foreign one more is looked for.
        details = msgspec.structs.replace(message.result.details, status="WIN")
        result = msgspec.structs.replace(message.result, details=details)
        message = msgspec.structs.replace(message, epoch=1, result=result)

    incoming = requests.read_request(codec.write_request(message, 7), frozenset({name}))

    assert incoming.error is None
    assert (incoming.message, incoming.envelope.id) == (message, 7)


def optional_places(kind, value):
    """Every optional field of a message and of the objects in it, sent or not: object and name."""
    if isinstance(kind, inspect.UnionType):
        for each in kind.types:
            yield from optional_places(each, value)
    elif isinstance(kind, inspect.ListType) and isinstance(value, list):
        for each in value:
            yield from optional_places(kind.item_type, each)
    elif isinstance(kind, inspect.StructType) and isinstance(value, dict):
        fields = {field.encode_name: field for field in kind.fields}
        # Where a field may be null or absent, null is a value.
        tri_state = ("winner", "winner_player_id", "drawn_number", "next_match", "you")
        names = [name for name in fields if not fields[name].required and name not in tri_state]
        yield from ((value, name) for name in names)
        for name in fields.keys() & value.keys():
            yield from optional_places(fields[name].type, value[name])


@rule("R-MSG-07")
@each_row("name", MESSAGES)
@few
@given(st.data())
def test_an_optional_field_that_is_null_is_read_as_if_it_were_not_there(name, data):
    message = msgspec.structs.replace(data.draw(MESSAGES_OF[name]), timestamp=NOW)
    fields, lean = (json.loads(codec.encode(message)) for _ in range(2))
    kind = inspect.type_info(MESSAGES[name].cls)
    places = list(zip(optional_places(kind, fields), optional_places(kind, lean), strict=True))
    for (sent, field), (left_out, _) in data.draw(st.lists(st.sampled_from(places), min_size=1)):
        sent[field] = None
        left_out.pop(field, None)

    if not MESSAGES[name].method:
        nulls = codec.encode(codec.without_nulls(name, fields))
        assert codec.DECODERS[name].decode(nulls) == codec.DECODERS[name].decode(codec.encode(lean))
        return
    one, other = (
        requests.read_request(
            jsonrpc.write_request(MESSAGES[name].method, codec.encode(each), 7), frozenset({name})
        )
        for each in (fields, lean)
    )
    assert one.message == other.message
    assert str(one.error) == str(other.error)


WORDS = st.sampled_from(
    [
        *("jsonrpc", "2.0", "method", "params", "id", "message", "message_type", "name"),
        *("arguments", "tools/call", "result", "error", "data", "code", "content", "text"),
        *("structuredContent", "accept", "parity_choice", "move", "match_id", "sender"),
        *("timestamp", "protocol", "league.v2", "auth_token", "conversation_id", "player_meta"),
        *("register_player", "LEAGUE_REGISTER_REQUEST", "LEAGUE_QUERY", "query_type"),
        *("GAME_JOIN_ACK", "LEAGUE_ERROR", "status"),
    ]
)
NEARLY = st.recursive(
    WORDS | ANYTHING,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=5),
    max_leaves=12,
)


@st.composite
def damaged(draw):
    """A good request with some of its bytes exchanged."""
    body = bytearray(registration(auth_token="tok_" + "x" * 40, extra=["é", 1.5, {"a": None}]))
    for _ in range(draw(st.integers(1, 4))):
        at = draw(st.integers(0, len(body)))
        body[at : at + draw(st.integers(0, 4))] = draw(st.binary(max_size=3))
    return bytes(body)


BODIES = st.binary(max_size=60) | NEARLY.map(lambda value: json.dumps(value).encode()) | damaged()


@rule("R-RPC-05", "R-ERR-10")
@many
@given(BODIES, st.sampled_from(["manager", "referee", "player"]), st.booleans())
def test_whatever_arrives_is_taken_or_refused(body, receiver, thorough):
    incoming = requests.read_request(body, codec.taken_by(receiver), thorough=thorough)

    assert (incoming.message is None) is (incoming.error is not None)
    if incoming.error is not None:
        answer = codec.write_refusal(
            incoming.envelope, incoming.error, sender="league_manager", timestamp=NOW
        )
        assert answer == b"" or isinstance(json.loads(answer), dict)


ASKED = [
    GameInvitation(),
    ChooseParityCall(),
    LeagueQuery("GET_STATUS"),
    LeagueRegisterRequest(PlayerMeta("Quokka", "http://127.0.0.1:8177/mcp")),
]


@rule("R-FORM-09", "R-FORM-10")
@many
@given(BODIES, st.sampled_from(ASKED))
def test_whatever_is_answered_is_an_answer_or_an_error_of_ours(body, asked):
    with contextlib.suppress(MissingField, NoConnection, PeerRefused, RateLimited):
        assert answers.read_answer(asked, 200, body) is not None


@each_row("path", sorted(FIXTURES.glob("00*.json")))
def test_every_example_cut_short_is_refused_and_never_breaks_anything(path):
    body = json.dumps(json.loads(path.read_text(encoding="utf-8"))["body"]).encode()

    for length in range(0, len(body), 7):
        incoming = requests.read_request(body[:length], codec.taken_by("player"))
        assert incoming.error.code == "E049"
