"""Bodies to every kind of agent: read or refused, with an answer that holds nothing secret."""

import json
import re

import msgspec

from agentleague.dialects import lenient, requests
from agentleague.errors import LeagueError, UnreadableJson
from agentleague.protocol import codec, json_text
from agentleague.protocol.fast_path import PARTIAL_MESSAGES, own_form
from agentleague.protocol.messages import Message
from fuzz.seeds import REQUESTS
from protocol.wire import NOW

SEEDS = [
    *REQUESTS,
    b'{"name":"Ann","endpoint":"http://127.0.0.1:8101/mcp"}',
    b'{"referee_meta":{"name":"R","url":"http://127.0.0.1:8101/mcp"}}',
]
TAKEN = {name: codec.taken_by(name) for name in ("manager", "referee", "player")}
SECRET = re.compile(rb'"auth_token": ?"((?:tok_|mtok_)[A-Za-z0-9_]{6,})"')
REFUSAL_BYTES_MAX = 65_536


def one(data: bytes) -> None:
    """Each kind of agent, each path, thorough or not."""
    for receiver, taken in TAKEN.items():
        is_thorough = receiver != "player"
        _compare(data, taken, thorough=is_thorough)
        for path in ("/mcp", "/register") if receiver == "manager" else ("/mcp",):
            _check(data, requests.read_request(data, taken, thorough=is_thorough, path=path))
        if receiver != "manager":  # As an agent at a foreign manager.
            mended = lenient.read_request(data, taken, thorough=is_thorough)
            _check(data, mended)
            if mended.message:
                answer = lenient.write_answer(mended.envelope, mended.message)
                assert answer == b"" or isinstance(msgspec.json.decode(answer), dict)


def _compare(data: bytes, taken: frozenset[str], *, thorough: bool) -> None:
    """What is read in one pass is read alike the long way."""
    quick = own_form(taken - requests.RESPELLED, thorough=thorough).read(data)
    if quick is None or _has_a_key_twice(data):
        return
    envelope, message, _, missing = quick
    slow = requests.read_request(data, taken, thorough=thorough)
    assert (envelope.id, envelope.method) == (slow.envelope.id, slow.envelope.method)
    assert envelope.form is slow.envelope.form
    if isinstance(message, tuple(PARTIAL_MESSAGES.values())):
        _compare_partial(message, slow)
    else:
        assert message == slow.message
        assert missing == slow.missing


def _compare_partial(partial: Message, slow: codec.Incoming) -> None:
    """The same but for what is not looked at; where that is bad, the long way refuses it."""
    for name in partial.__struct_fields__ if slow.message else ():
        same = getattr(partial, name) == getattr(slow.message, name)
        assert same or name in ("matches", "standings")


def _has_a_key_twice(data: bytes) -> bool:
    """Then it matters which one counts; only players take that, and for them either is right."""
    try:
        json_text.check(data)
    except UnreadableJson:
        return True
    return False


def _check(data: bytes, incoming: codec.Incoming) -> None:
    assert (incoming.message is None) is (incoming.error is not None)
    if incoming.message is None:
        _check_refusal(data, incoming)
    else:
        _check_message(incoming)


def _check_refusal(data: bytes, incoming: codec.Incoming) -> None:
    assert isinstance(incoming.error, LeagueError)
    answer = codec.write_refusal(incoming.envelope, incoming.error, sender="x", timestamp=NOW)
    assert answer == b"" or isinstance(json.loads(answer), dict)
    assert len(answer) <= REFUSAL_BYTES_MAX
    for secret in set(SECRET.findall(data)):
        if data.count(secret) == 1:  # Else it also stands where nothing secret is expected.
            assert secret not in answer


def _check_message(incoming: codec.Incoming) -> None:
    message = incoming.message
    assert message is not None
    again = msgspec.json.decode(codec.encode(message), type=type(message))
    assert again == message
    answer = codec.write_answer(incoming.envelope, message)
    assert answer == b"" or isinstance(msgspec.json.decode(answer), dict)
    refusal = codec.write_refusal(
        incoming.envelope, LeagueError("no"), sender="manager", timestamp=NOW
    )
    assert refusal == b"" or isinstance(json.loads(refusal), dict)
