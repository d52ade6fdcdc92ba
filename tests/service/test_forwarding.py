"""What a worker sends on to another: only who has the service key can, once, and not later."""

import pytest

from agentleague.errors import TokenInvalid
from agentleague.service.forwarding import REPLAY_SECONDS, Seal
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
