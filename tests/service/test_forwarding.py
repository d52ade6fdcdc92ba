"""What a worker sends on to another: only who has the service key can, once, and not later."""

import asyncio

import pytest
from msgspec.structs import replace

from agentleague.errors import TokenInvalid
from agentleague.service.forwarding import HELD_MAX, REPLAY_SECONDS, Forwarder, Seal
from agentleague.transport.http_response import HttpRequest

HERE = "http://127.0.0.1:4000"
REQUEST = HttpRequest("/leagues/cup/mcp", b"{}", "10.0.0.7", "POST", b"\r\nAccept: x", "q=1", True)


class Clock:
    now = 1_000.0

    def __call__(self):
        return self.now


def test_a_hop_brings_the_whole_request_and_its_true_source_once():
    seal = Seal(b"key", Clock())

    sealed = seal.write(HERE, REQUEST)

    assert Seal(b"key", Clock()).read(sealed, HERE) == REQUEST
    assert seal.read(sealed, HERE) == REQUEST
    with pytest.raises(TokenInvalid):
        seal.read(sealed, HERE)
    assert seal.read(seal.write(HERE, REQUEST), HERE) == REQUEST  # The same, sent anew.


@pytest.mark.parametrize("fault", ["key", "body", "worker", "late", "early", "nothing"])
def test_a_hop_that_is_not_for_us_now_is_refused(fault):
    clock = Clock()
    seal, other = Seal(b"key", clock), Seal(b"another" if fault == "key" else b"key", clock)
    to = "http://127.0.0.1:4001" if fault == "worker" else HERE
    sealed = other.write(to, REQUEST)
    sealed = {"body": sealed[:-1] + b"!", "nothing": b""}.get(fault, sealed)
    clock.now += {"late": 1, "early": -1}.get(fault, 0) * (REPLAY_SECONDS + 1)

    with pytest.raises(TokenInvalid):
        seal.read(sealed, HERE)


def test_what_is_remembered_of_hops_does_not_grow_for_ever():
    clock = Clock()
    seal = Seal(b"key", clock)
    for _ in range(10):
        clock.now += REPLAY_SECONDS
        seal.read(seal.write(HERE, REQUEST), HERE)

    assert len(seal._seen) <= 3


class Held:
    """Where an answer is to go; it counts those whose connections are counted no more."""

    number, lost = 0, None

    def hold(self):
        Held.number += 1


def test_one_address_cannot_take_all_connections_by_asking_at_seats_of_another_worker():
    async def main():
        silent = await asyncio.start_server(lambda reader, writer: None, "127.0.0.1", 0)
        address = f"http://127.0.0.1:{silent.sockets[0].getsockname()[1]}"
        forwarder = Forwarder(Seal(b"key"), lambda *about: None)
        asked = replace(REQUEST, path="/leagues/cup/seats/P01/poll")
        waiting = [Held() for _ in range(HELD_MAX + 10)]
        for each in waiting:
            forwarder.send(address, asked, each)
        assert Held.number == HELD_MAX
        for each in waiting[:3]:
            each.lost()
        forwarder.send(address, replace(asked, source="10.0.0.8"), Held())
        assert Held.number == HELD_MAX + 1
        for _ in range(10):
            forwarder.send(address, asked, Held())
        assert Held.number == HELD_MAX + 4
        forwarder.give_up(set())
        assert not forwarder._held
        await forwarder.stop()
        silent.close()

    asyncio.run(main())
