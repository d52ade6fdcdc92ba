"""A question to a manager, where something else answers: what that said is in the error."""

import asyncio

import pytest

from agentleague.errors import LeagueError, NoConnection
from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.clock import wall
from agentleague.runtime.manager_client import ManagerClient
from agentleague.runtime.managers import Home, open_manager
from agentleague.runtime.processes import Place
from commands import free_port
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


def test_a_manager_is_asked_at_the_first_of_its_addresses_where_it_answers(tmp_path):
    async def main():
        nobody = f"http://127.0.0.1:{free_port()}/mcp"
        manager = await open_manager(ManagerSettings(league_id="cup"), Home(tmp_path), Place(0))
        client = ManagerClient(f"{nobody},{manager.url}", wall)
        try:
            assert (await client.ask("GET_STATUS"))["league_id"] == "cup"
        finally:
            await client.close()
            await manager.stop()
        gone = ManagerClient(f"{nobody},{manager.url}", wall)
        with pytest.raises(NoConnection, match=f"the manager at {nobody},{manager.url} did not"):
            await gone.ask("GET_STATUS")
        await gone.close()

    asyncio.run(main())
