"""Agents that speak as we do pay nothing for those that do not."""

import asyncio
import gc
import sys
import weakref

from agentleague.dialects import answers
from agentleague.protocol import codec
from agentleague.protocol.messages import GameInvitation
from agentleague.roles.effects import Address
from agentleague.roles.ports import Answer
from agentleague.runtime.clock import LoopClock
from agentleague.transport.guard import Guard
from agentleague.transport.http import PIPELINED, TO_A_MANAGER, HttpTransport, TransportPolicy
from agentleague.transport.http_client import HttpAnswer, PostOptions

CALLS = 500
ANN = Address("P01", "http://127.0.0.1:9/mcp")
INVITATION = GameInvitation(match_id="R1M1", player_id="P01")
JOINED = HttpAnswer(200, b'{"jsonrpc":"2.0","result":{"accept":true},"id":1}', None, None, 0.1)


class WithoutTheLayer(HttpTransport):
    """The same transport as it would be if everybody spoke as we do."""

    def call(self, to, message, until, done, headers=()):
        self.calls += 1

        def answered(got):
            self.bytes_answered += len(got.body)
            done(read_alone(message, got))

        body = codec.write_request(message, self.calls)
        self.bytes_sent += len(body)
        client = self._to_manager if isinstance(message, TO_A_MANAGER) else self._client
        options = PostOptions(isinstance(message, PIPELINED), headers)
        return client.post(to.url, body, until, answered, options)


def read_alone(request, got):
    return Answer(
        answers.read_answer(request, got.status, got.body, got.retry_after), None, got.seconds
    )


class Stub:
    """A client that keeps what would be called back."""

    def __init__(self):
        self.waiting = []

    def post(self, url, body, until, done, options=None):
        self.waiting.append(done)
        return self.waiting.clear


def stubbed(kind):
    clock = LoopClock(asyncio.get_running_loop())
    transport = kind(clock, TransportPolicy("referee", Guard("local"), lambda: 0.0))
    transport._client = Stub()
    return transport


def exchange(transport, heard, cancels):
    cancels.append(transport.call(ANN, INVITATION, 10.0, heard.append))


def python_calls(kind):
    """How many Python functions one exchange runs through."""
    transport, heard, cancels, count = stubbed(kind), [], [], 0

    def profile(frame, event, argument):
        nonlocal count
        is_ours = frame.f_globals.get("__name__", "").startswith(("agentleague.", __name__))
        count += event == "call" and is_ours

    sys.setprofile(profile)
    try:
        exchange(transport, heard, cancels)
        transport._client.waiting[0](JOINED)
    finally:
        sys.setprofile(None)
    assert heard[0].message.accept
    return count


def blocks(kind):
    """How many blocks of memory many calls hold while they are out."""
    transport, heard, cancels = stubbed(kind), [], []
    for _ in range(CALLS):
        exchange(transport, heard, cancels)
    transport._client.waiting.clear()
    cancels.clear()
    gc.collect()
    before = sys.getallocatedblocks()
    for _ in range(CALLS):
        exchange(transport, heard, cancels)
    return sys.getallocatedblocks() - before


def test_one_of_ours_is_asked_by_as_many_calls_as_without_dialects():
    async def main():
        return python_calls(HttpTransport), python_calls(WithoutTheLayer)

    with_layer, without = asyncio.run(main())

    assert with_layer == without


def test_one_of_ours_is_asked_with_no_more_memory_than_without_dialects():
    async def main():
        return blocks(HttpTransport), blocks(WithoutTheLayer)

    with_layer, without = asyncio.run(main())

    assert with_layer <= without + CALLS / 100  # Lists grow when they will.


class Held:
    """A call of a client that is given out and kept by nobody but those who wait for it."""

    def __init__(self, done):
        self.done = done

    def cancel(self):
        """Nobody cancels it here."""


class Lender:
    """A client whose calls belong to the caller."""

    def post(self, url, body, until, done, options=None):
        self.held = Held(done)
        return self.held.cancel


def test_an_answered_call_is_freed_at_once_with_all_that_it_sent():
    async def main():
        transport, heard = stubbed(HttpTransport), []
        transport._client = Lender()
        transport.call(ANN, INVITATION, 10.0, heard.append)
        held = weakref.ref(transport._client.held)
        transport._client.held.done(JOINED)
        del transport._client.held
        return held() is None, heard

    gc.disable()  # Who looks for rings of references would hide that there is one.
    try:
        is_freed, heard = asyncio.run(main())
    finally:
        gc.enable()

    assert heard[0].message.accept
    assert is_freed
