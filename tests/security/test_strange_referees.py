"""Anybody can be twenty referees: what that gains them."""

import asyncio

from msgspec import UNSET

from agentleague.protocol.messages import RefereeMeta, RefereeRegisterRequest
from agentleague.roles.settings import ManagerSettings
from agentleague.roles.stimuli import Caller
from agentleague.runtime.processes import Home, open_manager
from hostile.contest import place
from rules import rule


@rule("R-ACCESS-01")
def test_a_manager_of_one_machine_takes_its_referees_from_there_alone(tmp_path):
    """Whatever addresses it listens on, and whatever end point they say."""

    async def registered():
        manager = await open_manager(ManagerSettings(league_id="cup"), Home(tmp_path), place())
        try:
            return [await answer(manager, source) for source in ("127.0.0.1", "192.168.1.57")]
        finally:
            await manager.stop()

    here, away = asyncio.run(registered())

    assert (here.status, here.waiting) == ("ACCEPTED", UNSET)
    assert (away.status, away.error_code) == ("REJECTED", "E043")


async def answer(manager, source):
    """To a registration that comes from there."""
    said = asyncio.get_running_loop().create_future()
    request = RefereeRegisterRequest(RefereeMeta("Ref", "http://127.0.0.1:9/mcp"))
    manager.host._on_ask(request, Caller(source), lambda *given: said.set_result(given[0]))
    return await asyncio.wait_for(said, 60)
