"""What `/health` says of an agent: what it is, of which league, and whether it takes messages."""

import asyncio
import json

from agentleague.roles.settings import ManagerSettings, PlayerSettings, RefereeSettings
from agentleague.runtime.managers import Home, open_manager
from agentleague.runtime.processes import Place, open_player, open_referee
from commands import free_port
from rules import rule

PLACE = Place(0, hosts=("127.0.0.1",))


async def health(url):
    """The status, the facts and whether it says when to ask again."""
    host, _, port = url.removeprefix("http://").removesuffix("/mcp").partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    writer.write(f"GET /health HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n".encode())
    head, _, body = (await reader.read()).partition(b"\r\n\r\n")
    writer.close()
    return int(head.split()[1]), json.loads(body), b"Retry-After" in head


@rule("R-HTTP-04")
def test_it_says_role_league_and_readiness_and_503_while_nothing_is_taken(tmp_path):
    async def main():
        settings = ManagerSettings(league_id="league_test")
        manager = await open_manager(settings, Home(tmp_path), PLACE)
        agents = [
            await open_player(
                lambda url: PlayerSettings(manager_url=manager.url, endpoint=url),
                lambda turn: "even",
                PLACE,
            ),
            await open_referee(
                lambda url: RefereeSettings(manager_url=manager.url, endpoint=url), PLACE
            ),
        ]
        for agent in agents:
            await agent.registered
        well = [await health(agent.url) for agent in (manager, *agents)]
        # Both end points are proved: nothing more is written.
        while manager.host._committed < 5:  # noqa: ASYNC110
            await asyncio.sleep(0.01)
        journal = manager.host._ledger.journal
        journal.state = "full"
        full = await health(manager.url)
        journal.state = "away"
        assert manager.transport.is_away()  # Who polls at a seat is sent away.
        away = await health(manager.url)
        journal.state = "ok"
        assert not manager.transport.is_away()
        manager.host.on_failure(OSError("no disk"))
        failed = await health(manager.url)
        for agent in (*agents, manager):
            await agent.stop()
        return well, full, away, failed

    well, full, away, failed = asyncio.run(main())

    ready = {"league_id": "league_test", "ready": True}
    assert well == [
        (200, {"status": "ok", "role": "manager", **ready}, False),
        (200, {"status": "ok", "role": "player", "agent_id": "P01", **ready}, False),
        (200, {"status": "ok", "role": "referee", "agent_id": "REF01", **ready}, False),
    ]
    not_ready = {"role": "manager", "league_id": "league_test", "ready": False}
    assert full == (503, {"status": "full", **not_ready}, True)
    assert away == (503, {"status": "away", **not_ready}, True)
    assert failed == (503, {"status": "failed", **not_ready}, True)


@rule("R-HTTP-04")
def test_an_agent_without_a_manager_lives_and_is_not_ready():
    async def main():
        player = await open_player(
            lambda url: PlayerSettings(manager_url=f"http://127.0.0.1:{free_port()}/mcp"),
            lambda turn: "even",
            PLACE,
        )
        found = await health(player.url)
        await player.stop()
        return found

    # A foreign manager may look before it registers it: so it is no error.
    facts = {"status": "ok", "role": "player", "agent_id": "", "league_id": "", "ready": False}
    assert asyncio.run(main()) == (200, facts, False)
