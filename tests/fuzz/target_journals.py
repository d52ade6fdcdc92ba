"""Whole journals that somebody made up, rightly chained: verified and shown without a stumble.

A line of an input is a row: its kind, a blank, its body.
"""

from agentleague.errors import Damaged, LeagueError, UnsupportedGame
from agentleague.league import queries
from agentleague.league.league import League
from agentleague.records.reading import folded
from agentleague.records.verify import verify
from agentleague.runtime import plugins
from agentleague.storage import chain
from fuzz.sentences import check_sentence
from memory_league import MemoryLeague

ID = "league_test"
OF_LINES = True
ROWS_MAX = 200
QUERIES = ("GET_STANDINGS", "GET_SCHEDULE", "GET_STATUS", "GET_PLAYER_STATS", "GET_NEXT_MATCH")


def _journal(players: int, **settings: object) -> bytes:
    league = MemoryLeague(players=players, referees=1, **settings).fill().play()
    return b"\n".join(b"%b %b" % (row.kind.encode(), row.body) for row in league.journal.read(ID))


SEEDS = [_journal(2), _journal(3), _journal(2, cycles=2)]


def one(data: bytes) -> None:
    """Verify it, then read it as the commands do and ask what they ask."""
    entries = []
    for line in data.split(b"\n")[:ROWS_MAX]:
        kind, _, body = line.partition(b" ")
        entries.append((kind.decode("utf-8", "replace"), 1, body))
    rows = chain.extend(chain.start(ID), ID, "2026-03-04T09:00:00.000Z", entries)
    try:
        findings = verify(rows, plugins.load_game)
    except UnsupportedGame:
        return
    try:
        league = folded(rows)
    except Damaged:
        assert findings.difference is not None, "what cannot be read is not true"
    else:
        _ask(league)


def _ask(league: League) -> None:
    for query_type in QUERIES:
        for player_id in ("P01", "P9"):
            try:
                queries.answer(league, query_type, {"player_id": player_id}, None)
            except LeagueError as error:
                check_sentence(error)
