"""The ways in which HTTP runs: both loops, and what is left where neither helper is installed."""

import asyncio
from contextlib import contextmanager

import pytest
import uvloop

from agentleague.transport import http_connection, http_reader, pure_parsers

WAYS = {
    "asyncio": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
    "python alone": asyncio.new_event_loop,
}


@contextmanager
def runner_of(way):
    """A runner of coroutines; the parsers are the pure ones if this way has no others."""
    with pytest.MonkeyPatch.context() as patch:
        if way == "python alone":
            patch.setattr(http_reader, "parsers", pure_parsers)
            patch.setattr(http_connection, "parsers", pure_parsers)
        with asyncio.Runner(loop_factory=WAYS[way]) as runner:
            yield runner
