"""Open a manager: its port, its journal, and the league that goes on in it.

A league that is resumed keeps its rules: the command must ask for what was journalled.
"""

import asyncio
import gc
import logging
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import UNSET
from msgspec.structs import asdict

from agentleague.errors import Claimed, Damaged, StorageError
from agentleague.games.game import Game
from agentleague.league.events import LeagueOpened, read_event
from agentleague.league.formats.format import Stage
from agentleague.league.formats.stages import planned_by
from agentleague.league.league import League, stages_of
from agentleague.league.season import Season
from agentleague.manager.role import Manager
from agentleague.roles.ports import Journal, Row
from agentleague.roles.settings import ManagerSettings, Secrets
from agentleague.runtime import plugins
from agentleague.runtime.clock import LoopClock, wall
from agentleague.runtime.host import Host, JournalArchive, Ledger
from agentleague.runtime.log import Entry, LogFile, LogHandler
from agentleague.runtime.mcp_hosts import McpHosts
from agentleague.runtime.processes import Place, Running, begin
from agentleague.runtime.settings import as_toml
from agentleague.runtime.state_files import keep_settings, read_secrets, write_secrets
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.directory import (
    JournalPlace,
    another,
    dir_option,
    has_journal_file,
    leagues_in,
    open_journal,
    open_reader,
    published,
)
from agentleague.storage.kept import check_not_moved, log_path
from agentleague.transport.http import HttpTransport

WRITTEN_SECONDS = 0.005  # between two looks whether the first row of a league is on disk
Load = Callable[[str], Game]


class Home(NamedTuple):
    """Where a manager keeps its league; a `seed` makes the draws of a new one foretellable."""

    at: JournalPlace
    seed: str | None = None
    resumes: bool = True  # whether a league that is there already goes on, or is an error
    logs: bool = False  # whether a log is kept beside the journal
    given: Mapping[str, Any] | None = None  # the settings to keep for its next start
    accepts_loss: bool = False  # whether a league that has lost rows goes on without them
    season: Season | None = None  # the leagues before it
    survives: bool = True  # whether its journal survives a power cut
    # Keeps files, from the league's id, its last row and the manager's URL; what ends it.
    files: Callable[[JournalPlace, str, int, str], Callable[[], None]] | None = None


