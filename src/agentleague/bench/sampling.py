"""Where the time of a process goes: while it works, the function that runs is noted.

The system interrupts a process each time it has used so much processor time. Python hears of it
between two steps of a function, so what C code took counts for the function that called it, and
what the event loop and the kernel took for the loop's own `run`. What another thread took, as the
one that writes the journal, counts for whatever the main thread is doing.
"""

import json
import signal
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from agentleague.bench.match_times import open_timed
from agentleague.errors import LeagueError
from agentleague.runtime.local_league import Cast
from agentleague.runtime.processes import Running

SECONDS = 0.001  # of processor time between two looks; most systems look more seldom
SUFFIX = ".hits"
Hits = Mapping[str, int]  # how often each function was the one that ran


class Sampler:
    """Counts, by its name, which function runs when the system interrupts."""

    def __init__(self) -> None:
        self.hits: Counter[str] = Counter()

    def start(self) -> None:
        """From now on; in the main thread.

        Raises:
            LeagueError: the system has no such timer.
        """
        if not hasattr(signal, "setitimer"):
            raise LeagueError("this system has no timer of processor time, so nothing is sampled")
        signal.signal(signal.SIGPROF, self._look)
        signal.siginterrupt(signal.SIGPROF, False)  # Nothing that waits is woken.
        signal.setitimer(signal.ITIMER_PROF, SECONDS, SECONDS)

    def stop(self) -> None:
        """No more."""
        signal.setitimer(signal.ITIMER_PROF, 0)

    def _look(self, number: int, frame: FrameType | None) -> None:
        if frame is not None:
            self.hits[name_of(_worker(frame))] += 1


def _worker(frame: FrameType) -> FrameType:
    """Who used the time: where a function only just begins, it was its caller."""
    has_begun = frame.f_lineno != frame.f_code.co_firstlineno
    return frame if has_begun or frame.f_back is None else frame.f_back


def name_of(frame: FrameType) -> str:
    """The function with its module."""
    return f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_qualname}"


@contextmanager
def sampling(folder: Path, role: str) -> Iterator[None]:
    """Note where the time of this process goes, and leave it in the folder."""
    sampler = Sampler()
    sampler.start()
    try:
        yield
    finally:
        _leave(sampler, folder, role)


async def open_sampled(folder: Path, cast: Cast, number: int) -> Running:
    """An agent of a crew; the first referee also notes where its process's time goes."""
    agent = await open_timed(folder, cast, number)
    if cast.role == "referee" and number == cast.first:
        sampler = Sampler()

        def registered(_: Any) -> None:
            sampler.start()
            agent.ended.add_done_callback(lambda _: _leave(sampler, folder, cast.role))

        agent.registered.add_done_callback(registered)
    return agent


def hits_in(folder: Path) -> dict[str, Hits]:
    """What was left there, by role."""
    paths = sorted(folder.glob(f"*{SUFFIX}"))
    return {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in paths}


def _leave(sampler: Sampler, folder: Path, role: str) -> None:
    sampler.stop()
    (folder / f"{role}{SUFFIX}").write_text(json.dumps(sampler.hits), encoding="utf-8")
