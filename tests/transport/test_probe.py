"""Whether somebody listens: tried by opening a connection, with nothing sent."""

import asyncio
import json
import socket
import ssl

import pytest

from agentleague.errors import NOT_CALLED, UNREACHABLE, NoConnection
from agentleague.protocol.messages import LeagueRegisterResponse
from agentleague.runtime.clock import LoopClock
from agentleague.transport.guard import Guard, NotAllowedHere, no_connection, parse_url
from agentleague.transport.http import HttpTransport, TransportPolicy
from agentleague.transport.probe import Probes, check_listens, reachable
from rules import rule

LOCAL = Guard("local")
SOON = 0.05  # seconds until an end point counts as silent


class Listener:
    """Notes what it is sent until the other end hangs up."""

    def __init__(self):
        self.heard = []

    async def start(self, port=0):
        self.done = asyncio.get_running_loop().create_future()
        self.server = await asyncio.start_server(self._met, "127.0.0.1", port)
        return self.server.sockets[0].getsockname()[1]

    async def _met(self, reader, writer):
        self.heard.append(await reader.read())
        writer.close()
        if not self.done.done():
            self.done.set_result(None)

    async def stop(self):
        self.server.close()
        await self.server.wait_closed()


def free_port():
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


@rule("R-REG-12")
@pytest.mark.parametrize("url", ["http://127.0.0.1:{}/mcp", "https://127.0.0.1:{}/mcp"])
def test_an_end_point_where_somebody_listens_is_reachable_and_sent_nothing(url):
    async def main():
        listener = Listener()
        port = await listener.start()
        found = await reachable(LOCAL, url.format(port), 10.0)
        await asyncio.wait_for(listener.done, 10)
        await listener.stop()
        return found, listener.heard

    assert asyncio.run(main()) == (True, [b""])


@rule("R-REG-12")
@pytest.mark.parametrize("host", ["127.0.0.1", "192.0.2.1"])  # nobody is there; may not be called
def test_an_end_point_where_nobody_listens_or_may_be_called_is_not(host):
    url = f"http://{host}:{free_port()}/mcp"

    assert asyncio.run(reachable(LOCAL, url, SOON)) is False


@rule("R-REG-12")
def test_one_that_should_listen_by_now_is_not_waited_for_where_it_is_refused():
    async def main():
        found = asyncio.get_running_loop().create_future()
        url = f"http://127.0.0.1:{free_port()}/mcp"
        Probes(LOCAL, seconds=600).check("P01", url, found.set_result, is_hasty=True)
        return await found

    assert asyncio.run(main()) is False


@rule("R-REG-12")
def test_an_agent_may_begin_to_listen_after_it_registered():
    async def main():
        listener, port = Listener(), free_port()
        asked = asyncio.ensure_future(reachable(LOCAL, f"http://127.0.0.1:{port}/mcp", 10.0))
        await asyncio.sleep(0)
        await listener.start(port)
        found = await asked
        await listener.stop()
        return found

    assert asyncio.run(main()) is True


@rule("R-REG-12")
def test_many_are_tried_in_the_background_and_each_is_told():
    async def main():
        listener, told, all_told = Listener(), [], asyncio.Event()
        port = await listener.start()
        patient, hasty = Probes(LOCAL, seconds=60), Probes(LOCAL, seconds=SOON)

        def learnt(number, found):
            told.append((number, found))
            if len(told) == 80:
                all_told.set()

        for number in range(80):
            probes, there = (patient, port) if number % 2 else (hasty, free_port())
            url = f"http://127.0.0.1:{there}/mcp"
            probes.check(f"P{number}", url, lambda f, n=number: learnt(n, f))
        assert told == []
        await asyncio.wait_for(all_told.wait(), 60)
        await listener.stop()
        return sorted(told)

    assert asyncio.run(main()) == [(number, bool(number % 2)) for number in range(80)]


@rule("R-REG-12")
def test_nothing_is_told_once_nobody_wants_to_know():
    async def main():
        told = []
        probes = Probes(LOCAL, seconds=10.0)
        probes.check("P01", f"http://127.0.0.1:{free_port()}/mcp", told.append)
        await asyncio.sleep(0)
        probes.close()
        await asyncio.gather(
            *asyncio.all_tasks() - {asyncio.current_task()}, return_exceptions=True
        )
        return told

    assert asyncio.run(main()) == []


