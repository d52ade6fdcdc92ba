"""A thread for what may take its time and must not delay an answer: hooks, and files."""

import traceback
from collections.abc import Callable
from queue import Full, Queue
from threading import Thread

JOBS_MAX = 1000  # that wait; beyond that new ones are dropped


class Background:
    """Does one job after another, in order; `say` gets a sentence or a traceback for the author."""

    def __init__(self, say: Callable[[str], None]) -> None:
        self._say = say
        self._jobs: Queue[tuple[str, Callable[[], object]] | None] = Queue(JOBS_MAX)
        self._thread = Thread(target=self._work, name="hooks", daemon=True)
        self._thread.start()

    def do(self, name: str, job: Callable[[], object]) -> None:
        """Do this later; never waits."""
        try:
            self._jobs.put_nowait((name, job))
        except Full:
            self._say(f"{name} was skipped: {JOBS_MAX} others wait already.")

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
