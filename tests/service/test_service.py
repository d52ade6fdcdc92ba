"""A service of several leagues: who is served where, and by which worker."""

import asyncio
from contextlib import closing

import pytest

from agentleague.service.forwarding import PATH
from agentleague.service.leagues import LOOK_SECONDS
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.kept import MOVED, log_path, write_kept
from agentleague.storage.postgres_leagues import PostgresLeagues
from commands import free_port
from service.service_run import (
    SEATED,
    a_service,
    agents_of,
    ask,
    ask_now,
    ended,
    make,
    organiser,
    sql,
    until,
    verified,
)

PLAYED = {"players": 4, "standings_seconds": 0.1}
QUERY = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "league_query",
    "params": {
        "protocol": "league.v2",
        "message_type": "LEAGUE_QUERY",
        "sender": "player:P01",
        "timestamp": "2025-01-01T00:00:00Z",
        "conversation_id": "c",
        "query_type": "GET_STATUS",
    },
}


async def answered(url, status):
    """What comes to a question once it is answered with this status: workers look now and then."""
    async with asyncio.timeout(30):
        while True:
            got, told = await ask(url, "POST", "", QUERY)
            if got == status:
                return told


def owner_of(database, league):
    found = sql(
        database,
        "SELECT owner FROM agentleague.owners WHERE league_id = %s"
        " AND lease_until > clock_timestamp()",
        league["league_id"],
    )
    return found[0][0] if found else ""


def test_three_leagues_on_two_workers_are_played_by_agents_who_only_call_out(database):
    async def main():
        key = organiser(database, "ann")
        async with a_service(database) as service:
            made = [await make(service, key, **PLAYED) for _ in range(3)]
            agents = [each for league in made for each in await agents_of(league, 4, place=SEATED)]
            await ended(agents)
            owners = {owner_of(database, league) for league in made}
            metrics = [await ask(f"{service.url}/metrics") for _ in range(20)]
            own = [await ask(f"{service.url}/leagues/{each['league_id']}/metrics") for each in made]
        return made, owners, "".join(text for _, text in metrics), own

    made, owners, metrics, own = asyncio.run(main())

    assert len(owners) == 2
    for league in made:
        found = verified(database, league["league_id"])
        assert (found.complete, found.recomputed, found.forfeited) == (True, 6, 0)
        log = log_path(DatabaseUrl.parse(database).of(league["league_id"])).read_text()
        assert log.count("match_decided") == 6
    for _, text in own:  # Also of what other workers sent on.
        found = text.partition('agentleague_http_requests_total{status="200"} ')[2].split()
        assert int(found[0]) > 20
    assert 'agentleague_service_leagues{state="open"} 3' in metrics
    assert "agentleague_service_workers 2" in metrics
    sent_on = {line for line in metrics.splitlines() if line.startswith("agentleague_service_forw")}
    assert any(int(line.split()[1]) > 0 for line in sent_on)


