"""Read a league from its journal, also while a manager writes to it."""

from collections.abc import Iterable

from agentleague.errors import Damaged, StorageError
from agentleague.league.events import read_event
from agentleague.league.league import League
from agentleague.roles.effects import Event
from agentleague.roles.ports import Row
from agentleague.storage.database_url import DatabaseUrl
from agentleague.storage.directory import (
    FILE_NAME,
    JournalPlace,
    dir_option,
    has_journal,
    leagues_in,
    open_reader,
)

SEASON_NAME = "season.toml"  # in a directory of leagues that make up a season


def read_rows(directory: JournalPlace) -> list[Row]:
    """All rows of the one league in a place, verified. Raises Damaged or StorageError."""
    leagues = leagues_in(directory)
    if len(leagues) > 1:
        raise Damaged(f"the journal in {directory} has rows of {len(leagues)} leagues, not one")
    return [row for name in leagues for row in open_reader(directory).read(name)]


def event_of(row: Row) -> Event:
    """The decision that a row holds."""
    return read_event(row.kind, row.version, row.body)


def folded(rows: Iterable[Row]) -> League:
    """The league as these rows leave it. Raises Damaged if one cannot follow those before it."""
    league = League()
    for row in rows:
        event = event_of(row)
        try:
            league.apply(event)
        except (AssertionError, LookupError, ValueError):
            raise Damaged(
                f"row {row.seq} ({row.kind}) of league {row.league_id} cannot follow those before "
                "it; `league verify` says more"
            ) from None
    return league


def open_league(directory: JournalPlace) -> tuple[League, list[Row]]:
    """The league of a place, and its rows. Raises StorageError if there is none to read."""
    if has_journal(directory) and (rows := read_rows(directory)):
        return folded(rows), rows
    raise StorageError(no_league(directory))


def no_league(directory: JournalPlace) -> str:
    """The error text for a place without a league."""
    if isinstance(directory, DatabaseUrl):
        begin = f"league manager {dir_option(directory)}"
        return f"there is no league in {directory}; check the URL, or begin one with: {begin}"
    if (directory / SEASON_NAME).is_file():
        return f"{directory} is a season; name one of its leagues, such as {directory / '001'}"
    return (
        f"there is no league in {directory}; give the directory that holds its {FILE_NAME}, or "
        f"play one: league demo --dir {directory}"
    )