class ManagerTransport:
    """A manager's transport, which is there before the manager that says who is known to it."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.manager: Manager | None = None
        policy = place.policy(
            "manager",
            is_known=lambda token: bool(self.manager and self.manager.is_known(token)),
            is_referee=lambda token: bool(self.manager and self.manager.is_referee(token)),
            seat_of=lambda token: self.manager.seat_of(token) if self.manager else None,
            may_call=lambda *about: bool(self.manager and self.manager.may_call(*about)),
        )
        self.clock = LoopClock(asyncio.get_running_loop())
        self.http = HttpTransport(self.clock, policy)
        self.url = self.here = ""  # where others call it, and this very machine
        self.published = ""  # where commands find it

    async def open(self) -> None:
        """Open its port. Raises LeagueError or OSError."""
        self.url = await self.place.open(self.http)
        self.here = self.published = self.place.here(self.http.port)


async def open_manager(
    settings: ManagerSettings, home: Home, place: Place, load_game: Load | None = None
) -> Running:
    """A manager whose journal lies in its home; a league that is there already goes on.

    Raises StorageError, and Claimed where another manager or league is; OSError of a busy port.
    """
    game = (load_game or plugins.load_game)(settings.game_type)
    game.start(settings.game_options)
    transport = ManagerTransport(place)
    await transport.open()  # First, so that a busy port leaves no trace.
    if isinstance(home.at, DatabaseUrl):
        transport.published = published(transport.url, transport.here)
    deliver = partial(deliver_to, asyncio.get_running_loop())
    opened: list[Running] = []

    def on_lost(league_id: str, error: Claimed) -> None:
        for running in opened:
            running.host.on_failure(error)

    journal = open_journal(
        home.at, wall, deliver, survives=home.survives, on_ownership_lost=on_lost
    )
    try:
        running = await open_league(settings, home, transport, journal, game)
    except BaseException:
        journal.close()
        await transport.http.stop()
        raise
    opened.append(running)
    running.closing.append(journal.close)
    if home.logs:
        _keep_log(running, log_path(home.at))
    # Who is told of it can read it. (A full disk is no event.)
    while not running.host.is_written and journal.state == "ok":  # noqa: ASYNC110
        await asyncio.sleep(WRITTEN_SECONDS)
    if home.files:
        at = (settings.league_id, running.host.role.league.seq, running.url)  # type: ignore[attr-defined]
        running.closing.append(home.files(home.at, *at))
    return running


async def open_league(
    settings: ManagerSettings,
    home: Home,
    transport: ManagerTransport,
    journal: Journal,
    game: Game,
) -> Running:
    """A league whose transport and journal are open; the journal is not closed with it."""
    league_id = settings.league_id
    # In threads, so that callers meanwhile are told that the manager is starting.
    is_there = await asyncio.to_thread(_is_there, settings, home, journal)
    head = await asyncio.to_thread(journal.claim, league_id, accept_loss=home.accepts_loss)
    if head.seq and not is_there:  # Its secrets must stay.
        raise Claimed(f"another manager has begun {league_id} meanwhile; type the same again")
    await asyncio.to_thread(journal.publish, transport.published or transport.here)
    secrets = await asyncio.to_thread(_kept, home, is_there)
    guard, archive = transport.place.guard, JournalArchive(journal, league_id)
    manager = Manager(
        settings,
        secrets,
        game,
        check_endpoint=guard.check_agent,
        league=League(archive),
        season=home.season,
    )
    manager.league.manager_url = transport.url
    ledger = Ledger(journal, league_id, receipt=manager.receipt)
    host = Host(manager, transport.clock, transport.http, ledger=ledger)
    archive.hashes = host.hashes
    transport.http.is_away = lambda: journal.state == "away"
    if journal.lost and journal.lost.context["league_id"] == league_id:
        manager.lost_until = journal.lost.context["lost_until"]
    if is_there:
        await asyncio.to_thread(_replay, host, journal.read(league_id))
    transport.manager = manager
    running = begin(host, transport.http, transport.url)
    McpHosts(running, settings, game, url=transport.here, admin_token=secrets.admin_token)
    running.try_new_agents(guard, is_awaited=settings.unreachable == "refuse")
    return running


def _kept(home: Home, is_there: bool) -> Secrets:
    """The secrets of a league; the settings are kept beside them."""
    check_not_moved(home.at)
    secrets = (read_secrets if is_there else write_secrets)(home.at, home.seed)
    if home.given is not None:
        keep_settings(home.at, home.given)
    return secrets


def _replay(host: Host, rows: Iterator[Row]) -> None:
    gc.disable()  # What is read stays: there is nothing to collect.
    try:
        host.replay(rows, read_event)
        gc.freeze()
    finally:
        gc.enable()


def deliver_to(loop: asyncio.AbstractEventLoop, call: Callable[[], None]) -> None:
    """Run on the loop's thread; when the loop is gone, nobody waits any more."""
    if not loop.is_closed():
        loop.call_soon_threadsafe(call)


def _keep_log(running: Running, path: Path) -> None:
    log, logger = LogFile(path, wall), logging.getLogger("agentleague")
    handlers = [LogHandler(log.write), logging.StreamHandler()]  # A full disk holds no log.
    for handler in handlers:
        logger.addHandler(handler)
        running.closing.append(partial(logger.removeHandler, handler))
    running.watch(log.write)
    why = partial(Entry, level=logging.ERROR, event="complaint")
    running.failed.add_done_callback(lambda failed: log.write(why(text=str(failed.result()))))
    running.closing.append(log.close)


def _is_there(settings: ManagerSettings, home: Home, journal: Journal) -> bool:
    """Whether there is this league, which then goes on. Raises StorageError."""
    at = home.at
    if isinstance(at, DatabaseUrl):
        leagues = leagues_in(at.of(settings.league_id))
    else:
        leagues = journal.leagues() if has_journal_file(at) else ()
    if leagues and not home.resumes:
        raise Claimed(
            f"{at} holds a league already, which this command does not resume; see it with: "
            f"league standings {dir_option(at)}, or play another with: {another(at)}"
        )
    if home.accepts_loss and not leagues:
        raise StorageError(f"{at} has no league to go on with; leave out --accept-loss")
    if leagues:
        check_rules(settings, journal.read(leagues[0]), at)
    return bool(leagues)


