"""A question to a manager, where something else answers: what that said is in the error."""

import asyncio

import pytest

from agentleague.errors import LeagueError
from agentleague.runtime.clock import wall
from agentleague.runtime.manager_client import ManagerClient
from scripted_server import server

PAGE = b"<!doctype html><title>Not Found</title>"
NO_MANAGERS = [
    (b"500 No", PAGE, "is no manager: it answered HTTP 500: Not Found; give"),
    (b"404 Not Found", b'{"detail":"Not Found"}', "is no manager: it answered HTTP 404: Not Found"),
    (b"200 OK", b"", "is no manager: it answered nothing to the question"),
    (b"200 OK", b"hello \x1b[2J", "it answered text that is not JSON, from byte 0 on: hello ?[2J"),
    (
        b"200 OK",
        b'{"error": "nope"}',
        "the manager refused GET_STATUS: the peer answered with an error: nope",
    ),
    (
        b"200 OK",
        b'{"jsonrpc":"2.0","id":1,"error":{"code":-32601,"message":"no"}}',
        "is no manager: it takes no questions about a league",
    ),
]


def test_what_a_server_answers_that_is_no_manager_is_said():
    async def refusal(status, body):
        async def script(line):
            while True:
                await line.request()
                head = b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n" % (status, len(body))
                await line.send(head + body)

        async with server(script) as peer:
            client = ManagerClient(peer.url, wall)
            with pytest.raises(LeagueError) as refused:
                await client.ask("GET_STATUS")
            await client.close()
        return str(refused.value)

    for status, body, words in NO_MANAGERS:
        assert words in asyncio.run(refusal(status, body))
