"""Agents that are stopped and started again, over real HTTP."""

import asyncio

import msgspec
import pytest

from agentleague.errors import LeagueError
from agentleague.player import strategies
from agentleague.protocol.messages import Receipt
from agentleague.roles.settings import ManagerSettings, PlayerSettings, RefereeSettings
from agentleague.runtime import processes
from agentleague.runtime.managers import Home, open_manager
from agentleague.runtime.processes import Place, open_player, open_referee
from agentleague.runtime.state_files import Whose, open_state
from commands import free_port
from crash.cup import until
from rules import rule

pytestmark = pytest.mark.thorough  # Retries and probes wait for seconds.
HOSTS = ("127.0.0.1",)


def anywhere():
    return Place(0, hosts=HOSTS)


def settings_of(kind, manager, **more):
    own = {"manager_url": manager.url, "display_name": "Ann", **more}
    return lambda url: kind(endpoint=url, **own)


async def opened(kind, manager, directory):
    """An agent with a state file of its own, once it is registered; and what to close."""
    whose = Whose(manager.url, kind, "Ann", 0)
    state = open_state(directory / "state", whose)
    if kind == "player":
        make = settings_of(PlayerSettings, manager)
        agent = await open_player(make, strategies.random, anywhere(), state=state)
    else:
        make = settings_of(RefereeSettings, manager)
        agent = await open_referee(make, anywhere(), state=state)
    await asyncio.wait_for(agent.registered, 20)
    return agent, state


async def closed(agent, state):
    await agent.stop()
    state.close()


@rule("R-REG-13")
@pytest.mark.parametrize(("kind", "agent_id"), [("player", "P01"), ("referee", "REF01")])
def test_an_agent_that_is_started_again_is_the_same_at_another_end_point(tmp_path, kind, agent_id):
    async def main():
        settings = ManagerSettings(league_id="league_x")
        manager = await open_manager(settings, Home(tmp_path), anywhere())
        roster = manager.host.role.league.roster
        seen = []
        for _ in range(3):
            agent, state = await opened(kind, manager, tmp_path)
            member = {**roster.players, **roster.referees}[agent.registered.result()]
            assert member.endpoint == agent.url
            seen.append((member.agent_id, member.generation))
            await closed(agent, state)
        first, second = await opened(kind, manager, tmp_path), await opened(kind, manager, tmp_path)
        both = [first[0].registered.result(), second[0].registered.result()]
        await closed(*first)
        await closed(*second)
        await manager.stop()
        return seen, both

    seen, both = asyncio.run(main())

    assert seen == [(agent_id, 1), (agent_id, 2), (agent_id, 3)]
    assert both == [agent_id, agent_id[:-1] + "2"]  # A second process is another agent.


@rule("R-REG-13")
def test_a_new_league_at_the_same_address_takes_it_as_a_new_player(tmp_path):
    async def main():
        ids = []
        port = 0
        for name in ("league_x", "league_y"):
            place = Place(port, hosts=HOSTS, moves_on=False)
            manager = await open_manager(
                ManagerSettings(league_id=name), Home(tmp_path / name), place
            )
            port = int(manager.url.split(":")[2].split("/")[0])
            agent, state = await opened("player", manager, tmp_path)
            ids.append((agent.registered.result(), agent.host.role.state.league_id))
            await closed(agent, state)
            await manager.stop()
        return ids

    assert asyncio.run(main()) == [("P01", "league_x"), ("P01", "league_y")]


@rule("R-REG-13")
def test_a_referee_that_is_refused_when_it_comes_back_ends_with_the_reason(tmp_path):
    async def main():
        place = Place(free_port(), hosts=HOSTS, moves_on=False)
        before = ManagerSettings(league_id="league_x", lease_seconds=0.3)
        manager = await open_manager(before, Home(tmp_path / "x"), place)
        referee, state = await opened("referee", manager, tmp_path)
        said = []
        referee.tell(said.append)
        await manager.stop()
        after = ManagerSettings(league_id="league_y", join_code="sesame")
        other = await open_manager(after, Home(tmp_path / "y"), place)
        try:
            await asyncio.wait_for(referee.ended, 20)
            with pytest.raises(LeagueError, match=r"refused to register the agent: .*join.code"):
                referee.check()
        finally:
            await closed(referee, state)
            await other.stop()
        return [sentence for sentence in said if "Registered" in sentence]

    assert len(asyncio.run(main())) == 1  # at the first manager


