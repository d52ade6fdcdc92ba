"""Anybody can be twenty referees: what that gains them."""

import asyncio

from msgspec import UNSET

from agentleague.errors import TokenInvalid
from agentleague.protocol.messages import LockRequest, RefereeMeta, RefereeRegisterRequest
from agentleague.roles.settings import ManagerSettings
from agentleague.roles.stimuli import Caller
from agentleague.runtime.managers import Home, open_manager
from hostile.contest import place
from manager.test_referee_access import CODE, ask, register
from memory_league import MemoryLeague
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
    manager.host.ask(request, Caller(source), lambda *given: said.set_result(given[0]))
    return await asyncio.wait_for(said, 60)


@rule("R-ACCESS-02")
def test_twenty_referees_of_a_stranger_take_no_match_from_anybody():
    """They register, and call everybody silent in each match, again and again."""
    league = MemoryLeague(4, 1, network="lan", referee_code=CODE)
    strangers = [register(league, url=f"http://10.0.0.9:{port}/mcp") for port in range(1, 21)]
    league.add_referee("Own", referee_code=CODE)
    for number in range(4):
        league.add_player(name=f"Player {number + 1}")
    refused = []
    while league.league.phase != "LEAGUE_COMPLETED":
        known = set(league.league.open_matches)
        league.run_until(lambda known=known: set(league.league.open_matches) != known)
        for stranger in strangers:
            for match_id in league.league.open_matches:
                lost = [(league.league.matches[match_id].players[0], "timeout")]
                lock = LockRequest(match_id, 1, 0, [], lost)
                refused.append(ask(league, lock, stranger.auth_token))

    assert len(refused) >= 20 * 6
    assert {type(each) for each in refused} == {TokenInvalid}
    assert sum(row.technical_losses for row in league.league.table.rows()) == 0
    assert all(file.referees == ["REF21"] for file in league.league.matches.values())
