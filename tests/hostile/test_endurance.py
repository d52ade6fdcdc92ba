"""Hostile players in great numbers: what they cost the referee, in memory and in time."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from agentleague.roles.settings import ManagerSettings
from agentleague.runtime.processes import Home, open_manager
from commands import BIN, first_line, started
from hostile.contest import HOSTILE_PLAYERS, LEAGUE, good_player, place

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
        pages = int(self._file("statm").split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")

    def cpu_seconds(self):
        fields = self._file("stat").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def _file(self, name):
        return Path(f"/proc/{self._process.pid}/{name}").read_text(encoding="ascii")


async def endure(directory, *, good, bad, look=lambda league, referee: None, **settings):
    """Play a league to its end, looking at it now and then; returns the referee's CPU seconds."""
    settings = ManagerSettings(league_id=LEAGUE, players=good + bad, **FAST, **settings)
    manager = await open_manager(settings, Home(directory), place())
    behaviours = [BEHAVIOURS[number % len(BEHAVIOURS)] for number in range(bad)]
    players, hostile_players = [], None
    try:
        referee = await asyncio.to_thread(Referee, manager.url)
        for number in range(good):
            players.append(await good_player(manager.url, number))
            await players[-1].registered
        began = referee.cpu_seconds()
        hostile_players = (
            await asyncio.create_subprocess_exec(
                sys.executable,
                "-I",
                "-S",
                str(HOSTILE_PLAYERS),
                manager.url,
                *behaviours,
                stdout=asyncio.subprocess.DEVNULL,
            )
            if bad
            else None
        )
        league = manager.host.role.league
        used = 0.0
        while not (manager.ended.done() or manager.failed.done()):
            look(league, referee)
            used = referee.cpu_seconds() - began
            await asyncio.wait([manager.ended, manager.failed], timeout=0.02)
        assert manager.ended.done(), manager.failed.result()
        return used
    finally:
        if hostile_players:
            hostile_players.kill()
            await hostile_players.wait()
        for agent in (*players, manager):
            await agent.stop()


@pytest.mark.slow
def test_two_thousand_hostile_matches_leave_the_referee_as_small_as_two_hundred(tmp_path):
    seen = {}

    def look(league, referee):
        for count in (200, 2000):
            if league.decided_total >= count and count not in seen:
                seen[count] = referee.bytes_resident()

    asyncio.run(endure(tmp_path, good=0, bad=64, look=look))  # 2,016 matches

    print(", ".join(f"{size / 2**20:.1f} MB after {count}" for count, size in seen.items()))
    assert seen[2000] - seen[200] <= GROWTH_MAX


@pytest.mark.slow
def test_hostile_neighbours_cost_a_good_match_this_much(tmp_path, capsys):
    good, cycles = 20, 4
    matches = good * (good - 1) // 2 * cycles
    for bad in (0, 10):
        cpu = asyncio.run(endure(tmp_path / str(bad), good=good, bad=bad, cycles=cycles))
        hostile = (good * bad + bad * (bad - 1) // 2) * cycles
        with capsys.disabled():
            print(
                f"\n{bad} hostile players: {cpu:.2f} s of the referee's processor for {matches} "
                f"good and {hostile} hostile matches, {1000 * cpu / matches:.2f} ms a good match"
            )
