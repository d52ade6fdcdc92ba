"""Memory that grows: whatever unknown callers send a manager, it soon holds no more of it."""

import asyncio
import gc
import json
import sys

import pytest

from agentleague.runtime.processes import Place
from agentleague.transport.http import Rate
from agentleague.transport.http_server import ServerLimits
from security.spies import message
from security.test_inbound import HOSTS, QUERY, manager, referee, registration, request, run

SECONDS = 60.0
HELD = 50  # fewer than one connection may wait for
WARM, MANY = 400, 1_200  # of each kind of request
GROWTH_MAX = MANY // 2  # blocks of memory: one kept for each of the many would be more


def attacks(n, token):
    """Requests of an unknown caller and of a hostile player, never the same twice."""
    name, shown, port = f"Nobody {n:06}", f"tok_P01_{n:064}", 25_000 + n
    return [
        request(registration(name, port)),  # The league is full.
        request(registration("Ann", port)),  # Somebody else's name.
        request({**registration(name * 9, port), "auth_token": shown}),
        request({**referee(), "conversation_id": name, "auth_token": shown}),
        request(message("LEAGUE_QUERY", name, query_type="GET_STATUS", conversation_id=name)),
        request(message("LEAGUE_QUERY", query_type="GET_PLAYER_STATS", auth_token=shown)),
        request(message("LEAGUE_QUERY", query_type=name, auth_token=token)),
        request(message("MATCH_RESULT_REPORT", match_id=name, result={"winner": name})),
        request(message("MATCH_RESULT_REPORT", match_id=name, result={}, auth_token=token)),
        request(message("LOCK_REQUEST", match_id=name, epoch=n, index=0, moves=[])),
        request(message("LEAGUE_COMMAND", command=name, auth_token="mtok_" + shown)),
        request(message(f"DANCE_{n}", auth_token=token)),
        request(message("LEAGUE_QUERY"), host=f"host{n}"),
        f"GET /{n} HTTP/1.1\r\nHost: 127.0.0.{n % 256}\r\nX-{n}: {n}\r\n\r\n".encode(),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("over", [False, True], ids=["served", "over the rate"])
def test_whatever_unknown_callers_send_a_manager_it_soon_holds_no_more_of_it(over, tmp_path):
    burst = 4.0 if over else 1e9
    rate = Rate(1e-6, burst, wait_seconds=0.0, refusal_seconds=0.0)

    async def scenario():
        place = Place(0, hosts=HOSTS, rate=rate)
        async with manager(tmp_path, place, players_max=1, referees_max=1) as connect:
            line = await connect()
            _, _, body = await line.ask(registration("Ann"))
            token = json.loads(body)["result"]["auth_token"]
            await line.ask(referee())

            async def held(numbers):
                for n in numbers:
                    asked = attacks(n, token)
                    line.writer.write(b"".join(asked))
                    for _ in asked:
                        await line.answer()
                gc.collect()
                return sys.getallocatedblocks()

            return await held(range(WARM)), await held(range(WARM, WARM + MANY))

    before, after = run(scenario())

    assert after - before < GROWTH_MAX


@pytest.mark.parametrize("of", ["an unknown caller", "a player"])
def test_the_manager_holds_so_many_refusals_and_closes_connections_that_add_more(of, tmp_path):
    """Ten connections with as many requests as are read at once; a known agent is served."""
    rate = Rate(per_second=0.01, burst=2.0, refusal_seconds=SECONDS)
    place = Place(0, hosts=HOSTS, rate=rate, server=ServerLimits(held=HELD, request_seconds=0.4))

    async def scenario():
        async with manager(tmp_path, place) as connect:
            known = await connect()
            _, _, body = await known.ask(referee())
            said = {**QUERY, "auth_token": json.loads(body)["result"]["auth_token"]}
            _, _, body = await known.ask(registration("Wild"))
            token = json.loads(body)["result"]["auth_token"] if of == "a player" else ""
            flood = [await connect() for _ in range(10)]
            for line in flood:
                line.writer.write(request({**QUERY, "auth_token": token}) * ServerLimits.pipelined)
                assert (await known.ask(said))[0] == 200
            return await asyncio.gather(*(line.is_over() for line in flood))

    assert run(scenario()) == [True] * 10
