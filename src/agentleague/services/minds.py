"""Where an author's function runs."""

import asyncio
import logging
import traceback
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from inspect import isawaitable
from threading import Lock, Thread
from typing import Any

import msgspec

from agentleague.protocol.harmless import harmless
from agentleague.roles.effects import Turn

OURS = ("agentleague.", "concurrent.futures", "asyncio.")  # modules that call the function
log = logging.getLogger(__name__)
Strategy = Callable[[Turn], Any]
Done = Callable[[Any, str | None], None]


class AuthorTold(Exception):
    """A function failed, and whoever called it has told its author."""


class InlineMind:
    """For a strategy that answers at once: it runs in the event loop itself."""

    def __init__(self, strategy: Strategy, soon: Callable[[Callable[[], None]], Any]) -> None:
        self._strategy, self._soon = strategy, soon

    def think(self, turn: Turn, done: Done) -> None:
        """Run the strategy, after the effects of this stimulus."""
        self._soon(lambda: done(*thought(self._strategy, turn)))


class ThreadMind:
    """For anybody's function, async or not: it may take its time, the player goes on listening.

    Each thought has a thread of its own, which does not keep the process alive: a player has one
    match at a time, so there are few, and the role limits them.
    """

    def __init__(self, strategy: Strategy, deliver: Callable[[Callable[[], None]], Any]) -> None:
        self._strategy, self._deliver = strategy, deliver
        self._loop = LoopThread()

    def think(self, turn: Turn, done: Done) -> None:
        """Run the function in a thread and hand back what it says."""

        def work() -> None:
            answer = thought(lambda turn: self._loop.finish(self._strategy(turn)), turn)
            with suppress(RuntimeError):  # When the loop is gone, so is whoever waited.
                self._deliver(lambda: done(*answer))

        Thread(target=work, name=f"move in {turn.match_id}", daemon=True).start()

    def close(self) -> None:
        """A function that still runs is not waited for."""
        self._loop.close()


class LoopThread:
    """An event loop in a thread of its own, for async functions; it begins with the first one."""

    def __init__(self) -> None:
        self._loop: asyncio.AbstractEventLoop | None = None
        self._lock = Lock()

    def finish(self, value: Any) -> Any:
        """The value itself; if it is awaitable, what it comes to. Not to be called on a loop."""
        if not isawaitable(value):
            return value

        async def awaited() -> Any:
            try:
                return await value
            except SystemExit as error:  # It would end the loop, and every other function on it.
                raise RuntimeError(f"the function called sys.exit({error.code!r})") from error

        return asyncio.run_coroutine_threadsafe(awaited(), self._running()).result()

    def close(self) -> None:
        """Stop; what is not done by then is cancelled, and not waited for. It may begin again."""
        with self._lock:
            if self._loop:
                self._loop.call_soon_threadsafe(self._loop.stop)
                self._loop = None

    def _running(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                serve = partial(_serve, self._loop)
                Thread(target=serve, name="async functions", daemon=True).start()
            return self._loop


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    loop.run_forever()
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    loop.run_until_complete(_end(left))
    loop.close()


def traceback_of(error: BaseException) -> str:
    """From the author's function on; how it was called is no help."""
    frames = error.__traceback__
    while frames and frames.tb_frame.f_globals.get("__name__", "").startswith(OURS):
        frames = frames.tb_next
    shown = traceback.TracebackException(type(error), error, frames or error.__traceback__)
    return "".join(shown.format()).rstrip()


async def _end(tasks: set[asyncio.Task[Any]]) -> None:
    await asyncio.gather(*tasks, return_exceptions=True)


def thought(strategy: Strategy, turn: Turn) -> tuple[Any, str | None]:
    """The move, or what went wrong; a traceback is for the function's author to see."""
    try:
        move = strategy(turn)
    except AuthorTold as error:
        return None, str(error)
    except (Exception, SystemExit) as error:
        where = harmless(turn.match_id.replace("\n", "?"))
        log.error("the strategy failed in %s:\n%s", where, harmless(traceback_of(error)))
        return None, f"{type(error).__name__}: {error}"
    try:
        msgspec.json.encode(move)
    except (TypeError, ValueError, RecursionError):
        said = f"the strategy returned {type(move).__name__} in {turn.match_id}, which is no JSON"
        log.error("%s", harmless(f"{said}; legal: {list(turn.legal_moves)}"))
        return None, said
    return move, None