def check_resumable(settings: ManagerSettings, at: JournalPlace, seed: str | None) -> None:
    """Raises StorageError if this machine could not go on with the league that is there."""
    check_not_moved(at)
    read_secrets(at, seed)
    check_rules(settings, open_reader(at).read(settings.league_id), at)


def check_rules(settings: ManagerSettings, rows: Iterator[Row], at: JournalPlace) -> None:
    """Raises StorageError if a league was begun with other rules; it names the first."""
    opened = _opened(next(rows))
    league_id = opened.league_id
    for name, had in (("join", opened.has_join_code), ("referee", opened.has_referee_code)):
        if had is True and not getattr(settings, f"{name}_code"):
            raise StorageError(
                f"{league_id} was begun with a {name} code, and now there is none; give it with "
                f"LEAGUE_{name.upper()}_CODE, in the file of settings, or with --{name}-code"
            )
    for name, begun in rules_of(opened).items():
        value = getattr(settings, name)
        if value is not None and (list(value) if isinstance(value, tuple) else value) != begun:
            raise StorageError(
                f"{league_id} was begun with {name} = {as_toml(begun)}, and now it is "
                f"{as_toml(value)}; a league keeps its rules, so leave that out, or "
                f"{_instead(rows, at)}"
            )

    if not _asks_for(settings, stages_of(opened)):
        begun = as_toml(_as_asked(stages_of(opened)))
        raise StorageError(
            f"{league_id} was begun with stages = {begun}, and now its format is another; a league "
            f"keeps its rules, so leave that out, or {_instead(rows, at)}"
        )


def _asks_for(settings: ManagerSettings, stages: Sequence[Stage]) -> bool:
    try:
        return planned_by(settings) == stages
    except ValueError:  # Such as another format with the options that the league has.
        return False


def _as_asked(stages: Sequence[Stage]) -> list[dict[str, Any]]:
    return [{"format": stage.format, **stage.options} for stage in stages]


def rules_of(opened: LeagueOpened) -> dict[str, Any]:
    """The settings that a league was begun with and keeps to its end."""
    points = zip(("win_points", "draw_points", "loss_points"), opened.points, strict=True)
    names = ("league_id", "game_type", "cycles", "tie_breaks", "seeded")
    own = {name: getattr(opened, name) for name in names}
    seats = {"seeding": opened.seeding or "order", "late": opened.late or "refuse"}
    kept = {**own, **seats, **dict(points), **asdict(opened.rules)}
    return {name: value for name, value in kept.items() if value is not UNSET}  # Newer than it.


def kept_rules(at: JournalPlace, given: Mapping[str, Any]) -> dict[str, Any]:
    """The rules of the league that is in a place; none if there is none that can be read.

    Its stages only where no format is given: that one is compared with them.
    """
    journal = open_reader(at)
    try:
        named = [at.league_id] if isinstance(at, DatabaseUrl) else journal.leagues()
        opened = next((_opened(next(journal.read(each))) for each in named), None)
    except StorageError:  # The manager, which opens it next, says what is wrong with it.
        return {}
    if opened is None:
        return {}
    stages = {} if {"format", "stages"} & given.keys() else {"stages": _as_asked(stages_of(opened))}
    return rules_of(opened) | stages


def _opened(first: Row) -> LeagueOpened:
    opened = read_event(first.kind, first.version, first.body)
    if not isinstance(opened, LeagueOpened) or opened.league_id != first.league_id:
        league_id = first.league_id
        raise Damaged(f"the journal of {league_id} begins with {first.kind!r}, not with its rules")
    return opened


def _instead(rows: Iterator[Row], at: JournalPlace) -> str:
    """How to play by the other rules; a league in which nobody is yet may be thrown away."""
    if isinstance(at, DatabaseUrl) or any(row.kind == "player_registered" for row in rows):
        return f"begin another league with: {another(at)}"
    return (
        "let it begin anew, since no player has registered yet: remove it with: rm -r "
        f"{shlex.quote(str(at))} and then type the same again"
    )
