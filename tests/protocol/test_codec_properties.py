"""Whatever a message holds survives the wire; whatever arrives is answered."""

import contextlib
import json

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import inspect

from agentleague.dialects import answers
from agentleague.errors import MissingField, NoConnection, PeerRefused, RateLimited
from agentleague.protocol import codec
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
@each_row("name", [name for name, kind in MESSAGES.items() if kind.method])
@few
@given(st.data())
def test_a_request_survives_the_whole_way(name, data):
    message = data.draw(MESSAGES_OF[name])
    message = msgspec.structs.replace(message, protocol="league.v2", timestamp=NOW)

    incoming = codec.read_request(codec.write_request(message, 7), frozenset({name}))

    assert incoming.error is None
    assert (incoming.message, incoming.envelope.id) == (message, 7)


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
    incoming = codec.read_request(body, codec.taken_by(receiver), thorough=thorough)

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
        incoming = codec.read_request(body[:length], codec.taken_by("player"))
        assert incoming.error.code == "E049"
