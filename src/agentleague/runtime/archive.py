"""A journal as the archive of its league: the rows of old matches, read again."""

from collections.abc import Iterator

from agentleague.league.events import read_event
from agentleague.league.match_records import MATCHES_AT_HAND
from agentleague.roles.effects import Event
from agentleague.roles.ports import Journal


class JournalArchive:
    """What a manager looks up of matches that it has forgotten.

    It asks and is answered at once: a row that was written is never written again, so an answer
    depends on nothing but the question.
    """

    def __init__(self, journal: Journal, league_id: str, at_hand: int = MATCHES_AT_HAND) -> None:
        self.at_hand = at_hand
        self._journal, self._league_id = journal, league_id

    def find(self, first: int, last: int, match_id: str) -> Iterator[tuple[int, Event]]:
        """The events from row `first` to `last` that name this match, with their numbers.

        Raises:
            StorageError: they cannot be read.
        """
        text = f'"{match_id}"'.encode()
        for row in self._journal.find(self._league_id, first, last, text):
            yield row.seq, read_event(row.kind, row.version, row.body)
