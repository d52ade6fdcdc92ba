"""The person of `league demo --human`: an empty seat, and the pages where it is taken."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from subprocess import PIPE, Popen, TimeoutExpired
from urllib.parse import quote

from agentleague.cli.local_players import NO_TALLY
from agentleague.cli.output import say
from agentleague.errors import LeagueError
from agentleague.runtime.local_league import Tally, Workers
from agentleague.runtime.manager_tools import new_seat

NAME = "Human"  # unless another is typed
MOVE_SECONDS = 120.0  # A person thinks for longer than an agent.
END_SECONDS = 5.0  # that the pages may take to end


class HumanSeat:
    """One of the local players of a league; the league begins when a person has taken it."""

    def __init__(self, name: str, directory: str, game: str | Path) -> None:
        words = ["dashboard", directory, "--beside", "--port", "8090"]
        words += ["--game", str(game)] if isinstance(game, Path) else []
        self._words, self._name, self.url = words, name, ""
        self._pages: Popen[str] | None = None

    def __call__(self, manager_url: str, key: str) -> Workers:
        """It is found at its manager by the directory alone."""
        return self

    async def start(self) -> None:
        """Show the pages, and say where to sit down; nobody waits here until that is done."""
        self.url = await asyncio.to_thread(self._open)
        if not self.url:
            raise LeagueError("the pages of the league did not start; what they said stands above")
        say(
            f"Open this in your browser and sit down; the league begins when you have:\n"
            f"  {self.url}play/{new_seat()}?name={quote(self._name)}"
        )

    def _open(self) -> str:
        command = [sys.executable, "-m", "agentleague", *self._words]
        # Ctrl-C is for the league; the pages end when their stdin does.
        self._pages = Popen(command, stdin=PIPE, stdout=PIPE, text=True, start_new_session=True)
        assert self._pages.stdout
        return self._pages.stdout.readline().strip()

    async def finish(self) -> Tally:
        """Its page says by itself that the league is over."""
        return NO_TALLY

    async def stop(self) -> None:
        """The pages stay."""

    def stay(self) -> None:
        """Show the pages until Ctrl-C."""
        say(f"The pages stay at {self.url} until you press Ctrl-C here.")
        with suppress(KeyboardInterrupt):
            if self._pages:
                self._pages.wait()

    def close(self) -> None:
        """End the pages."""
        if self._pages and self._pages.stdin:
            self._pages.stdin.close()
            try:
                self._pages.wait(END_SECONDS)
            except TimeoutExpired:
                self._pages.kill()


@contextmanager
def seat_for(name: str | None, directory: str, game: str | Path) -> Iterator[list[HumanSeat]]:
    """A seat for the person, if there is one. Raises LeagueError if pages cannot be shown."""
    from agentleague.dashboard.process import MISSING, has_extra

    if name and not has_extra():
        raise LeagueError(MISSING[0].lower() + MISSING[1:])
    seats = [HumanSeat(name, directory, game)] if name else []
    try:
        yield seats
    finally:
        for seat in seats:
            seat.close()
