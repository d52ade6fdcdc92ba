"""Seats over real sockets: a referee calls the manager, and an agent without a port answers."""

import asyncio
from contextlib import asynccontextmanager

import msgspec
import pytest

from agentleague.errors import NoAnswer, RateLimited
from agentleague.protocol.messages import (
    GameInvitation,
    GameJoinAck,
    LeagueQuery,
    LeagueQueryResponse,
    RoundCompleted,
    RoundCompletedAck,
)
from agentleague.protocol.tokens import is_proved
from agentleague.roles.effects import Address
from agentleague.runtime.clock import LoopClock
from agentleague.transport.guard import Guard
from agentleague.transport.http import HttpTransport, Rate, TransportPolicy
from agentleague.transport.http_server import ServerLimits
from agentleague.transport.seats import OPENING_SECONDS
from rules import rule

HOSTS = ("127.0.0.1",)
TOKENS = {"tok_P01": "P01", "tok_P02": "P02"}
INVITATION = GameInvitation(match_id="R1M1", game_type="even_odd", opponent_id="P02")


def transport(receiver, **policy):
    clock = LoopClock(asyncio.get_running_loop())
    return HttpTransport(clock, TransportPolicy(receiver, Guard("local"), lambda: 1.0, **policy))


class League:
    """A manager with seats, a referee, and agents that sit there."""

    def __init__(self, **policy):
        self.manager = transport(
            "manager",
            seat_of=TOKENS.get,
            may_call=lambda player_id, message, caller: message.auth_token == "may",
            **policy,
        )
        self.manager.listen(lambda message, caller, reply: reply(LeagueQueryResponse("X")))
        self.manager.seats.began -= OPENING_SECONDS  # It is not new.
        self.referee, self.agents, self.asked = transport("referee"), [], []

    async def sit(self, player_id="P01", on_ask=None, port=None, token=None):
        agent = transport("player")
        agent.listen(on_ask or self.answer)
        self.agents.append(agent)
        url, name = f"http://127.0.0.1:{port or self.manager.port}/mcp", token or f"tok_{player_id}"
        client = agent.sit(url, f"/seats/{player_id}", lambda: name)
        client.start()
        return client

    def answer(self, message, caller, reply):
        self.asked.append((message, caller))
        ack = RoundCompletedAck() if isinstance(message, RoundCompleted) else None
        reply(ack or GameJoinAck(match_id=message.match_id, accept=True))

    async def call(self, who, message, player_id="P01", *, keys=(), seconds=20.0, url=""):
        loop = asyncio.get_running_loop()
        answered = loop.create_future()
        path = f"/seats/{player_id}/mcp"
        far = f"http://127.0.0.1:{self.manager.port}{path}"
        to = Address(player_id, url or (path if who is self.manager else far), "", keys)
        cancel = who.call(to, message, loop.time() + seconds, answered.set_result)
        try:
            return await asyncio.wait_for(answered, 60)
        finally:
            cancel()

    def invite(self, player_id="P01", token="may", **kwargs):
        invitation = msgspec.structs.replace(INVITATION, auth_token=token)
        return self.call(self.referee, invitation, player_id, **kwargs)

    async def post(self, path, body=b"{}", token=None, port=None):
        """The status, headers and body of a bare request."""
        reader, writer = await asyncio.open_connection("127.0.0.1", port or self.manager.port)
        line = f"Authorization: Bearer {token}\r\n" if token else ""
        writer.write(
            f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\n{line}Content-Length: {len(body)}\r\n"
            "Connection: close\r\n\r\n".encode()
            + body
        )
        head, _, said = (await reader.read()).partition(b"\r\n\r\n")
        writer.close()
        return int(head.split()[1]), head, said


@asynccontextmanager
async def league(**policy):
    made = League(**policy)
    await made.manager.start(0, HOSTS)
    try:
        yield made
    finally:
        for each in (*made.agents, made.referee, made.manager):
            await each.stop()


def run(scenario, **policy):
    async def main():
        async with league(**policy) as made:
            return await scenario(made)

    return asyncio.run(main())


async def until(is_so):
    """Wait for what happens elsewhere on this loop."""
    while not is_so():  # noqa: ASYNC110
        await asyncio.sleep(0.001)


