"""Several processes that run the leagues of a mode; what comes of them is told in order of seed.

Process n of N runs every Nth league, beginning with the nth: who looks reads them in turn, so the
order never depends on which of them is quick.
"""

import gc
import multiprocessing
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection

from agentleague.errors import LeagueError
from agentleague.simulation.modes import Outcome, outcome

LEAGUES_MIN = 20  # of one process: to begin it takes as long as to run as many


def processes_for(leagues: int, jobs: int | None = None) -> int:
    """How many processes so many leagues are worth: at most `jobs`, or one a core."""
    return max(1, min(jobs or cores(), leagues // LEAGUES_MIN))


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def outcomes(mode: str, seeds: Sequence[int], processes: int) -> Iterator[Iterator[Outcome]]:
    """What comes of these leagues, one by one; whoever has seen enough just leaves.

    Raises:
        LeagueError: one of the processes was ended from outside.
    """
    if processes == 1:
        gc.freeze()  # What is loaded stays: to look through it again and again costs time.
        yield (outcome(mode, seed) for seed in seeds)
        return
    from agentleague.runtime.local_league import (
        deaf_to_interrupts,  # It loads much, and one needs none.
    )

    context = multiprocessing.get_context("spawn")
    crew, readers = [], []
    try:
        for number in range(processes):
            reader, writer = context.Pipe(duplex=False)
            process = context.Process(
                target=_work, args=(mode, seeds[number::processes], writer), daemon=True
            )
            with deaf_to_interrupts():  # A new process is deaf to what its parent is deaf to.
                process.start()
            writer.close()
            crew.append(process)
            readers.append(reader)
        yield (_next(readers[number % processes]) for number in range(len(seeds)))
    finally:
        for process in crew:
            process.terminate()
            process.join()


def _next(reader: Connection) -> Outcome:
    try:
        return Outcome(*reader.recv())
    except EOFError:
        raise LeagueError("a process of the simulation was ended from outside") from None


def _work(mode: str, seeds: Sequence[int], writer: Connection) -> None:
    gc.freeze()
    with suppress(BrokenPipeError):  # Nobody looks any more.
        for seed in seeds:
            writer.send(tuple(outcome(mode, seed)))
