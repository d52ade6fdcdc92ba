"""Bodies as journal rows: an event of that kind, or a sentence that says the row is damaged."""

import msgspec

from agentleague.errors import Damaged
from agentleague.league.events import KINDS, read_event
from fuzz.sentences import check_sentence
from memory_league import MemoryLeague


def _rows() -> list[bytes]:
    league = MemoryLeague(players=4, referees=2).fill().play()
    return [row.body for row in league.journal.read("league_test")]


SEEDS = _rows()


def one(data: bytes) -> None:
    """As every kind of row."""
    for kind in (*KINDS, "unheard_of"):
        try:
            event = read_event(kind, 1, data)
        except Damaged as error:
            check_sentence(error)
        else:
            assert read_event(kind, 1, msgspec.json.encode(event)) == event