def test_an_organiser_sees_and_changes_own_leagues_alone(database):
    async def main():
        ann, bob = organiser(database, "ann"), organiser(database, "bob")
        async with a_service(database, leagues_max=1) as service:
            league = await make(service, ann, players=2)
            await answered(league["url"], 200)
            url = f"{service.url}/leagues/{league['league_id']}"
            assert (await ask(f"{service.url}/leagues", key=bob))[1] == {"leagues": []}
            for action in ("", "/codes", "/start", "/pause", "/archive", "/abort"):
                method = "POST" if action not in ("", "/codes") else "GET"
                assert (await ask(url + action, method, bob, {}))[0] == 404
                assert (await ask(url + action, method, "org_eve", {}))[0] == 401
                assert (await ask(url + action, method, "", {}))[0] == 401
            command = {**QUERY["params"], "message_type": "LEAGUE_COMMAND", "command": "abort"}
            for key in (bob, "org_eve", ""):  # Nor as the admin token of the league.
                sent = {**QUERY, "method": "league_command", "params": command}
                sent["params"] = {**command, "auth_token": key} if key else command
                assert "error" in (await ask(league["url"], "POST", "", sent))[1]
            status, told = await ask(f"{service.url}/leagues", "POST", ann, {})
            assert (status, "archive one first" in told["error"]) == (409, True)
            for words, code, why in (
                (("POST", "/start"), 409, "two players"),
                (("POST", "/remove"), 400, "player_id"),
                (("POST", "/dance"), 404, "there are start, pause"),
                (("DELETE", ""), 405, "send a GET"),
            ):
                status, told = await ask(url + words[1], words[0], ann, {})
                assert (status, why in told["error"]) == (code, True), told
            codes = {name: league[name] for name in ("join_code", "referee_code")}
            assert (await ask(f"{url}/codes", key=ann))[1] == codes
            sent = {**QUERY, "params": {**QUERY["params"], "auth_token": ann}}
            assert (await ask(league["url"], "POST", "", sent))[1]["result"]["success"]
            assert (await ask(f"{url}/archive", "POST", ann, {}))[1]["state"] == "archived"
            await answered(league["url"], 404)
            assert "reopen" in (await ask(f"{url}/start", "POST", ann, {}))[1]["error"]
            second = await make(service, ann)
            assert (await ask(f"{url}/reopen", "POST", ann, {}))[0] == 409
            other = f"{service.url}/leagues/{second['league_id']}"
            await answered(f"{other}/mcp", 200)
            assert (await ask(f"{other}/archive", "POST", ann, {}))[0] == 200
            assert (await ask(f"{url}/reopen", "POST", ann, {}))[1]["state"] == "open"
            await answered(league["url"], 200)
            assert (await ask(f"{url}/abort", "POST", ann, {}))[0] == 200
            phase = "SELECT phase FROM agentleague.leagues ORDER BY created"
            await until(lambda: sql(database, phase)[0] == ("ABORTED",))
            # A key counts at once, and who is given a league has it alone.
            cid = organiser(database, "cid")
            assert (await ask(f"{service.url}/leagues", key=cid)) == (200, {"leagues": []})
            with closing(PostgresLeagues(DatabaseUrl.parse(database))) as table:
                table.give(league["league_id"], "cid")
            (own,) = (await ask(f"{service.url}/leagues", key=cid))[1]["leagues"]
            assert (own["league_id"], own["phase"]) == (league["league_id"], "ABORTED")
            await until(lambda: "error" in ask_now(league["url"], "POST", "", sent, "")[1])

    asyncio.run(main())


REFUSED = [
    ({"players": "4"}, "players must be a whole number"),
    ({"cycels": 4}, "did you mean 'cycles'?"),
    ({"port": 80}, "port is set for all leagues of this service"),
    ({"shared_dir": "/etc"}, "shared_dir is set for all"),
    ({"network": "lan"}, "network is set for all"),
    ({"game_type": "./evil.py"}, "game_type cannot be: no game './evil.py' is installed"),
    ({"game_options": {"best_of": -1}}, "game_options cannot be"),
    ({"players_max": 5_000}, "players_max may be 1000 at most"),
    ({"players": 2_000}, "players is 2000, and players_max is 1000"),
    ({"join_code": "1234"}, "join_code can be guessed"),
    ({"league_id": "../x"}, "league_id must be"),
    ({"league_id": "cup\n"}, "league_id must be"),
    ([], "send the settings as a JSON object"),
]


def test_settings_that_cannot_be_are_refused_by_name_and_leave_nothing(database):
    async def main():
        key = organiser(database, "ann")
        async with a_service(database, workers=1) as service:
            for settings, why in REFUSED:
                status, told = await ask(f"{service.url}/leagues", "POST", key, settings)
                assert (status, why in told["error"]) == (400, True), told
            first = await make(service, key, league_id="cup", players=2)
            status, told = await ask(f"{service.url}/leagues", "POST", key, {"league_id": "cup"})
            assert (status, "is taken" in told["error"]) == (409, True)
            assert first["url"] == f"{service.url}/leagues/cup/mcp"
            assert (await ask(f"{service.url}/leagues", "PUT", key))[0] == 405

    asyncio.run(main())

    assert sql(database, "SELECT league_id FROM agentleague.leagues") == [("cup",)]