def test_a_referee_calls_a_seat_like_any_end_point_and_the_agent_answers():
    async def scenario(made):
        await made.sit()
        await made.sit("P02")
        answers = await asyncio.gather(*(made.invite() for _ in range(12)))
        ((message, caller), *_) = made.asked
        return answers, message, caller, len(made.asked)

    answers, message, caller, asked = run(scenario)

    assert [answer.message.accept for answer in answers] == [True] * 12
    assert (message.match_id, caller.source, caller.proof, asked) == ("R1M1", "", "", 12)


def test_the_managers_own_calls_go_to_the_queue_with_their_proof():
    async def scenario(made):
        await made.sit()
        answer = await made.call(made.manager, RoundCompleted("league_1", 1), keys=(b"key",))
        ((message, caller),) = made.asked
        assert message.round_id == 1
        assert is_proved(caller.proof, [b"key"], caller.body)
        late = await made.call(made.manager, RoundCompleted("league_1", 1), "P02", seconds=0.1)
        told, later = [], asyncio.get_running_loop().time() + 60.0
        here = Address("P01", "/seats/P01/mcp", "", (b"key",))
        away = Address("P02", "/seats/P02/mcp", "", (b"key",))
        letters = [RoundCompleted("league_1", number) for number in (2, 3)]
        telling = made.manager.broadcast([(here, letters), (away, letters)], later, told.append)
        await until(lambda: telling.awaited == {"P02"})
        telling.cancel()
        made.manager.broadcast([(here, letters[:1])], later, told.append)
        await until(lambda: told)
        waiting = made.manager.seats._seats["P02"].waiting
        return answer, late, told, waiting, made.manager.server._connections

    answer, late, told, waiting, connections = run(scenario)

    assert answer.error is None
    assert isinstance(late.error, NoAnswer)
    assert (told, waiting) == ([{}], {})
    assert len(connections) <= 2  # The agent's alone.


def test_a_call_of_the_manager_that_is_cancelled_waits_no_longer():
    async def scenario(made):
        done = []
        later = asyncio.get_running_loop().time() + 60
        to = Address("P01", "/seats/P01/mcp")
        for _ in range(17):
            cancel = made.manager.call(to, RoundCompleted("league_1", 1), later, done.append)
            cancel()
        stay = [
            made.manager.call(to, RoundCompleted("league_1", 1), later, done.append)
            for _ in range(17)
        ]
        await until(lambda: done)
        for cancel in stay:
            cancel()
        return done

    (full,) = run(scenario)

    assert isinstance(full.error, RateLimited)


def test_a_foreign_form_of_an_answer_over_a_seat_is_tried_and_understood():
    """The dialects, which the manager tries where it proves nothing, go the same way."""

    async def scenario(made):
        await made.sit()
        return await made.call(made.manager, RoundCompleted("league_1", 1))

    assert run(scenario).error is None


@rule("R-SEAT-06")
@pytest.mark.parametrize(
    ("path", "body", "token", "status", "words"),
    [
        ("/seats/P01/poll", b"{}", None, 401, b"Authorization: Bearer"),
        ("/seats/P01/poll", b"{}", "tok_P99", 403, b"register again with seat: true"),
        ("/seats/P02/poll", b'{"epoch":1}', "tok_P01", 403, b"has not this seat"),
        ("/seats/P01/open", b"{}", "tok_P02", 403, b"has not this seat"),
        ("/seats/P01/poll", b"{}", "tok_P01", 400, b"poll: missing field 'epoch'"),
        ("/seats/P01/poll", b"{", "tok_P01", 400, b"is not JSON"),
        ("/seats/P01/open", b'{"client":1}', "tok_P01", 400, b"opening.client: expected `str`"),
        ("/seats/P01", b"{}", "tok_P01", 404, b"/seats/P01/poll"),
        ("/seats/P01/look", b"{}", "tok_P01", 404, b"/seats/P01/poll"),
        ("/seats/P01/mcp", b"{}", "tok_P01", 400, b""),
        ("/seats/P01/mcp", b"\xff", "tok_P01", 400, b"UTF-8"),
        ("/seats/P01/poll", b" " * 10_241, "tok_P01", 413, b"10240"),
    ],
)
def test_a_bad_request_at_a_seat_is_refused_in_words(path, body, token, status, words):
    got, head, said = run(lambda made: made.post(path, body, token))

    assert got == status
    assert words in said
    assert b"no-store" in head or status == 413


