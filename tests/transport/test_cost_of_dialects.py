"""Agents that speak as we do pay nothing for those that do not."""

import asyncio
import gc
import sys
import weakref

from agentleague.protocol import codec
from agentleague.protocol.jsonrpc import Envelope
from agentleague.protocol.messages import GameInvitation, GameJoinAck
from agentleague.roles.effects import Address
from agentleague.runtime.clock import LoopClock
from agentleague.transport import fallback
from agentleague.transport.guard import Guard
from agentleague.transport.http import HttpTransport, TransportPolicy

ANN = Address("P01", "http://127.0.0.1:9/mcp")
INVITATION = GameInvitation(match_id="R1M1", player_id="P01")
JOINED = codec.write_answer(Envelope(id=1), GameJoinAck("R1M1", "P01"))


class Stub:
    """A client that keeps the calls it is to send."""

    def __init__(self):
        self.waiting = []

    def send(self, url, calls):
        self.waiting += calls


def stubbed():
    clock = LoopClock(asyncio.get_running_loop())
    transport = HttpTransport(clock, TransportPolicy("referee", Guard("local"), lambda: 0.0))
    transport._client = Stub()
    return transport


def answer(transport):
    call = transport._client.waiting.pop()
    call.over = True  # As the client does before it tells.
    call.answered(200, JOINED, None, None, 0.1)


def test_one_of_ours_is_asked_without_a_conversation_and_by_few_calls():
    calls = []

    def profile(frame, event, argument):
        if event == "call" and frame.f_globals.get("__name__", "").startswith("agentleague."):
            calls.append((frame.f_globals["__name__"], frame.f_code.co_name))

    async def main():
        transport, heard = stubbed(), []
        sys.setprofile(profile)
        try:
            transport.call(ANN, INVITATION, 10.0, heard.append)
            answer(transport)
        finally:
            sys.setprofile(None)
        return heard[0].message.accept, transport.dialects.known

    assert asyncio.run(main()) == (True, {})
    assert not [name for module, name in calls if module == fallback.__name__]
    assert len(calls) <= 6


class Heard(list):
    """A list of which a test sees that it is gone."""


def test_an_answered_call_is_freed_at_once_with_all_that_it_sent():
    async def main():
        transport, heard = stubbed(), Heard()
        transport.call(ANN, INVITATION, 10.0, heard.append)
        answer(transport)
        is_joined, held = heard[0].message.accept, weakref.ref(heard)
        del heard
        return is_joined, held() is None

    gc.disable()  # Who looks for rings of references would hide that there is one.
    try:
        assert asyncio.run(main()) == (True, True)
    finally:
        gc.enable()
