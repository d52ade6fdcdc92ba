"""Messages over HTTP: rate limits, sizes, and what becomes of calls."""

import asyncio

import pytest

from agentleague.errors import NoConnection, RateLimited
from agentleague.protocol.messages import (
    GameInvitation,
    LeagueQuery,
    LeagueQueryResponse,
    LeagueRegisterRequest,
    LeagueRegisterResponse,
    LockRequest,
    PlayerMeta,
    RefereeMeta,
    RefereeRegisterRequest,
    RefereeStatus,
    RoundCompleted,
    RoundCompletedAck,
)
from agentleague.protocol.tokens import is_proved
from agentleague.roles.effects import Address
from agentleague.runtime.clock import LoopClock
from agentleague.runtime.processes import Place
from agentleague.simulation.clock import VirtualClock
from agentleague.transport.guard import Guard
from agentleague.transport.http import Buckets, HttpTransport, Rate, TransportPolicy
from rules import rule
from scripted_server import server

HOSTS = ("127.0.0.1",)


def transport(receiver, **policy):
    clock = LoopClock(asyncio.get_running_loop())
    return HttpTransport(clock, TransportPolicy(receiver, Guard("local"), lambda: 0.0, **policy))


async def exchange(server, client, message, seconds=60.0):
    """Call a transport through another; what came of it."""
    port = await server.start(0, HOSTS)
    loop = asyncio.get_running_loop()
    answered = loop.create_future()
    to = Address("them", f"http://127.0.0.1:{port}/mcp")
    client.call(to, message, loop.time() + seconds, answered.set_result)
    return await asyncio.wait_for(answered, 120)


def with_port(**kwargs):
    """Run one exchange between a manager and a player on real sockets."""

    async def main():
        server, client = transport("manager", **kwargs.pop("policy", {})), transport("player")
        if "on_ask" in kwargs:
            server.listen(kwargs["on_ask"])
        try:
            return await exchange(server, client, kwargs["message"])
        finally:
            await client.stop()
            await server.stop()

    return asyncio.run(main())


def test_a_request_is_answered_with_the_message_of_its_type():
    def on_ask(message, caller, reply):
        reply(LeagueQueryResponse(message.query_type, data={"source": caller.source}))

    answer = with_port(on_ask=on_ask, message=LeagueQuery("GET_STATUS"))

    assert answer.error is None
    assert answer.message.data == {"source": "127.0.0.1"}


@rule("R-PROOF-01")
def test_a_call_to_an_agent_that_wants_proofs_is_proved_by_its_header():
    callers = []

    def on_ask(message, caller, reply):
        callers.append(caller)
        reply(RoundCompletedAck())

    async def main():
        manager, player = transport("manager"), transport("player")
        player.listen(on_ask)
        loop = asyncio.get_running_loop()
        try:
            port = await player.start(0, HOSTS)
            to = Address("P01", f"http://127.0.0.1:{port}/mcp", "", (b"one", b"two"))
            for round_id in (1, 2, 3):  # The head of the first is remembered.
                answered, told = loop.create_future(), RoundCompleted("league_1", round_id)
                manager.call(to, told, loop.time() + 60.0, answered.set_result)
                assert (await asyncio.wait_for(answered, 120)).error is None
        finally:
            await manager.stop()
            await player.stop()

    asyncio.run(main())

    for caller in callers:
        assert is_proved(caller.proof, [b"two"], caller.body)
        assert not is_proved(caller.proof, [b"two"], b"{}")
    assert len({caller.proof for caller in callers}) == 3


def test_a_handler_answers_another_path_of_an_agent():
    async def main():
        player = transport("player")
        player.server.route("/page", ("GET",), lambda request, respond: respond(200, b"the page"))
        port = await player.start(0, HOSTS)
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(b"GET /page HTTP/1.0\r\n\r\n")
            got = await reader.read()
            writer.close()
            return got
        finally:
            await player.stop()

    assert asyncio.run(main()).endswith(b"the page")


def test_an_answer_may_come_later():
    def on_ask(message, caller, reply):
        asyncio.get_running_loop().call_later(0.01, reply, LeagueQueryResponse("GET_STATUS"))

    assert with_port(on_ask=on_ask, message=LeagueQuery("GET_STATUS")).error is None


def test_a_message_for_another_kind_of_agent_is_refused():
    answer = with_port(on_ask=lambda *_: None, message=RoundCompleted())

    assert answer.message is None
    assert answer.error.context["code"] == "E051"


def test_an_agent_that_does_not_listen_yet_says_so():
    answer = with_port(message=LeagueQuery("GET_STATUS"))

    assert answer.error.context["code"] == "E053"
    assert answer.error.context["data"]["retryable"] is True


def test_an_unknown_caller_that_asks_too_much_is_told_to_wait():
    answer = with_port(
        on_ask=lambda message, caller, reply: reply(LeagueQueryResponse()),
        message=LeagueQuery("GET_STATUS"),
        policy={"rate": Rate(per_second=0.001, burst=0.0)},
    )

    assert isinstance(answer.error, RateLimited)
    assert answer.error.context["retry_after"] == 60.0  # what a header can say at most


