"""Where an author's async functions run; many an author has none, and needs no loop."""

from inspect import isawaitable
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agentleague.runtime.loop_running import RunningLoop


class LoopThread:
    """An event loop in a thread of its own, for async functions; it begins with the first one."""

    def __init__(self) -> None:
        self._running: RunningLoop | None = None
        self._lock = Lock()

    def finish(self, value: Any) -> Any:
        """The value itself; if it is awaitable, what it comes to. Not to be called on a loop."""
        return self._begun().finish(value) if isawaitable(value) else value

    def close(self) -> None:
        """Stop; what is not done by then is cancelled, and not waited for. It may begin again."""
        with self._lock:
            if self._running:
                self._running.stop()
                self._running = None

    def _begun(self) -> "RunningLoop":
        from agentleague.runtime.loop_running import RunningLoop

        with self._lock:
            self._running = self._running or RunningLoop()
            return self._running
