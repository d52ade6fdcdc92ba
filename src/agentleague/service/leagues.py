"""The leagues that one worker owns: it takes those that nobody has, and gives up what it lost."""

import asyncio
import hmac
import logging
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from hashlib import sha256
from math import ceil
from socket import gethostname
from typing import TYPE_CHECKING, Any

import msgspec

from agentleague.errors import Claimed, Damaged, LeagueError, StorageAway, StorageError, StorageFull
from agentleague.manager.role import Manager
from agentleague.roles.settings import ManagerSettings, ServiceSettings
from agentleague.runtime import plugins
from agentleague.runtime.clock import wall
from agentleague.runtime.log import LogFile
from agentleague.runtime.managers import Home, ManagerTransport, kept_rules, open_league
from agentleague.runtime.processes import Place, Running
from agentleague.runtime.settings import SettingError, read_table
from agentleague.runtime.state_files import keep_settings, kept_settings
from agentleague.storage.directory import JournalPlace, has_journal
from agentleague.storage.kept import log_path, read_kept, write_kept
from agentleague.storage.service_view import FAILED, OPEN, LeagueRow, View

if TYPE_CHECKING:  # An organiser's commands need no database.
    from agentleague.storage.postgres import PostgresJournal
    from agentleague.storage.postgres_leagues import PostgresLeagues

log = logging.getLogger(__name__)
# What the operator sets for all leagues, and no organiser.
OPERATORS = ("bind", "endpoint", "lan", "network", "port", "trusted_proxies")
# What is theirs, or of no use here.
NOT_HERE = (*OPERATORS, "dashboard", "dashboard_bind", "dashboard_port", "files", "shared_dir")
SETTINGS_NAME = "service.settings"  # what an organiser chose, kept beside the journal
ATTEMPTS = 3  # to open a league, before it counts as failed
LOOK_SECONDS = 0.25  # between two looks at who owns what
OPENING_MAX = 8  # leagues at a time
START_LOOKS = 12  # in which all workers that were started are thought to come


def lease_seconds(settings: ServiceSettings) -> float:
    """How long a worker may be silent; then others look for what it owned, and open it."""
    seconds = settings.takeover_seconds
    return max(seconds - 1.5, seconds * 0.7)


def is_near(address: str) -> bool:
    """Whether a worker can be called from here: one that is on loopback, on this machine alone."""
    return address.partition("#")[2] in ("", gethostname())


def phase_of(running: Running) -> str:
    """Where a league stands, in one word."""
    league = running.host.role.league  # type: ignore[attr-defined]
    return "PAUSED" if league.paused else "ABORTED" if league.aborted else str(league.phase)


def digest_of(key: str) -> bytes:
    """What is kept of an organiser's key, which nobody guesses."""
    return sha256(b"organiser|" + key.encode(errors="replace")).digest()


@dataclass(frozen=True)
class WorkerPlace:
    """Who a worker is, and where it and its leagues are called."""

    worker: str  # as the journal names the owner of its leagues
    address: str  # for other workers, such as http://127.0.0.1:41234#machine
    url: str  # for agents, such as http://127.0.0.1:8000
    league: Place  # whom the leagues may call, and whose word about a source counts