def test_a_referee_is_not_limited_for_its_assignments_are():
    answer = with_port(
        on_ask=lambda message, caller, reply: reply(LeagueQueryResponse()),
        message=LeagueQuery("GET_STATUS", auth_token="tok_referee"),
        policy={
            "rate": Rate(per_second=0.001, burst=0.0),
            "is_referee": lambda token: token == "tok_referee",
        },
    )

    assert answer.error is None


@pytest.mark.parametrize(
    ("token", "account"),
    [(None, "10.0.0.9"), ("tok_unknown", "10.0.0.9"), ("tok_P01", "tok_P01"), ("tok_REF01", "")],
)
def test_a_player_is_counted_by_itself_and_an_unknown_caller_by_its_address(token, account):
    policy = TransportPolicy(
        "manager",
        Guard(),
        lambda: 0.0,
        lambda token: token in ("tok_P01", "tok_REF01"),
        lambda token: token == "tok_REF01",
    )
    transport = HttpTransport(VirtualClock(), policy)

    assert transport._account("10.0.0.9", token, LeagueQuery("GET_STATUS")) == account
    registration = LeagueRegisterRequest(PlayerMeta("Ann", "http://10.0.0.9/mcp"))
    assert transport._account("10.0.0.9", token, registration) == "10.0.0.9"


def test_a_registration_over_the_rate_waits_its_turn():
    answer = with_port(
        on_ask=lambda message, caller, reply: reply(LeagueRegisterResponse("ACCEPTED", "P01")),
        message=LeagueRegisterRequest(PlayerMeta("Ann", "http://127.0.0.1:8101/mcp")),
        policy={"rate": Rate(per_second=50.0, burst=0.0)},
    )

    assert answer.message.player_id == "P01"


@pytest.mark.parametrize(("host", "status"), [("leaguehost", b"200"), ("elsewhere", b"403")])
def test_an_agent_is_asked_under_its_own_name_and_no_other(host, status):
    place = Place(18500, hosts=HOSTS, endpoint="http://leaguehost:18500/mcp")

    async def main():
        server = transport("manager", names=place.names)
        server.listen(lambda message, caller, reply: reply(LeagueQueryResponse()))
        port = await server.start(0, HOSTS)
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        body = b'{"jsonrpc":"2.0","method":"league_query","params":{"query_type":"x"},"id":1}'
        head = f"POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Length: {len(body)}\r\n\r\n"
        writer.write(head.encode() + body)
        answer = await reader.readline()
        writer.close()
        await server.stop()
        return answer

    assert asyncio.run(main()).split()[1] == status


def test_nobody_there_is_no_connection():
    async def main():
        client, loop = transport("player"), asyncio.get_running_loop()
        answered = loop.create_future()
        to = Address("nobody", "http://127.0.0.1:9/mcp")
        client.call(to, LeagueQuery("GET_STATUS"), loop.time() + 5.0, answered.set_result)
        answer = await answered
        await client.stop()
        return answer

    assert isinstance(asyncio.run(main()).error, NoConnection)


def heard(message, head, body):
    """What a call is told when the peer answers with these bytes."""

    async def script(line):
        await line.request()
        await line.send(head + b"\r\nContent-Length: %d\r\n\r\n%b" % (len(body), body))
        await line.wait_for_end()

    async def main():
        client, loop = transport("referee"), asyncio.get_running_loop()
        async with server(script) as peer:
            answered = loop.create_future()
            client.call(Address("them", peer.url), message, loop.time() + 20, answered.set_result)
            answer = await answered
            await client.stop()
        return answer

    return asyncio.run(main())


REGISTERED = b'{"result":{"status":"ACCEPTED","x":"%b"}}'
META = ("Ann", "http://127.0.0.1:8101/mcp")


@pytest.mark.parametrize(
    ("message", "body"),
    [
        (LeagueRegisterRequest(PlayerMeta(*META)), REGISTERED),
        (RefereeRegisterRequest(RefereeMeta(*META)), REGISTERED),
        (LeagueQuery("GET_STATUS"), b'{"result":{"x":"%b"}}'),
        (LockRequest("R1M1", 1, 0, []), b'{"result":{"match_id":"R1M1","index":0,"x":"%b"}}'),
        (RefereeStatus("s1"), b'{"result":{"x":"%b"}}'),
    ],
)
def test_a_manager_may_answer_with_64_kilobytes_whatever_it_was_asked(message, body):
    assert heard(message, b"HTTP/1.1 200 OK", body % (b"x" * 65_000)).error is None
    assert isinstance(
        heard(message, b"HTTP/1.1 200 OK", body % (b"x" * 65_600)).error, NoConnection
    )


