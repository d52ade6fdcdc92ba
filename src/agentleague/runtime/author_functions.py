"""How an author's functions are called: async ones, hooks, and what is said when one fails.

A program that only defines a player loads this, so it loads no event loop before one is needed.
"""

import traceback
from collections.abc import Awaitable, Callable
from functools import partial
from inspect import isawaitable
from queue import Full, Queue
from threading import Lock, Thread
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from asyncio import AbstractEventLoop


class LoopThread:
    """An event loop in a thread of its own, for async functions; it begins with the first one."""

    def __init__(self) -> None:
        self._loop: AbstractEventLoop | None = None
        self._lock = Lock()

    def finish(self, value: Any) -> Any:
        """The value itself; if it is awaitable, what it comes to. Not to be called on a loop."""
        if not isawaitable(value):
            return value
        import asyncio

        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                serve = partial(_serve, self._loop)
                Thread(target=serve, name="async functions", daemon=True).start()
            loop = self._loop
        return asyncio.run_coroutine_threadsafe(_awaited(value), loop).result()

    def close(self) -> None:
        """Stop; what is not done by then is cancelled, and not waited for. It may begin again."""
        with self._lock:
            if self._loop:
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._loop = None


async def _awaited(value: Awaitable[Any]) -> Any:
    try:
        return await value
    except SystemExit as error:  # It would end the loop, and every other function on it.
        raise RuntimeError(f"the function called sys.exit({error.code!r})") from error


def _serve(loop: "AbstractEventLoop") -> None:
    from asyncio import all_tasks, gather

    loop.run_forever()
    left = all_tasks(loop)
    for task in left:
        task.cancel()
    if left:
        loop.run_until_complete(gather(*left, return_exceptions=True))
    loop.close()


OURS = ("agentleague.", "concurrent.futures", "asyncio.")  # modules that call the function


class AuthorTold(Exception):
    """A function failed, and the caller has told its author."""


def traceback_of(error: BaseException) -> str:
    """From the author's function on; how it was called is no help."""
    frames = error.__traceback__
    while frames and frames.tb_frame.f_globals.get("__name__", "").startswith(OURS):
        frames = frames.tb_next
    shown = traceback.TracebackException(type(error), error, frames or error.__traceback__)
    return "".join(shown.format()).rstrip()


JOBS_MAX = 1000  # that wait; beyond that new ones are dropped


class Background:
    """Does one job after another, in order; `say` gets a sentence or a traceback for the author."""

    def __init__(self, say: Callable[[str], None], jobs_max: int = JOBS_MAX) -> None:
        self._say = say
        self._jobs: Queue[tuple[str, Callable[[], object]] | None] = Queue(jobs_max)
        self._thread = Thread(target=self._work, name="hooks", daemon=True)
        self._thread.start()

    def do(self, name: str, job: Callable[[], object]) -> None:
        """Do this later; never waits."""
        try:
            self._jobs.put_nowait((name, job))
        except Full:
            self._say(f"{name} was skipped: {self._jobs.maxsize} others wait already.")

    def close(self, seconds: float) -> None:
        """Finish what waits, but take no longer than this."""
        try:
            self._jobs.put(None, timeout=seconds)
        except Full:
            return
        self._thread.join(seconds)
        if self._thread.is_alive():
            self._say(f"A hook still runs after {seconds:g} seconds, and is left alone.")

    def _work(self) -> None:
        while job := self._jobs.get():
            name, run = job
            try:
                run()
            except (Exception, SystemExit):
                self._say(f"{name} failed:\n{traceback.format_exc()}")
