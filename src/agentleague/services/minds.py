"""Where an author's function runs."""

import logging
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import msgspec

from agentleague.roles.effects import Turn

log = logging.getLogger(__name__)
Strategy = Callable[[Turn], Any]
Done = Callable[[Any, str | None], None]


class InlineMind:
    """For a strategy that answers at once: it runs in the event loop itself."""

    def __init__(self, strategy: Strategy, soon: Callable[[Callable[[], None]], Any]) -> None:
        self._strategy, self._soon = strategy, soon

    def think(self, turn: Turn, done: Done) -> None:
        """Run the strategy, after the effects of this stimulus."""
        self._soon(lambda: done(*_run(self._strategy, turn)))


class ThreadMind:
    """For anybody's function: it may take its time, the player goes on listening."""

    def __init__(
        self, strategy: Strategy, deliver: Callable[[Callable[[], None]], Any], threads: int = 4
    ) -> None:
        self._strategy, self._deliver = strategy, deliver
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="strategy")

    def think(self, turn: Turn, done: Done) -> None:
        """Run the function in a thread and hand back what it says."""

        def work() -> None:
            answer = _run(self._strategy, turn)
            self._deliver(lambda: done(*answer))

        self._pool.submit(work)

    def close(self) -> None:
        """Start nothing new; a function that still runs is not waited for."""
        self._pool.shutdown(wait=False, cancel_futures=True)


def _run(strategy: Strategy, turn: Turn) -> tuple[Any, str | None]:
    """The move, or what went wrong; a traceback is for the function's author to see."""
    try:
        move = strategy(turn)
    except (Exception, SystemExit) as error:
        log.error("the strategy failed in %s:\n%s", turn.match_id, traceback.format_exc())
        return None, f"{type(error).__name__}: {error}"
    try:
        msgspec.json.encode(move)
    except (TypeError, ValueError, RecursionError):
        said = f"the strategy returned {type(move).__name__} in {turn.match_id}, which is no JSON"
        log.error("%s; legal: %s", said, list(turn.legal_moves))
        return None, said
    return move, None
