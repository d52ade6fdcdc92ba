"""Plays leagues of composed agents, and says who did not play.

python -m foreign.composed_league [--alone] [--shrink] ROLE FIRST END | singles | SHAPE …
Of managers (the third role) each has a league of its own, with our referee and our player.
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from agentleague.errors import LeagueError
from agentleague.league.events import MatchDecided, read_event
from agentleague.records.verify import verify
from agentleague.roles.settings import ManagerSettings, PlayerSettings
from agentleague.runtime import plugins
from agentleague.runtime.managers import Home, open_manager
from agentleague.runtime.processes import open_player, open_referee
from agentleague.storage.directory import open_reader
from foreign import composed
from foreign import test_our_referee_elsewhere as elsewhere
from hostile.contest import place, referee

HERE = Path(__file__)
MANAGERS = HERE.with_name("composed_managers.py")
LEAGUE_ID = "league_composed"
SECONDS = 600  # within which a league must have ended, on however slow a machine
AT_ONCE = 8  # leagues
RULES = {"move_seconds": 10.0, "retry_delay_seconds": 0.1, "referee_wait_seconds": 20.0}


async def play(directory, role, shapes, **rules):
    """A league of these and ours: shape -> why it did not play, of those that did not."""
    ours = 1 if role == "player" else 2 * len(shapes)
    players = ours + len(shapes) if role == "player" else ours
    referees = 1 if role == "player" else len(shapes)
    settings = ManagerSettings(
        league_id=LEAGUE_ID, players=players, referees=referees, **{**RULES, **rules}
    )
    manager = await open_manager(settings, Home(directory), place())
    agents, process, registered = [], None, {}
    try:
        if role == "player":
            agents.append(await open_referee(lambda url: referee(manager.url, url), place()))
            await agents[0].registered
        else:
            process = await start(manager.url, role, shapes, registered)
        for number in range(ours):
            agents.append(await our_player(manager.url, number))
        if role == "player":
            await agents[-1].registered
            process = await start(manager.url, role, shapes, registered)
        waits = [manager.ended, manager.failed]
        await asyncio.wait(waits, timeout=SECONDS, return_when=asyncio.FIRST_COMPLETED)
        assert manager.ended.done(), "the league did not end"
    finally:
        if process:
            process.kill()
            await process.wait()
        for agent in (*agents, manager):
            await agent.stop()
    rows = list(open_reader(directory).read(LEAGUE_ID))
    findings = verify(rows, plugins.load_game)
    assert (findings.complete, findings.difference) == (True, None), findings
    decided = [read_event(row.kind, row.version, row.body) for row in rows]
    decided = [event for event in decided if isinstance(event, MatchDecided)]
    found = {"player": of_players, "referee": of_referees}[role]
    shape_of = {agent_id: shape for agent_id, (shape, _) in registered.items()}
    refused = {shape: f"was not registered: {why}" for shape, why in registered.values() if why}
    return found(manager.host.role.league, decided, shape_of) | refused


async def our_player(manager_url, number):
    return await open_player(
        lambda url: PlayerSettings(
            manager_url=manager_url, display_name=f"Good {number + 1}", endpoint=url
        ),
        lambda turn: ("even", "odd")[number % 2],
        place(),
    )


async def start(manager_url, role, shapes, registered):
    """A process with these agents, all registered: id -> shape, and why it was refused first."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        *("-I", "-S", str(HERE.with_name(f"composed_{role}s.py")), manager_url, *shapes),
        stdout=asyncio.subprocess.PIPE,
    )
    while (line := (await process.stdout.readline()).strip()) != b"ready":
        assert line, "the agents did not start"
        agent_id, shape, why = json.loads(line)
        registered[agent_id] = (shape, why)
    return process


def of_players(league, decided, shapes):
    """Shape -> what it lost without playing, or played otherwise than it chose."""
    failures = {}
    for event in decided:
        for player_id, why in event.forfeits:
            failures.setdefault(shapes.get(player_id), f"{event.match_id}: {why}")
        for player_id, choice in (event.result.choices or {}).items():
            move = "odd" if "moves=odd" in shapes.get(player_id, "") else "even"
            if choice not in (None, move):
                failures.setdefault(shapes.get(player_id), f"{event.match_id}: chose {choice}")
    assert None not in failures, failures
    return failures


def of_referees(league, decided, shapes):
    """Shape -> the match that it did not bring to its end, or not by the rules."""
    results = {event.match_id: event for event in decided}
    failures = {}
    for match_id, file in league.matches.items():
        event, first = results.get(match_id), (file.referees or [None])[0]
        is_played = event and event.result.status in ("WIN", "DRAW")
        if len(file.referees) != 1 or not is_played or file.disputes:
            why = file.disputes or (event and event.result.reason) or "nothing was reported"
            failures.setdefault(shapes.get(first), f"{match_id}: {file.referees}, {why}")
    return failures


async def play_under(shape):
    """A league of this manager with our agents: shape -> why, if not every match counted once."""
    try:
        (matches,) = (await elsewhere.play([shape], program=MANAGERS)).values()
        elsewhere.check(matches)
    except (AssertionError, LeagueError, ValueError) as error:
        return {shape: f"{type(error).__name__}: {error}"[:400]}
    return {}


async def play_alone(directory, role, shapes, **rules):
    """A league of each of these with ours, some at a time."""
    turns, failures = asyncio.Semaphore(AT_ONCE), {}

    async def one(number, shape):
        async with turns:
            if role == "manager":
                failures.update(await play_under(shape))
            else:
                failures.update(await play(directory / str(number), role, [shape], **rules))

    await asyncio.gather(*(one(number, shape) for number, shape in enumerate(shapes)))
    return failures


def played(way, role, shapes, **rules):
    """What became of a league, or of many."""
    with tempfile.TemporaryDirectory() as directory:
        return asyncio.run(way(Path(directory), role, shapes, **rules))


def shrunk(role, shape):
    """The smallest composition that still fails."""
    while failures := played(play_alone, role, list(composed.smaller(shape))):
        shape = min(failures, key=len)
    return shape


def main(*arguments):
    options = {each for each in arguments if each.startswith("--")}
    role, *what = (each for each in arguments if each not in options)
    if what == ["singles"]:
        what = composed.singles(role)
    elif all(each.isdigit() for each in what):
        what = [composed.composed(role, seed) for seed in range(*map(int, what))]
    shapes, failed = list(what), {}
    is_alone = "--alone" in options or role == "manager"
    way, size = (play_alone, 16) if is_alone else (play, 9 if role == "player" else 5)
    for at in range(0, len(shapes), size):
        some = shapes[at : at + size]
        failures = played(way, role, some)
        failed |= failures
        print(f"# {at + len(some)}", flush=True)
        for shape, why in failures.items():
            print(f"{shape}\n    {why}", flush=True)
            if "--shrink" in options:
                print(f"    smallest: {shrunk(role, shape)}", flush=True)
    print(f"{len(shapes) - len(failed)} of {len(shapes)} played")


if __name__ == "__main__":
    main(*sys.argv[1:])
