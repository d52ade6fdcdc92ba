"""Plays a real league over loopback: manager, referee and one player here, the others elsewhere."""

import asyncio
import json
import sys
from pathlib import Path
from typing import NamedTuple

from agentleague.league.events import MatchDecided, read_event
from agentleague.records.verify import Findings, verify
from agentleague.roles.settings import ManagerSettings
from agentleague.roles.stimuli import Asked
from agentleague.runtime import plugins
from agentleague.runtime.clock import wall
from agentleague.runtime.manager_client import ManagerClient
from agentleague.runtime.managers import Home, open_manager
from agentleague.runtime.processes import open_referee
from agentleague.runtime.state_files import ADMIN_NAME
from agentleague.storage.directory import open_reader
from hostile.contest import good_player, place, referee

PLAYERS = Path(__file__).with_name("players.py")
REFEREES = Path(__file__).with_name("referees.py")
LEAGUE_ID = "league_foreign"
SECONDS = 240  # within which a league must have ended, on however slow a machine


class Played(NamedTuple):
    """What became of a league."""

    league: object
    events: list
    findings: Findings
    news: list

    def shapes(self):
        """Player id -> shape, of the players that are not ours."""
        players = self.league.roster.players.values()
        return {each.agent_id: each.display_name for each in players if "=" in each.display_name}

    def decided(self):
        return self.events_of(MatchDecided)

    def events_of(self, kind):
        return [event for event in self.events if isinstance(event, kind)]


async def play(directory, shapes, *, good=1, referees=(), ours=True, watch=None, **rules):
    """A league of these shapes and our own players, to its end, with these referees and ours.

    `watch` is called with each message that reaches one of our players, and the player's id.
    """
    settings = ManagerSettings(
        league_id=LEAGUE_ID,
        players=good + len(shapes),
        referees=len(referees) + ours,
        **{"move_seconds": 10.0, **rules},
    )
    agents, foreign_players, foreign_referees = [], None, None
    manager = await open_manager(settings, Home(directory), place())
    try:
        if ours:
            agents.append(await open_referee(lambda url: referee(manager.url, url), place()))
        if referees:
            known = json.dumps(names_of(shapes, good))
            foreign_referees = await start_agents(manager.url, known, *referees, program=REFEREES)
            await let_in_all_that_wait(manager, directory)
        for number in range(good):
            agents.append(await good_player(manager.url, number))
            if watch:
                watched(agents[-1].host, watch)
        for agent in agents:
            await agent.registered
        foreign_players = await start_agents(manager.url, *shapes)
        waits = [manager.ended, manager.failed]
        await asyncio.wait(waits, timeout=SECONDS, return_when=asyncio.FIRST_COMPLETED)
        assert manager.ended.done(), "the league did not end"
    finally:
        for process in filter(None, (foreign_players, foreign_referees)):
            process.kill()
            await process.wait()
        for agent in (*agents, manager):
            await agent.stop()
    rows = list(open_reader(directory).read(LEAGUE_ID))
    events = [read_event(row.kind, row.version, row.body) for row in rows]
    role = manager.host.role
    return Played(role.league, events, verify(rows, plugins.load_game), list(role.news))


def watched(host, watch):
    def watching(stimulus, effects):
        if isinstance(stimulus, Asked):
            watch(host.role.agent_id, stimulus.message)

    host.on_seen = watching


async def let_in_all_that_wait(manager, directory):
    """What the organiser does about referees that know no code."""
    client, key = ManagerClient(manager.url, wall), (directory / ADMIN_NAME).read_text().strip()
    for referee_id in list(manager.host.role.league.roster.waiting):
        await client.command("approve", {"referee_id": referee_id}, key)
    await client.close()


def names_of(shapes, good):
    """Player id -> name, in the order in which they will register."""
    names = [*(f"Good {number + 1}" for number in range(good)), *shapes]
    return {f"P{number:02}": name[:50] for number, name in enumerate(names, 1)}


async def start_agents(manager_url, *shapes, program=PLAYERS):
    """A process with these agents, all registered."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-I", "-S", str(program), manager_url, *shapes),
        stdout=asyncio.subprocess.PIPE,
    )
    while (line := await process.stdout.readline()).strip() != b"ready":
        assert line, "it died before it was ready"
    return process
