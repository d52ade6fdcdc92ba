"""Runs the author's function, which decides the moves: at once, or in a thread."""

import logging
from collections.abc import Callable
from contextlib import suppress
from threading import Thread
from typing import Any

import msgspec

from agentleague.protocol.printable import printable
from agentleague.roles.effects import Turn
from agentleague.roles.tally import Times
from agentleague.runtime.author_functions import AuthorTold, LoopThread, traceback_of
from agentleague.runtime.clock import stopwatch

log = logging.getLogger(__name__)
Strategy = Callable[[Turn], Any]
Done = Callable[[Any, str | None], None]


class StrategyCounts(Times):
    """How long the function took, and how often it failed."""

    failures = 0

    def note(self, began: float, error: str | None) -> None:
        """It has returned."""
        self.add(stopwatch() - began)
        self.failures += error is not None


class AtOnce:
    """For a function that is quick: everything else waits for it."""

    def __init__(self, strategy: Strategy) -> None:
        self._strategy, self.counts = strategy, StrategyCounts()

    def __call__(self, turn: Turn) -> tuple[Any, str | None]:
        began = stopwatch()
        outcome = outcome_of(self._strategy, turn)
        self.counts.note(began, outcome[1])
        return outcome


class ThreadRunner:
    """For anybody's function, async or not: it may take its time, the player goes on listening."""

    def __init__(self, strategy: Strategy, deliver: Callable[[Callable[[], None]], Any]) -> None:
        self._strategy, self._deliver = strategy, deliver
        self._loop = LoopThread()
        self.counts = StrategyCounts()

    def run(self, turn: Turn, done: Done) -> None:
        """Run the function in a thread of its own; there are few, since the role limits them."""

        began = stopwatch()

        def over(move: Any, error: str | None) -> None:
            self.counts.note(began, error)
            done(move, error)

        def work() -> None:
            answer = outcome_of(lambda turn: self._loop.finish(self._strategy(turn)), turn)
            with suppress(RuntimeError):  # When the loop is gone, nobody waits any more.
                self._deliver(lambda: over(*answer))

        Thread(target=work, name=f"move in {turn.match_id}", daemon=True).start()

    def close(self) -> None:
        """A function that still runs is not waited for."""
        self._loop.close()


def outcome_of(strategy: Strategy, turn: Turn) -> tuple[Any, str | None]:
    """The move, or what went wrong; a traceback is for the function's author to see."""
    try:
        move = strategy(turn)
    except AuthorTold as error:
        return None, str(error)
    except (Exception, SystemExit) as error:
        where = printable(turn.match_id.replace("\n", "?"))
        log.error("the strategy failed in %s:\n%s", where, printable(traceback_of(error)))
        return None, f"{type(error).__name__}: {error}"
    try:
        msgspec.json.encode(move)
    except (TypeError, ValueError, RecursionError):
        said = f"the strategy returned {type(move).__name__} in {turn.match_id}, which is no JSON"
        log.error("%s", printable(f"{said}; legal: {list(turn.legal_moves)}"))
        return None, said
    return move, None