@rule("R-REG-12")
def test_a_silent_end_point_is_tried_again_until_somebody_is_there():
    async def main():
        listener, port = Listener(), free_port()
        probes, told, is_over = Probes(LOCAL, SOON, SOON), [], asyncio.Event()
        is_silent = asyncio.Event()

        def learnt(found):
            told.append(found)
            (is_over if found else is_silent).set()
            return not found

        probes.check("P01", f"http://127.0.0.1:{port}/mcp", learnt)
        await asyncio.wait_for(is_silent.wait(), 20)
        await listener.start(port)
        await asyncio.wait_for(is_over.wait(), 20)
        await listener.stop()
        return told

    told = asyncio.run(main())

    assert told == [False] * (len(told) - 1) + [True]
    assert len(told) > 1


@rule("R-REG-12")
def test_an_agent_that_comes_again_is_tried_at_its_new_end_point_only():
    async def main():
        listener, told, is_told = Listener(), [], asyncio.Event()
        port = await listener.start()
        probes = Probes(LOCAL, SOON)

        def learnt(found):
            is_told.set()
            return told.append(("new", found))

        probes.check(
            "P01", f"http://127.0.0.1:{free_port()}/mcp", lambda f: told.append(("old", f))
        )
        await asyncio.sleep(0)
        probes.check("P01", f"http://127.0.0.1:{port}/mcp", learnt)
        await asyncio.wait_for(is_told.wait(), 20)
        await asyncio.sleep(SOON)  # What is cancelled has no later moment to wait for.
        await listener.stop()
        return told

    assert asyncio.run(main()) == [("new", True)]


@rule("R-REG-04")
@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("http://127.0.0.1:8101", "/mcp"),
        ("http://127.0.0.1:8101/mcp", "/mcp"),
        ("http://127.0.0.1:8101/", "/"),
        ("http://127.0.0.1:8101/agents/7", "/agents/7"),
    ],
)
def test_an_end_point_without_a_path_is_called_at_mcp(url, path):
    assert parse_url(url).path == path


@rule("R-REG-03")
@pytest.mark.parametrize(("path", "status"), [("/register", "ACCEPTED"), ("/mcp", None)])
def test_a_name_and_an_end_point_are_a_registration_at_register_only(path, status):
    async def main():
        clock = LoopClock(asyncio.get_running_loop())
        manager = HttpTransport(clock, TransportPolicy("manager", LOCAL, lambda: 0.0))
        manager.listen(
            lambda message, caller, reply: reply(
                LeagueRegisterResponse("ACCEPTED", message.player_meta.display_name)
            )
        )
        port = await manager.start(0, ("127.0.0.1",))
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        body = b'{"name": "Ann", "endpoint": "http://127.0.0.1:9"}'
        head = f"POST {path} HTTP/1.0\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        answer = await reader.read()
        writer.close()
        await manager.stop()
        return json.loads(answer.partition(b"\r\n\r\n")[2])

    answer = asyncio.run(main())

    assert answer.get("status") == status
    assert answer.get("player_id") == ("Ann" if status else None)


def test_why_nobody_can_be_connected_to_is_said_in_different_words():
    async def refusal(url, seconds=10.0):
        with pytest.raises(NoConnection) as refused:
            await check_listens(LOCAL, url, seconds)
        return str(refused.value)

    async def main():
        listener = Listener()  # It waits for the end of what it is sent, as a handshake has none.
        port = await listener.start()
        words = [
            await refusal(f"http://127.0.0.1:{free_port()}/mcp"),
            await refusal("http://nowhere.invalid/mcp"),
            await refusal(f"https://127.0.0.1:{port}/mcp", SOON),
        ]
        await asyncio.wait_for(listener.done, 10)
        await listener.stop()
        return words

    assert asyncio.run(main()) == [
        "the connection was refused: nobody listens there",
        "the name of the host was not found",
        "it does not speak https; try the same URL with http://",
    ]


NO_CONNECTION = [
    (TimeoutError(), "no connection: not within the time"),
    (OSError(113, "No route to host"), "no connection: No route to host"),
    (NotAllowedHere("remedy"), "no connection: none of its addresses is allowed here"),
]


def test_an_address_that_is_not_called_comes_with_the_remedy_and_a_name_without():
    may_not = NotAllowedHere("it needs --lan")
    by_address = no_connection(parse_url("http://192.0.2.7:1/mcp"), may_not)
    by_name = no_connection(parse_url("http://cup.example:1/mcp"), may_not)

    assert by_address.context == {"kind": UNREACHABLE, NOT_CALLED: "it needs --lan"}
    assert by_name.context == {"kind": UNREACHABLE}


def test_other_reasons_are_those_of_the_system():
    for error, words in NO_CONNECTION:
        assert words in str(no_connection(parse_url("http://127.0.0.1:1/mcp"), error))
    expired = ssl.SSLCertVerificationError(1, "certificate verify failed")
    expired.verify_message = "certificate has expired"
    untrusted = no_connection(parse_url("https://127.0.0.1:1/mcp"), expired)
    assert str(untrusted) == "its certificate is not trusted: certificate has expired"