class ServedLeagues:
    """The leagues of this worker, and what it knows of those of others."""

    def __init__(
        self,
        settings: ServiceSettings,
        place: WorkerPlace,
        table: "PostgresLeagues",
        journal: "PostgresJournal",
        at: Callable[[str], JournalPlace],  # where a league lies, by its id
    ) -> None:
        self._settings, self.place, self._journal, self.at = settings, place, journal, at
        self.table = table
        self.here: dict[str, Running] = {}
        self.known: dict[str, LeagueRow] = {}
        self.view = View()
        self.looked: Callable[[View], None] = lambda view: None
        self._opening: dict[str, asyncio.Task[None]] = {}
        self._closing: set[asyncio.Task[None]] = set()
        self._attempts = Counter[str]()
        self._elsewhere: set[str] = set()  # leagues that were seen at another worker
        self._looks = 0
        journal.on_ownership_lost = self._lost

    def url_of(self, league_id: str) -> str:
        """Where agents call this league."""
        return f"{self.place.url}/leagues/{league_id}/mcp"

    @property
    def state(self) -> str:
        """Whether this worker can write: the state of its journal."""
        return str(self._journal.state)

    @property
    def default(self) -> str:
        """The league of agents that know no path: the one that was named, or the only one."""
        if self._settings.default_league:
            return self._settings.default_league
        is_open = [each.league_id for each in self.view.leagues if each.state == OPEN]
        return is_open[0] if len(is_open) == 1 else ""

    async def look(self) -> None:
        """See what there is; close what is archived, open what is free. Raises StorageError."""
        about = self.place.worker, self.place.address, lease_seconds(self._settings)
        self.view = await asyncio.to_thread(self.table.look, *about)
        self._looks += 1
        self.known = {each.league_id: each for each in self.view.leagues}
        phases = dict[str, str]()
        for league_id, running in list(self.here.items()):
            row, phase = self.known.get(league_id), phase_of(running)
            if row and row.phase != phase:
                phases[league_id] = phase
            if row is None or row.state != OPEN:
                self._later(self._close(league_id))
        for row in self._free():
            self._opening[row.league_id] = task = asyncio.create_task(self._open(row))
            task.add_done_callback(partial(self._opened, row.league_id))
        own = ("", self.place.worker)
        self._elsewhere |= {each.league_id for each in self.view.leagues if each.owner not in own}
        self.looked(self.view)
        if phases:
            await asyncio.to_thread(self.table.set_phases, phases)

    def _free(self) -> list[LeagueRow]:
        """The leagues to open now: those that nobody owns, up to a fair share of all."""
        is_open = [each for each in self.view.leagues if each.state == OPEN]
        workers = len(self.view.workers) or 1
        if self._looks < START_LOOKS:  # Others are about to come.
            workers = max(workers, self._settings.workers)
        room = ceil(len(is_open) / workers) - len(self.here) - len(self._opening)
        room = min(room, OPENING_MAX - len(self._opening))
        busy = self.here.keys() | self._opening.keys()
        free = [each for each in is_open if not each.owner and each.league_id not in busy]
        return free[: max(room, 0)]

    async def _open(self, row: LeagueRow) -> None:
        league_id = row.league_id
        at = self.at(league_id)
        try:
            settings = await asyncio.to_thread(self._settings_of, league_id, at)
            game = plugins.load_game(settings.game_type)
            here, mark, machine = self.place.address.partition("#")
            transport = ManagerTransport(replace(self.place.league, endpoint=settings.endpoint))
            transport.url = self.url_of(league_id)
            transport.here = f"{here}/leagues/{league_id}/mcp"
            transport.published = f"{here}/leagues/*/mcp{mark}{machine}"
            running = await open_league(settings, Home(at), transport, self._journal, game)
        except (LeagueError, SettingError) as error:
            if isinstance(error, Claimed) and "owner" in error.context:  # Another worker was first.
                log.info("%s: %s", league_id, error)
            else:
                await self._fail(league_id, error)
        else:
            self._began(row, running)

    def _settings_of(self, league_id: str, at: JournalPlace) -> ManagerSettings:
        """What its organiser chose, with the rules it began with and what the operator chooses."""
        own = {name: getattr(self._settings, name) for name in OPERATORS}
        if own["endpoint"]:
            own["endpoint"] = self.url_of(league_id)
        chosen = self.chosen(league_id)
        rules = kept_rules(at, chosen) if has_journal(at) else {}
        given = {**chosen, **rules, **own}
        given |= {"league_id": league_id, "dashboard": False, "files": False}
        return ManagerSettings(**given)

    def chosen(self, league_id: str) -> dict[str, Any]:
        """What an organiser chose for a league, or was kept of it elsewhere. Raises LeagueError."""
        at = self.at(league_id)
        text = read_kept(at, SETTINGS_NAME)
        if text is not None:
            return dict(read_table(ManagerSettings, msgspec.json.decode(text)).values)
        kept = {name: each for name, each in kept_settings(at).items() if name not in NOT_HERE}
        if not (kept or has_journal(at)):  # Without them it would have no codes.
            raise SettingError("it was not made to the end; archive it, and create another")
        return kept

    def keep_settings(self, league_id: str, given: Mapping[str, Any]) -> None:
        """Keep what the organiser chose until the league is opened. Raises StorageError."""
        at = self.at(league_id)
        write_kept(at, SETTINGS_NAME, msgspec.json.encode(given))
        keep_settings(at, given)  # They go along with a backup or a move, to a manager of its own.

    def _began(self, row: LeagueRow, running: Running) -> None:
        league_id, role = row.league_id, running.host.role
        assert isinstance(role, Manager)
        role.organiser.vouches = partial(self.is_key_of, league_id)
        running.tell(partial(log.info, "%s: %s", league_id))
        file = LogFile(log_path(self.at(league_id)), wall)
        running.watch(file.write)
        running.closing.append(file.close)
        if league_id in self._elsewhere:
            self._elsewhere.discard(league_id)
            log.warning("%s goes on here; another worker had it", league_id)
        running.failed.add_done_callback(lambda done: self._broke(league_id, done.result()))
        self.here[league_id] = running
        self._attempts.pop(league_id, None)

    def is_key_of(self, league_id: str, key: str) -> bool:
        """Whether this is the key of a league's organiser, who may be another than before."""
        row = self.known.get(league_id)
        return row is not None and self.organiser_of(key) == row.organiser

    def organiser_of(self, key: str) -> str:
        """Whose key this is; empty if it is nobody's."""
        digest, found = digest_of(key), ""
        for name, kept in self.view.organisers.items():
            found = name if hmac.compare_digest(kept, digest) else found
        return found

    def look_up(self, key: str) -> str:
        """The same of a key that may be newer than the last look. Raises StorageError."""
        digest = digest_of(key)
        name = self.table.organiser_of(digest)
        if name:  # A league that runs here asks the view.
            self.view = self.view._replace(organisers={**self.view.organisers, name: digest})
        return name

    def _opened(self, league_id: str, task: asyncio.Task[None]) -> None:
        del self._opening[league_id]
        error = None if task.cancelled() else task.exception()
        if error:
            log.error("%s could not be opened", league_id, exc_info=error)
            fault = LeagueError(f"a fault of this program: {type(error).__name__}; see its log")
            self._later(self._fail(league_id, fault))

    def _lost(self, league_id: str, error: Claimed) -> None:
        log.warning("%s: %s", league_id, error)
        if league_id in self.here:
            self.here[league_id].host.close()
            self._later(self._close(league_id))

    def _broke(self, league_id: str, error: BaseException) -> None:
        if league_id not in self.here:
            return
        self.here[league_id].host.close()
        self._later(self._close(league_id))
        if not isinstance(error, Claimed):
            self._later(self._fail(league_id, error))

    async def _fail(self, league_id: str, error: BaseException) -> None:
        """Show why a league cannot be run; a database that is away is no such reason."""
        await asyncio.to_thread(self._journal.release, league_id)
        self._attempts[league_id] += 1
        if self._attempts[league_id] <= ATTEMPTS:
            log.error("%s cannot be run: %s", league_id, error)
        if isinstance(error, StorageAway | StorageFull):
            return
        is_passing = isinstance(error, StorageError) and not isinstance(error, Damaged)
        if is_passing and self._attempts[league_id] < ATTEMPTS:
            return
        why = str(error)  # An organiser reads it, and need not know where the database is.
        for place, name in ((self.at(league_id), league_id), (self.at(""), "of this service")):
            why = why.replace(str(place), name)
        try:
            await asyncio.to_thread(self.table.set_state, league_id, f"{FAILED}{why}"[:500])
        except StorageError as trouble:  # It is opened and found again later.
            log.warning("%s: %s", league_id, trouble)

    async def _close(self, league_id: str) -> None:
        running = self.here.pop(league_id, None)
        if running is None:
            return
        await running.stop()
        running.host.close()
        await asyncio.to_thread(self._journal.release, league_id)

    def _later(self, work: Any) -> None:
        task = asyncio.ensure_future(work)
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)

    async def stop(self) -> None:
        """Close all leagues, so that other workers take them at once."""
        for task in self._opening.values():
            task.cancel()
        await asyncio.gather(*self._opening.values(), return_exceptions=True)
        await asyncio.gather(*map(self._close, list(self.here)), *self._closing)
        try:
            await asyncio.to_thread(self.table.leave, self.place.worker)
        except StorageError as error:
            log.warning("%s", error)