def test_agents_that_know_no_path_reach_the_only_league_or_are_told_how_it_looks(database):
    async def main():
        key = organiser(database, "ann")
        async with a_service(database, workers=1) as service:
            one = await make(service, key, players=2, **{"cycles": 1})
            await answered(f"{service.url}/mcp", 200)
            agents = await agents_of({**one, "url": f"{service.url}/mcp"}, 2, place=SEATED)
            await ended(agents)
            await make(service, key, players=2)
            told = await answered(f"{service.url}/mcp", 404)
            assert "/leagues/LEAGUE_ID/mcp" in str(told)
            assert one["league_id"] not in str(told)
            unknown = f"{service.url}/leagues/none/mcp"
            assert (await ask(unknown, "POST", "", QUERY))[0] == 404
            assert (await ask(f"{service.url}/health"))[1]["status"] == "ok"
            found = await ask(f"{service.url}/leagues/{one['league_id']}/health")
            assert found[1]["league_id"] == one["league_id"]

    asyncio.run(main())


def test_a_request_that_is_sent_on_keeps_its_source_and_nobody_else_can_send_one_on(database):
    async def main():
        key = organiser(database, "ann")
        async with a_service(database) as service:
            league = await make(service, key, players=8, join_code="")
            await answered(league["url"], 200)
            for number in range(12):  # Whichever worker takes it.
                register = {
                    "message_type": "LEAGUE_REGISTER_REQUEST",
                    "player_meta": {
                        "display_name": f"Far {number}",
                        "version": "1",
                        "game_types": ["even_odd"],
                        "contact_endpoint": f"http://127.0.0.2:{free_port()}/mcp",
                    },
                }
                params = {**QUERY["params"], **register}
                sent = {**QUERY, "method": "register_player", "params": params}
                await ask(league["url"], "POST", "", sent, source="127.0.0.2")
            assert (await ask(f"{service.url}{PATH}", "POST", "", {}))[0] == 404
            inner = sql(database, "SELECT address FROM agentleague.workers")[0][0].partition("#")[0]
            assert (await ask(f"{inner}{PATH}", "POST", "", {}))[0] == 403
        return league

    league = asyncio.run(main())

    rows = sql(
        database,
        "SELECT body FROM agentleague.rows WHERE kind = 'player_registered' AND league_id = %s",
        league["league_id"],
    )
    assert rows
    assert all(
        b"127.0.0.2" in bytes(body) and b'"127.0.0.1"' not in bytes(body) for (body,) in rows
    )


def test_a_league_that_cannot_be_opened_is_shown_as_failed_and_disturbs_no_other(database):
    async def main():
        key = organiser(database, "ann")
        async with a_service(database, workers=1) as service:
            bad, gone, good = [await make(service, key, players=4) for _ in range(3)]
            for league in (bad, gone, good):
                await answered(league["url"], 200)
        sql(
            database,
            "UPDATE agentleague.rows SET body = body || ' ' WHERE league_id = %s",
            bad["league_id"],
        )
        moved = DatabaseUrl.parse(database).of(gone["league_id"])
        await asyncio.to_thread(write_kept, moved, MOVED, b"./cup")
        async with a_service(database, workers=1) as service:
            for league, why in ((bad, "not what was written"), (gone, "was moved to ./cup")):
                url = f"{service.url}/leagues/{league['league_id']}"

                def reason(of=url):
                    return ask_now(of, "GET", key, None, "")[1].get("reason", "")

                await until(lambda: why in reason())  # noqa: B023
                assert "postgresql:" not in await asyncio.to_thread(reason)
                assert (await ask(f"{url}/mcp", "POST", "", QUERY))[0] == 503
            own = {**good, "url": f"{service.url}/leagues/{good['league_id']}/mcp"}
            await ended(await agents_of(own, 4, place=SEATED))

    asyncio.run(main())


def test_an_owner_that_was_fenced_out_closes_the_league_and_may_take_it_again(database):
    async def main():
        key = organiser(database, "ann")
        async with a_service(database, workers=1, takeover_seconds=3) as service:
            league = await make(service, key, players=2)
            await until(lambda: owner_of(database, league))
            own = owner_of(database, league)
            sql(
                database,
                "UPDATE agentleague.owners SET owner = 'other', epoch = epoch + 1,"
                " lease_until = clock_timestamp() + interval '2 s'",
            )
            await until(lambda: owner_of(database, league) == own)
            await ended(await agents_of(league, 2, place=SEATED))
        return league

    league = asyncio.run(main())

    assert verified(database, league["league_id"]).complete


