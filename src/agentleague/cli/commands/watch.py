"""`league watch`: follow a league from anywhere until its end."""

import asyncio
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import click

from agentleague.cli.commands.standings import print_standings, read_table
from agentleague.cli.directory import manager_address, no_manager
from agentleague.cli.output import say, shown
from agentleague.cli.progress import COMPLETED, Facts, Progress, number
from agentleague.cli.reading import (
    JournalSource,
    address_of,
    reading_options,
    source_option,
    with_manager,
)
from agentleague.errors import LeagueError, NoConnection, StorageError
from agentleague.protocol.printable import printable_json
from agentleague.records.reading import no_league
from agentleague.runtime.clock import wall
from agentleague.runtime.processes import run
from agentleague.runtime.query_pages import Source, Work, all_rows
from agentleague.storage.directory import JournalPlace, has_journal

SECONDS = 1.0  # between two looks,
SECONDS_AT_THE_END = 0.2  # and when it may soon be over: its manager may leave soon after
LINES_MAX = 10_000
LOOKS_LEFT = 10  # for which the rest of the matches lasts, if it "may soon be over"
JOURNAL_LOOKS = 30  # A journal without a manager is read at every so manyth look: it may be long.
STRANGE_MAX = 3  # answers of something else; a manager that starts gives such, too
LEFT = "The manager left before it had told all of its table: this is what was known before."
VOLATILE = ("awaited_answers", "awaited_reports")  # They say how long still.


@click.command()
@partial(reading_options, directory_help="Follow the league in this directory instead.")
def command(directory: JournalPlace | None, manager_url: str | None, as_json: bool) -> None:
    """Follow a league until its end, then print the final table.

    On a terminal the table is redrawn as it changes. Elsewhere a line is printed for each round,
    each loss without a game, and each player that is waited for. A manager that is away, or not
    there yet, is waited for. With --json a line of JSON is printed for each change: the status,
    and the table as `standings`.

    league watch
    league watch --manager 192.0.2.7:8000
    league watch ./cup --json
    """
    url = address_of(directory, manager_url)
    if isinstance(directory, Path) and not directory.is_dir():
        raise StorageError(f"{no_league(directory)}; to wait for one there, make the directory")
    with Progress(lines_max=LINES_MAX) as progress:
        following = _Following(directory, url, _as_lines() if as_json else progress.show)
        final = run(following.until_its_end())
    if not final:
        say("The league was ended before it had begun; there is no table.")
    elif not as_json:
        print_standings(final, f"league standings{source_option(directory, manager_url)} --all")


class _Following:
    def __init__(self, directory: JournalPlace | None, url: str, show: Callable[..., None]) -> None:
        self._directory, self._url, self._show = directory, url, show
        self._status: dict[str, Any] = {}
        self._rows: list[dict[str, Any]] = []
        self._where = f"in {directory}" if directory else f"at {url}"
        self._looks, self._strange, self._away_since = 0, 0, ""

    async def until_its_end(self) -> Any:
        """Show how it goes; in the end all that `league standings` prints of it."""
        while True:
            before, is_first = number(self._status, "matches_completed"), not self._status
            try:
                final = await self._at_source(self._look)
            except LeagueError as error:
                if self._status.get("status") == COMPLETED:
                    return self._status, self._rows, [LEFT], ""
                self._is_away(error)
            else:
                self._is_there(is_first)
                self._show(self._status, self._rows)
                if self._status.get("status") == COMPLETED:
                    return final
            is_fast = not self._away_since and self._may_end_soon(before)
            await asyncio.sleep(SECONDS_AT_THE_END if is_fast else SECONDS)

    async def _at_source(self, work: Work[Any]) -> Any:
        if self._directory is None:
            return await with_manager(self._url, work)
        address = manager_address(self._directory)
        if address:
            self._looks = 0
            return await with_manager(address, work)
        self._looks += 1
        if self._looks % JOURNAL_LOOKS == 1 and has_journal(self._directory):
            source = JournalSource(self._directory)
            if (await source.ask("GET_STATUS"))["status"] == COMPLETED:
                return await work(source)
        raise NoConnection(no_manager(self._directory))

    async def _look(self, source: Source) -> Any:
        status = await source.ask("GET_STATUS")
        status.pop("you", None)
        if not number(status, "current_round"):  # There is no table before.
            self._status, self._rows = status, []
        elif status.get("status") == COMPLETED:
            self._status = status
            final = await read_table(source)
            self._rows = final[1]
            return final
        else:
            what = ("league_id", "rounds_completed")
            is_new = any(status.get(field) != self._status.get(field) for field in what)
            self._rows = await self._table(source, is_new)
            self._status = status
        return None

    async def _table(self, source: Source, is_whole: bool) -> list[dict[str, Any]]:
        """All rows after a round; else the first page anew, and the others as they were."""
        if is_whole:
            return await all_rows(source, "GET_STANDINGS", "standings")
        top = (await source.ask("GET_STANDINGS", offset=0))["standings"]
        known = {row["player_id"] for row in top}
        return [*top, *(row for row in self._rows if row["player_id"] not in known)]

    def _may_end_soon(self, before: int) -> bool:
        status = self._status
        if number(status, "current_round") in (0, number(status, "total_rounds")):
            return True
        decided = number(status, "matches_completed")
        return number(status, "total_matches") - decided <= LOOKS_LEFT * (decided - before)

    def _is_away(self, error: LeagueError) -> None:
        self._strange += not isinstance(error, NoConnection)
        if not self._status and self._strange > STRANGE_MAX:
            raise error  # Something else is there.
        if self._away_since:
            return
        self._away_since = time.strftime("%H:%M:%S", time.localtime(wall()))
        if not self._status:
            say(f"No manager answers {self._where} yet; waiting for it. Stop with Ctrl-C.")
            return
        say(f"The manager {self._where} is away since {self._away_since}; waiting for it.")
        self._show(
            {**self._status, **dict.fromkeys(VOLATILE, ()), "away": self._away_since}, self._rows
        )

    def _is_there(self, is_first: bool) -> None:
        if is_first:
            say(f"Following {shown(self._status.get('league_id'))} {self._where}.")
        elif self._away_since:
            say(f"The manager is back; it was away since {self._away_since}.")
        self._away_since = ""


def _as_lines() -> Callable[[Facts, list[Facts]], None]:
    """Print a line of JSON for each change; that the time goes by is none."""
    last: list[Any] = []

    def show(status: Facts, rows: list[Facts]) -> None:
        words = {
            name: [each.rpartition(": ")[0] for each in status.get(name) or ()] for name in VOLATILE
        }
        now = [{**status, **words}, rows]
        if now != last:
            last[:] = now
            print(printable_json({**status, "standings": rows}), flush=True)

    return show
