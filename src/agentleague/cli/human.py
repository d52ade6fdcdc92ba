"""The person of `league demo --human`: an empty seat, and the pages where it is taken."""

from asyncio import CancelledError
from asyncio.subprocess import Process
from contextlib import suppress
from pathlib import Path
from urllib.parse import quote

from agentleague.cli.local_players import NO_TALLY
from agentleague.cli.output import say
from agentleague.dashboard import process
from agentleague.errors import LeagueError
from agentleague.runtime.local_league import Tally, Workers
from agentleague.runtime.manager_tools import new_seat
from agentleague.storage.directory import JournalPlace

NAME = "Human"  # unless another is typed
PORT = 8090  # or the next that is free
MOVE_SECONDS = 120.0  # A person thinks for longer than an agent.


class HumanSeat:
    """One of the local players of a league; the league begins when a person has taken it."""

    def __init__(self, name: str, directory: JournalPlace, game: str | Path) -> None:
        self._name, self._directory, self.url = name, directory, ""
        self._game = str(game) if isinstance(game, Path) else ""
        self._pages: Process | None = None

    def __call__(self, manager_url: str, key: str) -> Workers:
        """It is found at its manager by the directory alone."""
        return self

    async def start(self) -> None:
        """Show the pages, and say where to sit down; nobody waits here until that is done."""
        self._pages = await process.open_pages(self._directory, PORT, game=self._game)
        assert self._pages.stdout
        self.url = (await self._pages.stdout.readline()).decode().strip()
        if not self.url:
            raise LeagueError("the pages of the league did not start; what they said stands above")
        say(
            f"Open this in your browser and sit down; the league begins when you have:\n"
            f"  {self.url}play/{new_seat()}?name={quote(self._name)}"
        )

    async def finish(self) -> Tally:
        """Its page says by itself that the league is over."""
        return NO_TALLY

    async def stop(self) -> None:
        """The pages stay."""

    async def stay(self) -> None:
        """Show the pages until Ctrl-C."""
        say(f"The pages stay at {self.url} until you press Ctrl-C here.")
        with suppress(CancelledError):
            if self._pages:
                await self._pages.wait()

    async def close(self) -> None:
        """End the pages."""
        if self._pages:
            await process.close_pages(self._pages)


def seats_for(name: str | None, directory: JournalPlace, game: str | Path) -> list[HumanSeat]:
    """A seat for the person, if there is one. Raises LeagueError if pages cannot be shown."""
    if name and not process.has_extra():
        raise LeagueError(process.MISSING[0].lower() + process.MISSING[1:])
    return [HumanSeat(name, directory, game)] if name else []
