"""What strangers may try at the port of a service."""

import asyncio
import json
from urllib.parse import urlsplit

from service.service_run import a_service, ask, make, organiser
from service.test_service import QUERY, answered


def post(path, body):
    head = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def test_an_agent_that_knows_no_path_at_all_reaches_the_only_league(database):
    async def main():
        key = organiser(database, "ann")
        async with a_service(database, workers=1) as service:
            league = await make(service, key)
            await answered(f"{service.url}/mcp", 200)
            for url in (f"{service.url}/", f"{service.url}/leagues/{league['league_id']}/"):
                assert (await ask(url, "POST", "", QUERY))[1]["result"]["success"]
            own = f"{service.url}/leagues/{league['league_id']}"
            assert (await ask(own, "GET", key))[1]["state"] == "open"

    asyncio.run(main())


def test_who_asks_for_many_leagues_that_are_not_there_is_not_let_wait_for_all_of_them(database):
    """One may have been made a moment ago: then its request waits, body and all."""

    async def main():
        async with a_service(database, workers=1) as service:
            where = urlsplit(service.url)
            reader, writer = await asyncio.open_connection(where.hostname, where.port)
            body = json.dumps(QUERY).encode().ljust(10_000)
            answers = []
            for number in range(5):
                writer.write(post(f"/leagues/none{number}/mcp", body) * 60)
                for _ in range(60):
                    head = await reader.readuntil(b"\r\n\r\n")
                    answers.append(head.split()[1])
                    await reader.readexactly(int(head.partition(b"Content-Length: ")[2].split()[0]))
            writer.close()
        return answers

    answers = asyncio.run(main())

    assert answers[0] == b"404"
    assert answers.count(b"429") > 100
