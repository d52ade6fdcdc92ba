"""Keep a view current: with the rows of the journal, and with what the manager says is live.

Everything that reads or changes the view runs in one thread (`do`), one thing after the other. So
no page sees half a row, and the loop, which talks to browsers, never waits for either. What takes
seconds, and does not need the view, runs beside it (`aside`).
"""

import asyncio
import logging
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from threading import Thread
from typing import TypeVar
from urllib.parse import urlsplit

from agentleague.dashboard.league_view import LeagueView
from agentleague.errors import Damaged, LeagueError, StorageError
from agentleague.league.league import Phase
from agentleague.protocol import timestamps
from agentleague.protocol.printable import one_line
from agentleague.roles.ports import Row
from agentleague.runtime.clock import cpu_seconds, wall
from agentleague.runtime.manager_client import ManagerClient
from agentleague.runtime.network import place_of_pages
from agentleague.runtime.state_files import kept_settings
from agentleague.storage.directory import (
    JournalPlace,
    last_row,
    leagues_in,
    manager_address,
    remedy,
)

log = logging.getLogger(__name__)
T = TypeVar("T")
ROWS_A_TURN = 500
TURN_SECONDS = 0.2  # between two looks for what is new
REST = 4  # times as long as it worked: at most a fifth of a core
QUIET_SECONDS = 1.0  # after which no more rows are there, whatever journal.head says
RETRY_SECONDS = 5.0  # of a journal that cannot be read now
ASK_SECONDS = 1.0  # between two questions to the manager
ANSWER_SECONDS = 3.0  # that it may take
LOOKED_AT_SECONDS = 5.0  # that a page counts as open after it was fetched
READY_SECONDS = 1.0  # that a page waits for the rest of the journal
LIVE_SECONDS = 0.5  # and for the manager's first answer
OUR_FAULT = "By a fault of the dashboard nothing is shown"
OTHER_LEAGUE = "The manager at {} plays another league, {}. To see it, start the dashboard again."