def test_a_player_may_answer_with_10_kilobytes():
    body = b'{"result":{"accept":true,"x":"%b"}}'

    assert heard(GameInvitation(), b"HTTP/1.1 200 OK", body % (b"x" * 10_000)).message.accept
    long = heard(GameInvitation(), b"HTTP/1.1 200 OK", body % (b"x" * 10_240))
    assert isinstance(long.error, NoConnection)


@pytest.mark.parametrize("status", [b"429 Too Many Requests", b"503 Busy"])
def test_the_header_says_when_a_busy_peer_wants_to_be_asked_again(status):
    answer = heard(GameInvitation(), b"HTTP/1.1 " + status + b"\r\nRetry-After: 7", b"<html>")

    assert isinstance(answer.error, RateLimited)
    assert answer.error.context["retry_after"] == 7.0


@pytest.mark.parametrize("body", [b"<html>", b"{}", b'{"error":{"code":1}}'])
def test_an_error_that_is_handed_on_holds_nothing_of_where_it_came_from(body):
    error = heard(GameInvitation(), b"HTTP/1.1 200 OK", body).error

    assert (error.__traceback__, error.__context__) == (None, None)


def test_a_bucket_gives_its_burst_at_once_and_then_its_rate():
    buckets = Buckets(Rate(per_second=10.0, burst=3.0))

    assert [buckets.take("a", 0.0) for _ in range(4)] == [0.0, 0.0, 0.0, None]
    assert buckets.seconds_until_free("a", 0.0) == pytest.approx(0.1)
    assert buckets.take("a", 0.1) == 0.0
    assert buckets.take("b", 0.1) == 0.0


def test_a_registration_waits_its_turn_as_long_as_it_may():
    buckets = Buckets(Rate(per_second=10.0, burst=1.0))
    buckets.take("a", 0.0)

    assert buckets.take("a", 0.0, 0.25) == pytest.approx(0.1)
    assert buckets.take("a", 0.0, 0.25) == pytest.approx(0.2)
    assert buckets.take("a", 0.0, 0.25) is None


def test_a_refused_request_takes_nothing_from_the_bucket():
    buckets = Buckets(Rate(per_second=10.0, burst=1.0))
    buckets.take("a", 0.0)
    for _ in range(50):
        buckets.take("a", 0.0)

    assert buckets.take("a", 0.1) == 0.0


def test_the_longest_unseen_source_is_forgotten_first():
    buckets = Buckets(Rate(per_second=1.0, burst=1.0))
    for number in range(10_001):
        buckets.take(str(number), 0.0)

    assert buckets.take("0", 0.0) == 0.0
    assert buckets.take("10000", 0.0) is None


NO_METHOD = b'{"jsonrpc":"2.0","error":{"code":-32601,"message":"?"},"id":1}'
JOIN = b'{"jsonrpc":"2.0","result":{"accept":true},"id":1}'


def spoken_to(script, *, calls=1, message=None, cancels=False):
    """Call a peer that follows a script; what was heard, and the requests."""

    async def main():
        client, loop = transport("referee"), asyncio.get_running_loop()
        heard = []
        async with server(script) as peer:
            for number in range(calls):
                answered = asyncio.Event()

                def done(answer, answered=answered):
                    heard.append(answer)
                    answered.set()

                to = Address("P01", peer.url)
                asked = message or GameInvitation(match_id=f"R{number + 1}M1")
                stop = client.call(to, asked, loop.time() + 20, done)
                await answered.wait()
                if cancels:
                    stop()
            sent = (client.calls, client.bytes_sent)
            await client.stop()
            return heard, peer.requests, sent

    return asyncio.run(main())


def only_types(line_answer=JOIN):
    async def script(line):
        while True:
            request = await line.request()
            await line.answer(
                line_answer if b'"GAME_INVITATION","params"' in request else NO_METHOD
            )

    return script


def test_a_call_that_is_not_understood_goes_on_in_another_form_and_that_is_remembered():
    heard, requests, sent = spoken_to(only_types(), calls=2)

    assert [answer.message.accept for answer in heard] == [True, True]
    assert heard[0].dialect == "type"
    assert [b'"method":"GAME_INVITATION"' in request for request in requests] == [False, True, True]
    assert sent == (3, sum(map(len, requests)))


def test_a_caller_that_drops_a_call_while_it_waits_for_a_push_had_one():
    async def script(line):
        while True:
            await line.request()
            await line.answer(b'{"status":"ok"}')

    heard, requests, _ = spoken_to(script, calls=2, cancels=True)

    assert [answer.is_last for answer in heard] == [False, True]
    assert [b'"handle_game_invitation"' in request for request in requests] == [True, True]


def test_a_call_in_our_own_form_can_be_dropped():
    async def script(line):
        await line.request()
        await line.wait_for_end()

    async def main():
        client, loop = transport("referee"), asyncio.get_running_loop()
        answers = []
        async with server(script) as peer:
            stop = client.call(
                Address("P01", peer.url), GameInvitation(), loop.time() + 20, answers.append
            )
            await peer.asked.wait()
            stop()
            await peer.closed.get()
            await client.stop()
        return answers

    assert asyncio.run(main()) == []