def test_a_worker_that_is_stopped_hands_its_leagues_to_another_at_once(database, caplog):
    async def main():
        key = organiser(database, "ann")
        async with a_service(database, takeover_seconds=60) as service:  # No lease runs out.
            made = [await make(service, key, cycles=30, **PLAYED) for _ in range(2)]
            agents = [each for league in made for each in await agents_of(league, 4, place=SEATED)]
            rows = "SELECT count(*) FROM agentleague.rows WHERE kind = 'match_decided'"
            await until(lambda: sql(database, rows)[0][0] > 20)
            await service.stop()
            await ended(agents)
        return made

    for league in asyncio.run(main()):
        assert verified(database, league["league_id"]).complete
    assert caplog.text.count("goes on here; another worker had it") == 1


@pytest.mark.thorough
def test_a_database_that_is_stopped_and_started_costs_no_league_anything(own_postgres):
    server = own_postgres()
    database = server.url("postgres", user="postgres")

    async def main():
        key = organiser(database, "ann")
        async with a_service(database) as service:
            made = [await make(service, key, cycles=20, **PLAYED) for _ in range(2)]
            agents = [each for league in made for each in await agents_of(league, 4, place=SEATED)]
            rows = "SELECT count(*) FROM agentleague.rows WHERE kind = 'match_decided'"
            await until(lambda: sql(database, rows)[0][0] > 20)
            await asyncio.to_thread(server.stop)
            status, told = await ask(f"{service.url}/leagues", key=key)
            assert (status, told["error"]) == (
                503,
                "the database of this service is away; try again in a second",
            )
            await asyncio.to_thread(server.start)
            await ended(agents)
        return made

    for league in asyncio.run(main()):
        found = verified(database, league["league_id"])
        assert (found.complete, found.forfeited) == (True, 0)


def test_a_database_without_connections_for_a_while_ends_no_league(database, postgres):
    async def main():
        key = organiser(database, "ann")
        async with a_service(database, workers=1, takeover_seconds=3) as service:
            league = await make(service, key, players=2)
            await until(lambda: owner_of(database, league))
            take = "UPDATE agentleague.owners SET owner = 'other', epoch = epoch + 1, lease_until ="
            name = database.rpartition("/")[2]
            postgres.execute(f"{take} clock_timestamp() + interval '2 s'", name)
            postgres.execute(f"ALTER DATABASE {name} CONNECTION LIMIT 1")
            await asyncio.sleep(2 + 5 * LOOK_SECONDS)  # It is free, and cannot be opened.
            status, told = await ask(f"{service.url}/leagues", "POST", key, {"league_id": "cup"})
            assert (status, "away" in told["error"]) == (503, True)
            assert "postgresql://" not in told["error"]
            postgres.execute(f"ALTER DATABASE {name} CONNECTION LIMIT -1")
            await make(service, key, league_id="cup")  # The name is not taken by what failed.
            await ended(await agents_of(league, 2, place=SEATED))

    asyncio.run(main())


def test_a_league_that_nothing_foresaw_is_shown_as_failed_and_owned_by_nobody(database):
    async def main():
        key = organiser(database, "ann")
        async with a_service(database, workers=1) as service:
            league = await make(service, key)
            await answered(league["url"], 200)
        at = DatabaseUrl.parse(database).of(league["league_id"])
        write_kept(at, "service.settings", b"[1]")
        async with a_service(database, workers=1) as service:
            url = f"{service.url}/leagues/{league['league_id']}"
            await until(lambda: ask_now(url, "GET", key, None, "")[1].get("state") == "failed")
            assert not owner_of(database, league)

    asyncio.run(main())


def test_a_request_that_nothing_foresaw_is_answered(database, monkeypatch):
    def fail(*about):
        raise RuntimeError("a fault")

    monkeypatch.setattr(PostgresLeagues, "create", fail)

    async def main():
        key = organiser(database, "ann")
        async with a_service(database, workers=1) as service:
            return await ask(f"{service.url}/leagues", "POST", key, {})

    status, told = asyncio.run(main())

    assert status == 500
    assert "a fault of the service" in told["error"]