class Following:
    """A view that is kept current while `run` runs."""

    def __init__(self, directory: JournalPlace, view: LeagueView, manager_url: str = "") -> None:
        self.directory, self.view = directory, view
        view.aside = self.aside
        self._manager_url = manager_url
        self._called = self._shown = ""  # the manager, from here and from other machines
        self._thread = ThreadPoolExecutor(1, "pages")
        self._rows_total = 0  # that were there when it began to read
        self._is_current = asyncio.Event()  # It has read them.
        self._looked_at = asyncio.Event()
        self._until = 0.0  # when nobody looks any more
        self._heard = asyncio.Event()  # The manager was asked, and answered or not.
        self._client: tuple[str, ManagerClient] | None = None
        self._away_since = ""

    async def do(self, work: Callable[..., T], *about: object) -> T:
        """Run what reads or changes the view."""
        return await asyncio.get_running_loop().run_in_executor(self._thread, work, *about)

    def aside(self, work: Callable[[], T]) -> Future[T]:
        """Run what takes long and does not need the view; pages are made anew when it is done."""
        found = Future[T]()

        def run() -> None:
            try:
                found.set_result(work())
            except Exception as error:
                found.set_exception(error)
            with suppress(RuntimeError):  # Nobody looks any more.
                self._thread.submit(self._changed)

        Thread(target=run, name="aside", daemon=True).start()  # The end does not wait for it.
        return found

    def _changed(self) -> None:
        self.view.changes += 1

    @property
    def waits_for(self) -> str:
        """Why there are no pages yet; empty as soon as there are."""
        if not self.view.league_id:
            return self.view.problem or (
                "No league has begun here yet; this page appears when one does. Begin one with: "
                f"league manager --dir {self.view.directory}"
            )
        if self._is_current.is_set():
            return ""
        percent = self.view.version * 100 // max(self._rows_total, self.view.version, 1)
        return f"Reading the journal: {percent} %."

    async def ready(self) -> bool:
        """Somebody wants to look: whether there is something to see, after a short wait."""
        self.look()
        with suppress(TimeoutError):
            await asyncio.wait_for(self._is_current.wait(), READY_SECONDS)
            await asyncio.wait_for(self._heard.wait(), LIVE_SECONDS)
        return not self.waits_for

    def look(self) -> None:
        """Somebody looks at a page."""
        self._until = asyncio.get_running_loop().time() + LOOKED_AT_SECONDS
        self._looked_at.set()

    def manager_url(self) -> str:
        """Where the manager is: as it was given, or as it says in the directory while it runs."""
        try:
            return self._manager_url or manager_address(self.directory) or ""
        except StorageError:  # The database is away: what is shown stays.
            return self._called

    def _as_others_call_it(self, url: str) -> str:
        if not url or self._manager_url:
            return url
        with suppress(LeagueError):
            kept = kept_settings(self.directory)
            host = place_of_pages(kept.get("bind", ""), 0, ()).called_at
            host = f"[{host}]" if ":" in host else host
            here = f"http://{host}:{urlsplit(url).port}{urlsplit(url).path}" if host else url
            return str(kept.get("endpoint") or here)
        return url

    async def run(self) -> None:
        """Follow the journal and the manager until cancelled."""
        try:
            async with asyncio.TaskGroup() as tasks:
                tasks.create_task(self._follow())
                tasks.create_task(self._ask_on())
        finally:
            if self._client:
                await self._client[1].close()
            self._thread.shutdown(wait=False)

    async def _follow(self) -> None:
        while True:
            try:
                await self._find_league()
                await self._take_on()
            except Damaged as error:
                self._stopped(f"The journal is damaged: {error}; {remedy(self.directory)}")
                return
            except StorageError as error:
                self._stopped(f"The journal cannot be read now: {error}")
                await asyncio.sleep(RETRY_SECONDS)
            except Exception:  # What is shown so far stays.
                log.exception("A row after %s cannot be shown.", self.view.version)
                self._stopped(f"{OUR_FAULT} after row {self.view.version}; please report it.")
                return

    def _stopped(self, problem: str) -> None:
        if problem != self.view.problem:
            self.view.problem = problem
            self.view.changes += 1
        if self.view.league_id:
            self._is_current.set()

    async def _find_league(self) -> None:
        view, directory = self.view, self.directory
        while not view.league_id:
            leagues = await self.do(leagues_in, directory)
            if leagues:
                self._rows_total = await self.do(last_row, directory, leagues[0])
                view.begin(leagues[0])
            else:
                await asyncio.sleep(TURN_SECONDS)

    async def _take_on(self) -> None:
        rows: asyncio.Queue[Row | StorageError] = asyncio.Queue(ROWS_A_TURN)
        fetching = asyncio.create_task(self._fetch(rows))
        try:
            while True:
                batch = [await self._first(rows)]
                while not rows.empty():
                    batch.append(rows.get_nowait())
                began = cpu_seconds()
                await self.do(self._take, batch)
                if self._is_current.is_set():
                    await asyncio.sleep(max(TURN_SECONDS, REST * (cpu_seconds() - began)))
                elif self.view.version >= self._rows_total:
                    self._is_current.set()
        finally:
            fetching.cancel()

    async def _fetch(self, rows: asyncio.Queue[Row | StorageError]) -> None:
        try:
            async for row in self.view.reader.follow(self.view.league_id, self.view.version):
                await rows.put(row)
        except StorageError as error:
            await rows.put(error)

    async def _first(self, rows: asyncio.Queue[Row | StorageError]) -> Row | StorageError:
        try:
            return await asyncio.wait_for(rows.get(), QUIET_SECONDS)
        except TimeoutError:
            self._is_current.set()
            return await rows.get()

    def _take(self, batch: list[Row | StorageError]) -> None:
        for row in batch:
            if isinstance(row, StorageError):
                raise row
            self.view.take(row)
            self.view.problem = ""

    async def _ask_on(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            await self._looked_at.wait()
            if loop.time() > self._until:
                self._looked_at.clear()
                self._heard.clear()
                await self.do(self.view.hear, {}, "")  # It would be old when somebody looks again.
                continue
            await self._ask()
            self._heard.set()
            await asyncio.sleep(ASK_SECONDS)

    async def _ask(self) -> None:
        url = await asyncio.to_thread(self.manager_url)
        if url != self._called:
            self._called, self._shown = url, await asyncio.to_thread(self._as_others_call_it, url)
        self.view.league.manager_url = self._shown  # Pages say there how to join.
        try:
            if url:
                async with asyncio.timeout(ANSWER_SECONDS):
                    live = await (await self._client_at(url)).ask("GET_STATUS")
                self._away_since, other = "", one_line(str(live.get("league_id")), 64)
                is_ours = self.view.league_id in ("", other)
                said = (live, "") if is_ours else ({}, OTHER_LEAGUE.format(url, other))
                await self.do(self.view.hear, *said)
                return
        except (LeagueError, TimeoutError):
            pass
        await self.do(self.view.hear, {}, self._away(url))

    async def _client_at(self, url: str) -> ManagerClient:
        if not self._client or self._client[0] != url:
            if self._client:
                await self._client[1].close()
            self._client = url, ManagerClient(url, wall)
        return self._client[1]

    def _away(self, url: str) -> str:
        """What pages say of a manager that does not answer; nothing when its work is done."""
        if self.view.league.phase is Phase.COMPLETED or not self.view.league_id:
            return ""
        start = f"If it ended, start it with: league manager --dir {self.view.directory}"
        if not url:
            last = self.view.last_at[:19].replace("T", " ")
            return f"No manager runs here; the last row was written at {last} UTC. {start}"
        self._away_since = self._away_since or timestamps.write(wall())[11:19]
        return f"The manager at {url} has not answered since {self._away_since} UTC. {start}"