def test_who_may_not_call_a_seat_is_told_so_and_the_agent_never_hears_of_it():
    async def scenario(made):
        await made.sit()
        answer = await made.invite(token="guessed")
        await made.invite()
        return answer, made.asked

    answer, asked = run(scenario)

    assert "auth_token: only the referee of an open match" in str(answer.error.context)
    assert len(asked) == 1


def test_an_acknowledgement_ahead_is_refused_with_what_to_send():
    async def scenario(made):
        _, _, opened = await made.post("/seats/P01/open", b"{}", "tok_P01")
        poll = msgspec.json.encode({**msgspec.json.decode(opened), "ack": 3, "wait": 0})
        return await made.post("/seats/P01/poll", poll, "tok_P01")

    status, _, said = run(scenario)

    assert status == 400
    assert b"poll.ack: 3 is ahead of 0" in said


@pytest.mark.parametrize("starting", [True, False])
def test_a_manager_that_starts_or_may_have_lost_its_league_is_away_for_all(starting):
    async def main():
        made = League()
        if starting:
            made.manager = transport("manager", seat_of=TOKENS.get)
        made.manager.is_away = lambda: not starting
        await made.manager.start(0, HOSTS)
        try:
            paths = ("poll", "open", "mcp")
            return [await made.post(f"/seats/P01/{each}", b"{}", "tok_P01") for each in paths]
        finally:
            await made.manager.stop()
            await made.referee.stop()

    for status, head, _ in asyncio.run(main()):
        assert status == 503
        assert b"Retry-After: 1" in head


@rule("R-SEAT-06")
def test_a_new_manager_is_away_for_a_referee_until_the_agent_has_opened_its_seat():
    """Else a clock would run against an agent that tries again in a second."""

    async def scenario(made):
        made.manager.seats.began += OPENING_SECONDS
        early = await made.invite()
        await made.sit()
        seats = made.manager.seats._seats
        await until(lambda: seats["P01"].held)
        return early, await made.invite(), len(made.asked)

    early, later, asked = run(scenario)

    assert early.error.context["status"] == 503
    assert later.message.accept
    assert asked == 1


@rule("R-SEAT-06")
def test_the_call_of_a_referee_that_leaves_is_not_handed_out():
    async def scenario(made):
        leaving = asyncio.create_task(made.invite(seconds=60.0))
        seats = made.manager.seats._seats
        await until(lambda: "P01" in seats and seats["P01"].waiting)
        leaving.cancel()
        await until(lambda: not seats["P01"].waiting)
        await made.sit()
        return await made.invite(), len(made.asked)

    stayed, asked = run(scenario)

    assert stayed.message.accept
    assert asked == 1


def test_a_referee_that_closes_half_its_connection_has_left():
    async def scenario(made):
        reader, writer = await asyncio.open_connection("127.0.0.1", made.manager.port)
        body = b'{"message_type":"GAME_INVITATION","match_id":"R1M1","auth_token":"may"}'
        head = b"POST /seats/P01/mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n"
        writer.write(head % len(body) + body)
        seats = made.manager.seats._seats
        await until(lambda: "P01" in seats and seats["P01"].waiting)
        writer.write_eof()
        await until(lambda: not seats["P01"].waiting)
        rest = await reader.read()
        writer.close()
        return rest

    assert run(scenario) == b""


