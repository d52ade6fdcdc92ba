"""Whatever is read in one pass is read the long way too, and answered with the same bytes."""

import asyncio
import re

import msgspec
import pytest

from agentleague.errors import TokenInvalid
from agentleague.protocol import codec
from agentleague.protocol.fast_path import own_form
from agentleague.protocol.field_docs import example
from agentleague.protocol.messages import MESSAGES, GameJoinAck, RoundAnnouncementAck, tag_of
from agentleague.simulation.clock import VirtualClock
from agentleague.transport.guard import Guard
from agentleague.transport.http import HttpTransport, Rate, TransportPolicy
from agentleague.transport.http_server import _Connection
from fuzz.seeds import REQUESTS, chunked, posted
from protocol.wire import NOW, is_same

SAID = {"sender": "x", "timestamp": NOW, "conversation_id": "c-1"}
OWN = [  # As our own agents write them, one of each type.
    codec.write_request(msgspec.convert({**example(name), **SAID}, kind.cls), 7)
    for name, kind in MESSAGES.items()
    if kind.method
]
CHANGES = [  # What only nearly looks so: a pattern, and what stands there instead.
    (rb'"id":7', b'"id":"seven"'),
    (rb',"id":7', b""),
    (rb'"match_id":"', b'"match_id":"","game_id":"'),
    (rb'"context":{"opponent_id":"\w+",', b'"opponent_id":"P09","context":{'),
    (rb'"player_A_id"', b'"player1_id"'),
    (rb',"epoch":\d+', b""),
    (rb'"status":"\w+"', b'"status":"DRAW","note":"technical loss"'),
    (rb'"status":"WIN"}', b'"status":"DRAW","game_details":{"status":"TECHNICAL_LOSS"}}'),
    (rb'"details":{.*},"league_id"', rb'"details":{},"league_id"'),
    (rb'"game_type":"\w+"', b'"game_type":""'),
    (rb'"sender":"x"', b'"sender":""'),
    (rb'"sender":"x"', '"sender":"Zoë"'.encode()),
    (rb'"sender":"x"', b'"unread":"\xff","sender":"x"'),
    (rb'"sender":"x"', b'"sender":"x","sender":"x"'),
    (rb'"moves":\[\[0,"P01",[^]]*', b'"moves":[[0,"P01",%b' % (b"[" * 17 + b"]" * 17)),
    (rb"league\.v2", b"league.v3"),
    (NOW.encode(), b"noon"),
]
CHANGED = [
    changed
    for body in OWN
    for pattern, instead in CHANGES
    if (changed := re.sub(pattern, instead, body, count=1)) != body
]
ANSWERS = [  # The last one is for a referee that may be foreign.
    TokenInvalid("no"),
    RoundAnnouncementAck(player_id="P01"),
    GameJoinAck("R1M1", "P01", NOW, auth_token="guest_1"),
]


class Socket:
    """Where the answers go."""

    def __init__(self):
        self.sent = b""

    def get_extra_info(self, name):
        return ("127.0.0.1", 5)

    def is_closing(self):
        return False

    def write(self, data):
        self.sent += data

    def pause_reading(self):
        pass


class Talk:
    """One agent, and one connection to it; what it was asked, and what it answered."""

    def __init__(self, receiver, *, in_one_pass):
        policy = TransportPolicy(receiver, Guard(), lambda: 0.0, rate=Rate(burst=1e9))
        self.transport = HttpTransport(VirtualClock(), policy)
        if not in_one_pass:
            self.transport._own_form = own_form(frozenset(), thorough=True)
        self.transport.server.loop = asyncio.get_running_loop()
        self.transport.listen(self.on_ask)

    def ask(self, data, answer):
        """The message and who sent it, and the whole answer; data may be sent in two pieces."""
        self.asked, self.answer, socket = (), answer, Socket()
        connection = _Connection(self.transport.server)
        connection.connection_made(socket)
        for piece in data:
            connection.data_received(piece)
        connection.connection_lost(None)
        return self.asked, socket.sent

    def on_ask(self, message, caller, reply):
        known = (caller.source, caller.token, caller.form, caller.missing, caller.rpc_method)
        wrapped = (caller.nested_in, caller.has_text_id, caller.is_notification)
        self.asked = (message, (*known, *wrapped, caller.body))
        reply(self.answer)


@pytest.mark.parametrize("receiver", ["manager", "referee", "player"])
def test_every_request_is_read_and_answered_alike_both_ways(receiver):
    asyncio.run(compare(receiver))


async def compare(receiver):
    quick, slow = Talk(receiver, in_one_pass=True), Talk(receiver, in_one_pass=False)
    one_pass, passed = quick.transport._own_form, set()
    for body in (*REQUESTS, *OWN, *CHANGED):
        read = one_pass.read(body)
        passed |= {tag_of(type(read[1]))} if read else set()
        for answer in ANSWERS:
            asked, answered = quick.ask([posted(body)], answer)
            way = (chunked(body),) if len(body) % 2 else (posted(body)[:50], posted(body)[50:])

            others, other_answer = slow.ask(way, answer)

            assert answered == other_answer, body
            assert asked[1:] == others[1:], body
            assert not asked or is_same(asked[0], others[0]), body
    taken = codec.taken_by(receiver)
    assert taken - passed <= {
        *("LEAGUE_REGISTER_REQUEST", "REFEREE_REGISTER_REQUEST", "GAME_JOIN_ACK"),
    }
