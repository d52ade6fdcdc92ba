"""A manager with several addresses, as a client calls it: where a call goes, and when elsewhere."""

import asyncio

import pytest
import uvloop

from agentleague.errors import UNREACHABLE, LeagueError, NoAnswer, NoConnection
from agentleague.transport.guard import Guard
from agentleague.transport.http_client import HttpClient, PlayerClient
from agentleague.transport.manager_addresses import ManagerAddresses, addresses_in
from commands import free_port
from scripted_server import server


@pytest.fixture(params=["asyncio", "uvloop"])
def run(request):
    """Runs a scenario on one of the two loops; one that hangs is ended."""
    runner = {"asyncio": asyncio.run, "uvloop": uvloop.run}[request.param]
    return lambda scenario: runner(asyncio.wait_for(scenario, 60))


def start(client, url, seconds=20.0):
    """Post something; what becomes of it."""
    loop = asyncio.get_running_loop()
    future = loop.create_future()
    client.post(url, b"{}", loop.time() + seconds, future.set_result)
    return future


def saying(status):
    """A server's script: it answers everything with this status."""

    async def script(line):
        while True:
            await line.request()
            await line.send(b"HTTP/1.1 %d Said\r\nContent-Length: 2\r\n\r\n{}" % status)

    return script


async def silent(line):
    await line.wait_for_end()


async def later():
    await asyncio.sleep(0.005)  # A call counts if it was sent after the last move, in whole ms.


def test_calls_that_fail_together_move_on_once_and_the_next_goes_elsewhere(run):
    async def main():
        nobody = f"http://127.0.0.1:{free_port()}/mcp"
        async with server(saying(200)) as there:
            client = HttpClient(Guard(), managers=ManagerAddresses([nobody, there.url]))
            failed = await asyncio.gather(*[start(client, nobody) for _ in range(20)])
            await later()
            answered = await start(client, nobody)
            await client.stop()
        assert all(isinstance(each.error, NoConnection) for each in failed)
        assert answered.status == 200

    run(main())


@pytest.mark.parametrize("status", [502, 503, 504])
def test_a_server_that_is_away_is_told_to_who_asked_and_left(run, status):
    async def main():
        async with server(saying(status)) as away, server(saying(200)) as there:
            client = HttpClient(Guard(), managers=ManagerAddresses([away.url, there.url]))
            assert (await start(client, away.url)).status == status
            await later()
            assert (await start(client, away.url)).status == 200
            await client.stop()

    run(main())


@pytest.mark.parametrize("status", [404, 410])
def test_that_no_league_is_there_is_believed_when_all_addresses_say_so(run, status):
    async def main():
        async with server(saying(status)) as one, server(saying(status)) as other:
            client = HttpClient(Guard(), managers=ManagerAddresses([one.url, other.url]))
            first = await start(client, one.url)
            await later()
            second = await start(client, one.url)
            await client.stop()
        assert (first.status, first.error.context["kind"]) == (0, UNREACHABLE)
        assert (second.status, second.error) == (status, None)
        assert len(one.requests) == len(other.requests) == 1

    run(main())


def test_calls_that_wait_at_an_address_that_is_left_fail_at_once(run):
    async def main():
        async with server(silent) as stopped, server(saying(200)) as there:
            addresses = ManagerAddresses([stopped.url, there.url])
            to_manager = HttpClient(Guard(), managers=addresses)
            to_players = PlayerClient(Guard(), managers=addresses)
            at_seat = start(to_players, stopped.url.replace("/mcp", "/seats/P01/mcp"))
            late = await start(to_manager, stopped.url, seconds=0.1)
            left = await at_seat
            await later()
            again = await start(to_players, stopped.url.replace("/mcp", "/seats/P01/mcp"))
            await to_manager.stop()
            await to_players.stop()
        assert isinstance(late.error, NoAnswer)
        assert left.error.context["kind"] == UNREACHABLE
        assert again.status == 200

    run(main())


def test_the_silence_of_a_seated_player_and_what_others_do_move_nothing(run):
    async def main():
        nobody = f"http://127.0.0.1:{free_port()}/mcp"
        async with server(silent) as manager, server(saying(503)) as player:
            addresses = ManagerAddresses([manager.url, nobody])
            client = PlayerClient(Guard(), managers=addresses)
            seat = manager.url.replace("/mcp", "/seats/P01/mcp")
            assert isinstance((await start(client, seat, seconds=0.05)).error, NoAnswer)
            assert (await start(client, player.url)).status == 503
            assert (await start(client, f"{nobody}/player")).error
            await client.stop()
        assert addresses.in_order == [manager.url, nobody]

    run(main())


def test_each_address_has_its_seats_below_its_own_path():
    addresses = ManagerAddresses(["http://a:1/mcp", "http://b:2/leagues/cup/mcp"])
    seat = "http://a:1/seats/P01/mcp"

    assert addresses.where(seat) == seat
    addresses.failed(NoConnection("gone"), started=1.0, now=2.0)
    assert addresses.where("http://a:1/mcp") == "http://b:2/leagues/cup/mcp"
    assert addresses.where(seat) == "http://b:2/leagues/cup/seats/P01/mcp"
    assert addresses.where("http://a:1/mcp,http://b:2/mcp") is None


def test_so_many_addresses_are_a_mistake():
    with pytest.raises(LeagueError, match="--manager names 9 addresses; give at most 8"):
        addresses_in(",".join(f"http://127.0.0.1:{port}/mcp" for port in range(8000, 8009)))