class Proxy:
    """Stands in front of the manager: hands on whole answers only, or cuts some of them off."""

    def __init__(self, port, cut=lambda path: False):
        self.port, self.cut, self.cuts, self.seen, self.tasks = port, cut, 0, [], set()

    async def __aenter__(self):
        self.server = await asyncio.start_server(self.serve, "127.0.0.1", 0)
        return self.server.sockets[0].getsockname()[1]

    async def __aexit__(self, *_):
        self.server.close()
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    async def serve(self, reader, writer):
        self.tasks.add(asyncio.current_task())
        try:
            while head := await reader.readuntil(b"\r\n\r\n"):
                length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
                body = await reader.readexactly(length)
                path = head.split()[1].decode()
                up, down = await asyncio.open_connection("127.0.0.1", self.port)
                down.write(head.replace(b"\r\n", b"\r\nConnection: close\r\n", 1) + body)
                try:
                    answer = await up.read()  # The whole of it.
                finally:
                    down.close()
                if self.cut(path) and b'"seq"' in answer:
                    self.cuts += 1
                    break
                said = answer.partition(b"\r\n\r\n")[2]
                pieces = [said[:7], said[7:]] if len(said) > 7 else [said]
                writer.write(
                    b"HTTP/1.1 200 OK\r\nVia: 1.1 proxy\r\nTransfer-Encoding: chunked\r\n\r\n"
                )
                for piece in pieces:
                    writer.write(b"%x\r\n%b\r\n" % (len(piece), piece))
                writer.write(b"0\r\n\r\n")
        except (asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()


def test_an_agent_plays_through_a_proxy_that_buffers():
    async def scenario(made):
        async with Proxy(made.manager.port) as port:
            client = await made.sit(port=port)
            answers = [await made.invite() for _ in range(3)]
            client.stop()
            return answers, len(made.asked)

    answers, asked = run(scenario)

    assert [answer.message.accept for answer in answers] == [True] * 3
    assert asked == 3


def test_a_connection_cut_after_the_answer_to_a_poll_was_written_loses_no_call():
    async def scenario(made):
        proxy = Proxy(made.manager.port, cut=lambda path: proxy.cuts < 2)
        async with proxy as port:
            client = await made.sit(port=port)
            answer = await made.invite()
            client.stop()
            return answer, proxy.cuts, len(made.asked)

    answer, cuts, asked = run(scenario)

    assert answer.message.accept
    assert (cuts, asked) == (2, 1)


@rule("R-SEAT-06")
def test_a_manager_that_stops_ends_held_polls_and_calls_at_once():
    async def scenario(made):
        statuses = []
        invitation = msgspec.json.encode(
            {"message_type": "GAME_INVITATION", "match_id": "R1M1", "auth_token": "may"}
        )
        _, _, opened = await made.post("/seats/P01/open", b"{}", "tok_P01")
        poll = msgspec.json.encode({**msgspec.json.decode(opened), "wait": 25})
        held = [
            asyncio.create_task(made.post("/seats/P01/poll", poll, "tok_P01")),
            asyncio.create_task(made.post("/seats/P02/mcp", invitation)),
        ]
        seats = made.manager.seats._seats
        await until(lambda: "P02" in seats and seats["P02"].waiting and seats["P01"].held)
        await made.manager.stop()
        for each in held:
            status, _, said = await each
            statuses.append((status, b'"state":"open"' in said))
        return statuses

    assert run(scenario) == [(200, True), (503, False)]


def test_a_renewed_token_is_used_from_the_next_request_on():
    async def scenario(made):
        token = ["tok_old"]
        agent = transport("player")
        made.agents.append(agent)
        agent.listen(made.answer)
        url = f"http://127.0.0.1:{made.manager.port}/mcp"
        client = agent.sit(url, "/seats/P01", lambda: token[0])
        refused = []
        client.refused = lambda status, body: (
            refused.append(status),
            token.__setitem__(0, "tok_P01"),
        )
        client.start()
        return await made.invite(), refused

    answer, refused = run(scenario)

    assert answer.message.accept
    assert refused == [403]


def test_who_sits_down_again_leaves_its_first_seat_by_itself():
    async def scenario(made):
        made.agents.append(agent := transport("player"))
        agent.listen(made.answer)
        url, ended = f"http://127.0.0.1:{made.manager.port}/mcp", []
        first = agent.sit(url, "/seats/P01", lambda: "tok_P01")
        first.ended = lambda: ended.append("by another")
        first.start()
        seats = made.manager.seats._seats
        await until(lambda: "P01" in seats and seats["P01"].held)
        clients = len(agent._clients)
        agent.sit(url, "/seats/P01", lambda: "tok_P01").start()
        answer = await made.invite()
        return answer, len(made.asked), ended, len(agent._clients) - clients

    answer, asked, ended, more_clients = run(scenario)

    assert answer.message.accept
    assert (asked, ended, more_clients) == (1, [], 0)


def test_polls_over_the_rate_of_their_token_are_refused_and_others_are_not():
    async def scenario(made):
        statuses = [(await made.post("/seats/P01/open", b"{}", "tok_P01"))[0] for _ in range(6)]
        other = await made.post("/seats/P02/open", b"{}", "tok_P02")
        return statuses, other[0]

    rate = Rate(per_second=0.01, burst=4, refusal_seconds=0.0)
    statuses, other = run(scenario, rate=rate)

    assert statuses == [200] * 4 + [429] * 2
    assert other == 200


def test_who_guesses_tokens_is_slowed_down_by_its_address():
    async def scenario(made):
        guesses = [f"tok_{number}" for number in range(6)]
        return [(await made.post("/seats/P01/open", b"{}", each))[0] for each in guesses]

    rate = Rate(per_second=0.01, burst=4, refusal_seconds=0.0)

    assert run(scenario, rate=rate) == [403] * 4 + [429] * 2


def test_held_polls_leave_the_room_of_their_address_to_others():
    """Many agents may sit behind one address; idle and unknown callers stay limited there."""

    async def scenario(made):
        server, seats = made.manager.server, made.manager.seats._seats
        for player_id in TOKENS.values():
            await made.sit(player_id)
            await until(lambda: player_id in seats and seats[player_id].held)  # noqa: B023
        groups = {whose: group.size for whose, group in server._of.items()}
        query = await made.call(
            made.referee, LeagueQuery("GET_STATUS"), url=f"http://127.0.0.1:{made.manager.port}/mcp"
        )
        for agent in made.agents:
            await agent.stop()
        await until(lambda: server._all.size <= 1)
        return groups, query

    limits = ServerLimits(connections_of_loopback=1)
    groups, query = run(scenario, server=limits)

    assert groups == {}
    assert query.error is None


def test_a_connection_is_spared_only_while_an_answer_is_held():
    """Else a player could open its seat on all connections of a manager, and begin requests."""

    async def scenario(made):
        server, seats = made.manager.server, made.manager.seats._seats
        reader, writer = await asyncio.open_connection("127.0.0.1", made.manager.port)

        def send(action, **body):
            said = msgspec.json.encode(body)
            line = f"POST /seats/P01/{action} HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            rest = f"Authorization: Bearer tok_P01\r\nContent-Length: {len(said)}\r\n\r\n"
            writer.write((line + rest).encode() + said)

        async def hear():
            head = await reader.readuntil(b"\r\n\r\n")
            length = int(head.lower().partition(b"content-length: ")[2].split(b"\r\n")[0])
            return msgspec.json.decode(await reader.readexactly(length))

        def counted():
            return {whose: group.size for whose, group in server._of.items()}, server._all.size

        send("open")
        sizes, epoch = [], (await hear())["epoch"]
        sizes.append(counted())
        send("poll", epoch=epoch, wait=0)
        await hear()
        sizes.append(counted())
        send("poll", epoch=epoch)
        await until(lambda: seats["P01"].held)
        sizes.append(counted())
        made.manager.seats.end_polls()
        await hear()
        sizes.append(counted())
        writer.close()
        await until(lambda: not server._all.size)
        return sizes, counted()

    sizes, after = run(scenario)

    near = {"this machine": 1}
    assert sizes == [(near, 1), (near, 1), ({}, 1), (near, 1)]
    assert after == ({}, 0)


def test_an_agent_whose_answer_is_too_long_fails_and_the_manager_is_not_blamed():
    async def scenario(made):
        made.agents.append(agent := transport("player"))
        agent._on_request = lambda request, respond: respond(200, b"x" * 10_300)
        url = f"http://127.0.0.1:{made.manager.port}/mcp"
        agent.sit(url, "/seats/P01", lambda: "tok_P01").start()
        return await made.invite()

    assert "HTTP 424: " in run(scenario).error.context["said"]
