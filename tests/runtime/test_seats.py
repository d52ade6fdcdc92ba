"""A seat at a real manager: registered, opened, polled and called over HTTP."""

import asyncio
import json
from functools import partial

from click.testing import CliRunner

from agentleague.cli.app import app
from agentleague.player import strategies
from agentleague.records.shared_files import keep_files
from agentleague.roles.settings import ManagerSettings, PlayerSettings
from agentleague.runtime.managers import Home, open_manager
from agentleague.runtime.processes import Place, open_player
from agentleague.runtime.state_files import Whose, open_state
from rules import rule

PLACE = Place(0, hosts=("127.0.0.1",))
SETTINGS = ManagerSettings(league_id="league_x")


async def post(url, path, body, token=""):
    """The status and what was answered."""
    host, _, port = url.removeprefix("http://").partition("/")[0].partition(":")
    reader, writer = await asyncio.open_connection(host, int(port))
    text = json.dumps(body).encode()
    bearer = f"Authorization: Bearer {token}\r\n" if token else ""
    head = f"POST {path} HTTP/1.1\r\nHost: {host}\r\n{bearer}Content-Length: {len(text)}\r\n"
    writer.write(
        head.encode() + b"Content-Type: application/json\r\nConnection: close\r\n\r\n" + text
    )
    answer = await reader.read()
    writer.close()
    top, _, said = answer.partition(b"\r\n\r\n")
    return int(top.split()[1]), json.loads(said)


def registration(name, **meta):
    own = {"display_name": name, "contact_endpoint": "", "version": "1.0.0", "seat": True, **meta}
    params = {
        "protocol": "league.v2",
        "message_type": "LEAGUE_REGISTER_REQUEST",
        "sender": f"player:{name}",
        "player_meta": own,
    }
    return {"jsonrpc": "2.0", "method": "register_player", "params": params, "id": 1}


def invitation(token):
    params = {"message_type": "GAME_INVITATION", "match_id": "R1M1", "auth_token": token}
    return {"jsonrpc": "2.0", "method": "handle_game_invitation", "params": params, "id": 1}


@rule("R-SEAT-11", "R-SEAT-13", "R-SEAT-14")
def test_a_player_without_an_end_point_registers_and_only_its_token_opens_its_seat(tmp_path):
    async def main():
        files = partial(keep_files, "")
        manager = await open_manager(SETTINGS, Home(tmp_path, files=files), PLACE)
        _, ann = await post(manager.url, "/mcp", registration("Ann"))
        _, bob = await post(manager.url, "/mcp", registration("Bob"))
        token, other = ann["result"]["auth_token"], bob["result"]["auth_token"]
        opened = await post(manager.url, "/seats/P01/open", {}, token)
        refused = await post(manager.url, "/seats/P01/open", {}, other)
        called = await post(manager.url, "/seats/P01/mcp", invitation(other))
        shown = await asyncio.to_thread(commands, tmp_path)
        await manager.stop()
        return manager.url, ann["result"], opened, refused, called, shown

    url, ann, opened, refused, called, shown = asyncio.run(main())

    assert (ann["player_id"], ann["seat"], ann["seats"]) == ("P01", "/seats/P01", True)
    assert opened[0] == 200
    assert (refused[0], called[0]) == (403, 403)
    seat = url.replace("/mcp", "/seats/P01/mcp")
    assert "at a seat" in shown[0]
    assert seat in shown[1]
    assert "fetches its calls" in shown[1]
    kept = json.loads((tmp_path / "shared/config/agents/agents_config.json").read_text())
    assert kept["players"][0]["contact_endpoint"] == seat


def commands(directory):
    """What the organiser sees of the players."""
    runner, where = CliRunner(), ["--dir", str(directory)]
    results = [runner.invoke(app, [*words, *where]) for words in (["agents"], ["agent", "P01"])]
    return [result.output for result in results]


@rule("R-SEAT-12")
def test_a_seat_outlives_its_manager_which_may_be_elsewhere_then(tmp_path):
    async def main():
        first = await open_manager(SETTINGS, Home(tmp_path), PLACE)
        _, ann = await post(first.url, "/mcp", registration("Ann", claim="hers"))
        await first.stop()
        second = await open_manager(SETTINGS, Home(tmp_path), PLACE)
        token = ann["result"]["auth_token"]
        opened = await post(second.url, "/seats/P01/open", {}, token)
        role = second.host.role
        where, tried = role.league.url_of("P01"), list(role.reachability.unchecked)
        await second.stop()
        return second.url, where, opened[0], tried

    url, where, status, tried = asyncio.run(main())

    assert (where, status, tried) == (url.replace("/mcp", "/seats/P01/mcp"), 200, [])


def test_a_player_that_is_killed_before_it_hears_its_id_is_the_same_when_it_comes_back(tmp_path):
    whose = Whose("http://127.0.0.1:8000/mcp", "player", "Ann", 0)

    async def claim_of_a_run(manager, heard):
        state = open_state(tmp_path / "state", whose)
        settings = PlayerSettings(display_name="Ann", manager_url=manager.url, outbound=True)
        player = await open_player(lambda url: settings, strategies.random, PLACE, state=state)
        await asyncio.wait_for(heard(player), 10)
        await player.stop()
        state.close()
        return state.agent.claim

    async def main():
        manager = await open_manager(SETTINGS, Home(tmp_path / "league"), PLACE)
        first = await claim_of_a_run(manager, lambda player: asyncio.sleep(0))  # Not even asked.
        second = await claim_of_a_run(manager, lambda player: player.registered)
        await manager.stop()
        return first, second, len(manager.host.role.league.roster.players)

    first, second, players = asyncio.run(main())

    assert first
    assert (first, players) == (second, 1)
