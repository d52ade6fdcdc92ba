"""Hostile players in great numbers: what they cost the referee in memory."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.managers import Home, open_manager
from commands import BIN, first_line, started
from hostile.contest import HOSTILE_PLAYERS, LEAGUE, place

FAST = {
    "join_seconds": 0.1,
    "move_seconds": 0.1,
    "game_over_seconds": 0.1,
    "reply_seconds": 5.0,
    "retries": 1,
    "join_retries": 1,
    "retry_delay_seconds": 0.01,
}
BEHAVIOURS = (
    "silent@join",
    "trickles@move",
    "closes@join",
    "endless_headers@move",
    "long_body@join",
    "zipped@move",
    "html@join",
    "breaks@move",
    "rpc_error@join",
    "accepted@move",
    "pushes@move",
    "other_match@move",
    'says="Even"@move',
    "corrects@move",
    "declines@join",
    "limits@move",
)
GROWTH_MAX = 5 * 1024 * 1024


class Referee:
    """A real referee process, looked at from outside."""

    def __init__(self, manager_url):
        self._process = started(
            BIN / "league", "referee", "--manager", manager_url, "--port", 23_000
        )
        first_line(self._process)

    def bytes_resident(self):
        pages = Path(f"/proc/{self._process.pid}/statm").read_text(encoding="ascii").split()[1]
        return int(pages) * os.sysconf("SC_PAGE_SIZE")


async def endure(directory, players, look):
    """Play a league of hostile players to its end, looking at it now and then."""
    settings = ManagerSettings(league_id=LEAGUE, players=players, **FAST)
    manager = await open_manager(settings, Home(directory), place())
    behaviours = [BEHAVIOURS[number % len(BEHAVIOURS)] for number in range(players)]
    hostile_players = None
    try:
        referee = await asyncio.to_thread(Referee, manager.url)
        command = (sys.executable, "-I", "-S", str(HOSTILE_PLAYERS), manager.url, *behaviours)
        hostile_players = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.DEVNULL
        )
        league = manager.host.role.league
        while not (manager.ended.done() or manager.failed.done()):
            look(league, referee)
            await asyncio.wait([manager.ended, manager.failed], timeout=0.02)
        assert manager.ended.done(), manager.failed.result()
    finally:
        if hostile_players:
            hostile_players.kill()
            await hostile_players.wait()
        await manager.stop()


@pytest.mark.slow
def test_two_thousand_hostile_matches_leave_the_referee_as_small_as_two_hundred(tmp_path):
    seen = {}

    def look(league, referee):
        for count in (200, 2000):
            if league.decided_total >= count and count not in seen:
                seen[count] = referee.bytes_resident()

    asyncio.run(endure(tmp_path, 64, look))  # 2,016 matches

    print(", ".join(f"{size / 2**20:.1f} MB after {count}" for count, size in seen.items()))
    assert seen[2000] - seen[200] <= GROWTH_MAX