def heard_by(running, *words):
    """What it says, each sentence with one of these words once; to be waited for."""
    loop = asyncio.get_running_loop()
    futures = {word: loop.create_future() for word in words}

    def say(sentence):
        for word, future in futures.items():
            if word in sentence and not future.done():
                future.set_result(sentence)

    running.tell(say)
    return lambda word: asyncio.wait_for(futures[word], 20)


@rule("R-REG-12", "R-REG-14")
def test_organiser_and_agent_are_told_when_it_cannot_be_reached_and_when_it_can(tmp_path):
    async def main():
        settings = ManagerSettings(league_id="league_x")
        manager = await open_manager(settings, Home(tmp_path), anywhere())
        manager.probes.seconds = manager.probes.again_seconds = 0.01
        organiser = heard_by(manager, "is not reachable", "is reachable now")
        nowhere = Place(0, hosts=HOSTS, endpoint=f"http://127.0.0.1:{free_port()}/mcp")
        make = settings_of(PlayerSettings, manager, outbound=False)
        agent = await open_player(make, strategies.random, nowhere)
        author = heard_by(agent, "cannot reach it", "can reach it")
        assert nowhere.endpoint in await organiser("is not reachable")
        assert f"cannot reach it at {nowhere.endpoint}" in await author("cannot reach it")
        assert manager.host.role.reachability.known == {"P01": False}

        port = int(nowhere.endpoint.split(":")[2].split("/")[0])
        server = await asyncio.start_server(
            lambda reader, writer: writer.close(), "127.0.0.1", port
        )
        assert nowhere.endpoint in await organiser("is reachable now")
        assert f"can reach it at {nowhere.endpoint}." in await author("can reach it")
        server.close()
        await server.wait_closed()
        await agent.stop()
        await manager.stop()

    asyncio.run(main())


@rule("R-REG-18", "R-REG-19")
@pytest.mark.parametrize("rejections", ["result", "error"])
def test_an_agent_where_nobody_listens_is_refused_while_others_are_let_in(tmp_path, rejections):
    async def main():
        terms = {"unreachable": "refuse", "rejections": rejections}
        manager = await open_manager(ManagerSettings(**terms), Home(tmp_path), anywhere())
        manager.looks.seconds = 0.2
        nowhere = Place(0, hosts=HOSTS, endpoint=f"http://127.0.0.1:{free_port()}/mcp")
        make = settings_of(PlayerSettings, manager, outbound=False)
        lost = await open_player(make, strategies.random, nowhere)
        referee, state = await opened("referee", manager, tmp_path)
        await asyncio.wait_for(lost.ended, 20)
        assert f"nobody listens at {nowhere.endpoint}" in lost.refusal
        assert referee.registered.result() == "REF01"
        await lost.stop()
        await closed(referee, state)
        await manager.stop()

    asyncio.run(main())


@rule("R-RESUME-04")
def test_a_new_receipt_is_kept_while_the_agent_runs_and_when_it_stops(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "KEEP_SECONDS", 0.01)

    async def main():
        manager = await open_manager(ManagerSettings(), Home(tmp_path / "cup"), anywhere())
        agent, state = await opened("player", manager, tmp_path)
        keep = agent.host.role._registration.keep
        keep(Receipt(41, "ab" * 32, seal="cd" * 20))
        await asyncio.to_thread(until, lambda: state.agent.receipt, "it is kept")
        keep(Receipt(42, "ab" * 32, seal="cd" * 20))
        await closed(agent, state)
        await manager.stop()

    asyncio.run(main())

    (path,) = (tmp_path / "state").glob("*.json")
    kept = msgspec.json.decode(path.read_bytes())
    assert (kept["receipt"]["seq"], kept["agent_id"]) == (42, "P01")


def test_a_receipt_that_cannot_be_kept_is_said_once(tmp_path, monkeypatch):
    monkeypatch.setattr(processes, "KEEP_SECONDS", 0.01)

    async def main():
        manager = await open_manager(ManagerSettings(), Home(tmp_path / "cup"), anywhere())
        agent, state = await opened("player", manager, tmp_path)
        role = agent.host.role
        (tmp_path / "state").rename(tmp_path / "gone")
        role._registration.keep(Receipt(41, "ab" * 32, seal="cd" * 20))
        await asyncio.to_thread(
            until, lambda: any("receipt cannot" in said for said in [*role.news]), "it is said"
        )
        await closed(agent, state)
        await manager.stop()
        return role.news

    assert sum("cannot be kept" in said for said in asyncio.run(main())) == 1
