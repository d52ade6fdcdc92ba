"""Plays a real league over loopback: manager, referee and good players, hostile ones elsewhere."""

import asyncio
import sys
from pathlib import Path
from typing import NamedTuple

from agentleague.league.events import MatchClosed, MatchDecided, RoundScheduled, read_event
from agentleague.roles.settings import ManagerSettings, PlayerSettings, RefereeSettings
from agentleague.runtime.managers import Home, open_manager
from agentleague.runtime.processes import Place, open_player, open_referee
from agentleague.storage.directory import open_reader

HOSTILE_PLAYERS = Path(__file__).with_name("players.py")
HOSTS = ("127.0.0.1",)
LEAGUE = "league_hostile"
SECONDS = 120  # within which a league must have ended, on however slow a machine
RULES = {  # Time enough for any answer on a slow machine; tests of silence take less.
    "join_seconds": 10.0,
    "move_seconds": 10.0,
    "game_over_seconds": 0.3,
    "reply_seconds": 0.5,
    "retries": 2,
    "join_retries": 2,
    "retry_delay_seconds": 0.05,
}


class Contest(NamedTuple):
    """What became of a league: its events, its table, and who behaved how."""

    events: list
    rows: dict  # player id -> row of the table
    bad: dict  # player id -> behaviour

    def decided(self):
        return [event for event in self.events if isinstance(event, MatchDecided)]

    def verdicts(self, player_id):
        """What the referee noted of a player's attempts, in order."""
        closed = [event for event in self.events if isinstance(event, MatchClosed)]
        lines = [line for event in closed for line in event.exchanges]
        return [line.verdict for line in lines if line.player_id == player_id]

    def pairs(self):
        """Match id -> its two players."""
        rounds = [event for event in self.events if isinstance(event, RoundScheduled)]
        matches = [match for scheduled in rounds for match in scheduled.matches]
        return {match.match_id: {match.player_a, match.player_b} for match in matches}


AT_ONCE = 5  # leagues


async def contests(directory, behaviours):
    """A league against each of them, by its rules, some at a time; what became of each."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(number, behaviour, rules):
        async with turns:
            return await contest(directory / str(number), [behaviour], **rules)

    games = [one(number, *each) for number, each in enumerate(behaviours.items())]
    return dict(zip(behaviours, await asyncio.gather(*games), strict=True))


async def contest(directory, behaviours, *, good=1, comes_back=False, **rules):
    """Play a league of good players and bad ones to its end."""
    players = good + len(behaviours)
    settings = ManagerSettings(league_id=LEAGUE, players=players, **{**RULES, **rules})
    agents, hostile_players = [], []
    manager = await open_manager(settings, Home(directory), place())
    try:
        agents.append(await open_referee(lambda url: referee(manager.url, url), place()))
        for number in range(good):
            agents.append(await good_player(manager.url, number))
        for agent in agents:
            await agent.registered
        for behaviour in behaviours:
            keeper = Keeper(behaviour, comes_back)
            hostile_players.append(keeper)
            await keeper.release(manager.url)
        await asyncio.wait_for(_end_of(manager), SECONDS)
    finally:
        for keeper in hostile_players:
            await keeper.stop()
        for agent in (*agents, manager):
            await agent.stop()
    table = manager.host.role.league.table.rows()
    events = [
        read_event(row.kind, row.version, row.body) for row in open_reader(directory).read(LEAGUE)
    ]
    rows = {row.player_id: row for row in table}
    names = {row.player_id: row.display_name for row in table}
    return Contest(events, rows, {p: name for p, name in names.items() if "@" in name})


def place():
    return Place(0, hosts=HOSTS)


def referee(manager_url, url):
    return RefereeSettings(manager_url=manager_url, display_name="Referee", endpoint=url)


async def good_player(manager_url, number):
    return await open_player(
        lambda url: PlayerSettings(
            manager_url=manager_url, display_name=f"Good {number + 1}", endpoint=url
        ),
        lambda turn: "even",
        place(),
    )


async def _end_of(manager):
    waits = [manager.ended, manager.failed]
    await asyncio.wait(waits, return_when=asyncio.FIRST_COMPLETED)
    if manager.failed.done():
        raise manager.failed.result()


class Keeper:
    """Keeps one process of hostile players running, and starts it again if it died."""

    def __init__(self, behaviour, comes_back):
        self._behaviour, self._comes_back = behaviour, comes_back
        self._process = self._watch = None

    async def release(self, manager_url):
        self._process = await self._run(manager_url, self._behaviour)
        port = int(await self._process.stdout.readline())
        if self._comes_back:
            self._watch = asyncio.ensure_future(self._bring_back(port))

    async def stop(self):
        if self._watch:
            self._watch.cancel()
        if self._process and self._process.returncode is None:
            self._process.kill()
        if self._process:
            await self._process.wait()

    async def _bring_back(self, port):
        await self._process.wait()
        self._process = await self._run("-", "well@all", str(port))

    async def _run(self, *arguments):
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-I",
            "-S",
            str(HOSTILE_PLAYERS),
            *arguments,
            stdout=asyncio.subprocess.PIPE,
        )
