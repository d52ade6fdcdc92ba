"""`league manager --shared-dir`: the documents' files are kept current while the league runs."""

from collections.abc import Callable
from threading import Event, Thread

from agentleague.errors import LeagueError
from agentleague.records.export import Mirror


class Mirroring:
    """A thread that looks at the journal now and then; nobody ever waits for it."""

    def __init__(self, mirror: Mirror, seconds: float, say: Callable[[str], None]) -> None:
        self._mirror, self._seconds, self._say = mirror, seconds, say
        self._trouble = ""
        self._closing = Event()
        self._thread = Thread(target=self._run, name="mirror", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Write the files once more, and stop."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._closing.wait(self._seconds):
            self._update()
        self._update()

    def _update(self) -> None:
        try:
            self._mirror.update()
            self._trouble = ""
        except (LeagueError, OSError) as error:
            if str(error) != self._trouble:
                self._say(f"The shared files cannot be written: {error}")
            self._trouble = str(error)
