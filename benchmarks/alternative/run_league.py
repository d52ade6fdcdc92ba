"""Play a league on Starlette, uvicorn and httpx, and print its figures as JSON.

The league that somebody would write in a day: the same agents in as many processes as those of
`league bench`, the same exchanges of a match in the same order, the messages of the documents with
the fields that matter, and a SQLite commit for each result. It leaves out what the rest of
agentleague is for: deadlines and retries (an agent that fails ends the league), checks of what
agents say, limits, sealed draws, proofs and receipts, agents that spell the protocol differently,
a journal that can be verified, and going on after a crash.
"""

import argparse
import asyncio
import json
import multiprocessing
import tempfile
import time
from collections.abc import Awaitable, Callable
from multiprocessing.connection import Connection
from typing import Any

import uvloop
from agents import Player, Referee
from league_manager import Manager, schedule

PLAYER_PROCESSES = 2


def main() -> None:
    """Start all processes, count from when all have registered, print."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--players", type=int, default=100, help="an even number")
    parser.add_argument("--referees", type=int, default=2)
    parser.add_argument("--matches", type=int, default=1_000, help="about so many are played")
    parser.add_argument("--dir", help="where the database lies, if not among temporary files")
    given = parser.parse_args()
    rounds, each = max(1, 2 * given.matches // given.players), given.players // PLAYER_PROCESSES
    with tempfile.TemporaryDirectory(prefix="alternative-", dir=given.dir) as folder:
        manager = start(run_manager, f"{folder}/league.db", rounds)
        url = manager.recv()
        pipes = [("referee", start(run_agents, Referee, url, given.referees))]
        for number in range(PLAYER_PROCESSES):
            size = each if number else given.players - each * (PLAYER_PROCESSES - 1)
            pipes.append(("player", start(run_agents, Player, url, size)))
        for _, pipe in pipes:
            pipe.recv()  # All of its agents have registered.
        for pipe in (*(pipe for _, pipe in pipes), manager):
            pipe.send("count from now on")
        seconds, cpu, calls = manager.recv()
        cpus = {"manager": cpu, "referee": 0.0, "player": 0.0}
        for role, pipe in pipes:
            pipe.send("stop")
            more, theirs = pipe.recv()
            cpus[role], calls = cpus[role] + more, calls + theirs
    matches = rounds * (given.players // 2)
    figures = {
        "matches": matches,
        "matches_per_second": round(matches / seconds, 1),
        "messages_per_match": round(calls / matches, 2),
        "cpu_us_per_match": {role: round(cpu / matches * 1e6, 1) for role, cpu in cpus.items()},
    }
    print(json.dumps(figures))


def start(run: Callable[..., Awaitable[None]], *arguments: Any) -> Connection:
    """Run agents in a new process."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    context.Process(target=work, args=(run, theirs, *arguments), daemon=True).start()
    theirs.close()  # So that the end of the process is the end of the pipe.
    return ours


def work(run: Callable[..., Any], *arguments: Any) -> None:
    """What such a process does."""
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(run(*arguments))


async def run_manager(pipe: Connection, file: str, rounds: int) -> None:
    """Play when told so; say how long that took, the CPU, and how many calls it made."""
    manager = Manager(file)
    await manager.start()
    pipe.send(manager.url)
    await asyncio.to_thread(pipe.recv)
    began, cpu = time.perf_counter(), time.process_time()
    rounds_to_play = schedule(list(manager.players))
    for round_id in range(1, rounds + 1):
        await manager.play_round(round_id, next(rounds_to_play))
    used = time.process_time() - cpu
    pipe.send((time.perf_counter() - began, used, manager.calls))
    await asyncio.to_thread(pipe.poll, None)


async def run_agents(pipe: Connection, kind: Callable[[], Any], url: str, count: int) -> None:
    """Register all; when told to stop, say how much CPU they used and how many calls they made."""
    agents = [kind() for _ in range(count)]
    for number, agent in enumerate(agents):
        await agent.register(url, f"Agent {number + 1}")
    pipe.send("registered")
    await asyncio.to_thread(pipe.recv)
    cpu, calls = time.process_time(), sum(agent.calls for agent in agents)
    await asyncio.to_thread(pipe.recv)
    pipe.send((time.process_time() - cpu, sum(agent.calls for agent in agents) - calls))
    await asyncio.to_thread(pipe.poll, None)


if __name__ == "__main__":
    main()
