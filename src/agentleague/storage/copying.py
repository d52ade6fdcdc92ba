"""Copy a league whole: its rows as they are, hashes too, and the secrets that lie beside them.

A league that is moved is claimed while it is copied, so nobody decides anything meanwhile. The
place it leaves is marked before the copy appears: whatever happens, no two places can go on. Where
it comes back to a place that it left, only the rows are added that are new there.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from contextlib import closing, contextmanager, nullcontext
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from agentleague.errors import Damaged, StorageError
from agentleague.roles.ports import Journal, JournalReader, Row
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.directory import (
    SETTINGS_NAME,
    JournalPlace,
    dir_option,
    leagues_in,
    open_journal,
    open_reader,
    remedy,
    with_league,
)
from agentleague.storage.durable import appearing, sync_directory
from agentleague.storage.head import HeadFile
from agentleague.storage.kept import MOVED, check_not_moved, read_kept, write_kept
from agentleague.storage.sqlite import INSERT, prepare
from agentleague.storage.sqlite_reader import COLUMNS, last_head

KEPT = ("secret.key", "admin.token", SETTINGS_NAME)


class _League(NamedTuple):
    league_id: str
    rows: Iterable[Row]
    kept: Mapping[str, bytes]
    returns: bool = False  # to a place from which it was moved


def copy_league(source: JournalPlace, to: JournalPlace, *, moves: bool = False) -> JournalPlace:
    """Copy the one league there, also while its manager runs; where it lies now.

    The copy appears whole, or not at all. One that `moves` is never gone on with where it was.

    Raises:
        Claimed: it moves, and a manager runs there; or it has been moved before.
        Damaged: what is there is not all true.
        StorageError: there is no league, there is one already, or it cannot be read or written.
    """
    source = with_league(source)
    known = open_reader(source).leagues() if isinstance(source, Path) else leagues_in(source)
    if len(known) != 1:
        raise StorageError(f"there are {len(known)} leagues in {source}, not one")
    league_id = known[0]
    source, to = _of(source, league_id), _of(to, league_id)
    reader = open_reader(source)
    damage = reader.damage()
    if damage:
        raise Damaged(f"{damage}; {remedy(source)}")
    with closing(_claimed(source, league_id)) if moves else nullcontext():
        check_not_moved(source)
        found = {name: read_kept(source, name) for name in KEPT}
        kept = {name: data for name, data in found.items() if data is not None}
        league = _League(league_id, reader.read(league_id), kept)
        if moves and leagues_in(to) and read_kept(to, MOVED) is not None:
            league = league._replace(rows=_new_rows(reader, league_id, to), returns=True)
        write = _to_database(to, league) if isinstance(to, DatabaseUrl) else _to_path(to, league)
        with write:  # It appears at the end of this.
            if moves:
                write_kept(source, MOVED, str(to).encode())
    return to


def _of(place: JournalPlace, league_id: str) -> JournalPlace:
    if isinstance(place, Path):
        return place.resolve()
    if place.league_id not in ("", league_id):
        raise StorageError(f"the league is called {league_id}; leave #{place.league_id} out")
    return place.of(league_id)


def _claimed(place: JournalPlace, league_id: str) -> Journal:
    """A journal that nobody else can write to until it is closed."""
    journal = open_journal(place, lambda: 0.0, lambda call: call())  # It dates no row.
    try:
        journal.claim(league_id)
    except BaseException:
        journal.close()
        raise
    return journal


def _new_rows(reader: JournalReader, league_id: str, to: JournalPlace) -> Iterator[Row]:
    """The rows that a place lacks to which the league comes back. Raises StorageError."""
    (last,) = deque(open_reader(to).read(league_id), maxlen=1)
    rows = reader.read(league_id)
    if next(islice(rows, last.seq - 1, None), None) != last:
        raise StorageError(
            f"the league that was moved away from {to} has row {last.seq} there, which this one "
            "has not: they are two; nothing was copied"
        )
    return rows


@contextmanager
def _to_path(to: Path, league: _League) -> Iterator[None]:
    if league.returns:
        with closing(_claimed(to, league.league_id)):
            _fill(to, league)
            yield
            (to / MOVED).unlink()
            sync_directory(to)
        return
    with appearing(to) as new:
        _fill(new, league)
        yield


def _fill(directory: Path, league: _League) -> None:
    with closing(prepare(directory)) as connection:
        connection.execute("BEGIN")
        connection.executemany(INSERT, league.rows)
        connection.execute("COMMIT")
        head = last_head(connection, league.league_id)
    with closing(HeadFile(directory)) as file:
        file.add(league.league_id)
        file.write(league.league_id, head)
    for name, data in league.kept.items():
        write_kept(directory, name, data)


@contextmanager
def _to_database(to: DatabaseUrl, league: _League) -> Iterator[None]:
    with closing(_claimed(to, league.league_id)):  # It makes the tables, too.
        from psycopg import connect

        from agentleague.storage.postgres_errors import explaining

        if leagues_in(to) and not league.returns:
            raise StorageError(
                f"{to} is there already; nothing was copied. Look at it with: league status "
                f"{dir_option(to)}, or name another database"
            )
        for name, data in league.kept.items():
            write_kept(to, name, data)
        with explaining(to), connect(to.conninfo) as connection:  # One transaction.
            with connection.cursor().copy(f"COPY agentleague.rows ({COLUMNS}) FROM STDIN") as copy:
                for row in league.rows:
                    copy.write_row(row)
            mark = (league.league_id, MOVED)
            connection.execute(
                "DELETE FROM agentleague.kept WHERE league_id = %s AND name = %s", mark
            )
            yield
