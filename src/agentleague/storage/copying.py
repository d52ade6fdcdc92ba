"""Copy a league whole: its rows as they are, hashes too, and the secrets that lie beside them."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from pathlib import Path

from agentleague.errors import Damaged, StorageError
from agentleague.roles.ports import Head, Row
from agentleague.storage.directory import SETTINGS_NAME, open_reader, remedy
from agentleague.storage.durable import appearing, write_private
from agentleague.storage.head import HeadFile
from agentleague.storage.sqlite import INSERT, prepare
from agentleague.storage.sqlite_reader import last_head

KEPT = ("secret.key", "admin.token", SETTINGS_NAME)


def copy_league(source: Path, to: Path, ready: Callable[[], None] = lambda: None) -> Head:
    """Copy the one league there, also while its manager runs; its last row.

    The copy appears whole, or not at all; `ready` is called when all of it is written.

    Raises:
        Damaged: what is there is not all true.
        StorageError: there is no league, or one of it cannot be read or written.
    """
    reader = open_reader(source)
    damage = reader.damage()
    if damage:
        raise Damaged(f"{damage}; {remedy(source)}")
    leagues = reader.leagues()
    if len(leagues) != 1:
        raise StorageError(f"there are {len(leagues)} leagues in {source}, not one")
    found = {name: _read(source / name) for name in KEPT}
    kept = {name: data for name, data in found.items() if data is not None}
    with appearing(to) as new:
        head = _write(new, leagues[0], reader.read(leagues[0]), kept)
        ready()
    return head


def _read(path: Path) -> bytes | None:
    return path.read_bytes() if path.exists() else None


def _write(new: Path, league_id: str, rows: Iterable[Row], kept: Mapping[str, bytes]) -> Head:
    with closing(prepare(new)) as connection:
        connection.execute("BEGIN")
        connection.executemany(INSERT, rows)
        connection.execute("COMMIT")
        head = last_head(connection, league_id)
    with closing(HeadFile(new)) as file:
        file.add(league_id)
        file.write(league_id, head)
    for name, data in kept.items():
        write_private(new / name, data)
    return head
