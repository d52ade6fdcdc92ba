"""Keep the files of document 001 current while a league runs, in a thread.

It begins with the first row, so what a crash or somebody else left is written anew; from there on
it reads only new rows. After each file it rests a hundred times as long as it worked: no match is
slower for it. A league that plays faster than that is written to its end when it is over.
"""

import json
import logging
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from threading import Event as Flag
from threading import Thread
from time import thread_time
from typing import Any

from agentleague.league.events import LeagueStarted, MatchDecided, PlayerRegistered
from agentleague.league.league import League
from agentleague.records import export_files
from agentleague.records.export import write_file
from agentleague.records.reading import event_of
from agentleague.roles.effects import Event
from agentleague.roles.ports import Row
from agentleague.storage.directory import JournalPlace, open_reader

log = logging.getLogger(__name__)
ROWS_A_TURN = 250
UPDATE_SECONDS = 1.0
REST = 100  # times as long as it worked
CLOSE_SECONDS = 10.0
About = list[tuple[str, Event]]  # when something was decided, and what


class SharedFiles:
    """The files under `out`, from the journal at `place`, which is its league's archive."""

    at_hand = ROWS_A_TURN

    def __init__(
        self, place: JournalPlace, league_id: str, out: Path, before: int = 0, manager_url: str = ""
    ) -> None:
        self._journal, self._league_id, self._out = open_reader(place), league_id, out
        self._league = League(self)
        self._league.manager_url = manager_url
        self._about: dict[str, About] = {}  # matches that are not written to their end
        self._changed: dict[str, None] = {}  # matches to be written
        self._played: dict[str, dict[str, Any]] = {}  # player -> what is new in its history
        self._new_players: set[str] = set()  # who have no history yet, whatever a file says
        self._now = ""  # when the last row was written, if the table does not show it yet
        self._before = before  # the last row that was there when it began

    @property
    def is_current(self) -> bool:
        """Whether it has read all that was there when it began."""
        return self._league.seq >= self._before

    def find(self, first: int, last: int, match_id: str) -> Iterator[tuple[int, Event]]:
        """The events from row `first` to `last` that name this match, with their numbers."""
        return ((row.seq, event) for row, event in self._rows_of(first, last, match_id))

    def _rows_of(self, first: int, last: int, match_id: str) -> Iterator[tuple[Row, Event]]:
        rows = self._journal.find(self._league_id, first, last, f'"{match_id}"'.encode())
        return ((row, event_of(row)) for row in rows)

    def hash_of(self, seq: int) -> None:
        """Nobody shows a receipt here."""

    def update(self, rest: Callable[[], None] = lambda: None) -> None:
        """Take in new rows, and write the files that they change; after an error, try again."""
        while True:
            for file in self._files():
                write_file(self._out, file)
                rest()
            rows = [*islice(self._journal.read(self._league_id, self._league.seq), ROWS_A_TURN)]
            for row in rows:
                self._take(row)
            if not rows:
                return

    def _take(self, row: Row) -> None:
        event, league, self._now = event_of(row), self._league, row.at
        record = league.matches.get(getattr(event, "match_id", ""))
        if record and record.decided and record.match_id not in self._about:  # Ruled on since.
            self._about[record.match_id] = [
                (each.at, event)
                for each, event in self._rows_of(1, row.seq - 1, record.match_id)
                if getattr(event, "match_id", "") == record.match_id
            ]
        league.apply(event)
        if record:
            about = self._about.setdefault(record.match_id, [])
            about.append((row.at, event))
            self._changed[record.match_id] = None
            for player_id in record.players if record.decided else ():
                entry = export_files.played(league, player_id, record, _decided_at(about))
                self._played.setdefault(player_id, {})[record.match_id] = entry
        elif isinstance(event, PlayerRegistered):
            self._new_players.add(event.player_id)
            self._played[event.player_id] = {}
        elif isinstance(event, LeagueStarted):
            self._played |= {each: {} for each in league.roster.players}

    def _files(self) -> Iterator[export_files.File]:
        """What has changed; each is done when the next one is asked for."""
        if self._now and self.is_current:
            yield from export_files.league_files(self._league, self._now)
            self._now = ""
        for match_id in [*self._changed]:
            about = self._about[match_id]
            events = [event for _, event in about]
            yield export_files.match_file(self._league, match_id, _decided_at(about), events)
            del self._changed[match_id]
            if self._league.matches[match_id].closed:
                del self._about[match_id]
        for player_id in [*self._played]:
            path, _ = export_files.history_file(self._league, player_id, ())
            before = () if player_id in self._new_players else self._matches_in(path)
            matches = {each["match_id"]: each for each in before} | self._played[player_id]
            yield export_files.history_file(self._league, player_id, matches.values())
            del self._played[player_id]
            self._new_players.discard(player_id)

    def _matches_in(self, path: str) -> Iterable[dict[str, Any]]:
        try:
            matches: list[dict[str, Any]] = json.loads((self._out / path).read_bytes())["matches"]
        except (FileNotFoundError, ValueError):  # Not by us: the next start writes them all.
            return ()
        return matches


def _decided_at(about: About) -> str:
    return next((at for at, event in about if isinstance(event, MatchDecided)), "")


class FilesThread:
    """Writes shared files now and then; nothing waits for it, and it stops nobody."""

    def __init__(self, files: SharedFiles) -> None:
        self._files, self._closing, self._problem = files, Flag(), ""
        self._worked = 0.0
        self._thread = Thread(target=self._run, name="files", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Write what is missing, and stop."""
        self._closing.set()
        self._thread.join(CLOSE_SECONDS)
        if self._thread.is_alive():
            log.warning("the files of the last matches are missing; `league export` writes all")

    def _run(self) -> None:
        while not self._closing.wait(UPDATE_SECONDS):
            self._update()
        self._update()

    def _update(self) -> None:
        self._worked = thread_time()
        try:
            self._files.update(self._rest)
            self._problem = ""
        except Exception as error:
            problem = getattr(error, "strerror", None) or f"{type(error).__name__}: {error}"
            if problem != self._problem:
                log.warning("the shared files cannot be written: %s", problem)
            self._problem = problem

    def _rest(self) -> None:
        worked = thread_time() - self._worked
        self._closing.wait(worked * (REST if self._files.is_current else 1))
        self._worked = thread_time()


def keep_files(
    out: str, place: JournalPlace, league_id: str, before: int, manager_url: str
) -> Callable[[], None]:
    """Begin to write the files of a league, beside its journal unless `out` says where.

    Returns what to call in the end.
    """
    out_path = Path(out) if out or not isinstance(place, Path) else place / "shared"
    return FilesThread(SharedFiles(place, league_id, out_path, before, manager_url)).close
