"""`benchmarks/request_path.py`: what is made of the counts, and the script itself."""

import json
import subprocess
import sys

import pytest

from commands import ROOT
from request_path import WARM_UP, layer_of, text, typical


def span(calls, values=()):
    return {"calls": calls, "values": list(values)}


def test_the_most_frequent_count_is_typical_and_the_first_ones_do_not_count():
    usual = span(["transport.http.read", "protocol.codec.read", "match.machine.go"], ["Call"])
    slow = span(["transport.http.read"] * 9)
    spans = [span([])] * WARM_UP + [slow, usual, usual]

    found = typical(spans, 1)
    assert found["calls"] == 3
    assert found["layers"] == {"HTTP": 1, "codec": 1, "host": 0, "role": 1}
    assert text(found) == "3 calls (HTTP 1, codec 1, host 0, role 1), 1 values (Call 1)"


def test_where_two_exchanges_go_together_each_has_its_half():
    first, second = span(["runtime.host.feed"]), span(["runtime.host.feed"] * 3, ["Call", "Call"])

    found = typical([first, second] * (WARM_UP + 2), 2)
    assert found["calls"] == 2
    assert found["values"] == [["Call", 1]]


def test_a_layer_goes_by_the_module_in_this_tree_and_in_older_ones():
    for function, layer in [
        ("transport.http_server.HttpServer.admit", "HTTP"),
        ("dialects.answers.read_answer", "codec"),
        ("runtime.host.Host.feed", "host"),
        ("services.host.Host.feed", "host"),
        ("services.player.Player.handle", "role"),
        ("player.role.Player.handle", "role"),
    ]:
        assert layer_of(function) == layer


@pytest.mark.slow
def test_the_script_counts_requests_and_calls_of_a_commit_and_of_this_tree():
    command = [sys.executable, ROOT / "benchmarks" / "request_path.py", "HEAD", "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)

    found = json.loads(done.stdout)
    for when in ("before", "after"):
        for what in ("request", "call"):
            assert found[when][what]["calls"] > 10
            assert found[when][what]["values"]
