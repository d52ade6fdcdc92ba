"""Short ways to say a request and to hear the answer."""

import json
from pathlib import Path

from msgspec import convert, to_builtins

from agentleague.dialects import requests
from agentleague.protocol import codec
from agentleague.protocol.fast_path import Pairing, read_rows

FIXTURES = Path(__file__).parent / "fixtures"
NOW = "2026-03-04T09:00:00Z"

PLAYER_META = {"display_name": "Quokka", "contact_endpoint": "http://127.0.0.1:8177/mcp"}
ENVELOPE = {
    "protocol": "league.v2",
    "sender": "player:quokka",
    "timestamp": NOW,
    "conversation_id": "conv-1",
}
REGISTRATION = {
    **ENVELOPE,
    "message_type": "LEAGUE_REGISTER_REQUEST",
    "player_meta": {**PLAYER_META, "version": "1.0.0", "game_types": ["even_odd"]},
}


def fixture(name):
    return json.loads((FIXTURES / f"{name}.json").read_text(encoding="utf-8"))


EXAMPLES = {path.stem: fixture(path.stem) for path in sorted(FIXTURES.glob("00*.json"))}
# Document 000 section 2.10.1 shows a registration only for its version: nobody could be called.
INCOMPLETE = "000_version_without_end_point"
MESSAGE_EXAMPLES = [n for n, e in EXAMPLES.items() if e["message"] != "error" and n != INCOMPLETE]


def message_of(body):
    """The message inside a body, as plain JSON, whatever the form."""
    if "jsonrpc" not in body:
        return body
    return body.get("params") or body.get("result") or body["error"]["data"]


def request(params, method="register_player", **changes):
    """A JSON-RPC request as bytes; a change to `...` leaves the key out."""
    body = {"jsonrpc": "2.0", "method": method, "params": params, "id": 7, **changes}
    return json.dumps({k: v for k, v in body.items() if v is not ...}).encode()


def is_same(quick, slow):
    """Whether two ways to read a message found the same, as far as a player reads it at once."""
    if type(quick) is type(slow):
        return quick == slow
    pairings = [convert(to_builtins(each), Pairing) for each in getattr(slow, "matches", ())]
    read = {"standings": read_rows, "matches": lambda matches: matches}
    unread = {"standings": read_rows, "matches": lambda matches: pairings}
    return isinstance(quick, type(slow)) and all(
        read.get(name, str)(getattr(quick, name)) == unread.get(name, str)(getattr(slow, name))
        for name in slow.__struct_fields__
    )


def registration(**changes):
    """A complete registration of a player, with changes; `...` leaves a field out."""
    fields = {**REGISTRATION, **changes}
    return request({name: value for name, value in fields.items() if value is not ...})


def read(body, receiver="manager", *, thorough=True):
    return requests.read_request(body, codec.taken_by(receiver), thorough=thorough)


def taken(body, receiver="manager", *, thorough=True):
    """The message that was read; a refusal fails the test."""
    incoming = read(body, receiver, thorough=thorough)
    assert incoming.error is None, incoming.error
    return incoming.message


def refused(body, receiver="manager", *, thorough=True, sender="league_manager"):
    """The refusal that is written, as plain JSON."""
    incoming = read(body, receiver, thorough=thorough)
    assert incoming.message is None, incoming.message
    return json.loads(
        codec.write_refusal(incoming.envelope, incoming.error, sender=sender, timestamp=NOW)
    )
